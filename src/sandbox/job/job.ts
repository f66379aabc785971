import { deferred } from "../lazy.js";
import type { Sandbox } from "../sandbox.js";
import { type Clock, systemClock } from "../timer.js";
import { Turns } from "../workspace/directory.js";
import { Attempt, type JobSource, type JobTask, type Origin, originOf } from "./attempt.js";
import type { JobAttempt, JobState, JobStatus, Turn } from "./job-state.js";
import { begin, cancel, ended, isOver, resume, statusOf, suspend, tick } from "./job-state.js";
import { checkPolicy, type JobPolicy, JobPolicyError } from "./policy.js";

export type JobOptions = {
  /** Ends it: what is under way is ended, and nothing else begins. */
  readonly signal?: AbortSignal;
  /** Told of every change, in order. An error that it throws ends the job, and `result` rejects with it. */
  readonly observe?: (status: JobStatus, event: JobEvent) => void;
  readonly clock?: Clock;
};

export type JobEvent =
  | { readonly type: "begin" | "tick" | "suspend" | "resume" | "cancel" | "finish" | "end" }
  | { readonly type: "attempt-start"; readonly index: number; readonly attempt: number }
  | { readonly type: "attempt-end"; readonly index: number; readonly attempt: JobAttempt };

/** A job under way. */
export interface Job extends AsyncDisposable {
  /** How it ended. Failing is a result like others; it rejects only when the job could not begin, or its observer threw. */
  readonly result: Promise<JobStatus>;
  /** How it stands; undefined until it has begun. */
  status(): JobStatus | undefined;
  /** Freezes running attempts where their sandbox can do that; others are ended, and begun anew on `resume`. */
  suspend(): Promise<void>;
  resume(): Promise<void>;
  /** The sandboxes that are kept after the end, by index. */
  sandboxes(): ReadonlyMap<number, Sandbox>;
  /** Ends it if need be, and destroys what was kept. */
  close(): Promise<void>;
}

/**
 * Runs a task until it has succeeded so many times, each time in a sandbox of its own that begins with the same files. A
 * retry begins with the files from before too, never with what a failed attempt has left.
 *
 * ```ts
 * const job = runJob(sandbox, { completions: 3, parallelism: 2 }, "npm test");
 * const { succeeded, indexes } = await job.result;
 * ```
 */
export function runJob(source: JobSource, policy: JobPolicy, task: JobTask, options: JobOptions = {}): Job {
  return new RunningJob(source, policy, task, options);
}

class RunningJob implements Job {
  readonly result: Promise<JobStatus>;
  readonly #outcome = deferred<JobStatus>();
  readonly #task: JobTask;
  readonly #options: JobOptions;
  readonly #clock: Clock;
  readonly #attempts = new Map<number, JobAttempt[]>();
  readonly #running = new Map<number, Attempt>();
  readonly #kept = new Map<number, Sandbox>();
  readonly #left: { id: string; incarnation: number; why: string }[] = [];
  readonly #closed = new AbortController();
  readonly #begun: Promise<void>;
  #origin: Origin | undefined;
  #state: JobState | undefined;
  #alarm = new AbortController();
  /** Attempts that wait for the job to be resumed. */
  readonly #paused: (() => void)[] = [];
  /** Suspending and resuming, one after the other. */
  readonly #turns = new Turns();
  #broken: { readonly error: unknown } | undefined;
  #isSettled = false;

  constructor(source: JobSource, policy: JobPolicy, task: JobTask, options: JobOptions) {
    const checked = checkPolicy(policy);
    this.#task = checkTask(task);
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.result = this.#outcome.promise;
    // A rejection that nobody handles must not end the process.
    this.result.catch(() => {});
    this.#begun = originOf(source).then(
      (origin) => {
        this.#origin = origin;
        this.#apply(begin(checked, this.#clock.now()), { type: "begin" });
        const { signal } = options;
        if (signal?.aborted === true) this.#cancel();
        else signal?.addEventListener("abort", this.#cancel, { once: true });
      },
      (error: unknown) => this.#outcome.reject(error),
    );
  }

  status(): JobStatus | undefined {
    const [state, origin] = [this.#state, this.#origin];
    if (state === undefined || origin === undefined) return undefined;
    const { id, before } = origin;
    return statusOf(state, { id, before, attempts: this.#attempts, left: this.#left }, this.#clock.now());
  }

  suspend(): Promise<void> {
    return this.#turn(async (state, origin) => {
      if (state.finish !== null || state.isSuspended) return;
      // A program goes on while its sandbox stands still, and what it asks of that fails: it is ended and begun anew.
      const how = origin.freezes && typeof this.#task !== "function" ? "freeze" : "end";
      this.#apply(suspend(state, how, this.#clock.now()), { type: "suspend" }, "the job was suspended");
      if (how === "freeze")
        await this.#each((sandbox) => sandbox.suspend(), "its sandbox could not be suspended");
    });
  }

  resume(): Promise<void> {
    return this.#turn(async (state) => {
      if (state.finish !== null || !state.isSuspended) return;
      await this.#each((sandbox) => sandbox.resume(), "its sandbox could not be resumed");
      if (this.#state !== undefined) this.#apply(resume(this.#state, this.#clock.now()), { type: "resume" });
    });
  }

  sandboxes(): ReadonlyMap<number, Sandbox> {
    return new Map(this.#kept);
  }

  async close(): Promise<void> {
    await this.#begun;
    if (this.#state !== undefined) {
      this.#cancel();
      await this.result.catch(() => {});
    }
    this.#closed.abort();
    await this.#clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** One at a time, and not before there is something to suspend or resume. */
  #turn(work: (state: JobState, origin: Origin) => Promise<void>): Promise<void> {
    return this.#turns.take(async () => {
      await this.#begun;
      if (this.#state !== undefined && this.#origin !== undefined) await work(this.#state, this.#origin);
    });
  }

  /** Does something with the sandbox of every attempt; one that this cannot be done with is ended. */
  async #each(work: (sandbox: Sandbox) => Promise<void>, problem: string): Promise<void> {
    await Promise.all(
      [...this.#running.values()].map(async (one) => {
        if (one.sandbox !== undefined) await work(one.sandbox).catch(() => one.stop(problem));
      }),
    );
  }

  readonly #cancel = (): void => {
    if (this.#state === undefined || this.#state.finish !== null) return;
    const reason: unknown = this.#options.signal?.reason;
    const why = this.#broken === undefined && reason instanceof Error ? reason.message : "it was cancelled";
    this.#apply(cancel(this.#state, why, this.#clock.now()), { type: "cancel" });
  };

  /** Takes the next state, and does what follows from it. */
  #apply(turn: Turn, event: JobEvent, why?: string): void {
    const wasFinished = this.#state?.finish ?? null;
    this.#state = turn.state;
    const { finish, isSuspended } = turn.state;
    this.#tell(event);
    if (finish !== null && wasFinished === null) this.#tell({ type: "finish" });
    for (const index of turn.stop)
      this.#running.get(index)?.stop(why ?? finish?.message ?? "the job has ended");
    if (!isSuspended || finish !== null) for (const go of this.#paused.splice(0)) go();
    for (const place of turn.start) void this.#launch(place);
    this.#alarm.abort();
    if (turn.wake !== null) this.#wakeAt(turn.wake);
    // Nobody would know of a job that goes on when the one who looks on has failed.
    if (this.#broken !== undefined) this.#cancel();
    if (isOver(this.#state)) this.#settle();
  }

  #wakeAt(time: number): void {
    const alarm = new AbortController();
    this.#alarm = alarm;
    void this.#clock.wait(Math.max(0, time - this.#clock.now()), alarm.signal).then(() => {
      if (alarm.signal.aborted || this.#state === undefined) return;
      const turn = tick(this.#state, this.#clock.now());
      // Timers may come early: then there is nothing to tell, only to wait on.
      const isNews = turn.state.finish !== this.#state.finish || turn.start.length > 0;
      if (isNews) this.#apply(turn, { type: "tick" });
      else if (turn.wake !== null) this.#wakeAt(Math.max(turn.wake, this.#clock.now() + 1));
    });
  }

  async #launch(place: { readonly index: number; readonly attempt: number }): Promise<void> {
    const { index } = place;
    const one = new Attempt(this.#origin as Origin, this.#clock, place);
    this.#running.set(index, one);
    this.#tell({ type: "attempt-start", ...place });
    const earlier = this.#kept.get(index);
    if (earlier !== undefined) {
      this.#kept.delete(index);
      await this.#destroy(earlier);
    }
    const attempt = await one.run(this.#task, () => this.#ready());
    // Before it counts as ended: at no time are there more sandboxes than attempts that may be under way.
    if (one.sandbox !== undefined) {
      if (this.#state?.policy.ttlAfterFinished === null) await this.#destroy(one.sandbox);
      else this.#kept.set(index, one.sandbox);
    }
    this.#running.delete(index);
    this.#attempts.set(index, [...(this.#attempts.get(index) ?? []), attempt]);
    if (this.#state === undefined) return;
    const { outcome, code } = attempt;
    this.#apply(ended(this.#state, { index, outcome, code }, this.#clock.now()), {
      type: "attempt-end",
      index,
      attempt,
    });
  }

  /** While the job is suspended, nothing begins. */
  async #ready(): Promise<void> {
    while (this.#state?.isSuspended === true && this.#state.finish === null)
      await new Promise<void>((go) => this.#paused.push(go));
  }

  async #destroy(sandbox: Sandbox): Promise<void> {
    try {
      await sandbox.destroy();
    } catch (error) {
      const { id, incarnation } = sandbox.ref;
      this.#left.push({ id, incarnation, why: error instanceof Error ? error.message : String(error) });
    }
  }

  async #clear(): Promise<void> {
    const kept = [...this.#kept.values()];
    this.#kept.clear();
    await Promise.all(kept.map((sandbox) => this.#destroy(sandbox)));
  }

  #settle(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#alarm.abort();
    this.#options.signal?.removeEventListener("abort", this.#cancel);
    const { ttlAfterFinished, onExpire } = (this.#state as JobState).policy;
    if (ttlAfterFinished !== null && onExpire === "delete")
      void this.#clock.wait(ttlAfterFinished, this.#closed.signal, true).then(() => this.#clear());
    this.#tell({ type: "end" });
    if (this.#broken === undefined) this.#outcome.resolve(this.status() as JobStatus);
    else void this.#clear().then(() => this.#outcome.reject(this.#broken?.error));
  }

  #tell(event: JobEvent): void {
    try {
      this.#options.observe?.(this.status() as JobStatus, event);
    } catch (error) {
      this.#broken ??= { error };
    }
  }
}

function checkTask(task: JobTask): JobTask {
  const isWords = Array.isArray(task) && task.length > 0 && task.every((word) => typeof word === "string");
  if (typeof task === "string" || typeof task === "function" || isWords) return task;
  throw new JobPolicyError(
    "task",
    "it is neither a command nor a function",
    'give one: "npm test", or (sandbox) => …',
  );
}
