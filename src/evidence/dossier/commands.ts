import type { FactId } from "../../session/index.js";
import type { Command, Listed } from "./dossier.js";
import { Sample } from "./sample.js";
import { itemOf, type Seen } from "./seen.js";
import type { Words } from "./words.js";

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
      ...(signal !== undefined && { signal }),
      ...(told.directory !== undefined && { directory: told.directory }),
      ...(told.stdout !== undefined && { stdout: told.stdout }),
      ...(told.stderr !== undefined && { stderr: told.stderr }),
      ...(told.network !== undefined && { network: told.network }),
      ...(cut !== undefined && { cut }),
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
