import { createHash } from "node:crypto";
import { digestOfModule, type Module, type Rath } from "../runtime/index.js";
import {
  AT,
  dueEntry,
  entryKey,
  FOR,
  MOVE,
  PAUSED,
  type Submission,
  submissionAt,
} from "../runtime/submit/index.js";
import type { Name, Store } from "../store/index.js";
import { Due } from "./due.js";
import type { EngineHost, EngineLink, Taken, Wake } from "./engine.js";
import { Job } from "./job.js";
import { cardAt, type Member, WORKERS } from "./member.js";
import type { Metrics } from "./metrics.js";
import type { Checked } from "./options.js";

/** How soon a session that nobody took after a wake is woken again. */
const OFFER_MS = 1_000;
const PAGE = 64;

/** The parts of a worker that take and run sessions. */
export type Floor = {
  readonly store: Store;
  readonly rath: Rath;
  readonly member: Member;
  readonly metrics: Metrics;
  readonly options: Checked;
  /** Milliseconds since 1970, by the clock of the store. */
  now(): number;
  failed(error: unknown): void;
  /** A session came to rest here, and could not be filed. */
  unfiled(): void;
};

/** The sessions of a worker: it wakes those that are due, through the engine, takes those that the engine gives it, and runs them. */
export class Dispatch {
  readonly running = new Map<string, Job>();
  readonly #floor: Floor;
  readonly #due: Due;
  readonly #modules: ReadonlyMap<string, Module>;
  readonly #attempts = new Map<string, number>();
  /** Entries whose sessions this worker woke a moment ago, and nobody has taken yet. */
  readonly #offered = new Map<string, NodeJS.Timeout>();
  readonly #overs = new Map<string, Promise<void>>();
  #link: EngineLink | undefined;
  #isOpen = true;
  #filling = false;
  #fillAgain = false;
  #rested: (() => void) | undefined;
  #taking: Promise<unknown> = Promise.resolve();
  #wakeFails = false;
  #hasMoved = true;

  constructor(floor: Floor) {
    this.#floor = floor;
    const { queues, offers, modules } = floor.options;
    this.#modules = versionsOf(modules);
    this.#due = new Due(floor.store, {
      modules: new Set(this.#modules.keys()),
      queues: queues && new Set(queues),
      offers,
    });
  }

  /** Begins to hear from the engine. */
  async connect(): Promise<void> {
    const { store, member, options } = this.#floor;
    const host: EngineHost = {
      pool: poolOf(store, [...this.#modules.keys()], options),
      worker: member.id,
      concurrency: options.concurrency,
      take: (wake) => this.#inTurn(() => this.#takeNow(wake)),
      rested: async ({ session }) => this.#overs.get(session),
    };
    this.#link = await options.engine.connect(host);
  }

  /** Takes nothing more. */
  stop(): void {
    this.#isOpen = false;
    for (const timer of this.#offered.values()) clearTimeout(timer);
    this.#offered.clear();
  }

  /** Resolves when what is being taken runs or does not. */
  async taken(): Promise<void> {
    await this.#taking;
  }

  async disconnect(): Promise<void> {
    await this.#link?.close();
  }

  /** Another worker is dead. */
  async left(worker: string): Promise<void> {
    await this.#link?.left?.(worker);
  }

  get hasRoom(): boolean {
    return this.#isOpen && this.running.size + this.#offered.size < this.#floor.options.concurrency;
  }

  fits(submission: Submission): boolean {
    return this.#due.fits(submission);
  }

  /** An entry of what is due is gone: somebody took it. */
  gone(entry: string): void {
    if (this.#forget(entry)) void this.fill();
  }

  /** Whether an entry names this worker. */
  isHere(entry: string): boolean {
    return entry.startsWith(this.#mine);
  }

  get #mine(): string {
    return `${FOR}${this.#floor.member.id}/`;
  }

  /** Somebody moved a session to this worker. */
  moved(): void {
    this.#hasMoved = true;
    void this.fill();
  }

  /** Takes the sessions that were moved here: no engine chooses among workers for them. */
  async #takeMoved(): Promise<void> {
    if (!this.#hasMoved) return;
    this.#hasMoved = false;
    const { store, member } = this.#floor;
    for (const { name, id } of await store.names({ under: this.#mine, limit: PAGE })) {
      const submission = await submissionAt(store, id);
      const fits = submission !== undefined && (submission.needs.memory ?? 0) <= this.#memoryLeft;
      if (submission === undefined) await member.file({ [name]: null });
      else if (!this.hasRoom || !fits || this.running.has(submission.name)) this.#hasMoved = true;
      else await this.#inTurn(() => this.#take(name, submission));
    }
  }

  get #memoryLeft(): number {
    const { memory = Number.POSITIVE_INFINITY } = this.#floor.options.offers;
    return [...this.running.values()].reduce(
      (left, { submission }) => left - (submission.needs.memory ?? 0),
      memory,
    );
  }

  /** Wakes what is due, in its order, as long as there is room. */
  async fill(): Promise<void> {
    const { store, member } = this.#floor;
    this.#fillAgain = true;
    if (this.#filling) return;
    this.#filling = true;
    try {
      while (this.#fillAgain && this.hasRoom) {
        this.#fillAgain = false;
        await this.#takeMoved();
        const rank = member.isAlone ? undefined : ({ name }: Name) => member.rank(name);
        const entry = await this.#due.next(this.#memoryLeft, rank, new Set(this.#offered.keys()));
        if (entry === undefined) continue;
        const submission = await submissionAt(store, entry.id);
        if (submission === undefined) await member.file({ [entry.name]: null });
        else await this.#offer(entry.name, submission);
        this.#fillAgain = true;
      }
    } catch (error) {
      this.#floor.failed(error);
    } finally {
      this.#filling = false;
    }
  }

  /** Wakes a session, and leaves its entry alone for a second. */
  async #offer(entry: string, submission: Submission): Promise<void> {
    if (!this.#isOpen) return;
    this.#offered.set(
      entry,
      setTimeout(() => this.#offered.delete(entry), OFFER_MS),
    );
    const { name: session, module, version, id: run } = submission;
    try {
      await this.#link?.wake({ session, module, version, run });
      this.#wakeFails = false;
    } catch (error) {
      // It is woken again as long as it is due: one warning is enough.
      if (!this.#wakeFails) this.#floor.failed(error);
      this.#wakeFails = true;
    }
  }

  /** One at a time: each of them looks whether there is room. */
  #inTurn<Result>(take: () => Promise<Result>): Promise<Result> {
    const taken = this.#taking.then(take);
    this.#taking = taken.catch(() => {});
    return taken;
  }

  /** Engines may tell anything: only the store says what is due. */
  async #takeNow({ session, module, version, run }: Wake): Promise<Taken> {
    if (!this.#isOpen || this.running.size >= this.#floor.options.concurrency) return "busy";
    const submission = await submissionAt(this.#floor.store, run);
    if (submission === undefined || submission.name !== session) return "gone";
    if (submission.module !== module || submission.version !== version) return "gone";
    const entry = dueEntry(submission);
    if ((await this.#floor.store.head(entry)) !== run || this.running.has(session)) return "gone";
    if (!this.#due.fits(submission)) return "refused";
    if ((submission.needs.memory ?? 0) > this.#memoryLeft) return "busy";
    return (await this.#take(entry, submission)) ? "taken" : "gone";
  }

  /** Takes a session: its entry is at this worker before anything else happens, so that others find it if this one dies. */
  async #take(entry: string, submission: Submission): Promise<boolean> {
    const { store, rath, member } = this.#floor;
    const { name, id, module, version } = submission;
    const key = entryKey(submission);
    const program = this.#modules.get(`${module}@${version}`);
    if (program === undefined) return false;
    if ((await store.head(PAUSED + key)) !== undefined) {
      await member.file({ [entry]: null });
      return false;
    }
    const session = await store.load(id);
    const target = await store.head(MOVE + key);
    const to = target === undefined ? undefined : await cardAt(store, target);
    if (to !== undefined && to.id !== member.id && (await store.head(WORKERS + to.id)) === target) {
      await member.file({ [entry]: null, [MOVE + key]: null, [`${FOR}${to.id}/${key}`]: session });
      return false;
    }
    const bench = { store, rath, member, attempts: this.#attempts };
    const job = new Job(bench, submission, program, session);
    this.running.set(name, job);
    try {
      const isMoved = target !== undefined && { [MOVE + key]: null };
      await member.file({ [`${AT}${member.id}/${key}`]: session, [entry]: null, ...isMoved });
    } catch (error) {
      this.running.delete(name);
      throw error;
    }
    this.#forget(entry);
    this.#floor.metrics.taken(Math.max(0, this.#floor.now() - Date.parse(submission.at)));
    this.#overs.set(name, this.#see(name, job));
    return true;
  }

  async #see(name: string, job: Job): Promise<void> {
    try {
      this.#floor.metrics.rested(await job.run());
    } catch (error) {
      this.#floor.failed(error);
      this.#floor.unfiled();
    } finally {
      this.running.delete(name);
      this.#overs.delete(name);
      this.#forget(dueEntry(job.submission));
      if (this.running.size === 0) this.#rested?.();
      void this.fill();
    }
  }

  #forget(entry: string): boolean {
    clearTimeout(this.#offered.get(entry));
    return this.#offered.delete(entry);
  }

  /** Resolves when nothing runs here, or after this many milliseconds. */
  async rest(grace: number): Promise<void> {
    if (this.running.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, grace);
      this.#rested = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

function versionsOf(modules: { readonly [name: string]: Module }): ReadonlyMap<string, Module> {
  return new Map(Object.values(modules).map((one) => [`${one.name}@${digestOfModule(one)}`, one]));
}

function poolOf(store: Store, modules: readonly string[], { queues, offers }: Checked): string {
  const { identity = store.url } = store;
  const parts = [identity, [...modules].sort(), [...(queues ?? [])].sort(), offers];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 16);
}
