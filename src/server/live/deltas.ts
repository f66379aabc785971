import type { Observation, Rath } from "../../runtime/index.js";
import type { FactId, Json, Session } from "../../session/index.js";
import { isObject } from "../../util/index.js";
import { eventBytes } from "./stream.js";

/** So many characters of an answer are sent while it is being written; the record has all of it. */
const MOST = 16_384;

type Delta = {
  readonly run: string;
  readonly name: string;
  readonly call: FactId;
  text: string;
  from: number;
  version: number;
};

/**
 * The answers that models are writing in this process. They are not facts: a reader gets the newest state of each, and nothing
 * of what it missed.
 */
export class Deltas {
  /** Ends it. */
  readonly stop: () => void;
  readonly #changed: () => void;
  /** The names of the runs that are under way; undefined where a run has none that could be found. */
  readonly #names = new Map<string, string | undefined>();
  readonly #answers = new Map<FactId, Delta>();
  #version = 0;
  readonly #pieces = new Map<string, Uint8Array | undefined>();

  constructor(rath: Rath, changed: () => void) {
    this.#changed = changed;
    // Also without readers: one that comes in the middle of an answer is told all of it.
    this.stop = rath.observe((observation) => this.#hear(observation));
  }

  get version(): number {
    return this.#version;
  }

  /** The answers that have grown since a version, encoded once for all readers that see the same. */
  since(version: number, key: string, sees: (name: string) => boolean): Uint8Array | undefined {
    if (version === this.#version) return undefined;
    const id = `${version} ${this.#version} ${key}`;
    if (!this.#pieces.has(id)) {
      const grown = [...this.#answers.values()].filter((one) => one.version > version && sees(one.name));
      const events = grown.map(({ name, call, text, from }) => ({
        event: "delta",
        data: { name, call, from, text },
      }));
      if (this.#pieces.size > 64) this.#pieces.clear();
      this.#pieces.set(id, events.length === 0 ? undefined : eventBytes(...events));
    }
    return this.#pieces.get(id);
  }

  #hear(observation: Observation): void {
    if (observation.kind === "fact") {
      const { fact } = observation.session;
      // Pieces may hold an answer that is dropped now.
      this.#pieces.clear();
      if (fact.type === "run-end" || fact.type === "run-suspend") this.#over(fact.run ?? "");
      // Whatever comes of a call ends its answer; one that is tried again begins anew.
      else if ("of" in fact && fact.type !== "effect-start") this.#answers.delete(fact.of as FactId);
      return;
    }
    const { request, delta } = observation;
    const piece = textIn(delta);
    if (piece === "") return;
    const { id: call, fact } = request;
    const run = fact.run ?? "";
    if (!this.#names.has(run)) this.#names.set(run, nameOf(request, run));
    const name = this.#names.get(run);
    if (name === undefined) return;
    const known = this.#answers.get(call) ?? { run, name, call, text: "", from: 0, version: 0 };
    const text = known.text + piece;
    const cut = Math.max(0, text.length - MOST);
    this.#version += 1;
    Object.assign(known, { text: text.slice(cut), from: known.from + cut, version: this.#version });
    this.#answers.set(call, known);
    this.#changed();
  }

  /** A run has ended, was cut off or waits. */
  #over(run: string): void {
    this.#names.delete(run);
    for (const [call, answer] of this.#answers) if (answer.run === run) this.#answers.delete(call);
  }
}

/** The name of the run that a request belongs to. */
function nameOf(request: Session, run: string): string | undefined {
  for (let node: Session | undefined = request; node !== undefined; ) {
    const { fact } = node;
    if (fact.type === "run-start" && fact.nonce === run) return fact.name ?? `unnamed/${run}`;
    node = node.atHorizon ? undefined : node.parents[0];
  }
  return undefined;
}

function textIn(delta: Json): string {
  return isObject(delta) && delta.type === "text" && typeof delta.text === "string" ? delta.text : "";
}
