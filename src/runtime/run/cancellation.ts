import { drafted, type FactOf, Session, thrownMessage } from "../../session/index.js";
import type { Entry } from "../tape/tape.js";
import type { Run } from "./run.js";

/** Stops a run from outside. It is recorded when it happened, so that a replay stops at the same place. */
export class Cancellation {
  readonly #run: Run;
  /** Why to stop as soon as the tape is at its end. */
  #pending: string | undefined;
  #unlisten: (() => void) | undefined;

  constructor(run: Run) {
    this.#run = run;
  }

  begin(): void {
    const { tape, beginning, options } = this.#run;
    const { signal } = options;
    const { start, whatIfStart } = beginning;
    const recorded = tape.cancelled(start);
    if (recorded?.seq === ((whatIfStart ?? start).fact.seq ?? 0) + 1) this.adopt(recorded);
    if (signal === undefined) return;
    const why = (): string => thrownMessage(signal.reason);
    if (!signal.aborted) {
      const heard = (): void => this.cancel(why());
      signal.addEventListener("abort", heard, { once: true });
      // It may be the signal of a whole program, and must not hold every run there ever was.
      this.#unlisten = () => signal.removeEventListener("abort", heard);
    } else if (tape.adopting) this.cancel(why());
    // Before the body has done anything, and so it is on a tape.
    else this.#cancel(why());
  }

  cancel(why: string): void {
    const { tape, turns } = this.#run;
    // A replay is not under way yet.
    if (tape.adopting) this.#pending ??= why;
    else turns.soon(() => this.#cancel(why));
  }

  adopt(entry: Entry): void {
    const { root, recorder, beginning } = this.#run;
    const { start } = beginning;
    const { fact } = recorder.adopt(entry, [start], Session.realmOf(start));
    root.cancel((fact as FactOf<"run-cancel">).why ?? "");
  }

  goLive(): void {
    if (this.#pending !== undefined) this.#cancel(this.#pending);
  }

  close(): void {
    this.#unlisten?.();
  }

  #cancel(why: string): void {
    const { root, recorder, beginning } = this.#run;
    if (root.cancelled !== undefined) return;
    const { start, id } = beginning;
    recorder.next([start], drafted({ type: "run-cancel", of: id, why }), Session.realmOf(start));
    root.cancel(why);
  }
}
