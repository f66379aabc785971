import type { Principal, Session } from "../session/index.js";
import type { Store } from "../store/index.js";
import { type Board, board, versions } from "./board.js";
import { cancel, drain, move, pause, release, unpause } from "./control.js";
import { gather } from "./fan.js";

/** The submitted sessions of a store, and the workers on it: what the commands `rath top`, `pause`, `cancel` and the others do. */
export interface Queue {
  /** Which sessions run at which worker, and which wait. At most `most` sessions of each kind are listed; all are counted. */
  board(most?: number): Promise<Board>;
  /** The versions of modules that unfinished sessions need, and the workers that have them. */
  versions(): ReturnType<typeof versions>;
  /** Keeps a session from going on: it rests at its next effect. */
  pause(name: string): Promise<void>;
  /** Lets a session go on that was paused, or that no worker could continue. */
  unpause(name: string): Promise<void>;
  /** Cancels a session; with `all`, also those whose names begin with its name and a slash. Resolves with their names. */
  cancel(name: string, all?: boolean): Promise<readonly string[]>;
  /** Has a session go on at this worker. */
  move(name: string, worker: string): Promise<void>;
  /** Asks a worker to give back what it runs, and to leave. */
  drain(worker: string): Promise<void>;
  /** Lets the sessions behind a gate begin, because the validation of its name has passed in this session. */
  release(gate: string, on: string | Session, by?: Principal): Promise<number>;
  /** Waits until these sessions are over, and merges them side by side. */
  gather(names: readonly string[], options?: { readonly signal?: AbortSignal }): Promise<Session>;
}

/**
 * The control of the submitted sessions of a store.
 *
 * ```ts
 * const names = await fanOut(rath, reviewer, session, files, { name: "review" });
 * const gathered = await queue(await rath.store()).gather(names);
 * ```
 */
export function queue(store: Store): Queue {
  return {
    board: (most) => board(store, most),
    versions: () => versions(store),
    pause: (name) => pause(store, name),
    unpause: (name) => unpause(store, name),
    cancel: (name, all) => cancel(store, name, all),
    move: (name, to) => move(store, name, to),
    drain: (name) => drain(store, name),
    release: (gate, on, by) => release(store, gate, on, by),
    gather: (names, options) => gather(store, names, options),
  };
}
