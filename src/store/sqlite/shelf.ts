import { existsSync, renameSync, rmSync } from "node:fs";
import type { FactId } from "../../session/index.js";
import { removable } from "../care/collect.js";
import { applyCommit, inClockOfStore } from "../commit.js";
import { closedError, problemOf, StoreError } from "../error.js";
import type { Commit, Committed, Finding, Removal, Shelf } from "../shelf.js";
import { chainOf, type Place, placeIn } from "../sql/chain.js";
import { GroupCommit } from "../sql/group.js";
import { SqlShelf } from "../sql/shelf.js";
import { Blobs } from "./blobs.js";
import { Connection } from "./connection.js";
import { BUSY, type SqliteDatabase, storeErrorOf } from "./driver.js";
import { examineTables } from "./examine.js";
import { Facts } from "./facts.js";
import { PollingListeners } from "./listeners.js";
import { Names } from "./names.js";
import { openSchema, openToRead } from "./schema.js";

/** Fewer waiting lines than this are left to the next process: packing them rewrites more than it saves. */
const WORTH_PACKING = 64;

/** All that a database holds. */
type Tables = {
  readonly connection: Connection;
  readonly facts: Facts;
  readonly names: Names;
  readonly blobs: Blobs;
};

/** One SQLite file for all processes of a machine. Durable at every commit; commits of one tick share one sync. */
export class SqliteShelf extends SqlShelf implements Shelf {
  readonly url: string;
  readonly capabilities = { durability: "power-loss", writers: "one-host" } as const;
  readonly #connection: Connection;
  protected readonly facts: Facts;
  readonly #tables: Tables;
  readonly #listeners: PollingListeners;
  readonly #group: GroupCommit<Commit, Committed>;

  private constructor(url: string, path: string, database: SqliteDatabase, dead?: StoreError) {
    super();
    this.url = url;
    const connection = new Connection(path, database, dead);
    const facts = new Facts(connection);
    const names = new Names(connection, (id) => facts.placeOrFail(id));
    this.#connection = connection;
    this.facts = facts;
    this.#tables = { connection, facts, names, blobs: new Blobs(connection) };
    this.#listeners = new PollingListeners(connection);
    this.#group = new GroupCommit(
      (commits) =>
        this.write((tables, now) =>
          commits.map((commit) => applyCommit(tables, inClockOfStore(commit, now))),
        ),
      () => connection.dead,
    );
  }

  /** A store of an older version that may not be written has none. */
  get identity(): string | undefined {
    try {
      return this.#connection.get("SELECT id FROM identity")?.id as string | undefined;
    } catch {
      return undefined;
    }
  }

  static open(path: string, url = `sqlite:${path}`): SqliteShelf {
    try {
      return new SqliteShelf(url, path, openSchema(path));
    } catch (cause) {
      const error = storeErrorOf(cause, path);
      if (error.code !== "store-read-only" || !existsSync(path)) throw error;
      // A store that may not be written can be read; every write is refused with the reason.
      try {
        return new SqliteShelf(url, path, openToRead(path), error as StoreError);
      } catch {
        throw error;
      }
    }
  }

  /** Makes a new file and fills it. It gets its name when it is whole, so half a copy never opens as a store. */
  static async create(path: string, fill: (shelf: SqliteShelf) => Promise<void>): Promise<void> {
    requireRoom(path);
    const fresh = `${path}.tmp`;
    rmSync(fresh, { force: true });
    try {
      const shelf = SqliteShelf.open(fresh);
      await fill(shelf).finally(() => shelf.close());
      renameSync(fresh, path);
    } finally {
      for (const suffix of ["", "-wal", "-shm"]) rmSync(fresh + suffix, { force: true });
    }
  }

  get names(): Names {
    return this.#tables.names;
  }

  get blobs(): Blobs {
    return this.#tables.blobs;
  }

  /** The clock of the machine, whatever this program takes the time from. */
  now(): number {
    const asked = "SELECT CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) AS now";
    return this.#connection.get(asked)?.now as number;
  }

  async write<Result>(work: (tables: Tables, now: number) => Result): Promise<Result> {
    const result = await this.facts.transaction(() => work(this.#tables, this.now()));
    this.#listeners.tell();
    return result;
  }

  commit(commit: Commit): Promise<Committed> {
    return this.#group.add(commit);
  }

  async saveSnapshot(id: FactId, snapshot: string): Promise<void> {
    await this.facts.transaction(() =>
      this.#connection.run(
        "INSERT OR REPLACE INTO snapshots VALUES (?, ?)",
        this.facts.placeOrFail(id),
        snapshot,
      ),
    );
  }

  async remove(what: Removal): Promise<void> {
    await this.facts.transaction(() => applyRemoval(this.#tables, what));
    this.facts.forgetPlaces();
    // Pages that packing has freed still hold copies of lines; giving them back leaves none.
    const much = (what.ids?.length ?? 0) + (what.digests?.length ?? 0) > 1000;
    await this.#connection.patiently(() =>
      this.#connection.database.exec(much ? "VACUUM" : "PRAGMA incremental_vacuum"),
    );
    await this.#emptyLog();
  }

  /** Deleted rows must not live on in the log. */
  async #emptyLog(): Promise<void> {
    await this.#connection.patiently(() => {
      const row = this.#connection.database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
      if (row?.busy !== 0)
        throw Object.assign(new Error("another process is reading the log"), { errcode: BUSY });
    });
  }

  listen(heard: () => void): () => void {
    return this.#listeners.add(heard);
  }

  *examine(): Iterable<Finding> {
    try {
      for (const row of this.#connection.all("PRAGMA integrity_check")) {
        const problem = String(Object.values(row)[0]);
        if (problem !== "ok") yield { place: this.#connection.path, problem };
      }
      for (const { place, problem } of this.facts.atOnce(() => [
        ...examineTables(this.#connection.database, this.facts.lines),
      ]))
        yield { place: `${this.#connection.path} ${place}`, problem };
    } catch (error) {
      yield { place: this.#connection.path, problem: problemOf(storeErrorOf(error, this.#connection.path)) };
    }
  }

  async backup(path: string): Promise<void> {
    requireRoom(path);
    try {
      this.#connection.database.prepare("VACUUM INTO ?").run(path);
    } catch (error) {
      throw storeErrorOf(error, path);
    }
  }

  async close(): Promise<void> {
    await this.#group.settled();
    this.#listeners.stop();
    const { database } = this.#connection;
    this.#connection.close(closedError(this.url), () => {
      if (this.facts.lines.waiting >= WORTH_PACKING) {
        database.exec("BEGIN IMMEDIATE");
        this.facts.lines.pack(true);
        database.exec("COMMIT");
      }
      database.exec("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)");
    });
  }
}

function requireRoom(path: string): void {
  if (existsSync(path))
    throw new StoreError(
      "not-a-store",
      `Cannot write a backup to ${path}: the path exists.`,
      "give a path that does not exist",
    );
}

/** Removes facts, blobs and keys, inside of a transaction. */
function applyRemoval(tables: Tables, what: Removal): void {
  const { connection, facts, names, blobs } = tables;
  facts.lines.pack(true);
  const gone = stillLoose(tables, what.ids ?? []);
  facts.lines.remove(gone);
  for (const place of gone.keys()) {
    connection.run("DELETE FROM snapshots WHERE p = ?", place);
    connection.run("DELETE FROM merges WHERE child = ?", place);
    if (placeIn(place) === 0) connection.run("DELETE FROM chains WHERE chain = ?", chainOf(place));
  }
  names.dropSteps(new Set(gone.values()));
  for (const digest of removable(what, () => everyLine(facts), blobs)) blobs.drop(digest);
  for (const key of what.keys ?? []) blobs.dropKey(key);
  if (what.snapshots) connection.run("DELETE FROM snapshots");
  connection.run("UPDATE generation SET collected = collected + 1");
}

/** Of facts that nothing led to when they were counted, those that may still go: no name or newer fact came to them since. */
function stillLoose({ facts, names }: Tables, ids: readonly FactId[]): ReadonlyMap<Place, FactId> {
  const loose = new Map<Place, FactId>();
  for (const id of ids) {
    const place = facts.place(id);
    if (place !== undefined) loose.set(place, id);
  }
  const standing = [...names.places()];
  for (const place of loose.keys())
    for (const child of facts.childPlaces(place)) if (!loose.has(child)) standing.push(child);
  const past = facts.chains.reach(standing);
  for (const place of [...loose.keys()]) if (place <= (past.get(chainOf(place)) ?? -1)) loose.delete(place);
  return loose;
}

/** The lines that are there now. Only while nobody else writes. */
function* everyLine(facts: Facts): Generator<string> {
  for (const batch of facts.every()) for (const { line } of batch) yield line;
}
