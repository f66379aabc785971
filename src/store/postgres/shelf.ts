import { digestOf, type FactId, parentsOf } from "../../session/index.js";
import { removable } from "../care/collect.js";
import { applyCommit, inClockOfStore } from "../commit.js";
import { closedError, problemOf, StoreError } from "../error.js";
import type { Commit, Committed, Finding, Removal, Shelf, Tables } from "../shelf.js";
import { isSealed } from "../shelf-store/snapshot.js";
import { chainOf, type Place, placeIn } from "../sql/chain.js";
import { GroupCommit } from "../sql/group.js";
import { NameReader } from "../sql/names.js";
import { SqlShelf } from "../sql/shelf.js";
import { Asked, Draft, PgBlobs } from "./draft.js";
import { targetOf } from "./driver.js";
import { Facts } from "./facts.js";
import { PgListeners } from "./listeners.js";
import { PgRows } from "./rows.js";
import { type Opened, openSchema } from "./schema.js";
import { Writer } from "./writer.js";

/** So many lines wait one by one before they are packed. */
const WORTH_PACKING = 2048;
/** Fewer than these are left to the next process when a store is closed. */
const WORTH_CLOSING = 64;
/** A pack is closed when it has this many characters: enough to be compressed well, little enough to read for one line. */
const PACK_CHARACTERS = 65_536;
/** Clocks that differ by less are taken for the same. */
const SLACK_MS = 5000;
/** How long a collection may hold the lock while it decides. */
const COLLECT_MS = 600_000;

type Task = {
  readonly about: (asked: Asked) => void;
  readonly size: number;
  readonly work: (tables: Tables, now: number) => unknown;
};

/** A schema of a PostgreSQL database, for processes of many machines. */
export class PgShelf extends SqlShelf implements Shelf {
  readonly url: string;
  readonly identity: string;
  readonly capabilities: Shelf["capabilities"];
  readonly names: NameReader;
  readonly blobs: PgBlobs;
  protected readonly facts: Facts;
  readonly #rows: PgRows;
  readonly #writer: Writer;
  readonly #listeners: PgListeners;
  readonly #group: GroupCommit<Task, unknown>;
  /** How far the clock of this process is ahead of the database's. */
  #ahead = 0;
  #packing: Promise<void> | undefined;
  /** How many lines waited after the last commit of this process. */
  #waiting = 0;

  private constructor(target: ReturnType<typeof targetOf>, { identity, durability, ...opened }: Opened) {
    super();
    this.url = target.shown;
    this.identity = identity;
    this.capabilities = { durability, writers: "many-hosts" };
    this.#rows = new PgRows(target);
    this.facts = new Facts(this.#rows);
    this.names = new NameReader(this.#rows, () => this.#ahead);
    this.blobs = new PgBlobs(this.#rows);
    this.#writer = new Writer(target, opened.asynchronous, () => this.ready());
    this.#listeners = new PgListeners(target, identity);
    if (opened.readOnly)
      this.#writer.dead = new StoreError(
        "read-only",
        `Cannot write to ${this.url}: the server is a standby.`,
        "connect to the primary",
      );
    this.#group = new GroupCommit(
      (tasks) => this.#transact(tasks),
      () => this.#writer.dead,
      ({ size }) => size,
    );
  }

  static async open(url: string): Promise<PgShelf> {
    const target = targetOf(url);
    return new PgShelf(target, await openSchema(target));
  }

  ready(): Promise<void> | undefined {
    return this.#rows.ready();
  }

  now(): number {
    const sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now";
    return this.#rows.get(sql)?.now as number;
  }

  write<Result>(
    work: (tables: Tables, now: number) => Result,
    about: readonly string[] = [],
  ): Promise<Result> {
    const ask = (asked: Asked): void => about.forEach((name) => void asked.names.add(name));
    return this.#group.add({ work, about: ask, size: 0 }) as Promise<Result>;
  }

  commit(commit: Commit): Promise<Committed> {
    const size = [...commit.facts.map(({ line }) => line), ...commit.blobs.map(({ bytes }) => bytes)].reduce(
      (sum, { length }) => sum + length,
      0,
    );
    return this.#group.add({
      size,
      about: (asked) => asked.addCommit(commit),
      work: (tables, now) => this.#inClockOfProcess(applyCommit(tables, inClockOfStore(commit, now))),
    }) as Promise<Committed>;
  }

  /** The time that a message takes does not count as a difference of clocks: told again and again, the end of a lease must stay the same. */
  #setClock(ahead: number): void {
    if (Math.abs(ahead - this.#ahead) > SLACK_MS) this.#ahead = ahead;
  }

  #inClockOfProcess(committed: Committed): Committed {
    if (committed.outcome !== "fenced") return committed;
    const { record } = committed;
    return { ...committed, record: { ...record, until: record.until + this.#ahead } };
  }

  /** Everything that waits goes into one transaction and one sync. */
  async #transact(tasks: readonly Task[]): Promise<readonly unknown[]> {
    const asked = new Asked();
    for (const { about } of tasks) about(asked);
    const writer = this.#writer;
    const qualified = (sql: string): string => writer.qualified(sql);
    const { results, moved, waiting } = await writer.transaction(
      (literal) => asked.reads(qualified, literal),
      (state, answers) => {
        this.#setClock(Date.now() - state.now);
        const draft = new Draft(this.#rows, this.facts, state, answers, asked);
        const results = tasks.map(({ work }) => work(draft, state.now));
        const { moved, waiting } = draft;
        const sql = draft.sql(qualified, (text) => writer.literal(text));
        return { sql, result: { results, moved, waiting }, ...(moved && { tell: this.#listeners.notify }) };
      },
    );
    if (moved) this.#listeners.tell();
    this.#waiting = waiting;
    if (waiting >= WORTH_PACKING) this.#pack(WORTH_PACKING);
    return results;
  }

  async saveSnapshot(id: FactId, snapshot: string): Promise<void> {
    await this.#writer.transaction(
      () => [],
      () => {
        const sql = `${this.#writer.qualified("INSERT INTO snapshots")} VALUES (${this.facts.placeOrFail(id)}, ${this.#writer.literal(snapshot)}) ON CONFLICT (p) DO UPDATE SET snapshot = excluded.snapshot`;
        return { sql, result: undefined };
      },
    );
  }

  /** Packs the lines that wait, while others go on. That a pack is not made loses nothing. */
  #pack(least: number): void {
    this.#packing ??= this.#writer
      .transaction(
        () => [],
        ({ waiting }) => ({
          sql: waiting < least ? "" : this.#writer.qualified(`${PACK};${OLD_WRITERS}`),
          result: waiting >= least,
        }),
      )
      .then(async (packed) => {
        this.#waiting = 0;
        if (packed) await this.#writer.run("VACUUM fresh, names, generation, writers");
      })
      .catch(() => {})
      .finally(() => {
        this.#packing = undefined;
      });
  }

  async remove(what: Removal): Promise<void> {
    const qualified = (sql: string): string => this.#writer.qualified(sql);
    await this.#writer.transaction(
      () => [],
      ({ collected }) => {
        this.facts.noticeCollection(collected);
        const gone = this.#stillLoose(what.ids ?? []);
        const literal = (text: string): string => this.#writer.literal(text);
        const digests = [...removable(what, () => this.#linesWithout(gone), this.blobs)];
        const first = new Map<number, Place>();
        for (const place of gone.keys())
          first.set(chainOf(place), Math.min(place, first.get(chainOf(place)) ?? Number.MAX_SAFE_INTEGER));
        const sql = [
          ...(gone.size > 0 ? cutChains([...first.values()], [...gone.values()]) : []),
          ...(digests.length > 0
            ? [
                `DELETE FROM blobs WHERE digest = ANY('{${digests.map((one) => `"\\\\x${one}"`).join()}}'::bytea[])`,
              ]
            : []),
          ...(what.snapshots === true ? ["DELETE FROM snapshots"] : []),
        ].map(qualified);
        for (const key of what.keys ?? [])
          sql.push(`${qualified("DELETE FROM secrets")} WHERE id = ${literal(key)}`);
        sql.push(qualified("UPDATE generation SET collected = collected + 1"));
        return { sql: sql.join(";"), result: undefined };
      },
      COLLECT_MS,
    );
    this.blobs.forget();
    // PostgreSQL gives the room of removed rows to new ones.
    await this.#writer.run("VACUUM fresh, packs, blobs, snapshots, secrets, ids").catch(() => {});
  }

  /** Of facts that nothing led to when they were counted, those that may still go: no name or newer fact came to them since. */
  #stillLoose(ids: readonly FactId[]): ReadonlyMap<Place, FactId> {
    const loose = new Map<Place, FactId>();
    this.facts.lookUp(ids);
    for (const id of ids) {
      const place = this.facts.place(id);
      if (place !== undefined) loose.set(place, id);
    }
    const standing = [...this.names.places(), ...this.facts.childrenOutside(loose)];
    const past = this.facts.chains.reach(standing);
    for (const place of [...loose.keys()]) if (place <= (past.get(chainOf(place)) ?? -1)) loose.delete(place);
    return loose;
  }

  *#linesWithout(gone: ReadonlyMap<Place, FactId>): Generator<string> {
    for (const batch of this.facts.every())
      for (const { place, line } of batch) if (!gone.has(place)) yield line;
  }

  listen(heard: () => void): () => void {
    return this.#listeners.add(heard);
  }

  /** Whether the tables say what the lines say; that pages are as they were written is for the server to know. */
  *examine(): Iterable<Finding> {
    try {
      yield* this.#examine();
    } catch (error) {
      yield { place: this.url, problem: problemOf(error) };
    }
  }

  *#examine(): Iterable<Finding> {
    for (const batch of this.facts.every()) {
      const where = (index: number): string => {
        const place = batch[index]?.place ?? 0;
        return `fact ${chainOf(place)}.${placeIn(place)}`;
      };
      const ids = batch.map(({ line }) => digestOf(line));
      const parents = batch.map(({ line }) => parentsOf(line));
      const found = this.facts.placesOf([...ids, ...parents.flat()]);
      for (const [index, { place }] of batch.entries()) {
        if (found.get(ids[index] as FactId) !== place)
          yield { place: where(index), problem: "the line is not the one that was written" };
        const told = parents[index]?.map((parent) => found.get(parent)) ?? [];
        const kept = this.facts.parentPlaces(place);
        if (told.join() !== kept.join())
          yield {
            place: where(index),
            problem: "the tables say that it comes from elsewhere than its line does",
          };
      }
    }
    for (const { name, p, id } of this.#rows.all("SELECT name, p, id FROM names"))
      if (p === null ? id !== null : this.facts.place(id as FactId) !== p)
        yield {
          place: `name ${JSON.stringify(name)}`,
          problem: "its two accounts of where it stands differ",
        };
    for (const digests of this.blobs.digests())
      for (const digest of digests) {
        const bytes = this.blobs.get(digest);
        if (bytes !== undefined && digestOf(bytes) !== digest)
          yield { place: `blob ${digest}`, problem: "its bytes are not those that were written" };
      }
    for (const { p, snapshot } of this.#rows.all("SELECT p, snapshot FROM snapshots"))
      if (!isSealed(digestOf(this.facts.line(p as Place)), String(snapshot)))
        yield { place: `snapshot ${String(p)}`, problem: "it is not what was written; it is passed over" };
  }

  async backup(path: string): Promise<void> {
    const { SqliteShelf } = await import("../sqlite/shelf.js");
    await SqliteShelf.create(path, async (copy) => {
      // One look, so that the copy is the store as it stood at one moment.
      const writing = this.facts.atOnce(() => {
        const lines = [...this.facts.every()].flat();
        const names = this.names.under("").toSorted((one, other) => one.moved - other.moved);
        const blobs = [...this.blobs.digests()].flat().flatMap((digest) => {
          const bytes = this.blobs.get(digest);
          return bytes === undefined ? [] : [{ digest, bytes }];
        });
        return copy.write((into) => {
          addInOrder(lines, (line) => {
            const id = digestOf(line);
            if (!into.facts.has(id)) into.facts.add({ id, line, parents: parentsOf(line) });
          });
          into.blobs.add(blobs, new Set());
          for (const erasure of this.blobs.erasures()) into.blobs.erase(erasure);
          for (const { id, secret } of this.#rows.all("SELECT id, secret FROM secrets"))
            into.blobs.addKey({ id: id as string, secret: secret as Uint8Array });
          for (const { moved: _, ...record } of names) into.names.put(record);
        });
      });
      await writing;
    });
  }

  async close(): Promise<void> {
    await this.#group.settled();
    await this.#packing;
    if (this.#waiting >= WORTH_CLOSING && this.#writer.dead === undefined) this.#pack(WORTH_CLOSING);
    await this.#packing;
    await this.#listeners.stop();
    const reason = closedError(this.url);
    await this.#writer.close(reason);
    this.#rows.close(reason);
  }
}

/** The marks of processes that were killed: nobody asks for an acknowledgement that long. */
const OLD_WRITERS = "DELETE FROM writers WHERE at < now() - interval '7 days'";

/** Removes the ends of chains, each from a place on. */
function cutChains(cuts: readonly Place[], ids: readonly FactId[]): readonly string[] {
  const from = (table: string, column: string): string =>
    `DELETE FROM ${table} USING unnest('{${cuts.join()}}'::bigint[]) AS cut WHERE ${column} BETWEEN cut AND cut | 67108863`;
  const whole = cuts.filter((place) => placeIn(place) === 0).map(chainOf);
  return [
    from("fresh", "p"),
    from("packs", "p"),
    `UPDATE packs SET last = cut - 1, lines = array_to_string((string_to_array(lines, E'\\n'))[1:cut - p], E'\\n')
       FROM unnest('{${cuts.join()}}'::bigint[]) AS cut WHERE p < cut AND last >= cut`,
    from("snapshots", "p"),
    from("merges", "child"),
    ...(whole.length > 0 ? [`DELETE FROM chains WHERE chain = ANY('{${whole.join()}}'::bigint[])`] : []),
    `DELETE FROM ids WHERE k = ANY('{${ids.map((id) => id.slice(0, 32)).join()}}'::uuid[])`,
    `DELETE FROM steps WHERE id = ANY('{${ids.map((id) => `"\\\\x${id}"`).join()}}'::bytea[])`,
  ];
}

/** Adds lines, each after those that it comes from. */
function addInOrder(lines: readonly { readonly line: string }[], add: (line: string) => void): void {
  const here = new Set(lines.map(({ line }) => digestOf(line)));
  const added = new Set<FactId>();
  const waiting = new Map<FactId, string[]>();
  const open = lines.map(({ line }) => line).reverse();
  for (let line = open.pop(); line !== undefined; line = open.pop()) {
    const missing = parentsOf(line).find((parent) => here.has(parent) && !added.has(parent));
    if (missing !== undefined) {
      const others = waiting.get(missing);
      if (others === undefined) waiting.set(missing, [line]);
      else others.push(line);
      continue;
    }
    add(line);
    const id = digestOf(line);
    added.add(id);
    open.push(...(waiting.get(id) ?? []));
    waiting.delete(id);
  }
}

/**
 * Puts the lines of a chain that wait side by side, together with the last pack before them if that is small. The lines of a
 * pack are one text, which PostgreSQL compresses.
 */
const PACK = `WITH taken AS (DELETE FROM fresh RETURNING p, line),
  small AS (DELETE FROM packs WHERE p IN (
    SELECT before.p FROM taken CROSS JOIN LATERAL (
      SELECT p, last, lines FROM packs WHERE packs.p < taken.p ORDER BY packs.p DESC LIMIT 1) AS before
    WHERE before.last = taken.p - 1 AND before.p >> 26 = taken.p >> 26 AND octet_length(before.lines) < ${PACK_CHARACTERS / 4})
    RETURNING p, lines),
  whole AS (SELECT p, line FROM taken UNION ALL
    SELECT small.p + part.n - 1, part.line FROM small CROSS JOIN LATERAL string_to_table(small.lines, E'\\n') WITH ORDINALITY AS part (line, n)),
  runs AS (SELECT p, line, p >> 26 AS chain, p - row_number() OVER (ORDER BY p) AS run FROM whole),
  parts AS (SELECT *, sum(octet_length(line) + 1) OVER (PARTITION BY chain, run ORDER BY p) / ${PACK_CHARACTERS} AS part FROM runs),
  made AS (INSERT INTO packs SELECT min(p), max(p), string_agg(line, E'\\n' ORDER BY p) FROM parts GROUP BY chain, run, part::bigint)
  UPDATE generation SET waiting = 0`;
