import type { FactId } from "../../session/index.js";

/** A name moved: from where, to where (null when it was taken away), and the token to go on after it. */
export type Move = {
  readonly token: string;
  readonly name: string;
  readonly id: FactId | null;
  readonly before: FactId | null;
};

/** A move as readers are told of it. Those of names that the runtime keeps for itself have no event of their own. */
export type ToldMove = Move & {
  readonly event?: "move" | "erase" | "pending";
  /** The newest facts of a branch of a run that is under way. */
  readonly side?: true;
};

/** The newest move of each name, in the order of these, with where the name stood before the first. */
export function joinMoves(moves: Iterable<ToldMove>): readonly ToldMove[] {
  const joined = new Map<string, ToldMove>();
  for (const move of moves) {
    const key = `${move.event} ${move.side} ${move.name}`;
    const earlier = joined.get(key);
    joined.delete(key);
    joined.set(key, earlier === undefined ? move : { ...move, before: earlier.before });
  }
  return [...joined.values()];
}

/**
 * The place of a reader in the log of moves: after the move `from`. With `part`, the reader has some of the joined moves of the
 * stretch up to `end`: those up to the move `at`.
 */
export type Place = { readonly from: string; readonly part?: { readonly at: string; readonly end: string } };

/** A place as the id of an event. Tokens have no commas. */
export function placeText({ from, part }: Place): string {
  return part === undefined ? from : `${from},${part.at},${part.end}`;
}

export function readPlace(text: string): Place | undefined {
  const tokens = text.split(",");
  if (!tokens.every((token) => /^[\w.:~-]{1,200}$/.test(token))) return undefined;
  const [from, at, end, more] = tokens;
  if (from === undefined || more !== undefined) return undefined;
  if (at === undefined) return { from };
  return end === undefined ? undefined : { from, part: { at, end } };
}

/** The joined moves of a stretch that a reader lacks who was cut off after the move `at` of it. */
export function restOf(stretch: readonly ToldMove[], at: string): readonly ToldMove[] {
  const joined = joinMoves(stretch);
  return joined.slice(joined.findIndex(({ token }) => token === at) + 1);
}
