import { randomBytes } from "node:crypto";
import { StoreError } from "../error.js";
import { connect, type PgClient, type PgRow, resultsOf, storeErrorOf, type Target } from "./driver.js";
import { qualified } from "./rows.js";

/**
 * Each entry takes the schema one version further; opening an older store runs those it lacks.
 *
 * Facts have places as in SQLite (store/sql/chain.ts). `ids` leads from the first 128 bits of an id to its place. A new line is
 * a row of `fresh`; later the lines of a chain are packed side by side, and PostgreSQL compresses them. `generation` is
 * one row: every writer locks it first and finds there all that a commit needs to know. `writers` has the last commit of each
 * process, so that one whose acknowledgement was lost is found. A step is kept under a digest of its key.
 */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE generation (collected bigint NOT NULL, chain bigint NOT NULL, moved bigint NOT NULL, waiting bigint NOT NULL);
   INSERT INTO generation VALUES (0, 0, 0, 0);
   CREATE TABLE ids (k uuid PRIMARY KEY, p bigint NOT NULL);
   CREATE TABLE fresh (p bigint PRIMARY KEY, line text NOT NULL);
   CREATE TABLE packs (p bigint PRIMARY KEY, last bigint NOT NULL, lines text NOT NULL);
   CREATE TABLE chains (chain bigint PRIMARY KEY, base bigint);
   CREATE INDEX chains_base ON chains (base);
   CREATE TABLE merges (child bigint NOT NULL, place integer NOT NULL, parent bigint NOT NULL, PRIMARY KEY (child, place));
   CREATE INDEX merges_parent ON merges (parent);
   CREATE TABLE names (name text COLLATE "C" PRIMARY KEY, p bigint, id text, epoch bigint NOT NULL, owner text, until bigint NOT NULL, moved bigint NOT NULL);
   CREATE INDEX names_moved ON names (moved);
   CREATE TABLE moves (n bigint PRIMARY KEY, name text NOT NULL, id bytea, was bytea);
   CREATE TABLE steps (name text COLLATE "C" NOT NULL, key uuid NOT NULL, id bytea NOT NULL, PRIMARY KEY (name, key));
   CREATE TABLE snapshots (p bigint PRIMARY KEY, snapshot text NOT NULL);
   CREATE TABLE blobs (digest bytea PRIMARY KEY, rowid bigint GENERATED ALWAYS AS IDENTITY, bytes bytea NOT NULL);
   CREATE INDEX blobs_rowid ON blobs USING brin (rowid) WITH (pages_per_range = 8);
   CREATE TABLE puts (n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at bigint NOT NULL, digests bytea NOT NULL);
   CREATE TABLE erasures (digest text PRIMARY KEY, fact text NOT NULL, by text NOT NULL, at text NOT NULL, why text NOT NULL);
   CREATE TABLE secrets (id text PRIMARY KEY, secret bytea NOT NULL);
   CREATE TABLE writers (id uuid PRIMARY KEY, n bigint NOT NULL, at timestamptz NOT NULL DEFAULT now())`,
];
const OLDEST_SERVER = 150_000;
/** "rath" in ASCII: the lock under which schemas are made. */
const LOCK = 0x72617468;

/** The properties of a database whose store is open. */
export type Opened = {
  readonly identity: string;
  /** Why nothing may be written: a standby. */
  readonly readOnly: boolean;
  readonly durability: "process-crash" | "power-loss" | "machine-loss";
  /** Whether commits would be acknowledged before they are on a disk unless they ask for that. */
  readonly asynchronous: boolean;
};

/** Makes or brings up to date the schema of a store. */
export async function openSchema(target: Target): Promise<Opened> {
  const client = await connect(target);
  // The caller waits for the store, so the program must not end meanwhile.
  client.ref();
  try {
    return await prepare(client, target);
  } catch (error) {
    throw storeErrorOf(error, target.shown);
  } finally {
    await client.end().catch(() => {});
  }
}

async function prepare(client: PgClient, { shown, schema }: Target): Promise<Opened> {
  const ask = async (sql: string): Promise<PgRow> =>
    resultsOf(await client.query(qualified(sql, schema))).at(-1)?.[0] ?? {};
  const server = await ask(
    `SELECT current_setting('server_version_num')::int AS version, current_setting('server_encoding') AS encoding,
       pg_is_in_recovery() AS standby, current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS sync,
       current_setting('synchronous_standby_names') AS standbys`,
  );
  if ((server.version as number) < OLDEST_SERVER)
    throw new StoreError(
      "unsupported",
      `Cannot keep a store at ${shown}: the server is PostgreSQL ${Math.floor((server.version as number) / 10_000)}.`,
      "use PostgreSQL 15 or newer",
    );
  if (server.encoding !== "UTF8")
    throw new StoreError(
      "unsupported",
      `Cannot keep a store at ${shown}: the encoding of the database is ${String(server.encoding)}.`,
      "create a database for it: createdb --encoding UTF8 --template template0 NAME",
    );
  const inSchema = `relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = '${schema}')`;
  const versionNow = async (): Promise<number> => {
    // Asked of the catalogue: a connection may hold for true that there is no such schema, until it opens a table.
    const { found } = await ask(
      `SELECT EXISTS (SELECT 1 FROM pg_class WHERE relname = 'about' AND ${inSchema}) AS found`,
    );
    return found === true ? ((await ask("SELECT version FROM about")).version as number) : 0;
  };
  let version = await versionNow();
  if (version < MIGRATIONS.length && server.standby !== true) {
    // The lock ends with the transaction, so a pooler in transaction mode may be in between.
    await client.query(`BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock(${LOCK})`);
    // Asked again under the lock: another process may have been first.
    version = await versionNow();
    if (version === 0) {
      const { found, used } = await ask(
        `SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = '${schema}') AS found,
           EXISTS (SELECT 1 FROM pg_class WHERE ${inSchema}) AS used`,
      );
      if (used === true)
        throw new StoreError(
          "not-a-store",
          `Cannot open ${shown}: the schema "${schema}" holds tables of another program.`,
          "choose another schema: ?schema=NAME; this one is left as it is",
        );
      if (found !== true) await client.query(`CREATE SCHEMA "${schema}"`);
      await ask(`CREATE TABLE about (version integer NOT NULL, identity text NOT NULL);
        INSERT INTO about VALUES (0, '${randomBytes(16).toString("hex")}')`);
    }
    for (; version < MIGRATIONS.length; version++) await ask(MIGRATIONS[version] as string);
    await ask(`UPDATE about SET version = ${version}; COMMIT`);
  }
  if (version > MIGRATIONS.length)
    throw new StoreError(
      "newer",
      `Cannot open ${shown}: its schema is ${version}, this version knows ${MIGRATIONS.length}.`,
      "install a newer version of openrath",
      { data: { found: version, known: MIGRATIONS.length } },
    );
  if (version === 0)
    throw new StoreError(
      "read-only",
      `Cannot make a store at ${shown}: the server is a standby.`,
      "open it on the primary first",
    );
  const { identity } = await ask("SELECT identity FROM about");
  const durable = server.standbys === "" ? "power-loss" : "machine-loss";
  return {
    identity: identity as string,
    readOnly: server.standby === true,
    durability: server.fsync === "on" ? durable : "process-crash",
    asynchronous: server.sync === "off",
  };
}
