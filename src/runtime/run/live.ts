import type { Answers } from "./answers.js";
import type { Keeper } from "./keeper.js";
import type { Course, Phase } from "./phase.js";
import type { Recorder } from "./recorder.js";
import type { Turns } from "./turns.js";

/** Milliseconds that a cancelled body has for what it awaits beside the door. */
const GRACE = 1_000;

type LiveParts = {
  readonly course: Course;
  readonly turns: Turns;
  readonly answers: Answers;
  readonly recorder: Recorder;
  readonly keeper: Keeper;
};

/** What happens now: outcomes are told as they come. */
export class Live implements Phase {
  readonly #parts: LiveParts;
  /** A cancelled body has a little time left. */
  #patient = false;

  constructor(parts: LiveParts) {
    this.#parts = parts;
  }

  turn(): void {
    const { course, turns, answers } = this.#parts;
    const job = turns.next();
    if (job !== undefined) {
      job();
      turns.wake();
      return;
    }
    if (turns.busy) {
      // What somebody answers meanwhile need not wait until everything does.
      if (answers.mayBeAnswered) this.#collectAnswers();
      return;
    }
    if (course.batches.size === 0) {
      if (course.body !== undefined) this.#end();
      // Otherwise the body awaits something that is not ours, and will be back; whether or not it was cancelled.
      else if (course.cancelled !== undefined) this.#abandonLater(course.cancelled);
      return;
    }
    if (answers.isWaiting) this.#collectAnswers();
  }

  look(): void {
    // Nothing is on a tape for it.
  }

  close(): void {
    // Its turns are over.
  }

  /** Everything waits, or somebody may have answered. When there are no answers and everything waits, the run is suspended. */
  #collectAnswers(): void {
    this.#parts.answers.collect(() => this.#suspend());
  }

  /** A body that was cancelled and awaits something of its own is not waited for without end. */
  #abandonLater(why: string): void {
    if (this.#patient) return;
    this.#patient = true;
    const { course, turns } = this.#parts;
    turns.ring(GRACE, () => {
      this.#patient = false;
      if (course.bodyAwaitsOutside && !turns.busy) course.abandonBody(why);
    });
  }

  #end(): void {
    const { course, turns } = this.#parts;
    const { body } = course;
    if (body === undefined) return;
    turns.occupy();
    void course.ending
      .end(body)
      .then((end) => {
        if (end !== undefined) course.settle("ended", end);
      })
      .catch((error: unknown) => course.fail(error));
  }

  #suspend(): void {
    const { course, recorder, keeper } = this.#parts;
    const recorded = keeper.fresh ? undefined : course.ending.recordedSuspension();
    if (recorded !== undefined) {
      course.settle("suspended", recorded);
      return;
    }
    const suspended = course.ending.suspension();
    recorder.stop("suspended");
    void recorder.flush().then(
      () => course.settle("suspended", suspended),
      () => {},
    );
  }
}
