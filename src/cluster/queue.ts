import type { Principal, Session } from "../session/index.js";
import type { Store } from "../store/index.js";
import { type Board, board, versions } from "./board.js";
import { cancel, drain, move, pause, release, unpause } from "./control.js";
import { gather } from "./fan.js";

/** The submitted sessions of a store and its workers: the operations of the commands `rath top`, `pause`, `cancel` and so on. */
export interface Queue {
  /** The running sessions with their workers, and the waiting ones. Lists at most `most` sessions of each kind, and counts all. */
  board(most?: number): Promise<Board>;
  /** The versions of modules that unfinished sessions need, and the workers that have them. */
  versions(): ReturnType<typeof versions>;
  /** Pauses a session before its next effect. */
  pause(name: string): Promise<void>;
  /** Continues a session that was paused, or that no worker could continue. */
  unpause(name: string): Promise<void>;
  /** Cancels a session; with `all`, also those whose names begin with its name and a slash. Resolves with their names. */
  cancel(name: string, all?: boolean): Promise<readonly string[]>;
  /** Continues a session on this worker, from its next effect on. */
  move(name: string, worker: string): Promise<void>;
  /** Asks a worker to return its sessions to the queue, and to end. */
  drain(worker: string): Promise<void>;
  /** Opens a gate, because the validation of its name has passed in this session. Resolves with the number of sessions behind it. */
  release(gate: string, on: string | Session, by?: Principal): Promise<number>;
  /** Waits until these sessions have ended, and merges them; none is adopted. */
  gather(names: readonly string[], options?: { readonly signal?: AbortSignal }): Promise<Session>;
}

/**
 * Controls the submitted sessions of a store.
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
