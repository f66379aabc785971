import { createHash } from "node:crypto";
import type { Fact, FactId } from "../../session/index.js";
import type { SqliteRow, SqliteValue } from "../../store/index.js";
import { bytesOf, type Connection, keyOf } from "../derived-file.js";
import { foldMemory, type Memory, type SpaceFact, type Status, settled } from "../state.js";
import { sketchOf } from "./similar.js";
import { wordsOf } from "./tokens.js";

/** Brings the rows of memories in line with their facts, and with them the words and sketches of live memories. */
export function foldAgain(connection: Connection, stamp: number, ids: ReadonlySet<FactId>): void {
  const merged = new Map<FactId, Memory>();
  const others = new Set<FactId>();
  for (const id of ids) {
    const memory = foldedFrom(connection, id);
    const before = connection.get("SELECT row, folded FROM memory WHERE id = ?", bytesOf(id));
    if (memory === undefined && before === undefined) continue;
    keep(connection, stamp, id, memory, memory);
    if (memory?.mergedInto !== undefined) merged.set(id, memory);
    if ((memory?.status === "live") === (before?.folded === "live")) continue;
    // The memories that it replaced are live only while it is not.
    for (const row of connection.all("SELECT id FROM memory WHERE into_id = ?", bytesOf(id)))
      others.add(idOf(row.id));
  }
  for (const id of others) {
    const memory = merged.get(id) ?? foldedFrom(connection, id);
    // One that was replaced may no longer be.
    if (memory?.mergedInto !== undefined) merged.set(id, memory);
  }
  // By now the state of each of them by itself is known.
  for (const [id, memory] of merged) {
    const into = statusOnly(connection, memory.mergedInto as FactId);
    keep(connection, stamp, id, memory, settled(memory, into));
  }
}

/** Writes a memory: its state by itself (`folded`), and beside the memory that replaced it. */
function keep(
  connection: Connection,
  stamp: number,
  id: FactId,
  folded: Memory | undefined,
  memory: Memory | undefined,
): void {
  const bytes = bytesOf(id);
  const before = connection.get("SELECT row, status, digest FROM memory WHERE id = ?", bytes);
  const digest = memory === undefined ? null : textDigest(memory.text);
  const columns: { readonly [column: string]: SqliteValue } = {
    folded: folded?.status ?? "gone",
    status: memory?.status ?? "gone",
    into_id: folded?.mergedInto === undefined ? null : bytesOf(folded.mergedInto),
    subject: memory?.subject === undefined ? null : JSON.stringify(memory.subject),
    scope: memory === undefined ? null : JSON.stringify(memory.scope),
    source: memory?.source ?? null,
    trust: memory?.trust ?? null,
    by: memory?.by ?? null,
    at: memory === undefined ? null : (memory.revised ?? memory.at),
    expires: memory?.expires ?? null,
    digest,
    stamp,
  };
  const names = Object.keys(columns);
  const values = Object.values(columns);
  if (before === undefined) {
    const sql = `INSERT INTO memory (depth, id, ${names.join(", ")}) SELECT depth, id, ${names.map(() => "?").join(", ")}
      FROM fact WHERE id = ?`;
    index(connection, id, connection.run(sql, ...values, bytes), undefined, memory, digest);
  } else {
    const sql = `UPDATE memory SET ${names.map((name) => `${name} = ?`).join(", ")},
      depth = coalesce((SELECT depth FROM fact WHERE id = memory.id), depth) WHERE row = ?`;
    connection.run(sql, ...values, before.row as number);
    index(connection, id, before.row as number, before, memory, digest);
  }
}

/** Keeps the words and the sketch of a memory that is live, and removes those of its earlier text. */
function index(
  connection: Connection,
  id: FactId,
  row: number,
  before: SqliteRow | undefined,
  memory: Memory | undefined,
  digest: Uint8Array | null,
): void {
  const wasLive = before?.status === "live";
  const isLive = memory?.status === "live";
  if (wasLive && isLive && digest !== null && isSame(before.digest as Uint8Array, digest)) return;
  const tag = keyOf(id);
  if (wasLive) {
    const words = connection.get("SELECT list FROM words WHERE rowid = ?", row)?.list as string;
    connection.run("DELETE FROM words WHERE rowid = ?", row);
    for (const key of sketchOf(words === "" ? [] : words.split(" ")))
      connection.run("DELETE FROM sketch WHERE key = ? AND tag = ? AND row = ?", key, tag, row);
  }
  if (!isLive) return;
  const words = wordsOf(memory.text);
  connection.run("INSERT INTO words (rowid, list) VALUES (?, ?)", row, words.join(" "));
  for (const key of sketchOf(words))
    connection.run("INSERT OR IGNORE INTO sketch VALUES (?, ?, ?)", key, tag, row);
}

/** Of a text, what its vector is known by. */
export function textDigest(text: string): Uint8Array {
  return createHash("sha256")
    .update(text.isWellFormed() ? text : JSON.stringify(text))
    .digest()
    .subarray(0, 16);
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0;
}

export function idOf(bytes: unknown): FactId {
  const { buffer, byteOffset, byteLength } = bytes as Uint8Array;
  return Buffer.from(buffer, byteOffset, byteLength).toString("hex");
}

/** A fact as a row: its text stands by itself, as JSON, which keeps what UTF-8 cannot. */
export function factIn(row: SqliteRow): SpaceFact {
  const fact = JSON.parse(row.body as string) as { text?: unknown };
  if (row.text !== null) fact.text = JSON.parse(row.text as string);
  return { id: idOf(row.id), depth: row.depth as number, fact: fact as Fact };
}

const COLUMNS = "f.id, f.depth, f.body, f.text";
const KEPT = "NOT EXISTS (SELECT 1 FROM undone u WHERE u.id = f.id)";

/** A memory from the facts about it that were not undone, not yet held against the one that took its place. */
export function foldedFrom(connection: Connection, id: FactId): Memory | undefined {
  const bytes = bytesOf(id);
  const first = connection.get(
    `SELECT ${COLUMNS} FROM fact f WHERE f.id = ? AND f.type = 'memory-write' AND ${KEPT}`,
    bytes,
  );
  if (first === undefined) return undefined;
  const others = connection.all(
    `SELECT ${COLUMNS} FROM about a JOIN fact f ON f.row = a.fact WHERE a.memory = ? AND ${KEPT}`,
    bytes,
  );
  return foldMemory(id, [factIn(first), ...others.map(factIn)]);
}

/** A memory, whatever became of it. */
export function memoryFrom(connection: Connection, id: FactId): Memory | undefined {
  const memory = foldedFrom(connection, id);
  if (memory?.mergedInto === undefined) return memory;
  return settled(memory, statusOnly(connection, memory.mergedInto));
}

/** As much of the memory that took another's place as tells whether that one is still told. */
export function statusOnly(connection: Connection, id: FactId): Memory | undefined {
  const row = connection.get("SELECT folded FROM memory WHERE id = ? AND folded <> 'gone'", bytesOf(id));
  return row === undefined ? undefined : ({ status: row.folded as Status } as Memory);
}

/** The last fact about the space itself. */
export function spaceFactFrom(connection: Connection): Fact | undefined {
  const row = connection.get(
    `SELECT ${COLUMNS} FROM fact f WHERE f.type = 'memory-space' AND ${KEPT} ORDER BY f.depth DESC, f.id DESC LIMIT 1`,
  );
  return row === undefined ? undefined : factIn(row).fact;
}
