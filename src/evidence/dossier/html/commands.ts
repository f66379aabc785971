import type { Command, Dossier } from "../dossier.js";
import { type Html, html } from "./html.js";
import { type Anchors, count, inline, items, lasting, line, pairs, told, when } from "./words.js";

/** The commands that were run in sandboxes, with their output. */
export function commandsSection({ commands }: Dossier, anchors: Anchors): Html {
  if (commands.total === 0) return html``;
  return html`<section id="commands" aria-labelledby="commands-h"><h2 id="commands-h">Commands <span class="n">${commands.total.toLocaleString("en")}</span></h2>
${items(commands, (command) => item(command, anchors))}</section>`;
}

function item(command: Command, anchors: Anchors): Html {
  const isOk = command.outcome === "ok";
  const exit = command.code === null ? (command.signal ?? command.outcome) : `exit ${command.code}`;
  return html`<details class="item"><summary><h3><code dir="auto">${inline(command.command, 160)}</code></h3> <span class="tag ${isOk ? "good" : "bad"}">${exit}</span>${line(
    command.branch,
    when(command.at, "clock"),
    lasting(command.milliseconds),
    command.sandbox,
  )}</summary><div class="body">${told(command.command, "Command")}${told(command.stdout, "Output")}${told(command.stderr, "Errors")}${
    command.cut !== undefined &&
    html`<p class="more">${count(command.cut, "byte")} of the output were cut off when it was run.</p>`
  }${told(command.network, "Network")}${pairs([
    ["Outcome", command.outcome],
    ["Directory", inline(command.directory)],
    ["Sandbox", `${command.sandbox}, opened ${count(command.incarnation, "time")}`],
    ["Of the call", command.of && anchors.id(command.of)],
  ])}${anchors.proofs(command.facts)}</div></details>`;
}
