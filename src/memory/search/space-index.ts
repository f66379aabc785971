import { setImmediate as turn } from "node:timers/promises";
import type { FactId, Json } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { isBusy } from "../derived-file.js";
import type { Embedder } from "../embedding/embedder.js";
import { MemoryRefusedError, refusing } from "../error.js";
import type { Scope } from "../scope.js";
import type { Memory, Status } from "../state.js";
import { type Connections, closeIndex, fileOf, isBroken, newIndex, openIndex, stateOf } from "./database.js";
import { type FindOptions, hitsIn, nearTo } from "./find.js";
import { idOf, memoryFrom, spaceFactFrom } from "./fold.js";
import { type Filter, isKind, LIVE_COLUMNS, Live, timesOf } from "./live.js";
import { MEANT_CHARACTERS, quantised } from "./nearest.js";
import { bring, type SyncOptions } from "./sync.js";
import { fillVectors, forgetVectors } from "./vectors.js";

export type { FindOptions } from "./find.js";
export type { Filter } from "./live.js";
export type { SyncOptions } from "./sync.js";

export type Found = {
  readonly memory: Memory;
  /** From 0 to 1. */
  readonly score: number;
  readonly parts: { readonly words: number; readonly meaning: number };
  /** Memories that say nearly the same and were left out in favour of this one. */
  readonly alike: readonly FactId[];
};

/** How long reading goes on as of one moment, whatever other processes do to the file, after it was last asked. */
const STEADY_MS = 5_000;
/** How often it is brought to a place that others take it away from. */
const ATTEMPTS = 20;
/** Rows that are taken over before others of this process get a turn. */
const PAGE = 500;

/**
 * The index of one memory space as of one id. It is derived from the facts in the store: it may be deleted,
 * and is rebuilt or kept in memory when its file is damaged, outdated or not writable.
 */
export class SpaceIndex {
  readonly #path: string;
  readonly #space: string;
  readonly #embedder: Embedder;
  readonly #live = new Live();
  #connections: Connections | undefined;
  #loaded: { readonly head: FactId | undefined; readonly build: string; readonly stamp: number } | undefined;
  #store: Store | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #steady: NodeJS.Timeout | undefined;
  #broken = false;

  /** `space` is its name in its store. Without a folder the index is in memory. */
  constructor({
    folder,
    space,
    embedder,
  }: { folder: string | undefined; space: string; embedder: Embedder }) {
    this.#path = folder === undefined ? ":memory:" : fileOf(folder, space);
    this.#space = space;
    this.#embedder = embedder;
    this.#connections = openIndex(this.#path, space);
  }

  /** The id as of which it answers; undefined before the first sync, or when another process has moved the file since. */
  get head(): FactId | undefined {
    if (this.#connections === undefined || this.#broken) return undefined;
    try {
      return this.#hold() ? this.#loaded?.head : undefined;
    } catch (error) {
      if (!isBroken(error)) throw error;
      this.#broken = true;
      return undefined;
    }
  }

  /** Brings it to an id of the space. Meanwhile an index in a file is read as of before. */
  sync(store: Store, head: FactId, options: SyncOptions = {}): Promise<void> {
    const work = this.#last.then(() => this.#sync(store, head, options));
    this.#last = work.catch(() => {});
    return work;
  }

  /** A memory, whatever became of it. */
  get(id: FactId): Memory | undefined {
    return this.#read(({ read }) => memoryFrom(read, id), undefined);
  }

  /** Memories in the order of their writing; live ones when no status is named. */
  list(filter: Filter & { readonly statuses?: readonly Status[] } = {}): readonly Memory[] {
    return this.#read<readonly Memory[]>(({ read }) => listed(read, filter), []);
  }

  /** The rules of the space, and where it holds, as the last fact about it says. */
  get rules(): Json | undefined {
    return this.#spaceFact()?.rules;
  }

  get scope(): Json | undefined {
    return this.#spaceFact()?.scope;
  }

  /** The live and the held memories about a subject. */
  bySubject(subject: string): readonly Memory[] {
    return this.#read<readonly Memory[]>(
      ({ read }) =>
        read
          .all(
            "SELECT id FROM memory WHERE subject = ? AND status IN ('live', 'held') ORDER BY depth, id",
            JSON.stringify(subject),
          )
          .flatMap(({ id }) => memoryFrom(read, idOf(id)) ?? []),
      [],
    );
  }

  /** Live memories that share most of their words with a text, the nearest first. */
  near(text: string, most: number): readonly Memory[] {
    return this.#read(({ read }) => nearTo(read, text, most).flatMap((id) => memoryFrom(read, id) ?? []), []);
  }

  async find(query: string, options: FindOptions): Promise<readonly Found[]> {
    const { mode = "fused", signal } = options;
    const meant = query.slice(0, MEANT_CHARACTERS).toWellFormed();
    const [vector] = mode === "words" ? [] : await this.#embedder.embed([meant], signal);
    const question = {
      query,
      vector: vector === undefined ? undefined : quantised(vector),
      coverage: mode === "words" ? undefined : this.#embedder.coverage?.(meant),
    };
    for (let attempt = 0; ; attempt++) {
      signal?.throwIfAborted();
      await this.#ready(mode !== "words", question.vector?.length ?? 0, signal);
      try {
        return this.#read<readonly Found[]>(
          ({ read }) =>
            hitsIn(read, this.#live, question, options).flatMap(({ id, ...hit }) => {
              const memory = memoryFrom(read, id);
              return memory === undefined ? [] : [{ memory, ...hit }];
            }),
          [],
        );
      } catch (error) {
        // Another process has moved the file since, or it is damaged: then it is brought back, a few times.
        if (!(error instanceof MemoryRefusedError) || attempt >= 3 || this.#connections === undefined)
          throw error;
      }
    }
  }

  /** Ends reading as of one moment. While nobody reads, SQLite writes its log from the beginning again. */
  rest(): void {
    this.#release();
  }

  close(): void {
    if (this.#connections !== undefined) this.#shorten();
    if (this.#connections !== undefined) closeIndex(this.#connections);
    this.#connections = undefined;
    this.#live.clear();
  }

  async #sync(store: Store, head: FactId, options: SyncOptions): Promise<void> {
    this.#store = store;
    for (let attempt = 1, damages = 0; ; attempt++) {
      try {
        if (this.#broken) this.#remake(++damages > 1);
        const forgotten = await bring(this.#open(), this.#space, store, head, options);
        if (forgotten) this.#shorten();
        if (await this.#load(head)) break;
      } catch (error) {
        if (attempt >= ATTEMPTS || this.#connections === undefined) throw error;
        if (isBusy(error)) this.#remake(true);
        else if (isBroken(error) && damages < 2) this.#broken = true;
        else throw error;
      }
      // Another process wants it elsewhere, and may have it when this one is done.
      if (attempt >= ATTEMPTS) this.#remake(true);
    }
    if (options.meaning !== false) await this.#fill(options);
  }

  /** Takes the log over into the file, as far as nobody else reads in it: what was erased is not to be found there either. */
  #shorten(): void {
    this.#release();
    const { write, path } = this.#open();
    try {
      if (path !== ":memory:") write.all("PRAGMA wal_checkpoint(TRUNCATE)");
    } catch {
      // Another process is at work; it will do it when it closes.
    }
  }

  /** Takes over what changed in the file. False when it is not where it should be. */
  async #load(head: FactId): Promise<boolean> {
    const { read } = this.#open();
    this.#release();
    this.#begin();
    const { build, stamp, head: at } = stateOf(read);
    if (at !== head) return false;
    const from = `FROM memory m LEFT JOIN vector v ON v.embedder = ? AND v.digest = m.digest`;
    if (this.#loaded?.build === build) {
      const { stamp: since } = this.#loaded;
      const sql = `SELECT ${LIVE_COLUMNS} ${from} WHERE m.stamp > ?`;
      for (const row of read.all(sql, this.#embedder.name, since)) this.#live.put(row);
    } else {
      this.#loaded = undefined;
      this.#live.clear();
      for (let last = 0; ; ) {
        const page = read.all(
          `SELECT ${LIVE_COLUMNS} ${from} WHERE m.row > ? AND m.status = 'live' ORDER BY m.row LIMIT ${PAGE}`,
          this.#embedder.name,
          last,
        );
        for (const row of page) this.#live.put(row);
        if (page.length < PAGE) break;
        last = page.at(-1)?.row as number;
        await turn();
        this.#open();
      }
    }
    this.#loaded = { head, build, stamp };
    return true;
  }

  /** Sees to it that what is asked next is answered as of the head that was last brought here. */
  async #ready(meaning: boolean, dimensions: number, signal: AbortSignal | undefined): Promise<void> {
    await this.#last;
    const [store, head] = [this.#store, this.#loaded?.head];
    const more = signal === undefined ? {} : { signal };
    if (store !== undefined && head !== undefined && this.head !== head)
      await this.sync(store, head, { ...more, meaning: false });
    const known = this.#live.neighbours.dimensions;
    const other = meaning && dimensions > 0 && known > 0 && known !== dimensions;
    if (meaning && (other || this.#live.lacking.size > 0)) {
      const work = this.#last.then(async () => {
        if (other) await forgetVectors(this.#open(), this.#live, this.#embedder, signal);
        await this.#fill(more);
      });
      this.#last = work.catch(() => {});
      await work;
    }
  }

  async #fill(options: SyncOptions): Promise<void> {
    if (this.#live.lacking.size > 0) await fillVectors(this.#open(), this.#live, this.#embedder, options);
  }

  #spaceFact(): { readonly rules?: Json; readonly scope?: Json } | undefined {
    return this.#read(({ read }) => spaceFactFrom(read), undefined) as { rules?: Json; scope?: Json };
  }

  #read<Value>(look: (connections: Connections) => Value, nothing: Value): Value {
    const connections = this.#open();
    try {
      if (this.#broken || !this.#hold()) throw this.#moved();
      // Nobody has said yet which state of the space is meant.
      if (this.#loaded === undefined) return nothing;
      return look(connections);
    } catch (error) {
      if (!isBroken(error)) throw error;
      this.#broken = true;
      throw this.#moved();
    }
  }

  #moved(): MemoryRefusedError {
    return refusing(`read the index of "${this.#space}"`, "busy")(
      this.#broken ? "its file is damaged" : "another process has moved it since",
      "bring it to where it should be: await index.sync(store, head)",
    );
  }

  #open(): Connections {
    if (this.#connections !== undefined) return this.#connections;
    const hint = "open it again: new SpaceIndex(options)";
    throw refusing(`use the index of "${this.#space}"`, "busy")("it was closed", hint);
  }

  /** Makes it anew: as a file, or in memory when the file cannot be used. */
  #remake(inMemory: boolean): void {
    this.#release();
    closeIndex(this.#open());
    this.#loaded = undefined;
    this.#live.clear();
    this.#connections = newIndex(inMemory ? ":memory:" : this.#path, this.#space);
    this.#broken = false;
  }

  /** Goes on reading as of one moment. False when another process has changed the file since it was loaded. */
  #hold(): boolean {
    const { read, path } = this.#open();
    if (path === ":memory:") return true;
    if (this.#steady !== undefined) {
      this.#steady.refresh();
      return true;
    }
    this.#begin();
    const { build, stamp } = stateOf(read);
    if (this.#loaded === undefined || (this.#loaded.build === build && this.#loaded.stamp === stamp))
      return true;
    this.#release();
    return false;
  }

  #begin(): void {
    const { read, path } = this.#open();
    if (path === ":memory:") return;
    read.exec("BEGIN");
    // Not for longer: the log of the file cannot be shortened while somebody reads as of before.
    this.#steady = setTimeout(() => this.#release(), STEADY_MS);
    this.#steady.unref();
  }

  #release(): void {
    if (this.#steady === undefined) return;
    clearTimeout(this.#steady);
    this.#steady = undefined;
    try {
      this.#connections?.read.exec("COMMIT");
    } catch {
      // It ended by itself when something failed.
    }
  }
}

/** Subjects are kept as JSON; all that begin with a text lie between these. */
function rangeUnder(under: string): readonly [string, string] {
  const from = JSON.stringify(under).slice(0, -1);
  return [from, `${from}\u{10ffff}`];
}

/** The memories that a filter leaves, in the order of their writing. */
function listed(
  read: Connections["read"],
  { statuses = ["live"], ...filter }: Filter & { readonly statuses?: readonly Status[] },
): readonly Memory[] {
  const { subject, under } = filter;
  const [since, until] = timesOf(filter);
  const timeless = filter.since === undefined && filter.until === undefined;
  const rows = read.all(
    `SELECT id, status, scope, source, trust, by, at, subject FROM memory
     WHERE status <> 'gone' ${subject === undefined ? "" : "AND subject = ?"}
     ${under === undefined ? "" : "AND subject >= ? AND subject < ?"} ORDER BY depth, id`,
    ...(subject === undefined ? [] : [JSON.stringify(subject)]),
    ...(under === undefined ? [] : rangeUnder(under)),
  );
  const meant: Memory[] = [];
  for (const row of rows) {
    if (!statuses.includes(row.status as Status)) continue;
    const { source, trust, by } = row as { readonly [column: string]: string };
    const scope = JSON.parse(row.scope as string) as Scope;
    if (!isKind(filter, { scope, source, trust, by } as Parameters<typeof isKind>[1])) continue;
    const time = Date.parse(row.at as string);
    if (!timeless && !(time >= since && time <= until)) continue;
    const memory = memoryFrom(read, idOf(row.id));
    if (memory !== undefined) meant.push(memory);
  }
  return meant;
}
