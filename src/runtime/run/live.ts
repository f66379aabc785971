import { type BodyOutcome, makeEnd, makeSuspension, recordedSuspension } from "./ending.js";
import type { Run } from "./run.js";

/** Milliseconds that a cancelled body has for work of its own that it awaits. */
const GRACE = 1_000;

/** A run that makes new facts: outcomes are told as they come. */
export class Live {
  readonly #run: Run;
  /** A cancelled body has a little time left. */
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
    const { recorder, writer } = run;
    const recorded = writer.fresh ? undefined : recordedSuspension(run);
    const suspended = recorded ?? makeSuspension(run);
    recorder.stop("suspended");
    const settle = (): void => run.settle("suspended", suspended);
    if (recorded !== undefined) settle();
    else void recorder.flush().then(settle, () => {});
  }
}
