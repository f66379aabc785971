import type { Fact, FactId } from "../../session/index.js";
import type { SqliteRow } from "../../store/index.js";
import { foldMemory, type Memory, type SpaceFact, type Status, settled } from "../state.js";
import type { Connection } from "./database.js";

/** An id as it is kept: half as long, and in the same order. */
export function bytesOf(id: FactId): Uint8Array {
  return Buffer.from(id, "hex");
}

export function idOf(bytes: unknown): FactId {
  const { buffer, byteOffset, byteLength } = bytes as Uint8Array;
  return Buffer.from(buffer, byteOffset, byteLength).toString("hex");
}

/** A fact as a row: its text stands by itself, as JSON, which keeps what UTF-8 cannot. */
export function factIn(row: SqliteRow): SpaceFact {
  const fact = JSON.parse(row.body as string) as { text?: unknown };
  if (row.text !== null) fact.text = JSON.parse(row.text as string);
  return { id: idOf(row.id), depth: row.depth as number, fact: fact as unknown as Fact };
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

/** What the last word about the space itself says. */
export function spaceFactFrom(connection: Connection): Fact | undefined {
  const row = connection.get(
    `SELECT ${COLUMNS} FROM fact f WHERE f.type = 'memory-space' AND ${KEPT} ORDER BY f.depth DESC, f.id DESC LIMIT 1`,
  );
  return row === undefined ? undefined : factIn(row).fact;
}
