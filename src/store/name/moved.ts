import { breath } from "../commit.js";
import { StoreError } from "../error.js";
import type { Store } from "../store.js";

/** Moves that are read before others may work. */
const BATCH = 250;

/** The token of the newest move of a store. */
export function newestToken(store: Store): string {
  return store.watch({ signal: AbortSignal.abort() }).token;
}

/** The names that moved after one token, up to another; undefined where the log does not go back so far. */
export async function namesMoved(
  store: Store,
  from: string,
  end: string,
): Promise<ReadonlySet<string> | undefined> {
  const names = new Set<string>();
  if (from === end) return names;
  let read = 0;
  try {
    // Each of them: the move at the end may be joined with one after it.
    for await (const move of store.watch({ from, each: true })) {
      if (++read % BATCH === 0) await breath();
      names.add(move.name);
      if (move.token === end) break;
    }
  } catch (error) {
    if (error instanceof StoreError && error.code === "store-token-old") return undefined;
    throw error;
  }
  return names;
}
