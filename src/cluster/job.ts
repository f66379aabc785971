import {
  CancelledError,
  DivergenceError,
  factAt,
  type Module,
  type Rath,
  RunFailedError,
  runsOf,
  statusIn,
  wakeTimeOf,
} from "../runtime/index.js";
import {
  AT,
  CANCEL,
  dueEntry,
  entryKey,
  laterEntry,
  MOVE,
  PAUSED,
  runOf,
  STUCK,
  type Submission,
  submissionAt,
  WAIT,
} from "../runtime/submit/index.js";
import { type Fact, type Session, warnOf } from "../session/index.js";
import { FencedError, type Lease, type Store } from "../store/index.js";
import { defined } from "../util/index.js";
import { type Member, ownerOf } from "./member.js";

/** Longer than a process is stopped without being taken for dead: the worker's own lease is the short one. */
const LEASE_MS = 60_000;
/** How soon another attempt follows when a session could not be gone on with, and the longest wait. */
const AGAIN_MS = 1_000;
const LONGEST_MS = 60_000;

/** How a session came to rest at a worker. */
export type Rest = "ended" | "failed" | "waiting" | "left" | "elsewhere" | "stuck" | "lost";

/** The parts of a worker that its sessions need. */
export type Bench = {
  readonly store: Store;
  readonly rath: Rath;
  readonly member: Member;
  /** How often a session could not be gone on with here. */
  readonly attempts: Map<string, number>;
};

/** A session at a worker, from its taking until it rests. */
export class Job {
  readonly submission: Submission;
  readonly #bench: Bench;
  readonly #module: Module;
  readonly #session: Session;
  readonly #leave = new AbortController();
  readonly #cancel = new AbortController();
  /** The entries that it waited under until it was taken. */
  #waited: readonly string[] = [];

  /** @param session that of the submission; its entry is at this worker by now */
  constructor(bench: Bench, submission: Submission, module: Module, session: Session) {
    this.#bench = bench;
    this.submission = submission;
    this.#module = module;
    this.#session = session;
  }

  /** Gives it back to the queue at its next effect. */
  leave(): void {
    this.#leave.abort();
  }

  cancel(why: string): void {
    this.#cancel.abort(Object.assign(new Error(why), defined({ by: this.submission.by })));
  }

  /** Looks what somebody wanted of it while nobody listened. */
  async look(): Promise<void> {
    const { store } = this.#bench;
    const key = entryKey(this.submission);
    if ((await store.head(CANCEL + key)) !== undefined) this.cancel("it was cancelled");
    for (const part of [PAUSED, MOVE]) if ((await store.head(part + key)) !== undefined) this.leave();
  }

  async run(): Promise<Rest> {
    const { store, member } = this.#bench;
    const { name } = this.submission;
    let lease: Lease;
    try {
      lease = await store.lease(name, { owner: ownerOf(member.id), milliseconds: LEASE_MS });
    } catch (error) {
      if (!(error instanceof FencedError)) throw error;
      await this.#heldBy(String(error.data.owner));
      return "elsewhere";
    }
    let failure: unknown;
    try {
      await this.look();
      await this.#goOn(lease);
    } catch (error) {
      if (!(error instanceof RunFailedError || error instanceof CancelledError)) failure = error;
    } finally {
      await lease.release().catch(() => {});
    }
    if (member.lost.aborted) return "lost";
    return this.#file(failure);
  }

  async #goOn(lease: Lease): Promise<void> {
    const { store, rath, member } = this.#bench;
    const { name, id, by } = this.submission;
    const head = await store.head(name);
    // Somebody took the name away, or gave it to something else: there is nothing to go on with.
    if (head === undefined) return;
    this.#waited = await restingUnder(store, this.submission, await factAt(store, head));
    const hold = { lease, worker: member.lease, leave: this.#leave.signal };
    const { signal } = this.#cancel;
    const runs = runsOf(rath);
    if (head === id)
      await runs.run(
        this.#module,
        await rath.load(name),
        { name, signal, ...defined({ by }) },
        undefined,
        hold,
      );
    else if ((await runOf(store, name))?.base === id)
      await runs.resume(name, this.#module, { signal }, undefined, hold);
  }

  /** Files the session where it belongs now: the record says how it stands, whatever the run said. */
  async #file(failure: unknown): Promise<Rest> {
    const { store, member, attempts } = this.#bench;
    const { submission } = this;
    const { name, id } = submission;
    const session = this.#session;
    const key = entryKey(submission);
    const at = `${AT}${member.id}/${key}`;
    const head = await store.head(name);
    const newest = head === undefined ? undefined : await factAt(store, head);
    const run = head === undefined || head === id ? undefined : await runOf(store, name);
    const isOurs = head === id || run?.base === id;
    const gone = Object.fromEntries(this.#waited.map((entry) => [entry, null]));
    if (newest === undefined || !isOurs || run?.over === true) {
      attempts.delete(key);
      const wait = isOurs && run !== undefined ? { [WAIT + run.nonce]: null } : {};
      await member.file({ ...gone, ...wait, [at]: null, [CANCEL + key]: null, [MOVE + key]: null });
      return newest !== undefined && ["failed", "cancelled"].includes(statusIn(newest)) ? "failed" : "ended";
    }
    if (newest.type === "run-suspend" && failure === undefined) {
      attempts.delete(key);
      const waits = await restingUnder(store, submission, newest);
      // It stays at this worker until that is done: should the worker die now, others look at the session again.
      await member.file({ ...gone, ...Object.fromEntries(waits.map((entry) => [entry, session])) });
      // An answer may have come before it could be heard here.
      const isDue = await isAnswered(store, String(newest.run), newest.waiting);
      const due = isDue && { [WAIT + String(newest.run)]: null, [dueEntry(submission)]: session };
      await member.file({ [at]: null, ...due });
      return "waiting";
    }
    if (this.#leave.signal.aborted) {
      const paused = (await store.head(PAUSED + key)) !== undefined;
      await member.file({ ...gone, [at]: null, ...(!paused && { [dueEntry(submission)]: session }) });
      return "left";
    }
    return this.#again(failure, at, key);
  }

  /** It could not be gone on with: at once it is hopeless where the program is another one, else it is tried again later. */
  async #again(failure: unknown, at: string, key: string): Promise<Rest> {
    const { store, member, attempts } = this.#bench;
    warnOf(failure, "OPENRATH_WORKER");
    const isHopeless = failure instanceof DivergenceError;
    const count = (attempts.get(key) ?? 0) + 1;
    attempts.set(key, count);
    const wait = Math.min(AGAIN_MS * 2 ** (count - 1), LONGEST_MS);
    const entry = isHopeless ? STUCK + key : laterEntry((await store.time()) + wait, this.submission);
    await member.file({ [at]: null, [entry]: this.#session });
    return "stuck";
  }

  /** Another one has it: a worker files it when it rests; anybody else does not know of the queue. */
  async #heldBy(owner: string): Promise<void> {
    const { store, member } = this.#bench;
    const key = entryKey(this.submission);
    const [, worker = ""] = /^worker (.+)$/.exec(owner) ?? [];
    const isFiled = worker !== "" && (await store.head(`${AT}${worker}/${key}`)) !== undefined;
    const later = laterEntry((await store.time()) + AGAIN_MS, this.submission);
    await member.file({ [`${AT}${member.id}/${key}`]: null, ...(!isFiled && { [later]: this.#session }) });
  }
}

/** The entries of a session that waits for an answer or a time, or that is not to begin before one. */
async function restingUnder(
  store: Store,
  submission: Submission,
  newest: Fact | undefined,
): Promise<readonly string[]> {
  const isSuspended = newest?.type === "run-suspend";
  const due = isSuspended ? await wakeTimeOf(store, newest) : submission.notBefore;
  const later = due === undefined ? [] : [laterEntry(Date.parse(due), submission)];
  return isSuspended ? [`${WAIT}${newest.run}`, ...later] : later;
}

/** Whether somebody has answered one of the requests that a run waits for. */
export async function isAnswered(store: Store, run: string, waiting: readonly string[]): Promise<boolean> {
  const under = `answer/${run}/`;
  const answers = await store.names({ under, limit: 1_000 });
  return answers.some(({ name }) => waiting.includes(name.slice(under.length)));
}

/** The session that waits under a run's nonce, if a worker is to go on with it. */
export async function waitingUnder(store: Store, run: string): Promise<Submission | undefined> {
  const id = await store.head(WAIT + run);
  return id === undefined ? undefined : submissionAt(store, id);
}
