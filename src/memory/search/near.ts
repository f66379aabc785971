import type { FactId } from "../../session/index.js";
import type { Connection } from "./database.js";
import { idOf } from "./read.js";
import { likeness, sketchOf } from "./sketch.js";
import { wordsOf } from "./tokens.js";

/** Memories that are compared for one key of a sketch. More have it when it is of a word that many have. */
const COMPARED = 12;
/** What two texts must share at least of all their words. */
const NEAR = 0.4;

/** Live memories that share most of their words with a text, the nearest first; equal ones by their ids. */
export function nearTo(connection: Connection, text: string, most: number): readonly FactId[] {
  const words = wordsOf(text);
  const rows = new Set<number>();
  for (const key of sketchOf(words))
    for (const { row } of connection.all(
      `SELECT row FROM sketch WHERE key = ? ORDER BY tag LIMIT ${COMPARED}`,
      key,
    ))
      rows.add(row as number);
  const own = new Set(words);
  const near: { readonly id: FactId; readonly alike: number }[] = [];
  for (const row of rows) {
    const found = connection.get("SELECT list FROM words WHERE rowid = ?", row)?.list as string | undefined;
    const alike = likeness(own, new Set(found?.split(" ")));
    if (alike >= NEAR)
      near.push({ id: idOf(connection.get("SELECT id FROM memory WHERE row = ?", row)?.id), alike });
  }
  return near
    .sort((one, other) => other.alike - one.alike || (one.id < other.id ? -1 : 1))
    .slice(0, most)
    .map(({ id }) => id);
}
