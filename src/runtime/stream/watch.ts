import { warnOf } from "../../session/index.js";
import { isObject, optionNames, showValue, unknownOption } from "../../util/index.js";
import { RefusedError } from "../given.js";
import type { Observation } from "../run/options.js";
import type { RunEvent } from "./event.js";
import type { Follower } from "./stream.js";
import { EventTeller } from "./teller.js";

/**
 * Functions that watch every run of a runtime, by the type of the event. Each gets the event and the name of its run, and cannot
 * change the run.
 */
export type Watcher = {
  readonly [T in RunEvent["type"]]?: (event: RunEvent & { readonly type: T }, run: string) => void;
};

/** The watchers of a runtime. */
export class Watchers {
  readonly #all = new Set<Watcher>();

  /** Returns the way to stop. */
  add(watcher: Watcher): () => void {
    // A copy, so that the same functions can watch twice and each be stopped alone.
    const added = { ...requireWatcher(watcher) };
    this.#all.add(added);
    return () => this.#all.delete(added);
  }

  /** Tells the watchers what happens in one run. */
  follow(module: string, run: string): Follower["hear"] {
    let teller: EventTeller | undefined;
    const tell = (event: RunEvent): void => {
      for (const watcher of this.#all) {
        const heard = watcher[event.type] as ((event: RunEvent, run: string) => unknown) | undefined;
        if (heard !== undefined) call(() => heard(event, run));
      }
    };
    return (observation) => {
      if (this.#all.size === 0) return;
      // Only a whole object can be parsed so: partial objects are for the reader of a stream.
      teller ??= new EventTeller(module, tell, JSON.parse);
      teller.hear(observation);
      if (observation.kind === "fact" && isLast(observation)) teller.end(observation.session);
    };
  }
}

/** Calls a function of an observer, which never changes a run: an error becomes a warning. */
export function call(observer: () => unknown): void {
  try {
    // It may be asynchronous: then its error comes later.
    const heard = observer();
    if (heard instanceof Promise) heard.catch(warn);
  } catch (error) {
    warn(error);
  }
}

function warn(error: unknown): void {
  warnOf(error, "OPENRATH_OBSERVER");
}

function isLast({ session }: Observation & { readonly kind: "fact" }): boolean {
  return session.fact.type === "run-end" || session.fact.type === "run-suspend";
}

const EVENTS = optionNames<Watcher>()(
  "module-start module-end model-call model-reply text reasoning tool-input object retry tool-call tool-result route fact suspended end",
);

function requireWatcher(given: unknown): Watcher {
  const use = "observe a runtime";
  const hint = 'rath.observe({ "model-reply": ({ module, usage }) => console.log(module, usage) })';
  if (!isObject(given))
    throw new RefusedError(use, `an observer must be a function or an object; got ${showValue(given)}`, hint);
  const unknown = unknownOption(given, EVENTS);
  if (unknown !== undefined)
    throw new RefusedError(use, `there is no event ${JSON.stringify(unknown.name)}`, unknown.hint);
  for (const [type, heard] of Object.entries(given))
    if (heard !== undefined && typeof heard !== "function")
      throw new RefusedError(
        use,
        `the observer of "${type}" must be a function; got ${showValue(heard)}`,
        hint,
      );
  return given as Watcher;
}
