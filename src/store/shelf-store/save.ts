import { BeyondHorizonError, type Digest, digestOf, type FactId, Session } from "../../session/index.js";
import { postorder } from "../../util/index.js";
import { BLOB_BYTES_PER_COMMIT, BLOB_COST, breath } from "../commit.js";
import { ConflictError } from "../error.js";
import { refuse } from "../name/move.js";
import type { Blob, Commit, Move, Shelf } from "../shelf.js";
import type { Imported, Saved } from "../store.js";
import { HORIZON, type SessionReader } from "./load.js";
import { isDue, isWorthKeeping, takeSnapshot } from "./snapshot.js";

/** A longer history is written in several commits; only the last one moves the name. */
const FACTS_PER_COMMIT = 5_000;
/** How often a save starts anew when others collect what it relies on. */
const ATTEMPTS = 3;

/** The names that a commit moves. */
export type Naming = Pick<Commit, "move" | "also">;

/** Writes sessions and blobs to a shelf, and prepares long sessions for loading. */
export class SessionWriter {
  readonly #shelf: Shelf;
  readonly #reader: SessionReader;

  constructor(shelf: Shelf, reader: SessionReader) {
    this.#shelf = shelf;
    this.#reader = reader;
  }

  async save(heads: readonly Session[], naming: Naming): Promise<Saved> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#write(heads, naming, attempt > 1);
      } catch (error) {
        if (!(error instanceof BeyondHorizonError) || attempt === ATTEMPTS) throw error;
        // Someone may have collected what was known to be here, or it is in another store: then all of it is written again.
        this.#reader.known.kept = new WeakSet();
      }
    }
  }

  /** Writes what is new of some sessions. The first is the one that is saved and that the name moves to. */
  async #write(heads: readonly Session[], naming: Naming, reads: boolean): Promise<Saved> {
    const seen = new Set<Session>();
    const news = heads.map((head) => this.#notKept(head, seen, reads));
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
      const saved = await this.commit({ ...commitOf(part), ...last }, part);
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
    const at = this.#shelf.names.get(move.name)?.head ?? null;
    const stands =
      move.expect === "past"
        ? at === null || this.#growsFrom(fresh, at)
        : move.expect === "any" || at === move.expect;
    if (!stands) throw new ConflictError(move.name, move.head, at);
    return undefined;
  }

  /** Whether an id is among these sessions, or in the past they grow from. */
  #growsFrom(fresh: readonly Session[], id: FactId): boolean {
    const ids = new Set(fresh.map((session) => session.id));
    if (ids.has(id)) return true;
    const roots = new Set(fresh.flatMap(({ parentIds }) => parentIds.filter((parent) => !ids.has(parent))));
    const here = this.#shelf.lines([...roots]);
    const known = [...roots].filter((_, index) => here[index] !== undefined);
    for (const lines of this.#shelf.history([id], known)) if (lines.length > 0) return false;
    return true;
  }

  async commit(commit: Commit, facts: readonly Session[]): Promise<Saved> {
    const committed = await this.#shelf.commit({ ...commit, revive: true });
    refuse(committed, commit.move);
    if (committed.outcome === "replayed") return { id: committed.head, written: 0, replayed: true };
    for (const session of facts) this.#reader.known.kept.add(session);
    return {
      id: commit.move?.head ?? "",
      written: committed.outcome === "done" ? committed.written : 0,
      replayed: false,
    };
  }

  /** The part of a history that is not known to be here and was not seen before, parents before children. */
  #notKept(head: Session, seen: Set<Session>, reads: boolean): readonly Session[] {
    if (seen.has(head)) return [];
    const { kept } = this.#reader.known;
    // A session whose past is not loaded came from a store; if that was another one, the commit finds the parent missing.
    const parentsOf = (session: Session): readonly Session[] =>
      (reads ? session.atHorizon : !session.isPastLoaded) ? [] : session.parents;
    const found: Session[] = [];
    const isOpen = (session: Session): boolean => !kept.has(session) && !seen.has(session);
    // A head always goes along: only the shelf knows whether it is still here.
    for (const session of kept.has(head) ? [head] : postorder(head, parentsOf, isOpen)) {
      seen.add(session);
      found.push(session);
    }
    return found;
  }

  /** Makes a later loading quick, where that costs little. It only saves time, so it never fails anything. */
  async #prepare(session: Session): Promise<void> {
    try {
      const snapshot = takeSnapshot(session);
      if (!isWorthKeeping(snapshot, session, this.#reader.known.prepared)) return;
      // This process may still hold what was erased; then the snapshot is taken of what is here now.
      const erased = this.#shelf.blobs.erasures().length > 0;
      await this.#reader.keep(session, erased ? takeSnapshot(await this.#reader.load(session.id)) : snapshot);
    } catch {
      // A session that cannot answer its own views, a full disk, a store that was closed: the session is saved.
    }
  }

  /** Prepares what came in as lines, as far as it fits into memory at once. */
  async prepareHeads({ heads, written }: Imported): Promise<void> {
    let room = HORIZON;
    try {
      for (const id of heads) {
        const count = this.#shelf.count(id);
        if (!isDue(Math.max(0, count - written), count - 1)) continue;
        room -= count;
        if (room < 0) return;
        await this.#prepare(await this.#reader.load(id));
      }
    } catch {
      // The lines are here; loading them says what is wrong with them.
    }
  }

  async putBlobs(blobs: readonly ArrayBufferView[]): Promise<readonly Digest[]> {
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
