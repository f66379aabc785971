import { type FactOf, readFact } from "../../session/index.js";
import { TapeEndedError } from "../error.js";
import type { RequestBatch } from "../request/batch.js";
import { Queue } from "../tape/queue.js";
import type { Entry, Tape } from "../tape/tape.js";
import {
  type BodyOutcome,
  endFactOf,
  makeEnd,
  makeSuspension,
  recordedEnd,
  recordedSuspension,
} from "./ending.js";
import type { Mode } from "./options.js";
import { divergence } from "./program.js";
import type { Run } from "./run.js";

/** A recorded outcome, and who is told it. */
type Recording = { readonly batch: RequestBatch; readonly entry: Entry };

/** The run as it was recorded: outcomes are told in the order in which the record has them. */
export class Replay {
  readonly #run: Run;
  /** Batches that must be asked for their next recorded outcome, and the outcomes of the others. */
  readonly #changed = new Set<RequestBatch>();
  readonly #recorded = new Queue<Recording>();

  constructor(run: Run) {
    this.#run = run;
  }

  turn(): void {
    if (!this.#replayOne()) this.#onTapeExhausted();
  }

  look(batch: RequestBatch): void {
    this.#changed.add(batch);
  }

  /** Tells the oldest recorded outcome that somebody waits for. */
  #replayOne(): boolean {
    const { batches, beginning, cancellation, turns, tape } = this.#run;
    const cancelled = tape.cancelled(beginning.start);
    const next = this.#nextRecorded();
    if (cancelled !== undefined && (next === undefined || cancelled.seq < next.entry.seq))
      cancellation.adopt(cancelled);
    else if (next !== undefined) {
      if (next === this.#recorded.first) this.#recorded.shift();
      this.#changed.add(next.batch);
      next.batch.deliver(next.entry);
    } else {
      // Every branch rests: this is where a what-if left the run before it, and where it goes on with what is its own.
      if (this.#run.bodyAwaitsOutside || !tape.leave()) return false;
      for (const batch of batches) this.#changed.add(batch);
      return this.#replayOne();
    }
    turns.wake();
    return true;
  }

  /** The oldest outcome that a batch can be told. Asks only batches whose answer may have changed. */
  #nextRecorded(): Recording | undefined {
    const { batches } = this.#run;
    let next: Recording | undefined;
    for (const batch of this.#changed) {
      const entry = batches.has(batch) ? batch.recorded() : undefined;
      // Asked every time: what it can be told depends on what else happens inside.
      if (batches.has(batch) && batch.unsettled) {
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
    const { tape, batches, root, beginning } = run;
    const { mode = "resume" } = run.options;
    // The body awaits something that is not ours, and will be back.
    if (run.bodyAwaitsOutside) {
      if (root.cancelled !== undefined && wasAbandoned(tape)) run.abandonBody(root.cancelled);
      return;
    }
    const body = batches.size === 0 ? run.body : undefined;
    const unused = tape.unused();
    const expected = unused.find(({ type }) => body === undefined || type !== "run-end");
    if (expected !== undefined && mode !== "what-if") run.fail(divergence(run, expected));
    else if (beginning.otherProgram !== undefined) run.fail(beginning.otherProgram);
    else this.#rest(mode, body, body && unused.at(0));
  }

  /** The run comes to rest where the record does, or goes on. */
  #rest(mode: Mode, body: BodyOutcome | undefined, end: Entry | undefined): void {
    const run = this.#run;
    const ended = body && recordedEnd(run, body);
    if (ended !== undefined) run.settle("ended", ended);
    else if (mode === "what-if" || (mode === "resume" && end === undefined)) run.goLive();
    else if (body !== undefined && end !== undefined) run.fail(divergence(run, end, endFactOf(run, body)));
    else {
      const suspended = body === undefined ? recordedSuspension(run) : undefined;
      if (suspended !== undefined) run.settle("suspended", suspended);
      else run.fail(this.#tapeEnded());
    }
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

/** Milliseconds that a cancelled body has for work of its own that it awaits. */
const GRACE = 1_000;

/** A run that makes new facts: outcomes are told as they come. */
export class Live {
  readonly #run: Run;
  #patient = false;

  constructor(run: Run) {
    this.#run = run;
  }

  turn(): void {
    const { batches, body, root, turns, answers } = this.#run;
    const job = turns.next();
    if (job !== undefined) {
      job();
      turns.wake();
      return;
    }
    const isIdle = !turns.busy;
    if (batches.size > 0 || !isIdle) {
      // An answer is taken in at once, also while other effects are under way. Without one, a run in which everything waits
      // is suspended.
      if (isIdle ? answers.isWaiting : answers.mayBeAnswered) answers.collect(() => this.#suspend());
    } else if (body !== undefined) this.#end(body);
    // Otherwise the body awaits something that is not ours, and will be back; whether or not it was cancelled.
    else if (root.cancelled !== undefined) this.#abandonLater(root.cancelled);
  }

  /** A body that was cancelled and awaits something of its own is not waited for without end. */
  #abandonLater(why: string): void {
    if (this.#patient) return;
    this.#patient = true;
    const run = this.#run;
    run.turns.ring(GRACE, () => {
      this.#patient = false;
      if (run.bodyAwaitsOutside && !run.turns.busy) run.abandonBody(why);
    });
  }

  #end(body: BodyOutcome): void {
    const run = this.#run;
    run.turns.occupy();
    run.watch(
      makeEnd(run, body).then((end) => {
        if (end !== undefined) run.settle("ended", end);
      }),
    );
  }

  #suspend(): void {
    const run = this.#run;
    const { recorder } = run;
    const recorded = recorder.fresh ? undefined : recordedSuspension(run);
    const suspended = recorded ?? makeSuspension(run);
    recorder.stop("suspended");
    const settle = (): void => run.settle("suspended", suspended);
    if (recorded !== undefined) settle();
    else void recorder.flush().then(settle, () => {});
  }
}
