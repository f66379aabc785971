import type { FactId } from "../../session/index.js";
import { defined } from "../../util/index.js";
import type { Dossier } from "./dossier.js";
import { type Html, html } from "./html/html.js";
import { type Anchors, count, inline, items, lasting, line, pairs, told, when } from "./html/words.js";
import { itemOf, Sample, type Seen } from "./item.js";
import type { Item, Listed, Told, Words } from "./words.js";

export type Command = Item & {
  readonly command: Told;
  readonly directory?: Told;
  readonly sandbox: string;
  readonly incarnation: number;
  readonly outcome: string;
  readonly code: number | null;
  readonly signal?: string;
  readonly stdout?: Told;
  readonly stderr?: Told;
  readonly cut?: number;
  readonly network?: Told;
  readonly milliseconds: number;
  readonly of?: FactId;
};

const OVER: ReadonlySet<string> = new Set(["tool-result", "tool-failure", "step-result", "step-failure"]);

/** The commands that were run, with what they said. */
export class Commands {
  readonly #words: Words;
  readonly #sample: Sample<Command>;
  /** The newest command of a call, for the check that follows it. */
  readonly #ofCall = new Map<FactId, FactId>();

  constructor(most: number, words: Words) {
    this.#words = words;
    this.#sample = new Sample(most);
  }

  see(seen: Seen): void {
    const { fact } = seen;
    if (OVER.has(fact.type)) this.#ofCall.delete((fact as { readonly of?: string }).of ?? "");
    if (fact.type !== "command-run") return;
    if (fact.of !== undefined) this.#ofCall.set(fact.of, seen.id);
    const words = this.#words;
    const { sandbox, incarnation, outcome, code, signal, cut, milliseconds, of } = fact;
    const told = {
      directory: words.maybe(fact.directory),
      stdout: words.maybe(fact.stdout),
      stderr: words.maybe(fact.stderr),
      network: words.maybe(fact.network),
    };
    this.#sample.add({
      ...itemOf(seen),
      command: words.tell(fact.command),
      sandbox,
      incarnation,
      outcome,
      code,
      ...defined({
        signal,
        directory: told.directory,
        stdout: told.stdout,
        stderr: told.stderr,
        network: told.network,
        cut,
      }),
      milliseconds,
      ...(of !== undefined && { of }),
    });
  }

  /** The command that a call ran last. */
  of(call: FactId | undefined): FactId | undefined {
    return call === undefined ? undefined : this.#ofCall.get(call);
  }

  listed(): Listed<Command> {
    return this.#sample.listed();
  }
}

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
