import type { Phase, RunContext } from "./context.js";
import type { BodyOutcome } from "./ending.js";

/** Milliseconds that a cancelled body has for work of its own that it awaits. */
const GRACE = 1_000;

/** A run that makes new facts: outcomes are told as they come. */
export class Live implements Phase {
  readonly #run: RunContext;
  /** A cancelled body has a little time left. */
  #patient = false;

  constructor(run: RunContext) {
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
    if (turns.busy) {
      // An answer is taken in at once, also while other effects are under way.
      if (answers.mayBeAnswered) this.#collectAnswers();
      return;
    }
    if (batches.size === 0) {
      if (body !== undefined) this.#end(body);
      // Otherwise the body awaits something that is not ours, and will be back; whether or not it was cancelled.
      else if (root.cancelled !== undefined) this.#abandonLater(root.cancelled);
      return;
    }
    if (answers.isWaiting) this.#collectAnswers();
  }

  /** Everything waits, or somebody may have answered. When there are no answers and everything waits, the run is suspended. */
  #collectAnswers(): void {
    this.#run.answers.collect(() => this.#suspend());
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
    const ended = run.ending.end(body).then((end) => {
      if (end !== undefined) run.settle("ended", end);
    });
    run.watch(ended);
  }

  #suspend(): void {
    const { ending, recorder, writer } = this.#run;
    const recorded = writer.fresh ? undefined : ending.recordedSuspension();
    if (recorded !== undefined) {
      this.#run.settle("suspended", recorded);
      return;
    }
    const suspended = ending.suspension();
    recorder.stop("suspended");
    void recorder.flush().then(
      () => this.#run.settle("suspended", suspended),
      () => {},
    );
  }
}
