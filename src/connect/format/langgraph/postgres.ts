import { digestOf, type Json, RathError } from "../../../session/index.js";
import { PeerMissingError } from "../../langgraph/error.js";
import { type Dumped, dumpedOf } from "../../langgraph/held.js";
import type { Imported } from "../exchange.js";
import { type CheckpointRow, type Rows, sessionsOf, type WriteRow } from "./rows.js";

export type PostgresImportOptions = {
  /** Where LangGraph has its tables. Default "public". */
  readonly schema?: string;
  /** Only this thread. */
  readonly thread?: string;
};

/** It brings no types along, and ours are enough. */
const DRIVER: string = "pg";

type Row = { readonly [column: string]: unknown };
type Client = {
  connect(): Promise<unknown>;
  query(sql: string, values?: readonly unknown[]): Promise<{ readonly rows: readonly Row[] }>;
  end(): Promise<void>;
  on(event: "error", listener: (error: Error) => void): unknown;
};

/** The threads of a database of LangGraph's PostgresSaver as sessions. Nothing is written to it. */
export async function importLangGraphPostgres(
  url: string,
  { schema = "public", thread }: PostgresImportOptions = {},
): Promise<readonly Imported[]> {
  const client = await connected(url);
  try {
    await client.query("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY");
    const rows = await rowsOf(client, `"${schema.replaceAll('"', '""')}"`, thread);
    await client.query("ROLLBACK");
    // A database has no bytes to take a digest of: what was read of it has.
    const bytes = Buffer.from(
      JSON.stringify(rows, (_, value) => (value instanceof Map ? [...value] : value)),
    );
    const source = { name: new URL(url).pathname.slice(1) || "postgres", bytes, digest: digestOf(bytes) };
    return await sessionsOf(source, rows);
  } catch (error) {
    if (error instanceof RathError) throw error;
    throw new RathError(
      "import-refused",
      `Cannot import LangGraph checkpoints from Postgres: ${(error as Error).message}.`,
      {
        hint: "give the URL of a database that LangGraph's PostgresSaver was set up in: postgres://user:password@host/name",
        data: { reason: (error as Error).message },
        cause: error,
      },
    );
  } finally {
    await client.end().catch(() => {});
  }
}

async function connected(url: string): Promise<Client> {
  let peer: { readonly default: { readonly Client: new (options: object) => unknown } };
  try {
    peer = (await import(DRIVER)) as typeof peer;
  } catch (error) {
    throw new PeerMissingError("pg", "read a Postgres database", error);
  }
  const client = new peer.default.Client({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
  }) as Client;
  // A connection that breaks while nobody asks anything would end the process.
  client.on("error", () => {});
  try {
    await client.connect();
    return client;
  } catch (error) {
    throw new RathError("import-refused", `Cannot connect to Postgres: ${(error as Error).message}.`, {
      hint: "check the host, the port, the user and the password of the URL",
      data: { reason: (error as Error).message },
      cause: error,
    });
  }
}

async function rowsOf(client: Client, schema: string, thread: string | undefined): Promise<Rows> {
  const [where, values] = thread === undefined ? ["", []] : [" WHERE thread_id = $1", [thread]];
  const all = async (table: string, order: string): Promise<readonly Row[]> =>
    (await client.query(`SELECT * FROM ${schema}.${table}${where} ORDER BY ${order}`, values)).rows;
  const blobs = new Map<string, Dumped | undefined>();
  for (const row of await all("checkpoint_blobs", "thread_id, checkpoint_ns, channel, version"))
    blobs.set(
      key(row.thread_id, row.checkpoint_ns, row.channel, row.version),
      row.type === "empty" ? undefined : dumped(row.type, row.blob),
    );
  const checkpoints = (await all("checkpoints", "thread_id, checkpoint_ns, checkpoint_id")).map(
    (row): CheckpointRow => {
      const head = (row.checkpoint ?? {}) as { readonly [field: string]: Json };
      const versions = Object.entries((head.channel_versions ?? {}) as { [channel: string]: Json });
      const found = versions.flatMap(([channel, version]) => {
        const value = blobs.get(key(row.thread_id, row.checkpoint_ns, channel, String(version)));
        return value === undefined ? [] : [[channel, value] as const];
      });
      // Python keeps short values in the checkpoint itself.
      const inline = Object.entries((head.channel_values ?? {}) as { [channel: string]: Json }).map(
        ([channel, value]) => [channel, { type: "json", text: JSON.stringify(value) }] as const,
      );
      return {
        thread: String(row.thread_id),
        namespace: String(row.checkpoint_ns),
        id: String(row.checkpoint_id),
        parent: row.parent_checkpoint_id === null ? undefined : String(row.parent_checkpoint_id),
        head,
        metadata: { type: "json", text: JSON.stringify(row.metadata ?? {}) },
        values: new Map<string, Dumped>([...inline, ...found]),
      };
    },
  );
  const writes = (
    await all("checkpoint_writes", "thread_id, checkpoint_ns, checkpoint_id, task_id, idx")
  ).map(
    (row): WriteRow => ({
      thread: String(row.thread_id),
      namespace: String(row.checkpoint_ns),
      checkpoint: String(row.checkpoint_id),
      task: String(row.task_id),
      place: Number(row.idx),
      channel: String(row.channel),
      value: dumped(row.type, row.blob),
    }),
  );
  return { checkpoints, writes, odd: [] };
}

function dumped(type: unknown, blob: unknown): Dumped {
  return dumpedOf(
    typeof type === "string" ? type : "json",
    blob instanceof Uint8Array ? blob : new Uint8Array(),
  );
}

function key(...parts: readonly unknown[]): string {
  return JSON.stringify(parts);
}
