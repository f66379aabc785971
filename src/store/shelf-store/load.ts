import { randomUUID } from "node:crypto";
import {
  type BlobSource,
  digestOf,
  type FactId,
  keepingView,
  type Realm,
  type Session,
} from "../../session/index.js";
import { showValue } from "../../util/index.js";
import { misuse, NotFoundError } from "../error.js";
import { soundBlob } from "../exchange/export.js";
import { isKeptByRuntime } from "../reference.js";
import type { Shelf, Tail } from "../shelf.js";
import type { LoadOptions } from "../store.js";
import { Loader } from "./loader.js";
import { depthIn, isCurrent, isSealed, takeSnapshot, useSnapshot } from "./snapshot.js";

/** How many facts of a session are held in memory unless said otherwise. */
export const HORIZON = 100_000;
/** The same for a session that reads older facts when it needs them. */
const FETCH_HORIZON = 10_000;
/** How many facts are read at once, at least. Where no place to stop was prepared within them, so many times as many. */
const FETCHED = 8_192;
const GROWTH = 4;
const KEPT_EVERY = 64;
/** How many names are looked at for those that an error shows. */
const LOOKED_AT = 1000;

/** The knowledge of a store about sessions in this process. */
export type Known = {
  /** Sessions that are known to be here with their whole past: saving stops at them. */
  kept: WeakSet<Session>;
  /** Sessions that a snapshot was taken of, so that the next one is not taken too soon. */
  readonly prepared: WeakSet<Session>;
};

/** Finds sessions on a shelf and loads them. */
export class SessionReader {
  readonly blobs: BlobSource;
  readonly known: Known = { kept: new WeakSet(), prepared: new WeakSet() };
  readonly #shelf: Shelf;

  constructor(shelf: Shelf) {
    this.#shelf = shelf;
    this.blobs = {
      read: (digest) =>
        soundBlob(shelf, digest) ?? (shelf.blobs.erased(digest) === undefined ? undefined : "erased"),
    };
  }

  async load(
    id: FactId,
    { fetch = false, horizon = fetch ? FETCH_HORIZON : HORIZON }: LoadOptions = {},
  ): Promise<Session> {
    const long = this.#shelf.count(id) > horizon;
    const found = long ? this.#shelf.tail(id, horizon) : undefined;
    const tail = found && sound(found) && isCurrent(found.snapshot) ? found : undefined;
    // Those of an older version would be found again and again; new ones are taken below.
    if (found !== undefined && tail === undefined && sound(found))
      await this.#shelf.remove({ snapshots: true }).catch(() => {});
    const realm: { -readonly [Key in keyof Realm]: Realm[Key] } = { inline: 0, blobs: this.blobs };
    if (fetch) realm.past = { parentsOf: (session) => this.#parentsOf(session, realm) };
    const loader = this.#read(id, tail, realm);
    const session = loader.finish(id);
    const setting = loader.keeping() ?? session.view(keepingView);
    realm.inline = setting.inline;
    const secret = setting.key === undefined ? undefined : this.#shelf.blobs.key(setting.key);
    // Where the key was erased or did not come along, a key of this process alone still salts what comes next.
    if (setting.inline === 0 || setting.key !== undefined)
      realm.key =
        setting.key !== undefined && secret !== undefined
          ? { id: setting.key, secret }
          : { id: randomUUID(), secret: randomSecret() };
    Object.freeze(realm);
    this.#remember(loader.sessions);
    // No place to start from was found, so all of it was read; the next time is quicker, if it can be.
    if (long && tail === undefined) await this.keep(session).catch(() => {});
    if (tail !== undefined) this.known.prepared.add(loader.sessions[0] as Session);
    return session;
  }

  /** The parents of a session whose past is not in memory, with some of what is before them. */
  #parentsOf({ id, depth }: Session, realm: Realm): readonly Session[] {
    let tail: Tail | undefined;
    for (let most = FETCHED; tail === undefined && most <= depth; most *= GROWTH) {
      const found = this.#shelf.tail(id, most);
      // The session has a snapshot itself, and more than itself is needed.
      if (found && found.lines.length > 1 && sound(found) && isCurrent(found.snapshot)) tail = found;
    }
    const loader = this.#read(id, tail, realm);
    this.#remember(loader.sessions);
    return loader.finish(id).parents;
  }

  /** The whole history of an id, or the end of it that comes after a snapshot. */
  #read(id: FactId, tail: Tail | undefined, realm: Realm): Loader {
    const loader = new Loader(realm, tail && depthIn(tail.snapshot));
    for (const lines of tail === undefined ? this.#shelf.history([id]) : [tail.lines]) loader.add(lines);
    if (tail !== undefined) useSnapshot(loader.sessions[0] as Session, tail.snapshot);
    return loader;
  }

  /** Notes that these are in the store. Marking every 64th session is enough to cut later walks short. */
  #remember(loaded: readonly Session[]): void {
    for (let index = loaded.length - 1; index > 0; index -= KEPT_EVERY)
      this.known.kept.add(loaded[index] as Session);
    // The past before the first may not be in memory, and a walk must not read it.
    this.known.kept.add(loaded[0] as Session);
  }

  /** Takes a snapshot of a session, so that the next loading need not read what came before it. */
  async keep(session: Session, snapshot = takeSnapshot(session)): Promise<void> {
    await this.#shelf.saveSnapshot(session.id, snapshot);
    this.known.prepared.add(session);
  }

  resolve(nameOrId: string): FactId {
    if (typeof nameOrId !== "string")
      throw misuse(`find ${showValue(nameOrId)}`, "give a name, an id, or the beginning of an id");
    if (/^[0-9a-f]{64}$/.test(nameOrId)) {
      if (this.#shelf.lines([nameOrId])[0] !== undefined) return nameOrId;
      throw new NotFoundError(`the id ${nameOrId}`, "list what is there: await store.names()");
    }
    const record = this.#shelf.names.get(nameOrId);
    if (record?.head) return record.head;
    if (/^[0-9a-f]{6,63}$/.test(nameOrId)) {
      const ids = this.#shelf.startingWith(nameOrId, 2);
      if (ids.length > 1)
        throw new NotFoundError(
          `one session that begins with ${nameOrId}`,
          `give more digits: ${ids.map((id) => id.slice(0, nameOrId.length + 4)).join(" or ")}`,
        );
      if (ids[0] !== undefined) return ids[0];
    }
    const names = this.#shelf.names
      .page({ under: "", order: "name", limit: LOOKED_AT })
      .flatMap(({ name }) => (isKeptByRuntime(name) ? [] : [name]));
    throw new NotFoundError(
      `a session called ${JSON.stringify(nameOrId)}`,
      names.length === 0
        ? "this store has no names yet: store.save(session, { name })"
        : `names here: ${names.slice(0, 8).join(", ")}${names.length > 8 ? ", …" : ""}`,
    );
  }
}

function sound({ lines: [first = ""], snapshot }: Tail): boolean {
  return isSealed(digestOf(first), snapshot);
}

function randomSecret(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(32));
}
