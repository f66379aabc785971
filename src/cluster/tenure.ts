import { digestOfModule, openRath, type Rath, RefusedError } from "../runtime/index.js";
import {
  CANCEL,
  DUE,
  dueEntry,
  entryKey,
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
import { FencedError, type NameMove, type Store } from "../store/index.js";
import { entriesOf } from "./board.js";
import { Dispatch } from "./dispatch.js";
import { isAnswered, type Job, waitingUnder } from "./job.js";
import { drainName, Member, WORKERS } from "./member.js";
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
/** How soon work is tried again that must not be lost. */
const AGAIN_MS = 1_000;

/** A worker from its coming into a store until it leaves, or is taken for dead there. */
export class Tenure {
  readonly member: Member;
  readonly #store: Store;
  readonly #rath: Rath;
  readonly #options: Checked;
  readonly #dispatch: Dispatch;
  readonly #stop = new AbortController();
  readonly #timers = new Set<NodeJS.Timeout>();
  #alarm: NodeJS.Timeout | undefined;
  #alarmAt = 0;
  #skew = 0;
  #beats = 0;
  #beating = false;

  private constructor(store: Store, options: Checked, metrics: Metrics, join: (beat: () => void) => Member) {
    this.#store = store;
    this.#options = options;
    const { clock = () => Date.now() + this.#skew } = options.options;
    this.#rath = openRath({ ...options.options, clock, store, sandboxes: options.sandboxes });
    this.member = join(() => this.#beat());
    this.#dispatch = new Dispatch({
      ...{ store, options, metrics, rath: this.#rath, member: this.member },
      now: () => Date.now() + this.#skew,
      failed: (error) => this.#failed(error),
      unfiled: () => this.#in(AGAIN_MS, () => void this.#surely(() => this.#fileLeft())),
    });
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
    left = (id) => tenure.#dispatch.left(id);
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

  get running(): ReadonlyMap<string, Job> {
    return this.#dispatch.running;
  }

  async #open(): Promise<void> {
    await this.#setClock();
    const store = this.#store;
    try {
      await this.#dispatch.connect();
    } catch (error) {
      throw new RefusedError(
        "start a worker",
        `the engine ${this.#options.engine.name} cannot be reached or used: ${thrownMessage(error)}`,
        "start its server and check its settings, or leave `engine` out: the store alone is enough",
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
    this.#dispatch.moved();
    await this.#dispatch.fill();
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
      else this.#dispatch.gone(name);
    }
  }

  #hear(name: string, id: string): void {
    if (name.startsWith("answer/")) this.#later(name, () => this.#surely(() => this.#answered(name)));
    else if (!name.startsWith(QUEUE)) return;
    else if (name.startsWith(DUE)) {
      if (this.#dispatch.hasRoom)
        this.#later(name, () => this.#wake(name, id), this.#options.engine.patience);
    } else if (name.startsWith(LATER)) this.#arm(timeOfEntry(name));
    else if (name.startsWith(PAUSED)) this.#jobOf(name.slice(PAUSED.length))?.leave();
    else if (name.startsWith(MOVE)) this.#jobOf(name.slice(MOVE.length))?.leave();
    else if (this.#dispatch.isHere(name)) this.#dispatch.moved();
    else if (name.startsWith(CANCEL)) this.#jobOf(name.slice(CANCEL.length))?.cancel("it was cancelled");
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
  #later(key: string, work: () => Promise<void>, after = AFTER_MS): void {
    this.#in(this.member.rank(key) * after, () => {
      work().catch((error: unknown) => this.#failed(error));
    });
  }

  /** Does something, and again as long as it fails: the store may be away, and nobody else may know that it is to be done. */
  async #surely(work: () => Promise<void>, wait = AGAIN_MS): Promise<void> {
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
    if (!this.#dispatch.hasRoom || (await this.#store.head(entry)) !== id) return;
    const submission = await submissionAt(this.#store, id);
    if (submission !== undefined && this.#dispatch.fits(submission)) await this.#dispatch.fill();
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

  #beat(): void {
    this.#beats += 1;
    const all = this.#beats % ALL_BEATS === 0;
    const work = async (): Promise<void> => {
      await this.member.watchOver(all);
      if (all) await Promise.all([this.#setClock(), this.#fileLeft()]);
      await this.#promote();
      // A wake may have been lost.
      await this.#dispatch.fill();
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
    this.#dispatch.stop();
    await this.#dispatch.taken();
    for (const job of this.running.values()) job.leave();
    await this.#dispatch.rest(grace);
    await this.#close();
  }

  async #close(): Promise<void> {
    await this.#rath.close();
    await this.#dispatch.rest(SKEW_MS);
    this.#end();
    await this.member.leave();
    await this.#dispatch.disconnect();
  }

  /** Others have taken over: what runs here stops as in a crash. */
  async #abandon(): Promise<void> {
    this.#end();
    this.member.stop();
    await this.#rath.close();
    await this.#dispatch.disconnect();
  }

  #end(): void {
    this.#stop.abort();
    this.#dispatch.stop();
    clearTimeout(this.#alarm);
    for (const timer of this.#timers) clearTimeout(timer);
  }
}
