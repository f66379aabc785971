import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import {
  BeyondHorizonError,
  type BlobSource,
  type Digest,
  digestOf,
  type FactId,
  keepingView,
  parentsOf,
  RathError,
  type Realm,
  readFact,
  Session,
} from "../session/index.js";
import { checkStore, collect } from "./care.js";
import { erase } from "./erase.js";
import { ConflictError, FencedError, NotFoundError, StoreError } from "./error.js";
import { exportLines, importLines, soundBlob, syncStores, verified } from "./exchange.js";
import { Lease } from "./lease.js";
import { Loader } from "./loader.js";
import type { Blob, Commit, Committed, Move, NameRecord, Shelf } from "./shelf.js";
import { depthIn, isSealed, SNAPSHOT_EVERY, takeSnapshot, useSnapshot } from "./snapshot.js";
import type {
  Checked,
  Collected,
  EraseOptions,
  ExportOptions,
  Imported,
  ImportOptions,
  LeaseOptions,
  LoadOptions,
  Name,
  Recorded,
  Saved,
  SaveOptions,
  Store,
} from "./store.js";

const HORIZON = 100_000;
const LEASE_MS = 30_000;
/** A longer history is written in several commits; only the last one moves the name. */
const FACTS_PER_COMMIT = 5_000;

const KEPT_EVERY = 64;

/** A `Store` on any shelf. */
export class ShelfStore implements Store {
  readonly #shelf: Shelf;
  /** Sessions that are known to be here with their whole past: saving stops at them. */
  #kept = new WeakSet<Session>();
  readonly #blobs: BlobSource;
  readonly #watchers = new Set<() => void>();
  #closed = false;

  constructor(shelf: Shelf) {
    this.#shelf = shelf;
    this.#blobs = {
      read: (digest) =>
        soundBlob(shelf, digest) ?? (shelf.erased(digest) === undefined ? undefined : "erased"),
    };
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
      throw new StoreError(
        "failed",
        "Cannot save something that is not a Session.",
        "pass a session: store.save(session, { name })",
      );
    const move = options.name === undefined ? undefined : moveTo(options.name, session.id, options);
    try {
      return await this.#write(session, move);
    } catch (error) {
      if (!(error instanceof BeyondHorizonError)) throw error;
      // Someone may have collected what was known to be here: then all of it is written again.
      this.#kept = new WeakSet();
      return this.#write(session, move);
    }
  }

  async #write(session: Session, move: Move | undefined): Promise<Saved> {
    const fresh = this.#notKept(session);
    let written = 0;
    for (let from = 0; from + FACTS_PER_COMMIT < fresh.length; from += FACTS_PER_COMMIT) {
      const part = fresh.slice(from, from + FACTS_PER_COMMIT);
      written += (await this.#commit(commitOf(part), part)).written;
    }
    const rest = fresh.slice(Math.floor(Math.max(0, fresh.length - 1) / FACTS_PER_COMMIT) * FACTS_PER_COMMIT);
    const saved = await this.#commit({ ...commitOf(rest), ...(move && { move }) }, rest);
    if (saved.replayed) return saved;
    const [oldest] = fresh;
    if (
      oldest !== undefined &&
      Math.floor(oldest.depth / SNAPSHOT_EVERY) < Math.floor((session.depth + 1) / SNAPSHOT_EVERY)
    ) {
      // This process may still hold what was erased; a snapshot is taken of what is here now.
      await this.#snapshot(
        (await this.#shelf.erasures()).length === 0 ? session : await this.load(session.id),
      );
    }
    return { id: session.id, written: written + saved.written, replayed: false };
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

  /** The part of a history that is not known to be here, parents before children. */
  #notKept(head: Session): readonly Session[] {
    const found: Session[] = [];
    const seen = new Set<Session>();
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
    return found;
  }

  async #snapshot(session: Session): Promise<void> {
    try {
      await this.#shelf.saveSnapshot(session.id, takeSnapshot(session));
    } catch (error) {
      // A snapshot only saves time. A session that cannot answer its own views is saved all the same.
      if (!(error instanceof RathError)) throw error;
    }
  }

  async load(nameOrId: string, options: LoadOptions = {}): Promise<Session> {
    const id = await this.resolve(nameOrId);
    const horizon = options.horizon ?? HORIZON;
    if (!(horizon >= 1))
      throw new StoreError(
        "failed",
        `Cannot load with a horizon of ${horizon}.`,
        "give the number of facts to hold in memory, at least 1",
      );
    const long = (await this.#shelf.count(id)) > horizon;
    const found = long ? await this.#shelf.tail(id, horizon) : undefined;
    const tail =
      found !== undefined && isSealed(digestOf(found.lines[0] ?? ""), found.snapshot) ? found : undefined;
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
    // Where the key was erased, a key of this process alone still salts what comes next.
    if (setting.inline === 0)
      realm.key =
        setting.key !== undefined && secret !== undefined
          ? { id: setting.key, secret }
          : { id: randomUUID(), secret: randomSecret() };
    Object.freeze(realm);
    // One in a while is enough to stop a later walk; remembering all would cost more than such a walk.
    for (let index = loader.sessions.length - 1; index >= 0; index -= KEPT_EVERY)
      this.#kept.add(loader.sessions[index] as Session);
    // No place to start from was found, so all of it was read; the next time shall be quicker.
    if (long && tail === undefined) await this.#snapshot(session);
    return session;
  }

  async resolve(nameOrId: string): Promise<FactId> {
    this.#checkOpen();
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
      .filter((known) => known.head !== null)
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
    return (await this.#shelf.lines([id]))[0] !== undefined;
  }

  async children(id: FactId): Promise<readonly FactId[]> {
    return this.#shelf.children(await this.resolve(id));
  }

  async *history(nameOrId: string): AsyncIterable<Recorded> {
    for await (const lines of verified(this.#shelf, [await this.resolve(nameOrId)])) {
      for (const line of lines)
        yield { id: digestOf(line), parents: parentsOf(line), line, fact: readFact(line, this.#blobs) };
    }
  }

  async names(): Promise<readonly Name[]> {
    this.#checkOpen();
    return (await this.#shelf.names()).flatMap((record) => nameOf(record));
  }

  async point(name: string, id: FactId, options: Omit<SaveOptions, "name"> = {}): Promise<Saved> {
    const head = await this.resolve(id);
    return this.#commit({ facts: [], blobs: [], move: moveTo(name, head, options) }, []);
  }

  async forget(name: string): Promise<void> {
    this.#checkOpen();
    if (!(await this.#shelf.forget(name)))
      throw new NotFoundError(
        `a session called ${JSON.stringify(name)}`,
        "list what is there: await store.names()",
      );
  }

  async lease(name: string, options: LeaseOptions = {}): Promise<Lease> {
    this.#checkOpen();
    checkName(name);
    const owner = options.owner ?? `${hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`;
    const milliseconds = options.milliseconds ?? LEASE_MS;
    const now = Date.now();
    const taken = await this.#shelf.acquire(name, owner, now + milliseconds, now);
    if (taken !== undefined) return new Lease(this.#shelf, name, owner, taken.epoch, milliseconds);
    const record = await this.#shelf.name(name);
    throw new FencedError(name, null, record?.epoch ?? 0, record?.owner);
  }

  async *watch(options: { readonly name?: string; readonly signal?: AbortSignal } = {}): AsyncIterable<Name> {
    this.#checkOpen();
    const heard: Name[] = [];
    let wake = (): void => {};
    const stop = this.#shelf.listen((moved) => {
      for (const record of moved)
        if (options.name === undefined || record.name === options.name) heard.push(...nameOf(record));
      wake();
    });
    const stopped = (): void => wake();
    options.signal?.addEventListener("abort", stopped);
    this.#watchers.add(stopped);
    try {
      while (!options.signal?.aborted && !this.#closed) {
        const next = heard.shift();
        if (next !== undefined) yield next;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      stop();
      options.signal?.removeEventListener("abort", stopped);
      this.#watchers.delete(stopped);
    }
  }

  async *export(nameOrId: string | readonly string[], options: ExportOptions = {}): AsyncIterable<string> {
    const ids = await Promise.all(
      (typeof nameOrId === "string" ? [nameOrId] : nameOrId).map((one) => this.resolve(one)),
    );
    const without = await Promise.all((options.without ?? []).map((one) => this.resolve(one)));
    yield* exportLines(this.#shelf, ids, without, options.blobs ?? true);
  }

  async import(
    lines: string | Iterable<string> | AsyncIterable<string>,
    options: ImportOptions = {},
  ): Promise<Imported> {
    this.#checkOpen();
    const imported = await importLines(this.#shelf, lines, options);
    if (options.name !== undefined && imported.last !== undefined)
      await this.point(options.name, imported.last);
    return imported.report;
  }

  async sync(from: Store, options: { readonly names?: boolean } = {}): Promise<Imported> {
    this.#checkOpen();
    return syncStores(from, this, options.names ?? true);
  }

  async putBlob(bytes: Uint8Array): Promise<Digest> {
    this.#checkOpen();
    const blob: Blob = { digest: digestOf(bytes), bytes };
    await this.#shelf.commit({ facts: [], blobs: [blob], revive: true });
    return blob.digest;
  }

  async blob(digest: Digest): Promise<Uint8Array | undefined> {
    this.#checkOpen();
    return soundBlob(this.#shelf, digest);
  }

  async erase(nameOrId: string, options: EraseOptions): Promise<Session> {
    const id = await this.resolve(nameOrId);
    const record = await this.#shelf.name(nameOrId);
    const session = await this.load(id);
    const erased = await erase(this.#shelf, session, options, record && moveTo(nameOrId, id, {}));
    // The session at hand has read what is now erased; the one that is given back has not.
    return this.load(erased.id);
  }

  async gc(options: { readonly dryRun?: boolean } = {}): Promise<Collected> {
    this.#checkOpen();
    return collect(this.#shelf, options.dryRun ?? false);
  }

  async check(options: { readonly progress?: (facts: number) => void } = {}): Promise<Checked> {
    this.#checkOpen();
    return checkStore(this.#shelf, options.progress);
  }

  async backup(path: string): Promise<void> {
    this.#checkOpen();
    await this.#shelf.backup(path);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const wake of this.#watchers) wake();
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

function moveTo(name: string, head: FactId, options: SaveOptions): Move {
  checkName(name);
  const expect = options.force ? "any" : options.expect === undefined ? "past" : options.expect;
  if (options.lease !== undefined && options.lease.name !== name) {
    throw new StoreError(
      "failed",
      `Cannot write to "${name}" with the lease of "${options.lease.name}".`,
      `take its lease: await store.lease(${JSON.stringify(name)})`,
    );
  }
  return {
    name,
    head,
    expect,
    now: Date.now(),
    ...(options.lease && { epoch: options.lease.epoch }),
    ...(options.key !== undefined && { key: options.key }),
  };
}

function refuse(committed: Committed, move: Move | undefined): void {
  if (committed.outcome === "orphan")
    throw new BeyondHorizonError(
      `what ${committed.id.slice(0, 12)} comes from (this store does not have it)`,
      committed.parent,
    );
  if (move === undefined) return;
  if (committed.outcome === "fenced")
    throw new FencedError(move.name, move.epoch ?? null, committed.record.epoch, committed.record.owner);
  if (committed.outcome === "conflict")
    throw new ConflictError(move.name, move.head, committed.record?.head ?? null);
}

function checkName(name: string): void {
  if (typeof name === "string" && /^[^\p{Cc}\p{Cs}]{1,200}$/u.test(name) && !/^[0-9a-f]{64}$/.test(name))
    return;
  throw new StoreError(
    "failed",
    `Cannot use ${JSON.stringify(name)} as a name.`,
    "a name has 1 to 200 printable characters and is not an id",
  );
}

function nameOf(record: NameRecord): readonly Name[] {
  if (record.head === null) return [];
  return [
    {
      name: record.name,
      id: record.head,
      epoch: record.epoch,
      ...(record.owner !== undefined && { owner: record.owner }),
    },
  ];
}

function randomSecret(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(32));
}
