import { createHash } from "node:crypto";
import { digestOfModule, type Module, openRath, type Rath, RefusedError } from "../runtime/index.js";
import {
  AT,
  CANCEL,
  DUE,
  dueEntry,
  entryKey,
  FOR,
  LATER,
  MOVE,
  PAUSED,
  QUEUE,
  type Submission,
  submissionAt,
  timeOfEntry,
  WAIT,
} from "../runtime/submit/index.js";
import { thrownMessage, warnOf } from "../session/index.js";
import { FencedError, type Name, type NameMove, type Store } from "../store/index.js";
import { entriesOf } from "./board.js";
import { Due } from "./due.js";
import type { EngineHost, EngineLink, Taken, Wake } from "./engine.js";
import { isAnswered, Job, waitingUnder } from "./job.js";
import { cardAt, drainName, Member, WORKERS } from "./member.js";
import type { Metrics } from "./metrics.js";
import type { Checked } from "./options.js";

/** How long the workers that are not the first for an entry leave it to those before them. */
const AFTER_MS = 40;
/** How soon a session that nobody took after a wake is woken again. */
const OFFER_MS = 1_000;
/** A clock that is off by more is corrected by that of the store. */
const SKEW_MS = 1_000;
/** Looks at everything, not at the next worker alone, in beats of half a second. */
const ALL_BEATS = 20;
const PAGE = 64;
const LONGEST_MS = 60_000;

/** A worker from its coming into a store until it leaves, or is taken for dead there. */
export class Tenure {
  readonly member: Member;
  readonly running = new Map<string, Job>();
  readonly #store: Store;
  readonly #rath: Rath;
  readonly #options: Checked;
  readonly #metrics: Metrics;
  readonly #due: Due;
  readonly #modules: ReadonlyMap<string, Module>;
  readonly #attempts = new Map<string, number>();
  /** Entries whose sessions this worker woke a moment ago, and nobody has taken yet. */
  readonly #offered = new Set<string>();
  readonly #overs = new Map<string, Promise<void>>();
  readonly #stop = new AbortController();
  readonly #timers = new Set<NodeJS.Timeout>();
  #link: EngineLink | undefined;
  #alarm: NodeJS.Timeout | undefined;
  #alarmAt = 0;
  #skew = 0;
  #beats = 0;
  #beating = false;
  #draining = false;
  #filling = false;
  #fillAgain = false;
  #rested: (() => void) | undefined;
  #taking: Promise<unknown> = Promise.resolve();
  #wakeFails = false;
  #isMovedTo = true;

  private constructor(store: Store, options: Checked, metrics: Metrics, join: (beat: () => void) => Member) {
    this.#store = store;
    this.#options = options;
    this.#metrics = metrics;
    this.#modules = versionsOf(options.modules);
    const { queues, offers } = options;
    this.#due = new Due(store, {
      modules: new Set(this.#modules.keys()),
      queues: queues && new Set(queues),
      offers,
    });
    const { clock = () => Date.now() + this.#skew } = options.options;
    this.#rath = openRath({ ...options.options, clock, store, sandboxes: options.sandboxes });
    this.member = join(() => this.#beat());
    this.member.lost.addEventListener("abort", () => void this.#abandon());
  }

  static async begin(store: Store, options: Checked, metrics: Metrics): Promise<Tenure> {
    let beat = (): void => {};
    const { engine, concurrency, queues, offers, modules } = options;
    const versions = Object.fromEntries(Object.values(modules).map((one) => [one.name, digestOfModule(one)]));
    const card = { engine: engine.name, concurrency, modules: versions, offers, ...(queues && { queues }) };
    let left = async (_: string): Promise<void> => {};
    const member = await Member.join(
      store,
      card,
      () => beat(),
      (id) => left(id),
    );
    const tenure = new Tenure(store, options, metrics, (given) => {
      beat = given;
      return member;
    });
    left = async (id) => tenure.#link?.left?.(id);
    try {
      await tenure.#open();
    } catch (error) {
      await tenure.#abandon();
      throw error;
    }
    return tenure;
  }

  get id(): string {
    return this.member.id;
  }

  async #open(): Promise<void> {
    await this.#setClock();
    const store = this.#store;
    const { engine, concurrency } = this.#options;
    const host: EngineHost = {
      pool: poolOf(store, [...this.#modules.keys()], this.#options),
      worker: this.id,
      concurrency,
      take: (wake) => this.#inTurn(() => this.#takeNow(wake)),
      rested: async ({ session }) => this.#overs.get(session),
    };
    try {
      this.#link = await engine.connect(host);
    } catch (error) {
      throw new RefusedError(
        "start a worker",
        `the engine ${engine.name} does not answer: ${thrownMessage(error)}`,
        "start its server, or leave `engine` out: the store wakes sessions by itself",
      );
    }
    // From before the first look on: what comes while it looks is heard.
    this.#follow(store.watch({ signal: this.#stop.signal }));
    await this.#lookAtAll();
  }

  /** Looks for everything that may have come while nobody listened. */
  async #lookAtAll(): Promise<void> {
    await this.member.watchOver(true);
    for await (const { name } of entriesOf(this.#store, "answer/"))
      await this.#surely(() => this.#answered(name));
    for (const job of this.running.values()) await job.look();
    if ((await this.#store.head(drainName(this.id))) !== undefined) this.#options.drained();
    await this.#promote();
    this.#isMovedTo = true;
    await this.#fill();
  }

  #follow(watch: AsyncIterable<NameMove>): void {
    this.#hearAll(watch).catch((error: unknown) => {
      // Too far behind, or the store was away for long: it looks at everything, and follows from then on.
      this.#failed(error);
      void this.#surely(async () => {
        await this.#store.time();
        this.#follow(this.#store.watch({ signal: this.#stop.signal }));
        void this.#surely(() => this.#lookAtAll());
      });
    });
  }

  async #hearAll(watch: AsyncIterable<NameMove>): Promise<void> {
    for await (const { name, id } of watch) {
      if (id !== null) this.#hear(name, id);
      // Somebody took it.
      else if (this.#offered.delete(name)) void this.#fill();
    }
  }

  #hear(name: string, id: string): void {
    if (name.startsWith("answer/")) this.#later(name, () => this.#surely(() => this.#answered(name)));
    else if (!name.startsWith(QUEUE)) return;
    else if (name.startsWith(DUE)) {
      if (this.#hasRoom) this.#later(name, () => this.#wake(name, id));
    } else if (name.startsWith(LATER)) this.#arm(timeOfEntry(name));
    else if (name.startsWith(PAUSED)) this.#jobOf(name.slice(PAUSED.length))?.leave();
    else if (name.startsWith(MOVE)) this.#jobOf(name.slice(MOVE.length))?.leave();
    else if (name.startsWith(this.#mine)) {
      this.#isMovedTo = true;
      void this.#fill();
    } else if (name.startsWith(CANCEL)) this.#jobOf(name.slice(CANCEL.length))?.cancel("it was cancelled");
    else if (name.startsWith(WORKERS)) void this.member.look().catch((error: unknown) => this.#failed(error));
    else if (name === drainName(this.id)) this.#options.drained();
  }

  /** Filing a session may have failed: then it does not run here, and nobody else would go on with it. */
  #fileLeft(): Promise<void> {
    return this.member.refileMine((key) => this.#jobOf(key) !== undefined);
  }

  #jobOf(key: string): Job | undefined {
    return [...this.running.values()].find(({ submission }) => entryKey(submission) === key);
  }

  /** Does something now when this worker is the first for it; later, if it still is to be done then, when others are. */
  #later(key: string, work: () => Promise<void>): void {
    this.#in(this.member.rank(key) * (this.#options.engine.patience ?? AFTER_MS), () => {
      work().catch((error: unknown) => this.#failed(error));
    });
  }

  /** Does something, and again as long as it fails: the store may be away, and nobody else may know that it is to be done. */
  async #surely(work: () => Promise<void>, wait = OFFER_MS): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#failed(error);
      if (this.#stop.signal.aborted || this.member.lost.aborted) return;
      this.#in(wait, () => void this.#surely(work, Math.min(2 * wait, LONGEST_MS)));
    }
  }

  #in(milliseconds: number, work: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      work();
    }, milliseconds);
    this.#timers.add(timer);
  }

  async #wake(entry: string, id: string): Promise<void> {
    if (!this.#hasRoom || (await this.#store.head(entry)) !== id) return;
    const submission = await submissionAt(this.#store, id);
    if (submission !== undefined && this.#due.fits(submission)) await this.#fill();
  }

  /** Somebody answered a request of a run: it is due, if it waits for that. */
  async #answered(name: string): Promise<void> {
    const [, run = "", request = ""] = name.split("/");
    const submission = await waitingUnder(this.#store, run);
    if (submission === undefined || !(await isAnswered(this.#store, run, [request]))) return;
    await this.#makeDue(submission, WAIT + run);
  }

  async #makeDue(submission: Submission, entry: string): Promise<void> {
    const session = await this.#store.load(submission.id);
    await this.member.file({ [entry]: null, [dueEntry(submission)]: session });
  }

  /** Moves what has become due by now to where workers take it from. */
  async #promote(): Promise<void> {
    const now = await this.#store.time();
    const entries = await this.#store.names({ under: LATER, limit: PAGE });
    for (const { name, id } of entries) {
      if (timeOfEntry(name) > now) {
        this.#arm(timeOfEntry(name));
        return;
      }
      this.#later(name, async () => {
        if ((await this.#store.head(name)) !== id) return;
        const submission = await submissionAt(this.#store, id);
        if (submission === undefined) await this.member.file({ [name]: null });
        else await this.#makeDue(submission, name);
      });
    }
    if (entries.length === PAGE) this.#arm(now + AFTER_MS);
  }

  /** Looks again at this time by the clock of the store, unless it does so sooner. */
  #arm(time: number): void {
    const wait = Math.min(Math.max(0, time - (Date.now() + this.#skew)) + 1, LONGEST_MS);
    if (this.#alarm !== undefined && this.#alarmAt <= Date.now() + wait) return;
    clearTimeout(this.#alarm);
    this.#alarmAt = Date.now() + wait;
    this.#alarm = setTimeout(() => {
      this.#alarm = undefined;
      this.#promote().catch((error: unknown) => this.#failed(error));
    }, wait);
  }

  get #hasRoom(): boolean {
    const busy = this.running.size + this.#offered.size;
    return this.#isOpen && busy < this.#options.concurrency;
  }

  get #isOpen(): boolean {
    return !this.#draining && !this.member.lost.aborted && !this.#stop.signal.aborted;
  }

  get #memoryLeft(): number {
    const { memory = Number.POSITIVE_INFINITY } = this.#options.offers;
    return [...this.running.values()].reduce(
      (left, { submission }) => left - (submission.needs.memory ?? 0),
      memory,
    );
  }

  /** Wakes what is due, in its order, as long as there is room. */
  async #fill(): Promise<void> {
    this.#fillAgain = true;
    if (this.#filling) return;
    this.#filling = true;
    try {
      while (this.#fillAgain && this.#hasRoom) {
        this.#fillAgain = false;
        const rank = this.member.isAlone ? undefined : ({ name }: Name) => this.member.rank(name);
        await this.#takeMoved();
        const entry = await this.#due.next(this.#memoryLeft, rank, this.#offered);
        if (entry === undefined) continue;
        const submission = await submissionAt(this.#store, entry.id);
        if (submission === undefined) await this.member.file({ [entry.name]: null });
        else await this.#offer(entry.name, submission);
        this.#fillAgain = true;
      }
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#filling = false;
    }
  }

  get #mine(): string {
    return `${FOR}${this.id}/`;
  }

  /** Takes what somebody moved to this worker: no engine chooses among workers there. */
  async #takeMoved(): Promise<void> {
    if (!this.#isMovedTo) return;
    this.#isMovedTo = false;
    for (const { name, id } of await this.#store.names({ under: this.#mine, limit: PAGE })) {
      const submission = await submissionAt(this.#store, id);
      const fits = submission !== undefined && (submission.needs.memory ?? 0) <= this.#memoryLeft;
      if (submission === undefined) await this.member.file({ [name]: null });
      else if (!this.#hasRoom || !fits || this.running.has(submission.name)) this.#isMovedTo = true;
      else await this.#inTurn(() => this.#take(name, submission));
    }
  }

  /** Wakes a session, and leaves its entry alone for a second. */
  async #offer(entry: string, submission: Submission): Promise<void> {
    this.#offered.add(entry);
    this.#in(OFFER_MS, () => this.#offered.delete(entry));
    const { name: session, module, version, id: run } = submission;
    try {
      await this.#link?.wake({ session, module, version, run });
      this.#wakeFails = false;
    } catch (error) {
      // It is woken again as long as it is due: one warning is enough.
      if (!this.#wakeFails) this.#failed(error);
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
    if (!this.#isOpen || this.running.size >= this.#options.concurrency) return "busy";
    const submission = await submissionAt(this.#store, run);
    if (submission === undefined || submission.name !== session) return "gone";
    if (submission.module !== module || submission.version !== version) return "gone";
    const entry = dueEntry(submission);
    if ((await this.#store.head(entry)) !== run || this.running.has(session)) return "gone";
    if (!this.#due.fits(submission)) return "refused";
    if ((submission.needs.memory ?? 0) > this.#memoryLeft) return "busy";
    return (await this.#take(entry, submission)) ? "taken" : "gone";
  }

  /** Takes a session: its entry is at this worker before anything else happens, so that others find it if this one dies. */
  async #take(entry: string, submission: Submission): Promise<boolean> {
    const { name, id, module, version } = submission;
    const key = entryKey(submission);
    const program = this.#modules.get(`${module}@${version}`);
    if (program === undefined) return false;
    if ((await this.#store.head(PAUSED + key)) !== undefined) {
      await this.member.file({ [entry]: null });
      return false;
    }
    const session = await this.#store.load(id);
    const target = await this.#store.head(MOVE + key);
    const to = target === undefined ? undefined : await cardAt(this.#store, target);
    if (to !== undefined && to.id !== this.id && (await this.#store.head(WORKERS + to.id)) === target) {
      await this.member.file({ [entry]: null, [MOVE + key]: null, [`${FOR}${to.id}/${key}`]: session });
      return false;
    }
    const bench = { store: this.#store, rath: this.#rath, member: this.member, attempts: this.#attempts };
    const job = new Job(bench, submission, program, session);
    this.running.set(name, job);
    try {
      await this.member.file({
        [`${AT}${this.id}/${key}`]: session,
        [entry]: null,
        ...(target !== undefined && { [MOVE + key]: null }),
      });
    } catch (error) {
      this.running.delete(name);
      throw error;
    }
    this.#offered.delete(entry);
    this.#metrics.taken(Math.max(0, Date.now() + this.#skew - Date.parse(submission.at)));
    this.#overs.set(name, this.#see(name, job));
    return true;
  }

  async #see(name: string, job: Job): Promise<void> {
    try {
      this.#metrics.rested(await job.run());
    } catch (error) {
      this.#failed(error);
      this.#in(OFFER_MS, () => void this.#surely(() => this.#fileLeft()));
    } finally {
      this.running.delete(name);
      this.#overs.delete(name);
      this.#offered.delete(dueEntry(job.submission));
      if (this.running.size === 0) this.#rested?.();
      void this.#fill();
    }
  }

  #beat(): void {
    this.#beats += 1;
    const all = this.#beats % ALL_BEATS === 0;
    const work = async (): Promise<void> => {
      await this.member.watchOver(all);
      if (all) await Promise.all([this.#setClock(), this.#fileLeft()]);
      await this.#promote();
      // A wake may have been lost.
      await this.#fill();
    };
    if (!this.#beating) {
      this.#beating = true;
      work()
        .catch((error: unknown) => this.#failed(error))
        .finally(() => {
          this.#beating = false;
        });
    }
  }

  async #setClock(): Promise<void> {
    const skew = (await this.#store.time()) - Date.now();
    this.#skew = Math.abs(skew) > SKEW_MS ? skew : 0;
  }

  #failed(error: unknown): void {
    if (this.#stop.signal.aborted || this.member.lost.aborted) return;
    if (!(error instanceof FencedError)) warnOf(error, "OPENRATH_WORKER");
  }

  /** Takes nothing more, gives back what runs at its next effect, and leaves. Runs that take longer than `grace` are given up. */
  async drain(grace: number): Promise<void> {
    this.#draining = true;
    await this.#taking;
    for (const job of this.running.values()) job.leave();
    await this.#rest(grace);
    await this.#close();
  }

  async #rest(grace: number): Promise<void> {
    if (this.running.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, grace);
      this.#rested = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async #close(): Promise<void> {
    await this.#rath.close();
    await this.#rest(SKEW_MS);
    this.#end();
    await this.member.leave();
    await this.#link?.close();
  }

  /** Others have taken over: what runs here stops as in a crash. */
  async #abandon(): Promise<void> {
    this.#end();
    this.member.stop();
    await this.#rath.close();
    await this.#link?.close();
  }

  #end(): void {
    this.#stop.abort();
    clearTimeout(this.#alarm);
    for (const timer of this.#timers) clearTimeout(timer);
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
