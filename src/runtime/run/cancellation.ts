import {
  drafted,
  type FactOf,
  isPrincipal,
  type Principal,
  Session,
  thrownMessage,
} from "../../session/index.js";
import { defined } from "../../util/index.js";
import type { Entry } from "../tape/tape.js";
import type { Run } from "./run.js";

type Cancel = { readonly why: string; readonly by?: Principal };

/** Stops a run from outside. It is recorded when it happened, so that a replay stops at the same place. */
export class Cancellation {
  readonly #run: Run;
  /** Why to stop as soon as the run makes facts of its own: it is still taking its lease, or goes through its record. */
  #pending: Cancel | undefined;
  #isUnderWay = false;
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
    if (signal !== undefined) this.#listen(signal);
    // Before the body has done anything, and so it is on a tape.
    if (!tape.adopting) this.goLive();
  }

  #listen(signal: AbortSignal): void {
    const heard = (): void => {
      const { reason } = signal;
      // A reason may say who gives it: `Object.assign(new Error(why), { by })`.
      const { by } = Object(reason) as { readonly by?: unknown };
      this.cancel(thrownMessage(reason), isPrincipal(by) ? by : undefined);
    };
    if (signal.aborted) {
      heard();
      return;
    }
    signal.addEventListener("abort", heard, { once: true });
    // It may be the signal of a whole program, and must not hold every run there ever was.
    this.#unlisten = () => signal.removeEventListener("abort", heard);
  }

  cancel(why: string, by?: Principal): void {
    const cancel = { why, ...defined({ by }) };
    if (this.#isUnderWay) this.#run.turns.soon(() => this.#cancel(cancel));
    else this.#pending ??= cancel;
  }

  adopt(entry: Entry): void {
    const { root, recorder, beginning } = this.#run;
    const { start } = beginning;
    const { fact } = recorder.adopt(entry, [start], Session.realmOf(start));
    root.cancel((fact as FactOf<"run-cancel">).why ?? "");
  }

  /** The run makes facts of its own from here on. */
  goLive(): void {
    this.#isUnderWay = true;
    if (this.#pending !== undefined) this.#cancel(this.#pending);
  }

  close(): void {
    this.#unlisten?.();
  }

  #cancel(cancel: Cancel): void {
    const { root, recorder, beginning } = this.#run;
    if (root.cancelled !== undefined) return;
    const { start, id } = beginning;
    recorder.next([start], drafted({ type: "run-cancel", of: id, ...cancel }), Session.realmOf(start));
    root.cancel(cancel.why);
  }
}
