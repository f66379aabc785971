import { html } from "./html/html.js";
import { card, count, inline, items, lasting, line, pairs, type Section, told, when } from "./html/words.js";
import { type ItemOf, shape } from "./item.js";

/** A command that was run in a sandbox, with its output. */
export const COMMAND = shape(
  "command-run",
  "command* sandbox incarnation outcome code signal directory* stdout* stderr* network* cut milliseconds of",
);
export type Command = ItemOf<typeof COMMAND>;

export const commandsSection: Section = {
  id: "commands",
  title: "Commands",
  total: ({ commands }) => commands.total,
  body: ({ commands }, anchors) =>
    items(commands, ({ code, signal, outcome, cut, ...command }) =>
      card(
        html`<h3><code dir="auto">${inline(command.command, 160)}</code></h3> <span class="tag ${outcome === "ok" ? "good" : "bad"}">${code === null ? (signal ?? outcome) : `exit ${code}`}</span>${line(
          command.branch,
          when(command.at, "clock"),
          lasting(command.milliseconds),
          command.sandbox,
        )}`,
        html`${told(command.command, "Command")}${told(command.stdout, "Output")}${told(command.stderr, "Errors")}${
          cut !== undefined &&
          html`<p class="more">${count(cut, "byte")} of the output were cut off when it was run.</p>`
        }${told(command.network, "Network")}${pairs([
          ["Outcome", outcome],
          ["Directory", inline(command.directory)],
          ["Sandbox", `${command.sandbox}, opened ${count(command.incarnation, "time")}`],
          ["Of the call", command.of && anchors.id(command.of)],
        ])}`,
        anchors,
        command.facts,
      ),
    ),
};
