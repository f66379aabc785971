import { randomUUID } from "node:crypto";
import {
  BeyondHorizonError,
  type BlobSource,
  type Digest,
  digestOf,
  type FactId,
  keepingView,
  parentsOf,
  type Realm,
  readFact,
  Session,
} from "../../session/index.js";
import { checkStore } from "../care/check.js";
import { collect } from "../care/collect.js";
import { erase } from "../care/erase.js";
import { BLOB_BYTES_PER_COMMIT, BLOB_COST, breath } from "../commit.js";
import { ConflictError, DamageError, FencedError, misuse, NotFoundError, StoreError } from "../error.js";
import { exportLines, soundBlob, verified } from "../exchange/export.js";
import { importLines } from "../exchange/import.js";
import { syncStores } from "../exchange/sync.js";
import { isGivenUp, Lease, momentNow } from "../name/lease.js";
import {
  alsoOf,
  checkName,
  checkOptions,
  checkOwner,
  fenceOf,
  isId,
  moveTo,
  refuse,
  shown,
} from "../name/move.js";
import { checkNotForged, isDead, newOwner } from "../name/owner.js";
import { nameOf, Watch, type WatchOptions } from "../name/watch.js";
import type { Blob, Commit, Erasure, Move, Shelf } from "../shelf.js";
import type {
  Checked,
  Collected,
  CollectOptions,
  EraseOptions,
  ExportOptions,
  ForgetOptions,
  HistoryOptions,
  Imported,
  ImportOptions,
  LeaseOptions,
  Line,
  LoadOptions,
  Name,
  PointOptions,
  Recorded,
  Saved,
  SaveOptions,
  Store,
} from "../store.js";
import { closeDerived } from "./closing.js";
import { Loader } from "./loader.js";
import {
  depthIn,
  isCurrent,
  isDue,
  isSealed,
  isWorthKeeping,
  takeSnapshot,
  useSnapshot,
} from "./snapshot.js";

const HORIZON = 100_000;
const LEASE_MS = 30_000;
const YEAR_MS = 366 * 24 * 60 * 60 * 1000;
/** A longer history is written in several commits; only the last one moves the name. */
const FACTS_PER_COMMIT = 5_000;
/** How often a save starts anew when others collect what it relies on. */
const ATTEMPTS = 3;
const KEPT_EVERY = 64;
/** Names that a runtime keeps for itself: of no use to who looks for one of theirs. */
const KEPT_BY_RUNTIME = /^(?:run|answer)\//;

/** The names that a commit moves. */
type Naming = Pick<Commit, "move" | "also">;

/** A `Store` on any shelf. */
export class ShelfStore implements Store {
  readonly #shelf: Shelf;
  /** Sessions that are known to be here with their whole past: saving stops at them. */
  #kept = new WeakSet<Session>();
  /** Sessions that a snapshot was taken of, so that the next one is not taken too soon. */
  readonly #prepared = new WeakSet<Session>();
  readonly #blobs: BlobSource;
  readonly #watches = new Set<Watch>();
  #closed = false;

  constructor(shelf: Shelf) {
    this.#shelf = shelf;
    this.#blobs = {
      read: (digest) =>
        soundBlob(shelf, digest) ?? (shelf.erased(digest) === undefined ? undefined : "erased"),
    };
  }

  get identity(): string | undefined {
    return this.#shelf.identity;
  }

  get url(): string {
    return this.#shelf.url;
  }

  get capabilities(): Store["capabilities"] {
    return this.#shelf.capabilities;
  }

  async save(session: Session, options: SaveOptions = {}): Promise<Saved> {
    this.#checkOpen();
    if (!(session instanceof Session))
      throw misuse("save something that is not a Session", "pass a session: store.save(session, { name })");
    checkOptions(options, "store.save(session, { name })");
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
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#write(heads, naming);
      } catch (error) {
        if (!(error instanceof BeyondHorizonError) || attempt === ATTEMPTS) throw error;
        // Someone may have collected what was known to be here: then all of it is written again.
        this.#kept = new WeakSet();
      }
    }
  }

  /** Writes what is new of some sessions. The first is the one that is saved and that the name moves to. */
  async #write(heads: readonly Session[], naming: Naming): Promise<Saved> {
    const seen = new Set<Session>();
    const news = heads.map((head) => this.#notKept(head, seen));
    const [mine = []] = news;
    const fresh = news.length === 1 ? mine : news.flat();
    const parts = Math.ceil(fresh.length / FACTS_PER_COMMIT);
    if (parts > 1 && naming.move !== undefined) {
      const done = await this.#probe(naming.move, naming, mine);
      if (done !== undefined) return done;
    }
    let written = 0;
    for (let index = 0; index < parts; index++) {
      const part = fresh.slice(index * FACTS_PER_COMMIT, (index + 1) * FACTS_PER_COMMIT);
      // All names move in the last one: nothing leads to what is not all here.
      const last = index === parts - 1 ? naming : {};
      const saved = await this.#commit({ ...commitOf(part), ...last }, part);
      if (saved.replayed) return saved;
      written += saved.written;
    }
    for (const [index, head] of written > 0 ? heads.entries() : []) {
      const oldest = news[index]?.[0];
      if (oldest !== undefined && isDue(oldest.depth, head.depth)) await this.#prepare(head);
    }
    return { id: (heads[0] as Session).id, written, replayed: false };
  }

  /** Whether a move would be made, asked before a long history is written for it. Answers when all is done already. */
  async #probe(move: Move, naming: Naming, fresh: readonly Session[]): Promise<Saved | undefined> {
    // A commit without facts is checked for its fence and its step, then finds that a head is not here yet.
    const committed = await this.#shelf.commit({ facts: [], blobs: [], ...naming });
    if (committed.outcome !== "orphan") {
      refuse(committed, move);
      const replayed = committed.outcome === "replayed";
      return { id: replayed ? committed.head : move.head, written: 0, replayed };
    }
    const at = (await this.#shelf.name(move.name))?.head ?? null;
    const stands =
      move.expect === "past"
        ? at === null || (await this.#growsFrom(fresh, at))
        : move.expect === "any" || at === move.expect;
    if (!stands) throw new ConflictError(move.name, move.head, at);
    return undefined;
  }

  /** Whether an id is among these sessions, or in the past they grow from. */
  async #growsFrom(fresh: readonly Session[], id: FactId): Promise<boolean> {
    const ids = new Set(fresh.map((session) => session.id));
    if (ids.has(id)) return true;
    const roots = new Set(fresh.flatMap(({ parentIds }) => parentIds.filter((parent) => !ids.has(parent))));
    const here = await this.#shelf.lines([...roots]);
    const known = [...roots].filter((_, index) => here[index] !== undefined);
    for await (const lines of this.#shelf.history([id], known)) if (lines.length > 0) return false;
    return true;
  }

  async #commit(commit: Commit, facts: readonly Session[]): Promise<Saved> {
    const committed = await this.#shelf.commit({ ...commit, revive: true });
    refuse(committed, commit.move);
    if (committed.outcome === "replayed") return { id: committed.head, written: 0, replayed: true };
    for (const session of facts) this.#kept.add(session);
    return {
      id: commit.move?.head ?? "",
      written: committed.outcome === "done" ? committed.written : 0,
      replayed: false,
    };
  }

  /** The part of a history that is not known to be here and was not seen before, parents before children. */
  #notKept(head: Session, seen: Set<Session>): readonly Session[] {
    const found: Session[] = [];
    if (seen.has(head)) return found;
    const stack: { session: Session; next: number }[] = this.#kept.has(head)
      ? []
      : [{ session: head, next: 0 }];
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      // A session whose past is not loaded came from a store; if that was another one, the commit finds the parent missing.
      const parent = top.session.atHorizon ? undefined : top.session.parents[top.next];
      if (parent !== undefined) {
        top.next += 1;
        if (!this.#kept.has(parent) && !seen.has(parent)) stack.push({ session: parent, next: 0 });
        continue;
      }
      stack.pop();
      if (seen.has(top.session)) continue;
      seen.add(top.session);
      found.push(top.session);
    }
    // A head always goes along: only the shelf knows whether it is still here.
    if (found.length === 0) {
      seen.add(head);
      found.push(head);
    }
    return found;
  }

  /** Makes a later loading quick, where that costs little. It only saves time, so it never fails anything. */
  async #prepare(session: Session): Promise<void> {
    try {
      const snapshot = takeSnapshot(session);
      if (!isWorthKeeping(snapshot, session, this.#prepared)) return;
      // This process may still hold what was erased; then the snapshot is taken of what is here now.
      const erased = (await this.#shelf.erasures()).length > 0;
      await this.#keep(session, erased ? takeSnapshot(await this.load(session.id)) : snapshot);
    } catch {
      // A session that cannot answer its own views, a full disk, a store that was closed: the session is saved.
    }
  }

  async #keep(session: Session, snapshot = takeSnapshot(session)): Promise<void> {
    await this.#shelf.saveSnapshot(session.id, snapshot);
    this.#prepared.add(session);
  }

  /** Prepares what came in as lines, as far as it fits into memory at once. */
  async #prepareHeads({ heads, written }: Imported): Promise<void> {
    let room = HORIZON;
    try {
      for (const id of heads) {
        const count = await this.#shelf.count(id);
        if (!isDue(Math.max(0, count - written), count - 1)) continue;
        room -= count;
        if (room < 0) return;
        await this.#prepare(await this.load(id));
      }
    } catch {
      // What came in is here; whoever loads it is told what is wrong with it.
    }
  }

  async load(nameOrId: string, options: LoadOptions = {}): Promise<Session> {
    checkOptions(options, "store.load(name, { horizon: 5000 })");
    const { horizon = HORIZON } = options;
    if (typeof horizon !== "number" || !(horizon >= 1))
      throw misuse(
        `load with a horizon of ${String(horizon)}`,
        "give the number of facts to hold in memory, at least 1",
      );
    const id = await this.resolve(nameOrId);
    const long = (await this.#shelf.count(id)) > horizon;
    const found = long ? await this.#shelf.tail(id, horizon) : undefined;
    const sealed = found !== undefined && isSealed(digestOf(found.lines[0] ?? ""), found.snapshot);
    const tail = sealed && isCurrent(found.snapshot) ? found : undefined;
    // Those of an older version would be found again and again; what they save is taken anew below.
    if (sealed && tail === undefined) await this.#shelf.remove({ snapshots: true }).catch(() => {});
    const realm: { -readonly [Key in keyof Realm]: Realm[Key] } = { inline: 0, blobs: this.#blobs };
    const loader = new Loader(realm, tail && depthIn(tail.snapshot));
    if (tail !== undefined) {
      loader.add(tail.lines);
      useSnapshot(loader.sessions[0] as Session, tail.snapshot);
    } else {
      for await (const lines of this.#shelf.history([id])) loader.add(lines);
    }
    const session = loader.finish(id);
    const setting = loader.keeping() ?? session.view(keepingView);
    realm.inline = setting.inline;
    const secret = setting.key === undefined ? undefined : this.#shelf.key(setting.key);
    // Where the key was erased or did not come along, a key of this process alone still salts what comes next.
    if (setting.inline === 0 || setting.key !== undefined)
      realm.key =
        setting.key !== undefined && secret !== undefined
          ? { id: setting.key, secret }
          : { id: randomUUID(), secret: randomSecret() };
    Object.freeze(realm);
    // One in a while is enough to stop a later walk; remembering all would cost more than such a walk.
    for (let index = loader.sessions.length - 1; index >= 0; index -= KEPT_EVERY)
      this.#kept.add(loader.sessions[index] as Session);
    // No place to start from was found, so all of it was read; the next time shall be quicker, if it can be.
    if (long && tail === undefined) await this.#keep(session).catch(() => {});
    if (tail !== undefined) this.#prepared.add(loader.sessions[0] as Session);
    return session;
  }

  async resolve(nameOrId: string): Promise<FactId> {
    this.#checkOpen();
    if (typeof nameOrId !== "string")
      throw misuse(`find ${shown(nameOrId)}`, "give a name, an id, or the beginning of an id");
    if (/^[0-9a-f]{64}$/.test(nameOrId)) {
      if ((await this.#shelf.lines([nameOrId]))[0] !== undefined) return nameOrId;
      throw new NotFoundError(`the id ${nameOrId}`, "list what is there: await store.names()");
    }
    const record = await this.#shelf.name(nameOrId);
    if (record?.head) return record.head;
    if (/^[0-9a-f]{6,63}$/.test(nameOrId)) {
      const ids = await this.#shelf.startingWith(nameOrId, 2);
      if (ids.length > 1)
        throw new NotFoundError(
          `one session that begins with ${nameOrId}`,
          `give more digits: ${ids.map((id) => id.slice(0, nameOrId.length + 4)).join(" or ")}`,
        );
      if (ids[0] !== undefined) return ids[0];
    }
    const names = (await this.#shelf.names())
      .filter((known) => known.head !== null && !KEPT_BY_RUNTIME.test(known.name))
      .map((known) => known.name);
    throw new NotFoundError(
      `a session called ${JSON.stringify(nameOrId)}`,
      names.length === 0
        ? "this store has no names yet: store.save(session, { name })"
        : `names here: ${names.slice(0, 8).join(", ")}${names.length > 8 ? ", …" : ""}`,
    );
  }

  async has(id: FactId): Promise<boolean> {
    this.#checkOpen();
    return isId(id) && (await this.#shelf.lines([id]))[0] !== undefined;
  }

  async line(id: FactId): Promise<string | undefined> {
    this.#checkOpen();
    const [line] = isId(id) ? await this.#shelf.lines([id]) : [];
    if (line !== undefined && digestOf(line) !== id)
      throw new DamageError(`the fact ${id}`, "its line is not the one that was written");
    return line;
  }

  async children(id: FactId): Promise<readonly FactId[]> {
    return this.#shelf.children(await this.resolve(id));
  }

  async *history(
    nameOrId: string | readonly string[],
    options: HistoryOptions = {},
  ): AsyncIterable<Recorded> {
    for await (const lines of this.lines(nameOrId, options)) {
      for (const { id, line } of lines)
        yield { id, parents: parentsOf(line), line, fact: readFact(line, this.#blobs) };
    }
  }

  async *lines(
    nameOrId: string | readonly string[],
    options: HistoryOptions = {},
  ): AsyncIterable<readonly Line[]> {
    checkOptions(options, "store.lines(name, { without: [other] })");
    const heads = await this.#resolveAll(nameOrId);
    yield* verified(this.#shelf, heads, await this.#resolveAll(options.without ?? []));
  }

  #resolveAll(nameOrId: string | readonly string[]): Promise<FactId[]> {
    return Promise.all((Array.isArray(nameOrId) ? nameOrId : [nameOrId]).map((one) => this.resolve(one)));
  }

  async names(options: { readonly under?: string } = {}): Promise<readonly Name[]> {
    this.#checkOpen();
    checkOptions(options, 'store.names({ under: "team/" })');
    const { under } = options;
    if (under !== undefined && typeof under !== "string")
      throw misuse(
        `list the names under ${shown(under)}`,
        'say how they begin: store.names({ under: "team/" })',
      );
    return (await this.#shelf.names(under)).flatMap((record) => nameOf(record));
  }

  async head(name: string): Promise<FactId | undefined> {
    this.#checkOpen();
    if (typeof name !== "string") throw misuse(`find ${shown(name)}`, "give a name");
    return (await this.#shelf.name(name))?.head ?? undefined;
  }

  async point(name: string, id: FactId, options: PointOptions = {}): Promise<Saved> {
    checkOptions(options, "store.point(name, id, { expect })");
    if ("also" in options)
      throw misuse(`point "${name}" and others at once`, "save does: store.save(session, { name, also })");
    const head = await this.resolve(id);
    return this.#commit({ facts: [], blobs: [], move: moveTo(name, head, options) }, []);
  }

  async forget(name: string, options: ForgetOptions = {}): Promise<void> {
    this.#checkOpen();
    checkName(name);
    checkOptions(options, "store.forget(name, { lease })");
    const fence = fenceOf(name, options.lease);
    const outcome = await this.#shelf.forget(name, options.force ? undefined : fence);
    if (outcome === "unknown")
      throw new NotFoundError(
        `a session called ${JSON.stringify(name)}`,
        "list what is there: await store.names()",
      );
    if (outcome === "fenced") {
      throw new FencedError(name, fence.epoch ?? null, await this.#shelf.name(name));
    }
  }

  async lease(name: string, options: LeaseOptions = {}): Promise<Lease> {
    this.#checkOpen();
    checkName(name);
    checkOptions(options, "store.lease(name, { milliseconds: 30_000 })");
    const { owner = newOwner(), milliseconds = LEASE_MS } = options;
    checkOwner(owner);
    checkNotForged(owner);
    if (typeof milliseconds !== "number" || !(milliseconds > 0 && milliseconds <= YEAR_MS))
      throw misuse(
        `lease "${name}" for ${String(milliseconds)} milliseconds`,
        "give more than 0 and at most a year; a lease that is needed longer is renewed",
      );
    for (let attempt = 1; ; attempt++) {
      const asked = momentNow();
      const { wall: now } = asked;
      const taken = await this.#shelf.acquire(name, owner, now + milliseconds, now);
      if (taken !== undefined) return new Lease(this.#shelf, name, owner, taken.epoch, milliseconds, asked);
      const holder = await this.#shelf.name(name);
      const isFree = holder?.owner !== undefined && (isGivenUp(holder) || isDead(holder.owner));
      if (attempt === ATTEMPTS || !isFree) throw new FencedError(name, null, holder);
      // Given back for the dead. Of those who find it dead at once one does that, since the epoch rises with it.
      await this.#shelf.extend(name, holder.epoch, 0);
    }
  }

  watch(options: WatchOptions = {}): AsyncIterable<Name> {
    this.#checkOpen();
    checkOptions(options, "store.watch({ name, signal })");
    if (options.name !== undefined) checkName(options.name);
    const watch = new Watch(
      options,
      (heard) => this.#shelf.listen(heard),
      (ended) => this.#watches.delete(ended),
    );
    this.#watches.add(watch);
    return watch;
  }

  async *export(nameOrId: string | readonly string[], options: ExportOptions = {}): AsyncIterable<string> {
    checkOptions(options, "store.export(name, { blobs: false })");
    const { without = [], blobs = true } = options;
    const ids = await this.#resolveAll(nameOrId);
    yield* exportLines(this.#shelf, ids, await this.#resolveAll(without), blobs);
  }

  async import(
    lines: string | Iterable<string> | AsyncIterable<string>,
    options: ImportOptions = {},
  ): Promise<Imported> {
    this.#checkOpen();
    checkOptions(options, "store.import(lines, { name })");
    if (options.name !== undefined) checkName(options.name);
    const { report, last } = await importLines(this.#shelf, lines, options);
    if (options.name !== undefined && last !== undefined) await this.point(options.name, last);
    if (report.written > 0) await this.#prepareHeads(report);
    return report;
  }

  async sync(from: Store, options: { readonly names?: boolean } = {}): Promise<Imported> {
    this.#checkOpen();
    checkOptions(options, "store.sync(from, { names: false })");
    if (typeof from?.names !== "function" || typeof from.export !== "function")
      throw misuse(`sync with ${shown(from)}`, "give an open store: store.sync(await openStore(url))");
    return syncStores(from, this, this.#shelf, options.names ?? true);
  }

  async putBlob(bytes: ArrayBufferView): Promise<Digest> {
    const [digest] = await this.putBlobs([bytes]);
    return digest as Digest;
  }

  async putBlobs(blobs: readonly ArrayBufferView[]): Promise<readonly Digest[]> {
    this.#checkOpen();
    if (!Array.isArray(blobs))
      throw misuse(`keep ${shown(blobs)} as blobs`, "give a list: store.putBlobs([Buffer.from(text)])");
    for (const bytes of blobs)
      if (!ArrayBuffer.isView(bytes))
        throw misuse(`keep ${shown(bytes)} as a blob`, "give its bytes: store.putBlob(Buffer.from(text))");
    const digests: Digest[] = [];
    for (let from = 0; from < blobs.length; ) {
      // Blobs need nothing of each other, so a long list goes in parts: little is held twice, and others get a turn.
      const part = new Map<Digest, Blob>();
      for (let size = 0; from < blobs.length && size < BLOB_BYTES_PER_COMMIT; from++) {
        const { buffer, byteOffset, byteLength } = blobs[from] as ArrayBufferView;
        // Copied before anything waits: what the caller does to its bytes afterwards must not reach the store.
        const bytes = new Uint8Array(buffer, byteOffset, byteLength).slice();
        const digest = digestOf(bytes);
        digests.push(digest);
        part.set(digest, { digest, bytes });
        size += byteLength + BLOB_COST;
      }
      await this.#shelf.commit({ facts: [], blobs: [...part.values()], revive: true, handedOver: true });
      if (from < blobs.length) await breath();
    }
    return digests;
  }

  async blob(digest: Digest): Promise<Uint8Array | undefined> {
    this.#checkOpen();
    return isId(digest) ? soundBlob(this.#shelf, digest) : undefined;
  }

  async erase(nameOrId: string, options: EraseOptions): Promise<Session> {
    this.#checkOpen();
    checkOptions(options, "store.erase(name, { digests, why })");
    const id = await this.resolve(nameOrId);
    const standing = (await this.#shelf.names()).flatMap(({ name, head }) => (head === id ? [name] : []));
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
    this.#checkOpen();
    return this.#shelf.erasures();
  }

  async gc(options: CollectOptions = {}): Promise<Collected> {
    this.#checkOpen();
    checkOptions(options, "store.gc({ dryRun: true })");
    return collect(this.#shelf, options);
  }

  async check(options: { readonly progress?: (facts: number) => void } = {}): Promise<Checked> {
    this.#checkOpen();
    checkOptions(options, "store.check({ progress })");
    return checkStore(this.#shelf, options.progress);
  }

  async backup(path: string): Promise<void> {
    this.#checkOpen();
    if (typeof path !== "string" || path === "")
      throw misuse(`write a backup to ${shown(path)}`, "give the path of something that is not there yet");
    await this.#shelf.backup(path);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const watch of [...this.#watches]) watch.end();
    await closeDerived(this);
    await this.#shelf.close();
  }

  #checkOpen(): void {
    if (this.#closed)
      throw new StoreError("closed", `The store ${this.url} is closed.`, "open it again with openStore(url)");
  }
}

function commitOf(sessions: readonly Session[]): Commit {
  const blobs: Blob[] = [];
  const keys = new Map<string, Uint8Array>();
  for (const session of sessions) {
    for (const { ref, bytes } of session.blobs()) blobs.push({ digest: ref.digest, bytes });
    const { key } = Session.realmOf(session);
    // A key is kept with the root that names it, once: a key that was erased must not come back with a later fact.
    if (key !== undefined && session.depth === 0) keys.set(key.id, key.secret);
  }
  const facts = sessions.map((session) => ({ id: session.id, line: session.line }));
  return { facts, blobs, ...(keys.size > 0 && { keys: [...keys].map(([id, secret]) => ({ id, secret })) }) };
}

function randomSecret(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(32));
}
