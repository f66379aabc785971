import { createRequire } from "node:module";
import { RathError, thrownMessage } from "../../session/index.js";
import { StoreError } from "../error.js";
import { shownUrl } from "../home.js";

/** The part of a client of `pg` that we use. */
export interface PgClient {
  connect(): Promise<unknown>;
  query(query: string | { readonly text: string; readonly values: readonly unknown[] }): Promise<PgAnswer>;
  end(): Promise<void>;
  on(event: "error" | "end" | "notification", heard: (error?: unknown) => void): void;
  ref(): void;
  unref(): void;
  escapeLiteral(text: string): string;
}
export type PgRow = { readonly [column: string]: unknown };
type PgResult = { readonly rows: readonly PgRow[] };
/** A text with more than one statement gets a result for each. */
type PgAnswer = PgResult | readonly PgResult[];

type Driver = { readonly Client: new (config: object) => PgClient; readonly types: object };

/** How long a connection may take, and an answer. A network that was cut says nothing by itself. */
const CONNECT_MS = 5000;
const ANSWER_MS = 60_000;

/** Where a store is: how to reach the database, and its schema there. */
export type Target = {
  /** As it may be shown: without the password. */
  readonly shown: string;
  readonly schema: string;
  readonly config: { readonly [option: string]: unknown };
};

export function targetOf(url: string): Target {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch (cause) {
    throw new StoreError(
      "url",
      "Cannot open a PostgreSQL store: its URL cannot be read.",
      "write postgres://USER@HOST:5432/DATABASE; special characters of a password are %-encoded",
      { cause },
    );
  }
  const schema = parsed.searchParams.get("schema") ?? "rath";
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema))
    throw new StoreError(
      "url",
      `Cannot use ${JSON.stringify(schema)} as a schema.`,
      "a schema has 1 to 63 lower-case letters, digits and _, and begins with a letter",
    );
  parsed.searchParams.delete("schema");
  return {
    shown: shownUrl(url),
    schema,
    config: {
      connectionString: parsed.href,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: ANSWER_MS,
      keepAlive: true,
    },
  };
}

export function driverPath(): string {
  try {
    return createRequire(import.meta.url).resolve("pg");
  } catch (cause) {
    throw new StoreError(
      "failed",
      "Cannot open a PostgreSQL store: the driver pg is not installed.",
      "npm install pg",
      { cause },
    );
  }
}

/** Connects. The connection alone does not keep the program running. */
export async function connect({ config, shown }: Target): Promise<PgClient> {
  const { Client } = createRequire(import.meta.url)(driverPath()) as Driver;
  const client = new Client(config);
  // Without a listener a connection that breaks while nobody asks anything would end the program.
  client.on("error", () => {});
  try {
    await client.connect();
  } catch (error) {
    client.end().catch(() => {});
    throw storeErrorOf(error, shown);
  }
  client.unref();
  return client;
}

export function resultsOf(answer: PgAnswer): readonly (readonly PgRow[])[] {
  return [answer].flat().map((result) => (result as PgResult).rows ?? []);
}

/** SQLSTATE, or the code of a failure of the network. */
function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === "string" ? code : "";
}

/** Whether a connection was lost or refused for now: the same may succeed on another one. */
export function isLost(error: unknown): boolean {
  const code = codeOf(error);
  if (code === "store-unreachable") return true;
  // The classes 08 (connection), 57P (the server goes down or comes up) and 53300 (too many connections), and our own idle limit.
  if (/^(?:08...|57P0[1-5]|53300|25P03)$/.test(code)) return true;
  if (/^(?:ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN|ENOENT|ENOTFOUND)/.test(code))
    return true;
  return code === "" && /connection|timeout|client has encountered/i.test(thrownMessage(error));
}

/** Whether a transaction failed only because of what others did at the same time. */
export function isInTheWay(error: unknown): boolean {
  return ["40001", "40P01"].includes(codeOf(error));
}

/** The error for the user of a store behind a failure of PostgreSQL. `retry` says whether trying again can help. */
export function storeErrorOf(error: unknown, shown: string): RathError {
  if (error instanceof RathError) return error;
  const message = thrownMessage(error);
  const code = codeOf(error);
  const told = (
    reason: ConstructorParameters<typeof StoreError>[0],
    problem: string,
    hint: string,
    retry = false,
  ): StoreError =>
    new StoreError(reason, problem, hint, {
      data: { url: shown, reason: message, sqlstate: code, retry },
      cause: error,
    });
  if (isLost(error))
    return told(
      "unreachable",
      `Cannot reach the database of ${shown}: ${message}.`,
      "check that the server runs and accepts connections, then try again: what was acknowledged is kept, and a save that is repeated is not written twice",
      true,
    );
  if (code === "55P03" || isInTheWay(error))
    return told(
      "locked",
      `Cannot write to ${shown}: another process is holding it.`,
      "try again; if it stays, look for a transaction that does not end: SELECT * FROM pg_stat_activity",
      true,
    );
  if (code.startsWith("28") || code === "42501")
    return told(
      "denied",
      `The database refuses this user at ${shown}: ${message}.`,
      "check the user and password of the URL; a store needs a schema that its user owns: ?schema=NAME",
    );
  if (code === "3D000" || code === "3F000")
    return told(
      "not-a-store",
      `Cannot open ${shown}: ${message}.`,
      "create the database first: createdb NAME",
    );
  if (code === "25006")
    return told(
      "read-only",
      `Cannot write to ${shown}: it is read-only.`,
      "connect to the primary, not to a standby",
    );
  if (code === "53100")
    return told(
      "full",
      `Cannot write to ${shown}: the disk of the server is full.`,
      "free some room and save again; nothing was lost",
      true,
    );
  return told(
    "failed",
    `PostgreSQL failed on ${shown}: ${message}.`,
    "everything acknowledged before is kept; the reason is in the log of the server",
  );
}
