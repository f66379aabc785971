import type { FactId, Session } from "../../session/index.js";
import { RefusedError } from "../given.js";
import type { Observation } from "../run/options.js";
import type { RunEvent } from "./event.js";
import { EventTeller, type PartialParser } from "./teller.js";

/** Follows a run, and has its models stream. */
export type Follower = {
  /** Hears what observers hear, of this run alone. */
  readonly hear: (observation: Observation) => void;
  /** Hears that a recorded run is this process's to go on with, and its newest fact. */
  readonly taken: (head: FactId) => void;
};

/**
 * The events of a run. Iterate it once; leaving the loop cancels the run, and the loop throws what the run throws.
 *
 * ```ts
 * for await (const event of rath.stream(clerk, session))
 *   if (event.type === "text") process.stdout.write(event.text);
 * ```
 */
export class RunStream implements AsyncIterable<RunEvent> {
  /** The session at the end of the run, or at its suspension, as `rath.run` gives it. */
  readonly result: Promise<Session>;
  /** The newest answer at the end of the run. */
  readonly text: Promise<string>;
  /** The newest fact of a run that is resumed, as soon as this process has taken it; of other runs their end. */
  readonly taken: Promise<FactId>;
  readonly #leaving = new AbortController();
  readonly #queue: RunEvent[] = [];
  #wake: (() => void) | undefined;
  #isOver = false;
  #isRead = false;

  /** @param start begins the run, or goes on with it */
  constructor(
    module: string,
    signal: AbortSignal | undefined,
    start: (follower: Follower, signal: AbortSignal) => Promise<Session>,
  ) {
    const signals = signal === undefined ? [] : [signal];
    let taken: Follower["taken"] = () => {};
    const first = new Promise<FactId>((resolve) => {
      taken = resolve;
    });
    this.result = this.#run(module, start, taken, AbortSignal.any([...signals, this.#leaving.signal]));
    this.text = this.result.then(({ text }) => text);
    this.taken = Promise.race([first, this.result.then(({ id }) => id)]);
    // A reader of the events alone gets the error from the loop.
    this.result.catch(() => {});
    this.text.catch(() => {});
    this.taken.catch(() => {});
  }

  async #run(
    module: string,
    start: (follower: Follower, signal: AbortSignal) => Promise<Session>,
    taken: Follower["taken"],
    signal: AbortSignal,
  ): Promise<Session> {
    try {
      const teller = new EventTeller(module, (event) => this.#push(event), await partialParser());
      const session = await start({ hear: (observation) => teller.hear(observation), taken }, signal);
      teller.end(session);
      return session;
    } finally {
      this.#isOver = true;
      this.#wake?.();
    }
  }

  #push(event: RunEvent): void {
    const last = this.#queue.at(-1);
    // A reader that is slow gets pieces of one answer together, so that they do not pile up.
    const joined = last === undefined || this.#queue.length < CROWDED ? undefined : joinedEvent(last, event);
    if (joined === undefined) this.#queue.push(event);
    else this.#queue[this.#queue.length - 1] = joined;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RunEvent, void, undefined> {
    if (this.#isRead)
      throw new RefusedError(
        "read the events of a run twice",
        "they are gone once they are read",
        "keep them in a list, or await stream.result",
      );
    this.#isRead = true;
    try {
      for (;;) {
        const event = this.#queue.shift();
        if (event !== undefined) yield event;
        else if (this.#isOver) break;
        else await new Promise<void>((wake) => (this.#wake = wake));
      }
      await this.result;
    } finally {
      if (!this.#isOver) {
        this.#leaving.abort("its reader left");
        // Once the loop is left, the cancellation is on the record.
        await this.result.catch(() => {});
      }
    }
  }
}

/** Events that may wait before pieces are joined. */
const CROWDED = 256;

function joinedEvent(earlier: RunEvent, later: RunEvent): RunEvent | undefined {
  if (earlier.type === "object" && later.type === "object")
    return earlier.call === later.call ? later : undefined;
  if (earlier.type !== "text" && earlier.type !== "reasoning" && earlier.type !== "tool-input")
    return undefined;
  if (later.type !== earlier.type || later.call !== earlier.call) return undefined;
  if (earlier.type === "tool-input" && later.type === "tool-input" && earlier.id !== later.id)
    return undefined;
  return { ...later, text: earlier.text + later.text };
}

/** Loaded for streams alone: a program without them does not need it. */
async function partialParser(): Promise<PartialParser> {
  const { parse } = await import("partial-json");
  return (text) => parse(text);
}
