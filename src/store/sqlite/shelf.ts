import { existsSync, renameSync, rmSync } from "node:fs";
import { type Digest, digestOf, type FactId, parentsOf } from "../../session/index.js";
import { removable } from "../care/removal.js";
import { keysOf, looseIn, type NewFact, revivedBy, stands } from "../commit.js";
import { DamageError, NotFoundError, StoreError } from "../error.js";
import type { Change } from "../memory/names.js";
import { isFenced } from "../name/move.js";
import type {
  Blob,
  Commit,
  Committed,
  Erasure,
  Fence,
  Finding,
  NameRecord,
  Removal,
  Shelf,
  Tail,
} from "../shelf.js";
import {
  Chains,
  chainOf,
  firstOf,
  isLastPlace,
  type Past,
  type Place,
  placeIn,
  type Range,
} from "./chain.js";
import { Connection } from "./connection.js";
import { BUSY, type SqliteDatabase, type SqliteRow, type SqliteValue, storeErrorOf } from "./driver.js";
import { examineTables } from "./examine.js";
import { further, Lines } from "./lines.js";
import { Listeners } from "./listeners.js";
import { Names, sumOfRow } from "./names.js";
import { Puts } from "./puts.js";
import { openSchema, openToRead } from "./schema.js";

/** How many lines are read at once. */
const BATCH = 1000;
const REMEMBERED_PLACES = 20_000;
/** Fewer waiting lines than this are left to the next process: packing them rewrites more than it saves. */
const WORTH_PACKING = 64;

type Waiting = {
  readonly commit: Commit;
  readonly resolve: (committed: Committed) => void;
  readonly reject: (error: unknown) => void;
};

/** One SQLite file for all processes of a machine. Durable at every commit; commits of one tick share one sync. */
export class SqliteShelf implements Shelf {
  readonly url: string;
  readonly capabilities = { durability: "power-loss", writers: "one-host" } as const;
  readonly #connection: Connection;
  readonly #chains: Chains;
  readonly #lines: Lines;
  readonly #names: Names;
  readonly #puts: Puts;
  readonly #listeners: Listeners;
  /** Where facts stand, for those used lately. Facts never move, so only a collection makes this stale. */
  readonly #known = new Map<FactId, Place>();
  #queue: Waiting[] = [];
  #flushing: Promise<void> | undefined;
  #generation = 0;

  private constructor(url: string, path: string, database: SqliteDatabase, dead?: StoreError) {
    this.url = url;
    this.#connection = new Connection(path, database, dead);
    this.#chains = new Chains(database);
    this.#lines = new Lines(database);
    this.#names = new Names(this.#connection, (id) => this.#placeOrFail(id));
    this.#puts = new Puts(this.#connection);
    this.#listeners = new Listeners(this.#connection, this.#names);
  }

  /** A store of an older version that may not be written has none. */
  get identity(): string | undefined {
    try {
      return this.#get("SELECT id FROM identity")?.id as string | undefined;
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
      return SqliteShelf.#openToRead(path, url, error as StoreError);
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

  /** A store that may not be written can be read; every write is refused with the reason. */
  static #openToRead(path: string, url: string, reason: StoreError): SqliteShelf {
    try {
      return new SqliteShelf(url, path, openToRead(path), reason);
    } catch {
      throw reason;
    }
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
      await this.#write(group);
    } catch (error) {
      // One commit that cannot be made must not take its neighbours with it; a disk that fails fails them all.
      const alone = group.length > 1 && this.#connection.dead === undefined;
      for (const one of group) {
        if (alone) await this.#write([one]).catch(one.reject);
        else one.reject(error);
      }
    } finally {
      this.#flushing = this.#queue.length > 0 ? this.#flushSoon() : undefined;
    }
  }

  async #write(group: readonly Waiting[]): Promise<void> {
    const moved: NameRecord[] = [];
    const outcomes = await this.#transaction(() => group.map(({ commit }) => this.#apply(commit, moved)));
    for (const [index, outcome] of outcomes.entries()) (group[index] as Waiting).resolve(outcome);
    if (moved.length > 0) this.#listeners.tell(moved);
  }

  async #transaction<Result>(work: () => Result): Promise<Result> {
    const whole = (): Result => {
      try {
        this.#noticeCollection();
        this.#lines.begin();
        const result = work();
        this.#lines.pack();
        return result;
      } finally {
        this.#lines.end();
      }
    };
    return this.#connection.transaction(whole, () => {
      this.#known.clear();
      this.#lines.forget();
    });
  }

  #atOnce<Result>(look: () => Result): Result {
    return this.#connection.atOnce(() => {
      this.#noticeCollection();
      return look();
    });
  }

  /** Facts never move, but a collection, maybe by another process, makes room that others fill. */
  #noticeCollection(): void {
    const generation = this.#get("SELECT collected FROM generation")?.collected as number;
    if (generation === this.#generation) return;
    this.#generation = generation;
    this.#known.clear();
    this.#lines.forget();
  }

  #apply(commit: Commit, moved: NameRecord[]): Committed {
    const { move, also = [] } = commit;
    const record = move && this.#names.get(move.name);
    if (move !== undefined) {
      if (isFenced(record, move)) {
        return { outcome: "fenced", record: record ?? { name: move.name, head: null, epoch: 0, until: 0 } };
      }
      const recorded = move.key === undefined ? undefined : this.#names.step(move.name, move.key);
      if (recorded !== undefined) return { outcome: "replayed", head: recorded };
    }
    const fresh = new Map<FactId, NewFact>();
    for (const { id, line } of commit.facts) {
      if (fresh.has(id) || this.#place(id) !== undefined) continue;
      const parents = parentsOf(line);
      for (const parent of parents)
        if (!fresh.has(parent) && this.#place(parent) === undefined) return { outcome: "orphan", id, parent };
      fresh.set(id, { id, line, parents });
    }
    for (const { head } of move === undefined ? also : [move, ...also])
      if (head !== null && !fresh.has(head) && this.#place(head) === undefined)
        return { outcome: "orphan", id: head, parent: head };
    const reaches = (stored: readonly FactId[], ancestor: FactId): boolean =>
      this.#chains.descends(
        stored.map((id) => this.#place(id) as Place),
        this.#place(ancestor) as Place,
      );
    if (move !== undefined && !stands(move, record?.head ?? null, fresh, reaches))
      return { outcome: "conflict", record };
    for (const fact of fresh.values()) this.#keep(fact.id, fact.line, fact.parents);
    // A process may still hold what was erased here: keys and content come back only with lines that are new.
    const keys = keysOf(commit, fresh);
    for (const key of commit.keys ?? []) {
      if (keys.has(key.id))
        this.#run(
          "INSERT OR IGNORE INTO secrets VALUES (?, ?, ?)",
          key.id,
          key.secret,
          sumOfRow(key.id, Buffer.from(key.secret).toString("hex")),
        );
    }
    this.#writeBlobs(commit.blobs, revivedBy(commit, fresh));
    this.#puts.add(looseIn(commit));
    for (const erasure of commit.erase ?? []) {
      this.#addErasure(erasure);
      this.#run("DELETE FROM blobs WHERE digest = ?", bytesOf(erasure.digest));
    }
    const now = move && this.#names.set(move.name, move.head, record);
    if (now !== undefined) moved.push(now);
    if (move?.key !== undefined) this.#names.addStep(move.name, move.key, move.head);
    for (const { name, head } of also) {
      if (head === null) this.#names.forget(name);
      else {
        const before = this.#names.get(name);
        if (before?.head !== head) moved.push(this.#names.set(name, head, before));
      }
    }
    return { outcome: "done", written: fresh.size, ...(now && { record: now }) };
  }

  #keep(id: FactId, line: string, parents: readonly FactId[]): void {
    const [first, ...others] = parents.map((parent) => this.#place(parent) as Place);
    let place =
      first === undefined || isLastPlace(first) || this.#lines.has(first + 1) ? undefined : first + 1;
    if (place === undefined) {
      const last = this.#get("SELECT max(chain) AS chain FROM chains")?.chain as number | null;
      place = firstOf((last ?? 0) + 1);
      this.#run("INSERT INTO chains VALUES (?, ?)", chainOf(place), first ?? null);
    }
    this.#lines.add(id, place, line);
    for (const [index, parent] of others.entries())
      this.#run("INSERT INTO merges VALUES (?, ?, ?)", place, index + 1, parent);
    this.#remember(id, place);
  }

  #writeBlobs(blobs: readonly Blob[], revived: ReadonlySet<Digest>): void {
    // Asked once: most stores have no erasures, and blobs come by the ten thousand.
    const some = blobs.length > 0 && this.#get("SELECT 1 FROM erasures LIMIT 1") !== undefined;
    for (const { digest, bytes } of blobs) {
      if (some && revived.has(digest)) this.#run("DELETE FROM erasures WHERE digest = ?", digest);
      if (!some || revived.has(digest) || this.erased(digest) === undefined)
        this.#run("INSERT OR IGNORE INTO blobs VALUES (?, ?)", bytesOf(digest), bytes);
    }
  }

  #addErasure({ digest, fact, by, at, why }: Erasure): void {
    this.#run("INSERT OR IGNORE INTO erasures VALUES (?, ?, ?, ?, ?)", digest, fact, by, at, why);
  }

  async lines(ids: readonly FactId[]): Promise<readonly (string | undefined)[]> {
    return this.#atOnce(() =>
      ids.map((id) => {
        const place = this.#place(id);
        return place === undefined ? undefined : this.#line(place);
      }),
    );
  }

  async startingWith(prefix: string, most: number): Promise<readonly FactId[]> {
    return this.#atOnce(() => {
      const ids = this.#lines.startingWith(prefix, most).map((place) => digestOf(this.#line(place)));
      return ids.filter((id) => id.startsWith(prefix)).slice(0, most);
    });
  }

  async children(id: FactId): Promise<readonly FactId[]> {
    return this.#atOnce(() => {
      const place = this.#place(id);
      return place === undefined ? [] : this.#childPlaces(place).map((child) => digestOf(this.#line(child)));
    });
  }

  #childPlaces(place: Place): readonly Place[] {
    const elsewhere = this.#all(
      "SELECT chain AS p, 1 AS begins FROM chains WHERE base = ?1 UNION ALL SELECT child, 0 FROM merges WHERE parent = ?1",
      place,
    );
    const places = elsewhere.map((row) => (row.begins === 1 ? firstOf(row.p as number) : (row.p as Place)));
    if (!isLastPlace(place) && this.#lines.has(place + 1)) places.push(place + 1);
    return places;
  }

  async *history(
    heads: readonly FactId[],
    without: readonly FactId[] = [],
  ): AsyncIterable<readonly string[]> {
    const { places, ranges, generation } = this.#atOnce(() => {
      const known = this.#chains.reach(without.map((id) => this.#placeOrFail(id)));
      const places = heads.map((id) => this.#placeOrFail(id));
      return { places, ranges: this.#chains.ranges(places, known), generation: this.#generation };
    });
    let rest: Range | undefined;
    const next = (): readonly string[] => {
      // A collection spares what something leads to; what was collected while it was read is no longer here.
      const gone =
        this.#generation === generation
          ? undefined
          : heads.find((head, index) => this.#place(head) !== places[index]);
      if (gone !== undefined)
        throw new NotFoundError(
          `the session ${gone}`,
          "it was collected while it was read; list what is there: await store.names()",
        );
      const batch: string[] = [];
      while (batch.length < BATCH) {
        const range: Range | undefined = rest ?? (ranges.next().value || undefined);
        if (range === undefined) break;
        const to = Math.min(range.to, range.from + BATCH - 1);
        for (const line of this.#lines.lines({ from: range.from, to })) batch.push(line);
        rest = to < range.to ? { from: to + 1, to: range.to } : undefined;
      }
      return batch;
    };
    for (let batch = this.#atOnce(next); batch.length > 0; batch = this.#atOnce(next)) yield batch;
  }

  async count(id: FactId): Promise<number> {
    return this.#atOnce(() => countOf(this.#chains.reach([this.#placeOrFail(id)])));
  }

  async tail(head: FactId, most: number): Promise<Tail | undefined> {
    return this.#atOnce(() => this.#tail(head, most));
  }

  #tail(head: FactId, most: number): Tail | undefined {
    const place = this.#placeOrFail(head);
    const whole = this.#chains.reach([place]);
    let best: Place | undefined;
    for (const candidate of this.#snapshotsBefore(place)) {
      const before = this.#chains.reach([candidate]);
      if (countOf(whole) - countOf(before) + 1 > most) break;
      if (this.#hangsFrom(candidate, whole, before)) best = candidate;
    }
    if (best === undefined) return undefined;
    const lines = [this.#line(best)];
    for (const range of this.#chains.ranges([place], this.#chains.reach([best]))) {
      for (let from = range.from; from <= range.to; from += BATCH)
        lines.push(...this.#range({ from, to: Math.min(range.to, from + BATCH - 1) }));
    }
    return {
      lines,
      snapshot: this.#get("SELECT snapshot FROM snapshots WHERE p = ?", best)?.snapshot as string,
    };
  }

  /** Sessions with a snapshot on the way back along first parents, newest first. */
  *#snapshotsBefore(place: Place): Generator<Place> {
    for (let at: Place | null = place; at !== null; at = this.#chains.base(chainOf(at))) {
      for (const row of this.#all(
        "SELECT p FROM snapshots WHERE p BETWEEN ? AND ? ORDER BY p DESC",
        firstOf(chainOf(at)),
        at,
      ))
        yield row.p as Place;
    }
  }

  /** Whether all of `whole` that is not in `before` comes from `place` alone, so that nothing else need be loaded. */
  #hangsFrom(place: Place, whole: Past, before: Past): boolean {
    const inside = (other: Place | null): boolean =>
      other === place || (other !== null && other > (before.get(chainOf(other)) ?? -1));
    for (const [chain, last] of whole) {
      const reached = before.get(chain);
      if (reached === last) continue;
      if (reached === undefined ? !inside(this.#chains.base(chain)) : reached !== place) return false;
      const from = reached === undefined ? firstOf(chain) : reached + 1;
      if (this.#chains.mergesIn({ from, to: last }).some((merge) => !inside(merge.parent))) return false;
    }
    return true;
  }

  async saveSnapshot(id: FactId, snapshot: string): Promise<void> {
    await this.#transaction(() =>
      this.#run("INSERT OR REPLACE INTO snapshots VALUES (?, ?)", this.#placeOrFail(id), snapshot),
    );
  }

  async *every(): AsyncIterable<readonly string[]> {
    for (const batch of this.#everyLine()) yield batch.map(({ line }) => line);
  }

  async name(name: string): Promise<NameRecord | undefined> {
    return this.#names.get(name);
  }

  async names(under = ""): Promise<readonly NameRecord[]> {
    return this.#names.under(under);
  }

  async forget(name: string, fence?: Fence): Promise<"done" | "fenced" | "unknown"> {
    return this.#transaction(() => this.#names.forget(name, fence));
  }

  async acquire(name: string, owner: string, until: number, now: number): Promise<NameRecord | undefined> {
    return this.#transaction(() => this.#names.acquire(name, owner, until, now));
  }

  async extend(name: string, epoch: number, until: number): Promise<boolean> {
    return this.#transaction(() => this.#names.extend(name, epoch, until));
  }

  blob(digest: Digest): Uint8Array | undefined {
    const bytes = this.#get("SELECT bytes FROM blobs WHERE digest = ?", bytesOf(digest))?.bytes;
    if (bytes !== undefined && !(bytes instanceof Uint8Array))
      throw new DamageError(
        `${this.#connection.path} blob ${digest}`,
        "its bytes are not those that were written",
      );
    return bytes;
  }

  async *digests(): AsyncIterable<readonly Digest[]> {
    let after = 0;
    for (;;) {
      const rows = this.#all(
        "SELECT rowid AS n, digest FROM blobs WHERE rowid > ? ORDER BY rowid LIMIT ?",
        after,
        BATCH,
      );
      if (rows.length === 0) return;
      after = further(after, rows.at(-1)?.n as number);
      yield rows.map(({ n, digest }) => {
        if (digest instanceof Uint8Array) return Buffer.from(digest).toString("hex");
        throw new DamageError(`${this.#connection.path} blob ${String(n)}`, "its digest is not a digest");
      });
    }
  }

  async putSince(since: number): Promise<Iterable<Digest>> {
    return this.#puts.since(since);
  }

  erased(digest: Digest): Erasure | undefined {
    return this.#get("SELECT * FROM erasures WHERE digest = ?", digest) as Erasure | undefined;
  }

  async erasures(): Promise<readonly Erasure[]> {
    return this.#all("SELECT * FROM erasures ORDER BY at, digest") as unknown as Erasure[];
  }

  key(id: string): Uint8Array | undefined {
    return this.#get("SELECT secret FROM secrets WHERE id = ?", id)?.secret as Uint8Array | undefined;
  }

  async remove(what: Removal): Promise<void> {
    await this.#transaction(() => {
      this.#lines.pack(true);
      const gone = this.#stillLoose(what.ids ?? []);
      this.#lines.remove(gone);
      for (const place of gone.keys()) {
        this.#run("DELETE FROM snapshots WHERE p = ?", place);
        this.#run("DELETE FROM merges WHERE child = ?", place);
        if (placeIn(place) === 0) this.#run("DELETE FROM chains WHERE chain = ?", chainOf(place));
      }
      this.#names.dropSteps(new Set(gone.values()));
      const unused = removable(what, {
        lines: () => this.#standing(),
        blob: (digest) => this.blob(digest),
        isErased: (digest) => this.erased(digest) !== undefined,
        putSince: (since) => this.#puts.since(since),
      });
      for (const digest of unused) this.#run("DELETE FROM blobs WHERE digest = ?", bytesOf(digest));
      for (const key of what.keys ?? []) this.#run("DELETE FROM secrets WHERE id = ?", key);
      if (what.snapshots) this.#run("DELETE FROM snapshots");
      this.#run("UPDATE generation SET collected = collected + 1");
    });
    this.#known.clear();
    // Pages that packing has freed still hold copies of lines; giving them back leaves none.
    const much = (what.ids?.length ?? 0) + (what.digests?.length ?? 0) > 1000;
    await this.#connection.patiently(() =>
      this.#connection.database.exec(much ? "VACUUM" : "PRAGMA incremental_vacuum"),
    );
    await this.#emptyLog();
  }

  /** Of facts that nothing led to when they were counted, those that may still go: no name or newer fact came to them since. */
  #stillLoose(ids: readonly FactId[]): ReadonlyMap<Place, FactId> {
    const loose = new Map<Place, FactId>();
    for (const id of ids) {
      const place = this.#place(id);
      if (place !== undefined) loose.set(place, id);
    }
    const standing = [...this.#names.places()];
    for (const place of loose.keys())
      for (const child of this.#childPlaces(place)) if (!loose.has(child)) standing.push(child);
    const past = this.#chains.reach(standing);
    for (const place of [...loose.keys()]) if (place <= (past.get(chainOf(place)) ?? -1)) loose.delete(place);
    return loose;
  }

  /** The lines that are there now. Only while nobody else writes. */
  *#standing(): Generator<string> {
    for (const batch of this.#everyLine()) for (const { line } of batch) yield line;
  }

  /** What was deleted must not live on in the log. */
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

  async *examine(): AsyncIterable<Finding> {
    try {
      for (const row of this.#all("PRAGMA integrity_check")) {
        const problem = String(Object.values(row)[0]);
        if (problem !== "ok") yield { place: this.#connection.path, problem };
      }
      for (const { place, problem } of this.#atOnce(() => [
        ...examineTables(this.#connection.database, this.#lines),
      ]))
        yield { place: `${this.#connection.path} ${place}`, problem };
    } catch (error) {
      yield {
        place: this.#connection.path,
        problem: storeErrorOf(error, this.#connection.path).message.split("\n")[0] as string,
      };
    }
  }

  /** Takes names, leases, steps and erasures over as they stand in another store. Their facts must be here. */
  async adopt(changes: Iterable<Change>): Promise<void> {
    await this.#transaction(() => {
      for (const change of changes) {
        if ("record" in change) this.#names.put(change.record);
        else if ("forgotten" in change) this.#names.put({ ...change.forgotten, head: null, until: 0 });
        else if ("step" in change) this.#names.addStep(change.step.name, change.step.key, change.step.head);
        else if ("erased" in change) this.#addErasure(change.erased);
      }
    });
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
    const closed = new StoreError(
      "closed",
      `The store ${this.url} is closed.`,
      "open it again with openStore(url)",
    );
    this.#connection.close(closed, () => {
      if (this.#lines.waiting >= WORTH_PACKING) {
        database.exec("BEGIN IMMEDIATE");
        this.#lines.pack(true);
        database.exec("COMMIT");
      }
      database.exec("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)");
    });
  }

  *#everyLine(): Generator<readonly { readonly place: Place; readonly line: string }[]> {
    const batches = this.#lines.every();
    for (;;) {
      const { value, done } = this.#guard(() => batches.next());
      if (done) return;
      yield value;
    }
  }

  #range(range: Range): readonly string[] {
    return this.#guard(() => this.#lines.lines(range));
  }

  #place(id: FactId): Place | undefined {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    // The index holds 48 bits of the id; the line says whether it is the one.
    for (const place of this.#guard(() => this.#lines.like(id))) {
      if (digestOf(this.#line(place)) === id) return this.#remember(id, place);
    }
    return undefined;
  }

  #line(place: Place): string {
    return this.#guard(() => this.#lines.line(place)) ?? "";
  }

  #placeOrFail(id: FactId): Place {
    const place = this.#place(id);
    if (place === undefined)
      throw new NotFoundError(`the session ${id}`, "list what is there: await store.names()");
    return place;
  }

  #remember(id: FactId, place: Place): Place {
    if (this.#known.size >= REMEMBERED_PLACES) this.#known.clear();
    this.#known.set(id, place);
    return place;
  }

  #get(sql: string, ...values: SqliteValue[]): SqliteRow | undefined {
    return this.#connection.get(sql, ...values);
  }

  #all(sql: string, ...values: SqliteValue[]): SqliteRow[] {
    return this.#connection.all(sql, ...values);
  }

  #run(sql: string, ...values: SqliteValue[]): void {
    this.#connection.run(sql, ...values);
  }

  #guard<Result>(read: () => Result): Result {
    return this.#connection.guard(read);
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

function bytesOf(digest: Digest): Uint8Array {
  return Buffer.from(digest, "hex");
}

function countOf(past: Past): number {
  let count = 0;
  for (const last of past.values()) count += placeIn(last) + 1;
  return count;
}
