import {
  type Digest,
  digestOf,
  type FactId,
  isDigest,
  parentsOf,
  readFact,
  Session,
} from "../../session/index.js";
import { showValue } from "../../util/index.js";
import { checkStore } from "../care/check.js";
import { collect } from "../care/collect.js";
import { erase } from "../care/erase.js";
import { forget } from "../commit.js";
import { closedError, DamageError, FencedError, misuse, NotFoundError } from "../error.js";
import { exportLines, soundBlob, verified } from "../exchange/export.js";
import { importLines } from "../exchange/import.js";
import { syncStores } from "../exchange/sync.js";
import { type Lease, takeLease } from "../name/lease.js";
import { alsoOf, checkName, fenceOf, moveTo } from "../name/move.js";
import { nameOf, numberOf, Watch } from "../name/watch.js";
import type { Erasure, Shelf } from "../shelf.js";
import type {
  Checked,
  Collected,
  CollectOptions,
  EraseOptions,
  ExportOptions,
  FactsOptions,
  FactsPage,
  ForgetOptions,
  HistoryOptions,
  Imported,
  ImportOptions,
  LeaseOptions,
  Line,
  LoadOptions,
  Name,
  NamesOptions,
  PointOptions,
  Recorded,
  Saved,
  SaveOptions,
  Store,
  WatchOptions,
} from "../store.js";
import { factsPage } from "./facts-page.js";
import { SessionReader } from "./load.js";
import { type Naming, SessionWriter } from "./save.js";

/** How often a reading starts anew when its server goes away. */
const ATTEMPTS = 3;

/** A `Store` on any shelf. */
export class ShelfStore implements Store {
  readonly url: string;
  readonly capabilities: Store["capabilities"];
  readonly #shelf: Shelf;
  readonly #reader: SessionReader;
  readonly #writer: SessionWriter;
  readonly #watches = new Set<Watch>();
  #closed = false;

  constructor(shelf: Shelf) {
    this.url = shelf.url;
    this.capabilities = shelf.capabilities;
    this.#shelf = shelf;
    this.#reader = new SessionReader(shelf);
    this.#writer = new SessionWriter(shelf, this.#reader);
  }

  get identity(): string | undefined {
    return this.#shelf.identity;
  }

  async save(session: Session, options: SaveOptions = {}): Promise<Saved> {
    this.#enter(options, "store.save(session, { name })");
    if (!(session instanceof Session))
      throw misuse("save something that is not a Session", "pass a session: store.save(session, { name })");
    const { name, key, lease, expect, also } = options;
    if (name === undefined && [key, lease, expect, also].some((option) => option !== undefined))
      throw misuse(
        "keep a key, a lease, an expectation or other names without a name",
        "they belong to a name: store.save(session, { name, … })",
      );
    const others = name === undefined ? [] : alsoOf(name, also);
    const naming: Naming = {
      ...(name !== undefined && { move: moveTo(name, session.id, options) }),
      ...(others.length > 0 && {
        also: others.map(([other, at]) => ({ name: other, head: at?.id ?? null })),
      }),
    };
    const heads = [session, ...others.flatMap(([, at]) => at ?? [])];
    return this.#writer.save(heads, naming);
  }

  async load(nameOrId: string, options: LoadOptions = {}): Promise<Session> {
    this.#enter(options, "store.load(name, { horizon: 5000 })");
    const { horizon, fetch = false } = options;
    if (horizon !== undefined && (typeof horizon !== "number" || !(horizon >= 1)))
      throw misuse(
        `load with a horizon of ${String(horizon)}`,
        "give the number of facts to hold in memory, at least 1",
      );
    if (typeof fetch !== "boolean")
      throw misuse(`load with fetch: ${showValue(fetch)}`, "give true or false");
    const id = await this.resolve(nameOrId);
    return this.#read(() => this.#reader.load(id, { fetch, ...(horizon !== undefined && { horizon }) }));
  }

  async resolve(nameOrId: string): Promise<FactId> {
    return this.#read(() => this.#reader.resolve(nameOrId));
  }

  async has(id: FactId): Promise<boolean> {
    return this.#read(() => isDigest(id) && this.#shelf.lines([id])[0] !== undefined);
  }

  async line(id: FactId): Promise<string | undefined> {
    const [line] = await this.#read(() => (isDigest(id) ? this.#shelf.lines([id]) : []));
    if (line !== undefined && digestOf(line) !== id)
      throw new DamageError(`the fact ${id}`, "its line is not the one that was written");
    return line;
  }

  async children(id: FactId): Promise<readonly FactId[]> {
    const at = await this.resolve(id);
    return this.#read(() => this.#shelf.children(at));
  }

  async *history(
    nameOrId: string | readonly string[],
    options: HistoryOptions = {},
  ): AsyncIterable<Recorded> {
    for await (const lines of this.lines(nameOrId, options)) {
      for (const { id, line } of lines)
        yield { id, parents: parentsOf(line), line, fact: readFact(line, this.#reader.blobs) };
    }
  }

  async facts(nameOrId: string, options: FactsOptions = {}): Promise<FactsPage> {
    this.#enter(options, "store.facts(name, { limit: 100 })");
    return this.#read(() => factsPage(this, this.#shelf, this.#reader, nameOrId, options));
  }

  async *lines(
    nameOrId: string | readonly string[],
    options: HistoryOptions = {},
  ): AsyncIterable<readonly Line[]> {
    this.#enter(options, "store.lines(name, { without: [other] })");
    yield* verified(this.#shelf, this.#resolveAll(nameOrId), this.#resolveAll(options.without ?? []));
  }

  #resolveAll(nameOrId: string | readonly string[]): readonly FactId[] {
    this.#checkOpen();
    return [nameOrId].flat().map((one) => this.#reader.resolve(one as string));
  }

  async names(options: NamesOptions = {}): Promise<readonly Name[]> {
    this.#enter(options, 'store.names({ under: "team/" })');
    const { under = "", order = "name", after, limit } = options;
    if (typeof under !== "string")
      throw misuse(
        `list the names under ${showValue(under)}`,
        'say how they begin: store.names({ under: "team/" })',
      );
    if (order !== "name" && order !== "changed")
      throw misuse(`list the names by ${showValue(order)}`, 'the order is "name" or "changed"');
    if (after !== undefined && typeof after !== "string")
      throw misuse(`list the names after ${showValue(after)}`, "give the name or the token of the last one");
    if (limit !== undefined && !(Number.isSafeInteger(limit) && limit >= 1))
      throw misuse(`list ${showValue(limit)} names`, "the limit is a whole number of at least 1");
    const page = { under, limit: limit ?? -1 };
    const before = order === "name" || after === undefined ? Number.MAX_SAFE_INTEGER : numberOf(after);
    const records = await this.#read(() =>
      this.#shelf.names.page(
        order === "name"
          ? { ...page, order, ...(after !== undefined && { after }) }
          : { ...page, order, before },
      ),
    );
    return records.flatMap(nameOf);
  }

  async head(name: string): Promise<FactId | undefined> {
    this.#checkOpen();
    if (typeof name !== "string") throw misuse(`find ${showValue(name)}`, "give a name");
    return this.#read(() => this.#shelf.names.get(name)?.head ?? undefined);
  }

  async point(name: string, id: FactId, options: PointOptions = {}): Promise<Saved> {
    this.#enter(options, "store.point(name, id, { expect })");
    if ("also" in options)
      throw misuse(`point "${name}" and others at once`, "save does: store.save(session, { name, also })");
    const head = await this.resolve(id);
    return this.#writer.commit({ facts: [], blobs: [], move: moveTo(name, head, options) }, []);
  }

  async forget(name: string, options: ForgetOptions = {}): Promise<void> {
    this.#enter(options, "store.forget(name, { lease })");
    checkName(name);
    const fence = fenceOf(name, options.lease);
    const outcome = await this.#shelf.write(
      ({ names }, now) => forget(names, name, options.force ? undefined : { ...fence, now }),
      [name],
    );
    if (outcome === "unknown")
      throw new NotFoundError(
        `a session called ${JSON.stringify(name)}`,
        "list what is there: await store.names()",
      );
    if (outcome === "fenced") {
      throw new FencedError(name, fence.epoch ?? null, this.#shelf.names.get(name));
    }
  }

  async lease(name: string, options: LeaseOptions = {}): Promise<Lease> {
    this.#enter(options, "store.lease(name, { milliseconds: 30_000 })");
    checkName(name);
    return takeLease(this.#shelf, name, options);
  }

  async time(): Promise<number> {
    return this.#read(() => this.#shelf.now?.() ?? Date.now());
  }

  watch(options: WatchOptions = {}): Watch {
    this.#enter(options, "store.watch({ name, from, signal })");
    if (options.name !== undefined) checkName(options.name);
    const watch = new Watch(this.#shelf, options, (ended) => this.#watches.delete(ended));
    this.#watches.add(watch);
    return watch;
  }

  async *export(nameOrId: string | readonly string[], options: ExportOptions = {}): AsyncIterable<string> {
    this.#enter(options, "store.export(name, { blobs: false })");
    const { without = [], blobs = true } = options;
    yield* exportLines(this.#shelf, this.#resolveAll(nameOrId), this.#resolveAll(without), blobs);
  }

  async import(
    lines: string | Iterable<string> | AsyncIterable<string>,
    options: ImportOptions = {},
  ): Promise<Imported> {
    this.#enter(options, "store.import(lines, { name })");
    if (options.name !== undefined) checkName(options.name);
    const { report, last } = await importLines(this.#shelf, lines, options);
    if (options.name !== undefined && last !== undefined) await this.point(options.name, last);
    if (report.written > 0) await this.#writer.prepareHeads(report);
    return report;
  }

  async sync(from: Store, options: { readonly names?: boolean } = {}): Promise<Imported> {
    this.#enter(options, "store.sync(from, { names: false })");
    if (typeof from?.names !== "function" || typeof from.export !== "function")
      throw misuse(`sync with ${showValue(from)}`, "give an open store: store.sync(await openStore(url))");
    return syncStores(from, this, this.#shelf, options.names ?? true);
  }

  async putBlob(bytes: ArrayBufferView): Promise<Digest> {
    const [digest] = await this.putBlobs([bytes]);
    return digest as Digest;
  }

  async putBlobs(blobs: readonly ArrayBufferView[]): Promise<readonly Digest[]> {
    this.#checkOpen();
    if (!Array.isArray(blobs))
      throw misuse(`keep ${showValue(blobs)} as blobs`, "give a list: store.putBlobs([Buffer.from(text)])");
    for (const bytes of blobs)
      if (!ArrayBuffer.isView(bytes))
        throw misuse(
          `keep ${showValue(bytes)} as a blob`,
          "give its bytes: store.putBlob(Buffer.from(text))",
        );
    return this.#writer.putBlobs(blobs);
  }

  async blob(digest: Digest): Promise<Uint8Array | undefined> {
    return this.#read(() => (isDigest(digest) ? soundBlob(this.#shelf, digest) : undefined));
  }

  async erase(nameOrId: string, options: EraseOptions): Promise<Session> {
    this.#enter(options, "store.erase(name, { digests, why })");
    const id = await this.resolve(nameOrId);
    const standing = this.#shelf.names.under("").flatMap(({ name, head }) => (head === id ? [name] : []));
    // The name that was asked for goes first, in one commit with the erasure; others that stand there follow.
    const [first = options.lease?.name, ...others] = [
      ...new Set([options.lease?.name ?? nameOrId, ...standing].filter((name) => standing.includes(name))),
    ];
    const expect = { expect: id };
    const move =
      first === undefined
        ? undefined
        : moveTo(first, id, { ...expect, ...(options.lease && { lease: options.lease }) });
    const erased = await erase(this.#shelf, await this.load(id), options, move);
    for (const name of others)
      await this.#shelf.commit({ facts: [], blobs: [], move: moveTo(name, erased.id, expect) });
    // The session at hand has read what is now erased; the one that is given back has not.
    return this.load(erased.id);
  }

  async erasures(): Promise<readonly Erasure[]> {
    return this.#read(() => this.#shelf.blobs.erasures());
  }

  async gc(options: CollectOptions = {}): Promise<Collected> {
    this.#enter(options, "store.gc({ dryRun: true })");
    return collect(this.#shelf, options);
  }

  async check(options: { readonly progress?: (facts: number) => void } = {}): Promise<Checked> {
    this.#enter(options, "store.check({ progress })");
    return checkStore(this.#shelf, options.progress);
  }

  async backup(path: string): Promise<void> {
    this.#checkOpen();
    if (typeof path !== "string" || path === "")
      throw misuse(
        `write a backup to ${showValue(path)}`,
        "give the path of something that is not there yet",
      );
    await this.#shelf.backup(path);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const watch of [...this.#watches]) watch.end();
    await closeDerived(this);
    await this.#shelf.close();
  }

  /** The first check of every method. Options are an object or left out: anything else would be passed over in silence. */
  #enter(options: unknown, example: string): void {
    this.#checkOpen();
    if (typeof options !== "object" || options === null)
      throw misuse(`use ${showValue(options)} as options`, `give an object or nothing: ${example}`);
  }

  /** Reads as soon as a server that is away is back, without keeping the process from other work. Writing waits by itself. */
  async #read<Result>(look: () => Result | Promise<Result>): Promise<Result> {
    this.#checkOpen();
    for (let attempt = 1; ; attempt++) {
      const ready = this.#shelf.ready?.();
      if (ready !== undefined) await ready;
      try {
        return await look();
      } catch (error) {
        // The server went away meanwhile; reading changes nothing.
        if (this.#shelf.ready?.() === undefined || attempt === ATTEMPTS) throw error;
      }
    }
  }

  #checkOpen(): void {
    if (this.#closed) throw closedError(this.url);
  }
}

const derived = new WeakMap<Store, Set<() => Promise<void>>>();

/** Does something when a store is closed, before it is: whatever was derived from it closes its files too. */
export function beforeClosing(store: Store, act: () => Promise<void>): void {
  const acts = derived.get(store) ?? new Set();
  derived.set(store, acts.add(act));
}

/** Does all that waits for the closing of a store. A failure is ignored: what is closed here is derived. */
async function closeDerived(store: Store): Promise<void> {
  const acts = [...(derived.get(store) ?? [])];
  derived.delete(store);
  await Promise.allSettled(acts.map((act) => act()));
}
