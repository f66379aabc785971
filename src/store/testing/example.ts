import { join } from "node:path";
import { digestOf, type Session } from "../../session/index.js";
import { unkeyed } from "../../testkit/store/case.js";
import type { Commit, Move, Shelf } from "../shelf.js";
import { folder as temporary } from "./folder.js";

export const root = unkeyed("hi \u2028\u2029\u0085 🎈 é");
export const one = root.say("one\ud800");
export const two = one.say("two");
export const other = root.say("other");

/** A path of the running test where nothing is yet. */
export function folder(): string {
  return join(temporary(), "store");
}

/** A commit of a session with its whole past; with a move, of the name "main". */
export function save(session: Session, move?: Partial<Move>): Commit {
  const facts = [...session.history()].map(({ id, line }) => ({ id, line }));
  return {
    facts,
    blobs: [],
    ...(move && { move: { name: "main", head: session.id, expect: "past", now: 0, ...move } }),
  };
}

/** A commit of a new session that brings its own key. */
export function saveKeyed(id: string, secret: Uint8Array): Commit {
  const line = unkeyed("keyed", id).line.replace(/\}\}$/, `,"key":${JSON.stringify(id)}}}`);
  return { facts: [{ id: digestOf(line), line }], blobs: [], keys: [{ id, secret }] };
}

export async function collect<Item>(
  batches: Iterable<readonly Item[]> | AsyncIterable<readonly Item[]>,
): Promise<Item[]> {
  const items: Item[] = [];
  for await (const batch of batches) items.push(...batch);
  return items;
}

/** The head that a step of "main" was recorded with: what a worker that tries it again is answered. */
export async function stepOf(shelf: Shelf, key: string): Promise<string | undefined> {
  const move = { name: "main", head: "f".repeat(64), key, expect: "any", now: Number.MAX_VALUE } as const;
  const committed = await shelf.commit({ facts: [], blobs: [], move });
  return committed.outcome === "replayed" ? committed.head : undefined;
}
