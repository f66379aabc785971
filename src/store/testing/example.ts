import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { digestOf, type RathError, type Session } from "../../session/index.js";
import { unkeyed } from "../../testkit/store/case.js";
import { FileShelf } from "../file.js";
import type { Commit, Finding, Move, Shelf } from "../shelf.js";
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

export async function collect<Item>(batches: AsyncIterable<readonly Item[]>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const batch of batches) items.push(...batch);
  return items;
}

export async function findings(shelf: FileShelf): Promise<Finding[]> {
  const found: Finding[] = [];
  for await (const finding of shelf.examine()) found.push(finding);
  return found;
}

/** A store with a name, its steps and an unnamed head, as files. */
export async function example(): Promise<string> {
  const path = folder();
  const shelf = await FileShelf.open(path);
  await shelf.commit(save(one, { key: "1" }));
  await shelf.commit(save(other));
  await shelf.commit(save(two, { key: "2" }));
  await shelf.close();
  return path;
}

/** What opening a copy with other bytes in one file comes to. */
export async function openWith(
  path: string,
  file: string,
  bytes: Uint8Array,
): Promise<{ error: RathError } | { shelf: FileShelf; path: string }> {
  const copy = folder();
  cpSync(path, copy, { recursive: true });
  writeFileSync(join(copy, file), bytes);
  try {
    return { shelf: await FileShelf.open(copy), path: copy };
  } catch (error) {
    return { error: error as RathError };
  }
}

/** The head that a step of "main" was recorded with: what a worker that tries it again is answered. */
export async function stepOf(shelf: Shelf, key: string): Promise<string | undefined> {
  const move = { name: "main", head: "f".repeat(64), key, expect: "any", now: Number.MAX_VALUE } as const;
  const committed = await shelf.commit({ facts: [], blobs: [], move });
  return committed.outcome === "replayed" ? committed.head : undefined;
}
