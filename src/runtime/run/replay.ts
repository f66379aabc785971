import { type FactOf, readFact } from "../../session/index.js";
import { TapeEndedError } from "../error.js";
import type { RequestBatch } from "../request/batch.js";
import { Queue } from "../tape/queue.js";
import type { Entry, Tape } from "../tape/tape.js";
import type { Phase, RunContext } from "./context.js";

/** A recorded outcome, and who is told it. */
type Recording = { readonly batch: RequestBatch; readonly entry: Entry };

/** The run as it was recorded: outcomes are told in the order in which the record has them. */
export class Replay implements Phase {
  readonly #run: RunContext;
  /** Batches that must be asked what they can be told, and what the others said. */
  readonly #changed = new Set<RequestBatch>();
  readonly #recorded = new Queue<Recording>();

  constructor(run: RunContext) {
    this.#run = run;
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
    const { batches, beginning, cancellation, turns } = this.#run;
    const { tape } = this.#run.tape;
    const cancelled = tape?.cancelled(beginning.start);
    const next = this.#nextRecorded();
    if (cancelled !== undefined && (next === undefined || cancelled.seq < next.entry.seq))
      cancellation.adopt(cancelled);
    else if (next !== undefined) {
      if (next === this.#recorded.first) this.#recorded.shift();
      this.#changed.add(next.batch);
      next.batch.deliver(next.entry);
    } else {
      // Every branch rests: this is where a what-if left the run before it, and where it goes on with what is its own.
      if (this.#run.bodyAwaitsOutside || tape?.leave() !== true) return false;
      for (const batch of batches) this.#changed.add(batch);
      return this.#replayOne();
    }
    turns.wake();
    return true;
  }

  /** The oldest outcome that a batch can be told. Only those are asked that may have another answer than before. */
  #nextRecorded(): Recording | undefined {
    const { batches } = this.#run;
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
    const run = this.#run;
    const { mode = "resume" } = run.options;
    const tape = run.tape.tape as Tape;
    // Nothing of ours is awaited and the body is not over: it awaits something else, and will be back.
    if (run.bodyAwaitsOutside) {
      const { cancelled } = run.root;
      if (cancelled !== undefined && wasAbandoned(tape)) run.abandonBody(cancelled);
      return;
    }
    const body = run.batches.size === 0 ? run.body : undefined;
    const [expected] = tape.unused().filter(({ type }) => !(body !== undefined && type === "run-end"));
    if (expected !== undefined && mode !== "what-if") {
      run.fail(run.diverged(expected));
      return;
    }
    const { otherProgram } = run.beginning;
    if (otherProgram !== undefined) {
      run.fail(otherProgram);
      return;
    }
    const ended = body && run.ending.recordedEnd(body);
    if (ended !== undefined) {
      run.settle("ended", ended);
      return;
    }
    const [end] = body === undefined ? [] : tape.unused();
    if (mode === "what-if" || (mode === "resume" && end === undefined)) {
      run.goLive();
      return;
    }
    if (body !== undefined) {
      run.fail(end === undefined ? this.#tapeEnded() : run.diverged(end, run.ending.fact(body)));
      return;
    }
    const suspended = run.ending.recordedSuspension();
    if (suspended !== undefined) run.settle("suspended", suspended);
    else run.fail(this.#tapeEnded());
  }

  #tapeEnded(): TapeEndedError {
    const { nonce, batches } = this.#run;
    const frontiers = [...batches].flatMap((batch) => batch.frontier);
    return new TapeEndedError(
      nonce,
      frontiers.map(({ id, fact }) => ({ id, type: fact.type })),
    );
  }
}

/** Whether the record says that the body was not waited for, and nothing else is left of it. */
function wasAbandoned(tape: Tape): boolean {
  const [end, ...more] = tape.unused();
  if (end?.type !== "run-end" || more.length > 0) return false;
  const { error } = readFact(end.line, undefined) as FactOf<"run-end">;
  return (error?.data as { readonly abandoned?: boolean } | undefined)?.abandoned === true;
}
