import {
  type BlobSource,
  type FactInput,
  type FactOf,
  type RathError,
  readFact,
} from "../../session/index.js";
import { TapeEndedError } from "../error.js";
import type { RequestBatch } from "../request/batch.js";
import { Queue } from "../tape/queue.js";
import type { TapeReader } from "../tape/reader.js";
import type { Entry, Tape } from "../tape/tape.js";
import { divergence } from "./divergence.js";
import type { Mode } from "./options.js";
import type { Course, Phase } from "./phase.js";
import type { Turns } from "./turns.js";

/** A recorded outcome, and who is told it. */
type Recording = { readonly batch: RequestBatch; readonly entry: Entry };

type ReplayParts = {
  readonly course: Course;
  readonly turns: Turns;
  readonly tape: TapeReader;
  readonly nonce: string;
  readonly mode: Mode;
  readonly blobs: BlobSource | undefined;
  /** Takes over a recorded cancellation. */
  readonly adoptCancel: (entry: Entry) => void;
  /** The tape has ended, and the run goes on. */
  readonly goLive: () => void;
};

/** The run as it was recorded: outcomes are told in the order in which the record has them. */
export class Replay implements Phase {
  readonly #parts: ReplayParts;
  /** Batches that must be asked what they can be told, and what the others said. */
  readonly #changed = new Set<RequestBatch>();
  readonly #recorded = new Queue<Recording>();

  constructor(parts: ReplayParts) {
    this.#parts = parts;
  }

  turn(): void {
    if (!this.#replayOne()) this.#onTapeExhausted();
  }

  look(batch: RequestBatch): void {
    this.#changed.add(batch);
  }

  close(): void {
    this.#changed.clear();
  }

  /** Tells the oldest recorded outcome that somebody waits for. */
  #replayOne(): boolean {
    const { course, turns, adoptCancel } = this.#parts;
    const { tape } = this.#parts.tape;
    const cancelled = tape?.cancelled(course.beginning.start);
    const next = this.#nextRecorded();
    if (cancelled !== undefined && (next === undefined || cancelled.seq < next.entry.seq))
      adoptCancel(cancelled);
    else if (next !== undefined) {
      if (next === this.#recorded.first) this.#recorded.shift();
      this.#changed.add(next.batch);
      next.batch.deliver(next.entry);
    } else {
      // Every branch rests: this is where a what-if left the run before it, and where it goes on with what is its own.
      if (course.bodyAwaitsOutside || tape?.leave() !== true) return false;
      for (const batch of course.batches) this.#changed.add(batch);
      return this.#replayOne();
    }
    turns.wake();
    return true;
  }

  /** The oldest outcome that a batch can be told. Only those are asked that may have another answer than before. */
  #nextRecorded(): Recording | undefined {
    const { batches } = this.#parts.course;
    let next: Recording | undefined;
    for (const batch of this.#changed) {
      const open = batches.has(batch);
      const entry = open ? batch.recorded() : undefined;
      if (open && batch.unsettled) {
        // Asked every time: what it can be told depends on what else happens inside.
        if (entry !== undefined && (next === undefined || entry.seq < next.entry.seq))
          next = { batch, entry };
        continue;
      }
      this.#changed.delete(batch);
      if (entry !== undefined) this.#recorded.add(entry.seq, { batch, entry });
    }
    const { first } = this.#recorded;
    if (first === undefined) return next;
    if (first.entry.used || !batches.has(first.batch)) {
      // Taken by somebody else meanwhile.
      this.#recorded.shift();
      this.#changed.add(first.batch);
      return this.#nextRecorded();
    }
    return next !== undefined && next.entry.seq < first.entry.seq ? next : first;
  }

  /** Every branch rests and the tape has nothing for any of them. */
  #onTapeExhausted(): void {
    const { course, mode, goLive } = this.#parts;
    const tape = this.#parts.tape.tape as Tape;
    // Nobody waits at our door and the body is not over: it awaits something else, and will be back.
    if (course.bodyAwaitsOutside) {
      if (this.#wasAbandoned(tape)) course.abandonBody(course.cancelled as string);
      return;
    }
    const body = course.batches.size === 0 ? course.body : undefined;
    const [expected] = tape.unused().filter(({ type }) => !(body !== undefined && type === "run-end"));
    if (expected !== undefined && mode !== "what-if") {
      course.fail(this.#divergence(expected));
      return;
    }
    const { otherProgram } = course.beginning;
    if (otherProgram !== undefined) {
      course.fail(otherProgram);
      return;
    }
    const ended = body && course.ending.recordedEnd(body);
    if (ended !== undefined) {
      course.settle("ended", ended);
      return;
    }
    const [end] = body === undefined ? [] : tape.unused();
    if (mode === "what-if" || (mode === "resume" && end === undefined)) {
      goLive();
      return;
    }
    if (body !== undefined) {
      course.fail(end === undefined ? this.#tapeEnded() : this.#divergence(end, course.ending.fact(body)));
      return;
    }
    const suspended = course.ending.recordedSuspension();
    if (suspended !== undefined) course.settle("suspended", suspended);
    else course.fail(this.#tapeEnded());
  }

  /** Whether the record says that the body was not waited for, and nothing else is left of it. */
  #wasAbandoned(tape: Tape): boolean {
    const [end, ...more] = tape.unused();
    if (this.#parts.course.cancelled === undefined || end?.type !== "run-end" || more.length > 0)
      return false;
    const { error } = readFact(end.line, undefined) as FactOf<"run-end">;
    return (error?.data as { readonly abandoned?: boolean } | undefined)?.abandoned === true;
  }

  #divergence(expected: Entry, ending?: FactInput): RathError {
    const { nonce, tape, blobs } = this.#parts;
    return divergence(nonce, expected, { tape, blobs, ending });
  }

  #tapeEnded(): TapeEndedError {
    const { nonce, course } = this.#parts;
    const frontiers = [...course.batches].flatMap((batch) => batch.frontier);
    return new TapeEndedError(
      nonce,
      frontiers.map(({ id, fact }) => ({ id, type: fact.type })),
    );
  }
}
