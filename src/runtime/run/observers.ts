import { warnOf } from "../../session/index.js";
import type { Observation } from "./options.js";

/** Those who watch the runs of a runtime. They never change a run: what one of them throws becomes a warning. */
export class Observers {
  readonly #observers = new Set<(observation: Observation) => void>();

  add(observer: (observation: Observation) => void): () => void {
    this.#observers.add(observer);
    return () => this.#observers.delete(observer);
  }

  tell(observation: Observation): void {
    for (const observer of this.#observers) {
      try {
        // It may be asynchronous: then what it throws comes later.
        const heard = observer(observation) as unknown;
        if (heard instanceof Promise) heard.catch(warn);
      } catch (error) {
        warn(error);
      }
    }
  }
}

function warn(error: unknown): void {
  warnOf(error, "OPENRATH_OBSERVER");
}
