import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { Digest } from "../../session/index.js";
import { defined } from "../../util/index.js";
import { SandboxLostError } from "../error.js";
import type { ConnectOptions, ExecResult, Sandbox, SandboxProvider } from "../sandbox.js";
import type { SandboxSpec } from "../spec.js";
import type { Clock } from "../timer.js";
import type { JobAttempt } from "./job-state.js";

/** The work for each index: a command, or a program that is given the sandbox. */
export type JobTask = string | readonly string[] | JobFunction;
/** Resolves to how it ended; nothing is "ok". An error that it throws is an error of this attempt. */
export type JobFunction = (sandbox: Sandbox, context: JobContext) => Promise<JobOutcome | undefined>;
export type JobContext = {
  readonly index: number;
  /** Counts from 1. */
  readonly attempt: number;
  /** Aborted when it should end: anyone who does not soon is left alone, without a sandbox. */
  readonly signal: AbortSignal;
};
/** As much of an `ExecResult` as a job needs. */
export type JobOutcome = Pick<ExecResult, "outcome" | "code"> & Partial<Pick<ExecResult, "why">>;

/** How long something that was told to end may take. */
const GRACE_MILLISECONDS = 10_000;

/** One attempt of an index, from the making of its sandbox to the files that it leaves. */
export class Attempt {
  sandbox: Sandbox | undefined;
  readonly #place: { readonly index: number; readonly attempt: number };
  readonly #origin: Origin;
  readonly #clock: Clock;
  readonly #stop = new AbortController();

  constructor(origin: Origin, clock: Clock, place: { readonly index: number; readonly attempt: number }) {
    this.#origin = origin;
    this.#clock = clock;
    this.#place = place;
  }

  stop(why: string): void {
    this.#stop.abort(new Error(why));
  }

  /** Never throws. `ready` is awaited before the task begins. */
  async run(task: JobTask, ready: () => Promise<void>): Promise<JobAttempt> {
    const began = this.#clock.now();
    const { before } = this.#origin;
    const { index, attempt } = this.#place;
    const told = (outcome: JobOutcome, after: Digest | null): JobAttempt => {
      const { ref } = this.sandbox ?? {};
      return Object.freeze({
        attempt,
        ...(ref !== undefined && { sandbox: { id: ref.id, incarnation: ref.incarnation } }),
        ...{ outcome: outcome.outcome, code: outcome.code, ...defined({ why: outcome.why }) },
        milliseconds: Math.max(0, this.#clock.now() - began),
        ...{ before, after },
      });
    };
    try {
      this.sandbox = await this.#origin.make(index, attempt, this.#stop.signal);
    } catch (error) {
      return told(this.#isStopped ? stopped(this.#stop.signal) : failed(error, "unstarted"), null);
    }
    await ready();
    if (this.#isStopped) return told(stopped(this.#stop.signal), before);
    const outcome = await this.#within(this.#perform(task, this.sandbox));
    if (outcome.outcome === "lost") return told(outcome, null);
    try {
      return told(outcome, (await this.sandbox.snapshot()).tree);
    } catch (error) {
      // A success whose files nobody can see cannot be told from a failure.
      const lost = { outcome: "lost", code: null, why: `its files cannot be had: ${textOf(error)}` } as const;
      return told(outcome.outcome === "ok" ? lost : outcome, null);
    }
  }

  get #isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  async #perform(task: JobTask, sandbox: Sandbox): Promise<JobOutcome> {
    const { signal } = this.#stop;
    const { index, attempt } = this.#place;
    try {
      if (typeof task === "function") return checked(await task(sandbox, { index, attempt, signal }));
      const env = { JOB_COMPLETION_INDEX: `${index}`, JOB_ATTEMPT: `${attempt}` };
      return await sandbox.exec(task, { signal, env }).result;
    } catch (error) {
      return this.#isStopped ? stopped(signal) : failed(error, "error");
    }
  }

  /** Waits for the task; when it was told to end, no longer than it may take. */
  async #within(performing: Promise<JobOutcome>): Promise<JobOutcome> {
    const { signal } = this.#stop;
    const over = new AbortController();
    const late = (signal.aborted ? Promise.resolve() : once(signal, "abort"))
      .then(() => this.#clock.wait(GRACE_MILLISECONDS, over.signal))
      .then((): JobOutcome => ({ ...stopped(signal), why: "it did not end when it was told to" }));
    try {
      return await Promise.race([performing, late]);
    } finally {
      over.abort();
    }
  }
}

function checked(outcome: JobOutcome | undefined): JobOutcome {
  if (outcome === undefined) return { outcome: "ok", code: 0 };
  const { code = null, why } = outcome;
  return { outcome: outcome.outcome, code, ...(why !== undefined && { why }) };
}

function stopped(signal: AbortSignal): JobOutcome {
  return { outcome: "killed", code: null, why: textOf(signal.reason) };
}

function failed(error: unknown, outcome: "unstarted" | "error"): JobOutcome {
  return { outcome: error instanceof SandboxLostError ? "lost" : outcome, code: null, why: textOf(error) };
}

function textOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split("\n")[0] as string;
}

/** Where the sandboxes of a job come from: forks of one that is open, or new ones with the files of a tree. */
export type JobSource =
  | Sandbox
  | ({
      readonly provider: SandboxProvider;
      readonly spec?: SandboxSpec;
      readonly tree: Digest | null;
      /** The beginning of the ids of its sandboxes. */
      readonly id: string;
    } & Pick<ConnectOptions, "trees" | "secrets">);

/** A source once the job has begun: what every attempt starts with is settled then, whatever becomes of the source. */
export type Origin = {
  readonly id: string;
  readonly before: Digest | null;
  /** Whether a command that is running can be made to stand still. */
  readonly freezes: boolean;
  /** A sandbox with the files from before, for one attempt. */
  make(index: number, attempt: number, signal: AbortSignal): Promise<Sandbox>;
};

export async function originOf(source: JobSource): Promise<Origin> {
  const nonce = randomBytes(4).toString("hex");
  if ("provider" in source) {
    const { provider, spec = {}, tree, id, trees, secrets } = source;
    const base = `${id}-job-${nonce}`;
    return {
      id: base,
      before: tree,
      freezes: (await provider.capabilities()).suspend === "freeze",
      make: (index, incarnation, signal) => {
        const id = `${base}-${index}`;
        // A retry begins with what was there before, never with what the last attempt left.
        const before = { id, incarnation: incarnation - 1, by: "retry" } as const;
        const parent = incarnation > 1 ? before : undefined;
        return provider.create(spec, {
          id,
          incarnation,
          tree,
          trees,
          signal,
          ...defined({ secrets, parent }),
        });
      },
    };
  }
  const { tree } = await source.snapshot();
  const base = `${source.ref.id}-job-${nonce}`;
  return {
    id: base,
    before: tree,
    freezes: source.capabilities.suspend === "freeze",
    make: async (index, attempt) => {
      const fork = await source.fork({ id: `${base}-${index}`, incarnation: attempt });
      if (fork.ref.tree === tree) return fork;
      // The source has changed since the job began.
      try {
        await fork.restore(tree);
      } catch (error) {
        await fork.destroy().catch(() => {});
        throw error;
      }
      return fork;
    },
  };
}
