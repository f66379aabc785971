import { digestOfModule, type Module, openRath, type Rath } from "../runtime/index.js";
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
import { warnOf } from "../session/index.js";
import { FencedError, type Name, type NameMove, type Store, StoreError } from "../store/index.js";
import { Due } from "./due.js";
import type { EngineLink, Wake } from "./engine.js";
import { isAnswered, Job, waitingUnder } from "./job.js";
import { cardAt, Member, WORKERS } from "./member.js";
import type { Metrics } from "./metrics.js";
import type { Checked } from "./options.js";

/** How long the workers that are not the first for an entry leave it to those before them. */
const AFTER_MS = 40;
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
  /** Entries that this worker could not take a moment ago. */
  readonly #passed = new Set<string>();
  readonly #stop = new AbortController();
  readonly #timers = new Set<NodeJS.Timeout>();
  #link!: EngineLink;
  #alarm: NodeJS.Timeout | undefined;
  #alarmAt = 0;
  #skew = 0;
  #beats = 0;
  #beating = false;
  #draining = false;
  #filling = false;
  #fillAgain = false;
  #rested: (() => void) | undefined;

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
    const member = await Member.join(store, card, () => beat());
    const tenure = new Tenure(store, options, metrics, (given) => {
      beat = given;
      return member;
    });
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
    this.#link = await this.#options.engine.connect({
      worker: this.id,
      modules: [...this.#modules.keys()],
      fill: () => void this.#fill(),
      take: (wake) => this.#takeWoken(wake),
    });
    // From before the first look on: what comes while it looks is heard.
    const watch = store.watch({ signal: this.#stop.signal });
    this.#follow(watch).catch((error: unknown) => this.#failed(error));
    await this.#lookAtAll();
  }

  /** Looks for everything that may have come while nobody listened. */
  async #lookAtAll(): Promise<void> {
    await this.member.watchOver(true);
    for (const { name } of await this.#store.names({ under: "answer/" })) await this.#answered(name);
    await this.#promote();
    await this.#wakeAll();
  }

  async #follow(watch: AsyncIterable<NameMove>): Promise<void> {
    try {
      for await (const { name, id } of watch) if (id !== null) this.#hear(name, id);
    } catch (error) {
      // Too far behind: it looks at everything, and follows from now on.
      if (!(error instanceof StoreError && error.code === "store-token-old")) throw error;
      const again = this.#follow(this.#store.watch({ signal: this.#stop.signal }));
      await this.#lookAtAll();
      await again;
    }
  }

  #hear(name: string, id: string): void {
    if (name.startsWith("answer/")) this.#later(name, () => this.#answered(name));
    else if (!name.startsWith(QUEUE)) return;
    else if (name.startsWith(DUE)) {
      if (this.#hasRoom) this.#later(name, () => this.#wake(name, id));
    } else if (name.startsWith(LATER)) this.#arm(timeOfEntry(name));
    else if (name.startsWith(PAUSED)) this.#jobOf(name.slice(PAUSED.length))?.leave();
    else if (name.startsWith(MOVE)) this.#jobOf(name.slice(MOVE.length))?.leave();
    else if (name.startsWith(this.#mine)) void this.#fill();
    else if (name.startsWith(CANCEL)) this.#jobOf(name.slice(CANCEL.length))?.cancel("it was cancelled");
    else if (name.startsWith(WORKERS)) void this.member.look().catch((error: unknown) => this.#failed(error));
    else if (name === `${QUEUE}drain/${this.id}`) this.#options.drained();
  }

  #jobOf(key: string): Job | undefined {
    return [...this.running.values()].find(({ submission }) => entryKey(submission) === key);
  }

  /** Does something now when this worker is the first for it; later, if it still is to be done then, when others are. */
  #later(key: string, work: () => Promise<void>): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      work().catch((error: unknown) => this.#failed(error));
    }, this.member.rank(key) * AFTER_MS);
    this.#timers.add(timer);
  }

  async #wake(entry: string, id: string): Promise<void> {
    if (!this.#hasRoom || (await this.#store.head(entry)) !== id) return;
    const submission = await submissionAt(this.#store, id);
    if (submission === undefined || !this.#due.fits(submission)) return;
    await this.#link.wake(wakeOf(submission));
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
    return !this.#draining && !this.member.lost.aborted && this.running.size < this.#options.concurrency;
  }

  get #memoryLeft(): number {
    const { memory = Number.POSITIVE_INFINITY } = this.#options.offers;
    return [...this.running.values()].reduce(
      (left, { submission }) => left - (submission.needs.memory ?? 0),
      memory,
    );
  }

  /** Takes what is due, as long as there is room. */
  async #fill(): Promise<void> {
    this.#fillAgain = true;
    if (this.#filling) return;
    this.#filling = true;
    try {
      while (this.#fillAgain && this.#hasRoom) {
        this.#fillAgain = false;
        const rank = this.member.isAlone ? undefined : ({ name }: Name) => this.member.rank(name);
        const entry =
          (await this.#movedHere()) ?? (await this.#due.next(this.#memoryLeft, rank, this.#passed));
        if (entry === undefined) break;
        const submission = await submissionAt(this.#store, entry.id);
        if (submission === undefined) await this.member.file({ [entry.name]: null });
        else await this.#take(entry.name, submission);
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

  /** A session that somebody moved to this worker. */
  async #movedHere(): Promise<Name | undefined> {
    const moved = await this.#store.names({ under: this.#mine, limit: 1 + this.#passed.size });
    return moved.find(({ name }) => !this.#passed.has(name));
  }

  async #takeWoken({ run }: Wake): Promise<"rested" | "gone" | "busy" | "refused"> {
    const submission = await submissionAt(this.#store, run);
    if (submission === undefined || (await this.#store.head(dueEntry(submission))) !== run) return "gone";
    if (!this.#due.fits(submission)) return "refused";
    if (!this.#hasRoom || (submission.needs.memory ?? 0) > this.#memoryLeft) return "busy";
    const job = await this.#take(dueEntry(submission), submission);
    if (job === undefined) return "gone";
    await job.over;
    return "rested";
  }

  /** Takes a session: its entry is at this worker before anything else happens, so that others find it if this one dies. */
  async #take(entry: string, submission: Submission): Promise<{ readonly over: Promise<void> } | undefined> {
    const { name, id, module, version } = submission;
    const key = entryKey(submission);
    const program = this.#modules.get(`${module}@${version}`);
    if (this.running.has(name) || program === undefined) {
      this.#pass(entry);
      return undefined;
    }
    if ((await this.#store.head(PAUSED + key)) !== undefined) {
      await this.member.file({ [entry]: null });
      return undefined;
    }
    const session = await this.#store.load(id);
    const target = await this.#store.head(MOVE + key);
    const to = target === undefined ? undefined : await cardAt(this.#store, target);
    if (to !== undefined && to.id !== this.id && (await this.#store.head(WORKERS + to.id)) === target) {
      await this.member.file({ [entry]: null, [MOVE + key]: null, [`${FOR}${to.id}/${key}`]: session });
      return undefined;
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
    this.#metrics.taken(Math.max(0, Date.now() + this.#skew - Date.parse(submission.at)));
    return { over: this.#see(name, job) };
  }

  async #see(name: string, job: Job): Promise<void> {
    try {
      this.#metrics.rested(await job.run());
    } catch (error) {
      this.#failed(error);
    } finally {
      this.running.delete(name);
      if (this.running.size === 0) this.#rested?.();
      void this.#fill();
    }
  }

  /** An entry that is not taken now: the next one is, and this one is looked at again in a second. */
  #pass(entry: string): void {
    this.#passed.add(entry);
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#passed.delete(entry);
    }, SKEW_MS);
    this.#timers.add(timer);
  }

  #beat(): void {
    this.#beats += 1;
    const all = this.#beats % ALL_BEATS === 0;
    const work = async (): Promise<void> => {
      await this.member.watchOver(all);
      if (all) await this.#setClock();
      await this.#promote();
      await this.#wakeAll();
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

  /** A wake may have been lost. */
  async #wakeAll(): Promise<void> {
    if (!this.#hasRoom) return;
    for (const { id } of await this.#due.some(this.#options.engine.name === "local" ? 1 : PAGE)) {
      const submission = await submissionAt(this.#store, id);
      if (submission !== undefined) await this.#link.wake(wakeOf(submission));
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
    await this.#link.close();
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

function wakeOf({ name, module, version, id }: Submission): Wake {
  return { session: name, module, version, run: id };
}
