import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Json, RathError } from "../../../session/index.js";
import { openDatabase, type SqliteDatabase, type SqliteRow, type SqliteValue } from "../../../store/index.js";
import { parseJson } from "../../../util/index.js";
import { type Dumped, dumpedOf } from "../../langgraph/held.js";
import { IMPORT } from "../../langgraph/note.js";
import type { ImportFormat, Source } from "../exchange.js";
import { type Fields, isFields } from "../fields.js";
import { textOf } from "../foreign.js";
import { type CheckpointRow, type OddRow, type Rows, sessionsOf, type WriteRow } from "./rows.js";

const MAGIC = "SQLite format 3\0";
/** Where a header says that the database writes ahead: then the newest may be in a file beside it. */
const WRITE_VERSION = 18;

/** Databases of LangGraph's SqliteSaver. */
export const langgraph: ImportFormat = {
  name: IMPORT,
  title: "LangGraph checkpoints (SQLite)",
  fits: ({ bytes }) =>
    textOf(bytes.subarray(0, 16)) === MAGIC && Buffer.from(bytes).includes("checkpoint_ns"),
  read: async (source) => {
    const sessions = await sessionsOf(source, readRows(source));
    if (source.bytes[WRITE_VERSION] !== 2) return sessions;
    const { name } = source;
    const warning = `${name} writes ahead: what is only in ${name}-wal is not in it; close the program that uses it first`;
    return sessions.map((session) => ({ ...session, warnings: [warning] }));
  },
};

/** The driver opens files, so the bytes become one, in a folder of its own. */
function readRows(source: Source): Rows {
  if (textOf(source.bytes.subarray(0, 16)) !== MAGIC) throw refused(source, "it is not an SQLite database");
  const folder = mkdtempSync(join(tmpdir(), "openrath-import-"));
  try {
    const path = join(folder, "checkpoints.db");
    writeFileSync(path, source.bytes);
    const database = openDatabase(path);
    try {
      return rowsOf(database);
    } finally {
      database.close();
    }
  } catch (error) {
    throw error instanceof RathError ? error : refused(source, (error as Error).message, error);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function rowsOf(database: SqliteDatabase): Rows {
  const checkpoints: CheckpointRow[] = [];
  const writes: WriteRow[] = [];
  const odd: OddRow[] = [];
  for (const row of database
    .prepare(
      "SELECT thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata FROM checkpoints",
    )
    .all()) {
    const whole = dumped(row.type, row.checkpoint);
    const parsed = jsonIn(whole);
    if (parsed === undefined) {
      odd.push({
        thread: String(row.thread_id),
        what: "a checkpoint of another serializer",
        row: plain(row),
      });
      continue;
    }
    const { channel_values, ...head } = parsed;
    const values = Object.entries((channel_values ?? {}) as { [channel: string]: Json });
    checkpoints.push({
      thread: String(row.thread_id),
      namespace: String(row.checkpoint_ns ?? ""),
      id: String(row.checkpoint_id),
      parent: row.parent_checkpoint_id === null ? undefined : String(row.parent_checkpoint_id),
      head,
      metadata: dumped(row.type, row.metadata),
      values: new Map(
        values.map(([channel, value]) => [channel, { type: "json", text: JSON.stringify(value) }]),
      ),
    });
  }
  for (const row of database
    .prepare(
      "SELECT thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, value FROM writes ORDER BY rowid",
    )
    .all())
    writes.push({
      thread: String(row.thread_id),
      namespace: String(row.checkpoint_ns ?? ""),
      checkpoint: String(row.checkpoint_id),
      task: String(row.task_id),
      place: Number(row.idx),
      channel: String(row.channel),
      value: dumped(row.type, row.value),
    });
  return { checkpoints, writes, odd };
}

function dumped(type: SqliteValue | undefined, value: SqliteValue | undefined): Dumped {
  const kind = typeof type === "string" ? type : "json";
  if (typeof value === "string") return { type: kind, text: value };
  return dumpedOf(kind, value instanceof Uint8Array ? value : new Uint8Array());
}

function jsonIn({ text, binary }: Dumped): Fields | undefined {
  const value = binary ? undefined : parseJson(text);
  return isFields(value) ? value : undefined;
}

function plain(row: SqliteRow): Json {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => [
      column,
      value instanceof Uint8Array ? { base64: Buffer.from(value).toString("base64") } : value,
    ]),
  );
}

function refused({ name }: Source, reason: string, cause?: unknown): RathError {
  return new RathError("import-refused", `Cannot import ${name} as LangGraph checkpoints: ${reason}.`, {
    hint: "give a database of LangGraph's SqliteSaver, with the tables checkpoints and writes",
    data: { source: name, reason },
    cause,
  });
}
