import type { Module } from "../../runtime/index.js";
import { warnOf } from "../../session/index.js";
import type { Parts } from "../call.js";
import { goOn } from "./runs.js";

/** Runs that are remembered until their time has come; `Server.resume` finds the others. */
const MOST = 10_000;
const LONGEST_MS = 2 ** 31 - 1;

/** Goes on with runs when the first timer or deadline is due that they wait for. */
export class Alarms {
  readonly #timers = new Map<string, NodeJS.Timeout>();

  /** Goes on with a run at its time, in this process. */
  set(parts: Pick<Parts, "rath" | "acts">, name: string, module: Module, due: string): void {
    this.clear(name);
    if (this.#timers.size >= MOST) return;
    const wait = Math.max(0, Date.parse(due) - Date.now());
    const ring = (): void => {
      this.#timers.delete(name);
      if (wait > LONGEST_MS) this.set(parts, name, module, due);
      else if (parts.acts.underWay.find(name) === undefined)
        // Another process may have it, or its answer came first.
        goOn(parts, name, module).catch((error: unknown) => warnOf(error, "OPENRATH_SERVER"));
    };
    this.#timers.set(name, setTimeout(ring, Math.min(wait, LONGEST_MS)).unref());
  }

  clear(name: string): void {
    clearTimeout(this.#timers.get(name));
    this.#timers.delete(name);
  }

  close(): void {
    for (const name of [...this.#timers.keys()]) this.clear(name);
  }
}
