import { newestToken, type Store, StoreError } from "../../store/index.js";
import type { Move } from "./moves.js";

/** A reader that is further behind than this reads anew. */
const MOST = 8_192;

/** The moves of a store from now on, and the token of now. */
export function watchMoves(
  store: Store,
  signal: AbortSignal,
): { readonly origin: string; readonly moves: AsyncIterable<Move> } {
  const watch = store.watch({ signal, each: true });
  return { origin: watch.token, moves: watch };
}

/** The moves since a token, and the token of the last of them; undefined where they are too many, or the log does not go back so far. */
export async function movesSince(
  store: Store,
  from: string,
): Promise<{ readonly moves: readonly Move[]; readonly end: string } | undefined> {
  const end = newestToken(store);
  const moves: Move[] = [];
  try {
    if (from === end) return { moves, end };
    for await (const move of store.watch({ from, each: true })) {
      moves.push(move);
      if (move.token === end) return { moves, end };
      if (moves.length >= MOST) return undefined;
    }
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
  }
  return undefined;
}
