import { existsSync, renameSync, rmSync } from "node:fs";
import { digestOf, type FactId } from "../../session/index.js";
import { removable } from "../care/collect.js";
import { applyCommit } from "../commit.js";
import { closedError, problemOf, StoreError } from "../error.js";
import type { Commit, Committed, Finding, NameRecord, Removal, Shelf, Tail } from "../shelf.js";
import { Blobs } from "./blobs.js";
import { chainOf, type Place, placeIn } from "./chain.js";
import { Connection } from "./connection.js";
import { BUSY, type SqliteDatabase, storeErrorOf } from "./driver.js";
import { examineTables } from "./examine.js";
import { Facts } from "./facts.js";
import { PollingListeners } from "./listeners.js";
import { Names } from "./names.js";
import { openSchema, openToRead } from "./schema.js";

/** Fewer waiting lines than this are left to the next process: packing them rewrites more than it saves. */
const WORTH_PACKING = 64;

type Waiting = {
  readonly commit: Commit;
  readonly resolve: (committed: Committed) => void;
  readonly reject: (error: unknown) => void;
};

/** All that a database holds. */
type Tables = {
  readonly connection: Connection;
  readonly facts: Facts;
  readonly names: Names;
  readonly blobs: Blobs;
};

/** One SQLite file for all processes of a machine. Durable at every commit; commits of one tick share one sync. */
export class SqliteShelf implements Shelf {
  readonly url: string;
  readonly capabilities = { durability: "power-loss", writers: "one-host" } as const;
  readonly #connection: Connection;
  readonly #facts: Facts;
  readonly #tables: Tables;
  readonly #listeners: PollingListeners;
  #queue: Waiting[] = [];
  #flushing: Promise<void> | undefined;

  private constructor(url: string, path: string, database: SqliteDatabase, dead?: StoreError) {
    this.url = url;
    const connection = new Connection(path, database, dead);
    const facts = new Facts(connection);
    const names = new Names(connection, (id) => facts.placeOrFail(id));
    this.#connection = connection;
    this.#facts = facts;
    this.#tables = { connection, facts, names, blobs: new Blobs(connection) };
    this.#listeners = new PollingListeners(connection, names);
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

  write<Result>(work: (tables: Tables) => Result): Promise<Result> {
    return this.#facts.transaction(() => work(this.#tables));
  }

  commit(commit: Commit): Promise<Committed> {
    if (this.#connection.dead !== undefined) return Promise.reject(this.#connection.dead);
    return new Promise((resolve, reject) => {
      this.#queue.push({ commit, resolve, reject });
      this.#flushing ??= this.#flushSoon();
    });
  }

  #flushSoon(): Promise<void> {
    return new Promise<void>((done) => setImmediate(done)).then(() => this.#flush());
  }

  /** Everything queued by now goes into one transaction and one sync. */
  async #flush(): Promise<void> {
    const group = this.#queue;
    this.#queue = [];
    try {
      await this.#commit(group);
    } catch (error) {
      // One commit that cannot be made must not take its neighbours with it; a disk that fails fails them all.
      const alone = group.length > 1 && this.#connection.dead === undefined;
      for (const one of group) {
        if (alone) await this.#commit([one]).catch(one.reject);
        else one.reject(error);
      }
    } finally {
      this.#flushing = this.#queue.length > 0 ? this.#flushSoon() : undefined;
    }
  }

  async #commit(group: readonly Waiting[]): Promise<void> {
    const moved: NameRecord[] = [];
    const outcomes = await this.#facts.transaction(() =>
      group.map(({ commit }) => applyCommit(this.#tables, commit, moved)),
    );
    for (const [index, outcome] of outcomes.entries()) (group[index] as Waiting).resolve(outcome);
    this.#listeners.tell(moved);
  }

  lines(ids: readonly FactId[]): readonly (string | undefined)[] {
    return this.#facts.atOnce(() =>
      ids.map((id) => {
        const place = this.#facts.place(id);
        return place === undefined ? undefined : this.#facts.line(place);
      }),
    );
  }

  startingWith(prefix: string, most: number): readonly FactId[] {
    return this.#facts.atOnce(() => {
      const ids = this.#facts.lines
        .startingWith(prefix, most)
        .map((place) => digestOf(this.#facts.line(place)));
      return ids.filter((id) => id.startsWith(prefix)).slice(0, most);
    });
  }

  children(id: FactId): readonly FactId[] {
    return this.#facts.atOnce(() => {
      const place = this.#facts.place(id);
      return place === undefined
        ? []
        : this.#facts.childPlaces(place).map((child) => digestOf(this.#facts.line(child)));
    });
  }

  history(heads: readonly FactId[], without: readonly FactId[] = []): Iterable<readonly string[]> {
    return this.#facts.history(heads, without);
  }

  count(id: FactId): number {
    return this.#facts.count(id);
  }

  tail(head: FactId, most: number): Tail | undefined {
    return this.#facts.tail(head, most);
  }

  async saveSnapshot(id: FactId, snapshot: string): Promise<void> {
    await this.#facts.transaction(() =>
      this.#connection.run(
        "INSERT OR REPLACE INTO snapshots VALUES (?, ?)",
        this.#facts.placeOrFail(id),
        snapshot,
      ),
    );
  }

  *every(): Iterable<readonly string[]> {
    for (const batch of this.#facts.every()) yield batch.map(({ line }) => line);
  }

  async remove(what: Removal): Promise<void> {
    await this.#facts.transaction(() => applyRemoval(this.#tables, what));
    this.#facts.forgetPlaces();
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

  listen(heard: (moved: readonly NameRecord[]) => void): () => void {
    return this.#listeners.add(heard);
  }

  *examine(): Iterable<Finding> {
    try {
      for (const row of this.#connection.all("PRAGMA integrity_check")) {
        const problem = String(Object.values(row)[0]);
        if (problem !== "ok") yield { place: this.#connection.path, problem };
      }
      for (const { place, problem } of this.#facts.atOnce(() => [
        ...examineTables(this.#connection.database, this.#facts.lines),
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
    while (this.#flushing !== undefined) await this.#flushing;
    this.#listeners.stop();
    const { database } = this.#connection;
    this.#connection.close(closedError(this.url), () => {
      if (this.#facts.lines.waiting >= WORTH_PACKING) {
        database.exec("BEGIN IMMEDIATE");
        this.#facts.lines.pack(true);
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
      `Cannot write a backup to ${path}: something is there.`,
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
