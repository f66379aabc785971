import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { AT, dueEntry, FOR, type Needs, QUEUE, submissionAt } from "../runtime/submit/index.js";
import { type FactOf, readFact, Session, warnOf } from "../session/index.js";
import { FencedError, type Lease, type Store } from "../store/index.js";

export const WORKERS = `${QUEUE}worker/`;

/** The name by which somebody asks a worker to leave. */
export function drainName(worker: string): string {
  return `${QUEUE}drain/${worker}`;
}

/** A worker as the store knows it. */
export type WorkerCard = {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly engine: string;
  readonly concurrency: number;
  /** The versions of its modules, by name. */
  readonly modules: { readonly [name: string]: string };
  /** The queues that it serves; all of them when there is no list. */
  readonly queues?: readonly string[];
  readonly offers: Needs;
};

/** The card of a worker that this fact began. */
export async function cardAt(
  store: Store,
  id: string,
): Promise<(WorkerCard & { readonly at: string }) | undefined> {
  const line = await store.line(id);
  return line === undefined ? undefined : (readFact(line, undefined) as FactOf<"note"> & WorkerCard);
}

/** How long a worker is taken for alive that does not say so, and how often it does. Takeover takes at most 3 s. */
const LEASE_MS = 2_000;
const BEAT_MS = 500;
/** How long another worker has for the sessions of one that died, before the next one goes on with that. */
const REAP_MS = 10_000;
const AT_ONCE = 32;

/**
 * A worker among those on one store, for as long as its lease lasts. Everything that it writes to the queue is fenced by that
 * lease: a worker that was taken for dead changes nothing in it.
 */
export class Member {
  readonly card: WorkerCard;
  /** Aborted when others have taken this worker for dead. */
  readonly lost: AbortSignal;
  readonly lease: Lease;
  readonly #store: Store;
  readonly #record: Session;
  readonly #lost: AbortController;
  readonly #beat: NodeJS.Timeout;
  readonly #left: (id: string) => Promise<void>;
  #others: readonly string[] = [];

  private constructor(
    store: Store,
    card: WorkerCard,
    lease: Lease,
    record: Session,
    beat: () => void,
    left: (id: string) => Promise<void>,
  ) {
    this.#left = left;
    this.#store = store;
    this.card = card;
    this.lease = lease;
    this.#record = record;
    this.#lost = new AbortController();
    this.lost = this.#lost.signal;
    this.#beat = setInterval(() => {
      lease.renew().catch((error: unknown) => this.#renewalFailed(error));
      beat();
    }, BEAT_MS);
  }

  /**
   * @param beat called twice a second
   * @param left called when another worker has died, before its sessions are put back
   */
  static async join(
    store: Store,
    given: Omit<WorkerCard, "id" | "host" | "pid">,
    beat: () => void,
    left: (id: string) => Promise<void>,
  ) {
    const host =
      hostname()
        .replace(/[^\w.-]/g, "")
        .slice(0, 40) || "host";
    const id = `${host}-${process.pid}-${randomBytes(3).toString("hex")}`;
    const card: WorkerCard = { id, host, pid: process.pid, ...given };
    const lease = await store.lease(WORKERS + id, { milliseconds: LEASE_MS });
    const at = new Date(await store.time()).toISOString();
    const record = Session.start(undefined, { at, by: "runtime" }).append({
      type: "note",
      kind: "worker",
      ...card,
      at,
      by: "runtime",
    });
    await store.save(record, { name: lease.name, lease });
    const member = new Member(store, card, lease, record, beat, left);
    await member.look();
    return member;
  }

  get id(): string {
    return this.card.id;
  }

  /** Sets and takes away entries of the queue, all of them or none. A `FencedError` when this worker was taken for dead. */
  async file(entries: { readonly [name: string]: Session | null }): Promise<void> {
    try {
      await this.#store.save(this.#record, { name: this.lease.name, lease: this.lease, also: entries });
    } catch (error) {
      if (error instanceof FencedError) this.#lost.abort(error);
      throw error;
    }
  }

  /** How many workers come before this one at a key: the first one goes at once, the others look later whether it did. */
  rank(key: string): number {
    const mine = scoreOf(this.id, key);
    return this.#others.filter((other) => scoreOf(other, key) > mine).length;
  }

  /** Whether others may want the same. */
  get isAlone(): boolean {
    return this.#others.length === 0;
  }

  /** Looks which workers there are. */
  async look(): Promise<void> {
    const names = await this.#store.names({ under: WORKERS });
    this.#others = names.map(({ name }) => name.slice(WORKERS.length)).filter((id) => id !== this.id);
  }

  /**
   * Looks whether workers live, and puts the sessions of those that died back into the queue. Each worker watches the next one,
   * or all.
   */
  async watchOver(all = false): Promise<void> {
    await this.look();
    const ring = [...this.#others].sort();
    const next = ring.find((id) => id > this.id) ?? ring[0];
    for (const id of all ? ring : next === undefined ? [] : [next]) await this.#takeOver(id);
    if (all) for (const id of await this.#unknown()) await this.#refile(id);
  }

  /** Workers that have sessions, and are gone from the list. */
  async #unknown(): Promise<readonly string[]> {
    const ids: string[] = [];
    for (const part of [AT, FOR])
      for (let after = part; ; ) {
        const [first] = await this.#store.names({ under: part, after, limit: 1 });
        if (first === undefined) break;
        const [id = ""] = first.name.slice(part.length).split("/");
        if (id !== this.id && (await this.#store.head(WORKERS + id)) === undefined) ids.push(id);
        after = `${part}${id}/\u{10ffff}`;
      }
    return ids;
  }

  async #takeOver(id: string): Promise<void> {
    let lease: Lease;
    try {
      lease = await this.#store.lease(WORKERS + id, { milliseconds: REAP_MS });
    } catch (error) {
      // It lives, or another one is at this already.
      if (error instanceof FencedError) return;
      throw error;
    }
    if ((await this.#store.head(WORKERS + id)) !== undefined) {
      await this.#left(id).catch((error: unknown) => warnOf(error, "OPENRATH_WORKER"));
      await this.#refile(id);
      await this.file({ [drainName(id)]: null });
      await this.#store.forget(WORKERS + id, { lease });
    } else await lease.release();
    await this.look();
  }

  async #refile(id: string): Promise<void> {
    for (const part of [AT, FOR])
      for (;;) {
        const entries = await this.#store.names({ under: `${part}${id}/`, limit: AT_ONCE });
        await Promise.all(entries.map(({ name, id: submission }) => this.#giveBack(id, name, submission)));
        if (entries.length < AT_ONCE) break;
      }
  }

  /** Puts those sessions of this worker back into the queue that do not run here. */
  async refileMine(runs: (key: string) => boolean): Promise<void> {
    const under = `${AT}${this.id}/`;
    for (const { name, id } of await this.#store.names({ under })) {
      const submission = await submissionAt(this.#store, id);
      const due = submission && { [dueEntry(submission)]: await this.#store.load(id) };
      // Nothing may come in between: it may have been taken here again.
      if (!runs(name.slice(under.length))) await this.file({ ...due, [name]: null });
    }
  }

  async #giveBack(worker: string, entry: string, id: string): Promise<void> {
    const submission = await submissionAt(this.#store, id);
    if (submission === undefined) return this.file({ [entry]: null });
    // The same owner takes a lease over at once; the epoch rises with it, so the old holder is fenced.
    await this.#store
      .lease(submission.name, { owner: ownerOf(worker), milliseconds: REAP_MS })
      .then((lease) => lease.release())
      .catch((error: unknown) => {
        if (!(error instanceof FencedError)) throw error;
      });
    return this.file({ [dueEntry(submission)]: await this.#store.load(id), [entry]: null });
  }

  #renewalFailed(error: unknown): void {
    if (error instanceof FencedError) this.#lost.abort(error);
    else warnOf(error, "OPENRATH_WORKER");
  }

  /** Leaves, when nothing runs here any longer. */
  async leave(): Promise<void> {
    clearInterval(this.#beat);
    if (this.lost.aborted) return;
    try {
      await this.file({ [drainName(this.id)]: null });
      await this.#store.forget(WORKERS + this.id, { lease: this.lease });
    } catch (error) {
      if (!(error instanceof FencedError)) throw error;
    }
  }

  /** Stops saying that it lives. */
  stop(): void {
    clearInterval(this.#beat);
  }
}

/** The owner of the leases of sessions that a worker runs. */
export function ownerOf(worker: string): string {
  return `worker ${worker}`;
}

/** Rendezvous hashing: every worker finds the same order without a word between them. */
function scoreOf(worker: string, key: string): number {
  let hash = 2166136261;
  for (const text of [worker, key])
    for (let place = 0; place < text.length; place++)
      hash = Math.imul(hash ^ text.charCodeAt(place), 16777619);
  hash = Math.imul(hash ^ (hash >>> 15), 2246822507);
  return (hash ^ (hash >>> 13)) >>> 0;
}
