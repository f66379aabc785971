import type { SandboxPool } from "../../sandbox/pool/index.js";
import { readableError, requireSession, Session } from "../../session/index.js";
import { CancelledError, GIVEN_UP, RunClosedError } from "../error.js";
import type { Module } from "../module.js";
import { RequestBatch } from "../request/batch.js";
import type { Wait } from "../request/pending-request.js";
import type { Request } from "../request/request.js";
import type { Secrets } from "../secrets.js";
import type { Services } from "../services.js";
import { Tape } from "../tape/tape.js";
import { Answers } from "./answers.js";
import { Ledger, requireBudgetLeft } from "./budget.js";
import { Cancellation } from "./cancellation.js";
import { type BodyOutcome, checkedOutcome, failureIn } from "./ending.js";
import { RunLease } from "./lease.js";
import { bracketed, limited } from "./modules.js";
import type { Limits, RunOptions } from "./options.js";
import { Live, Replay } from "./phase.js";
import { type Beginning, beginningOf, type StartFact, startFactOf } from "./program.js";
import { Recorder } from "./recorder.js";
import { hostedBy, Scope } from "./scope.js";
import { Turns } from "./turns.js";

/**
 * One outermost `forward`: from `run-start` to `run-end`, or to a suspension. Replay and Live are its phases; both record
 * through one Recorder, and wake one waiter at a time, in the order of the record.
 */
export class Run {
  readonly options: RunOptions;
  readonly nonce: string;
  readonly services: Services;
  readonly secrets: Secrets;
  readonly pool: SandboxPool;
  /** The `run-start`: the tree of modules is walked once. */
  readonly program: StartFact;
  readonly turns: Turns;
  readonly tape: Tape;
  readonly lease: RunLease;
  readonly recorder: Recorder;
  readonly answers: Answers;
  readonly cancellation: Cancellation;
  readonly root: Scope;
  readonly batches = new Set<RequestBatch>();
  beginning!: Beginning;
  body: BodyOutcome | undefined;
  /** Whether it has come to rest, and its result is known. */
  hasSettled = false;
  readonly #result: Promise<Session>;
  readonly #live = new Live(this);
  /** The run goes through its record, if it has one, before it goes on live. */
  #replay: Replay | undefined;
  /** Effects that were kept from beginning. */
  #left = 0;
  #resolve!: (session: Session) => void;
  #reject!: (error: unknown) => void;

  constructor(options: RunOptions) {
    const { nonce, budget, module, base } = options;
    const failed = (error: unknown): void => this.fail(error);
    this.options = options;
    this.nonce = nonce;
    this.services = options.services;
    this.secrets = options.secrets;
    this.pool = options.pool;
    this.program = startFactOf(options);
    const turn = (): void => (this.#replay ?? this.#live).turn();
    this.turns = new Turns(() => this.recorder.stopped === undefined && turn(), failed);
    this.tape = options.tape ?? new Tape(nonce);
    if (options.tape === undefined) this.tape.goLive();
    else this.#replay = new Replay(this);
    this.lease = new RunLease(nonce, failed);
    this.recorder = new Recorder(this);
    this.answers = new Answers(this);
    this.cancellation = new Cancellation(this);
    const ledger = budget && new Ledger(budget, undefined);
    this.root = new Scope(this, undefined, { ledger, module, given: base });
    this.#result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // The caller hears of a failure; when the beginning fails nobody else does.
    this.#result.catch(() => {});
  }

  /** Whether what the program does is recorded in the name of the module that does it. */
  get namesActors(): boolean {
    return this.options.for !== undefined;
  }

  /** Whether the body awaits something that is not ours. */
  get bodyAwaitsOutside(): boolean {
    return this.batches.size === 0 && this.body === undefined;
  }

  /** Takes the lease, makes the beginning durable, and only then lets the body go. */
  async begin(): Promise<Session> {
    try {
      const { store, tape, mode, name, lease, hold } = this.options;
      // Nothing is written of a run that is over, so its name may be in other hands.
      const reading = mode === "replay" || mode === "verify" || tape?.ended === true;
      const taken =
        store === undefined || reading ? undefined : await this.lease.take(store, name, lease, hold);
      this.#requireOpen();
      this.recorder.begin(taken, tape !== undefined && mode !== "what-if");
      this.beginning = beginningOf(this);
      if (tape === undefined) await this.recorder.flush();
      this.#requireOpen();
      this.root.ledger?.begin(this.beginning.start.fact.at, this.beginning.gaps);
      this.cancellation.begin();
    } catch (error) {
      await this.lease.release();
      throw error;
    }
    const { start } = this.beginning;
    void (async () => this.options.body(start))().then(
      (session) => this.#over({ session }),
      (error: unknown) => this.#over({ error: readableError(error) }),
    );
    this.turns.wake();
    return this.#result;
  }

  /** Its runtime may be closed while it begins: then no body is called, and no lease stays behind. */
  #requireOpen(): void {
    if (this.hasSettled) throw closedError(this.nonce);
  }

  #over(body: BodyOutcome): void {
    this.body = checkedOutcome(body, this.beginning.start, this.options.module);
    this.turns.wake();
  }

  async enter(
    scope: Scope,
    module: Module,
    session: Session,
    body: (session: Session) => Promise<Session>,
    limits: Limits = {},
  ): Promise<Session> {
    // The outermost module is bracketed by the run itself.
    if (session === this.beginning.start && module === this.options.module)
      return requireSession(await body(limited(this.root, module, session, limits)), "go on");
    return bracketed(scope, module, session, body, limits);
  }

  perform(scope: Scope, session: Session, requests: readonly (Request | Wait)[]): Promise<Session> {
    const { stopped } = this.recorder;
    if (stopped !== undefined) throw new RunClosedError(this.nonce, `it was ${stopped}`);
    if (scope.cancelled !== undefined) throw new CancelledError(scope.cancelled);
    if (requests.length === 0) return Promise.resolve(session);
    requireBudgetLeft(scope, session, requests);
    const batch = new RequestBatch(this, scope, session, requests);
    this.batches.add(batch);
    this.#replay?.look(batch);
    batch.start();
    this.turns.wake();
    return batch.result;
  }

  /** A batch may have something else to be told than before. */
  look(batch: RequestBatch): void {
    this.#replay?.look(batch);
    this.turns.wake();
  }

  ended(batch: RequestBatch): void {
    this.batches.delete(batch);
    this.turns.wake();
  }

  /** The tape has ended, and the run goes on. */
  goLive(): void {
    this.tape.goLive();
    // An earlier process counted its branches in its own way.
    for (const name of this.options.stale ?? []) this.recorder.also(name, null);
    this.#replay = undefined;
    const live = (): void => {
      this.cancellation.goLive();
      for (const batch of [...this.batches]) batch.goLive();
      this.turns.wake();
    };
    if (this.options.mode !== "what-if") {
      live();
      return;
    }
    // A name that is taken must be found out before anything is called.
    const done = this.turns.occupy();
    void this.recorder.flush().then(
      () => {
        done();
        if (!this.hasSettled) live();
      },
      () => {},
    );
  }

  abandonBody(why: string): void {
    if (this.hasSettled) return;
    this.recorder.abandonBody();
    this.#over({ error: new CancelledError(why, undefined, true) });
  }

  /** The run has come to rest with this session. */
  settle(how: "ended" | "suspended", session: Session): void {
    if (this.hasSettled) return;
    this.#close();
    this.recorder.stop(how);
    const { outer, base, mode } = this.options;
    const out = Session.moved(session, hostedBy(outer, Session.realmOf(base)));
    void this.lease.release().then(() => {
      const body = this.body;
      if (how === "ended" && body !== undefined && "error" in body && mode !== "replay" && mode !== "verify")
        this.#reject(failureIn(this, out, body.error));
      else this.#resolve(out);
    });
  }

  /** The run cannot go on, and what is durable can be resumed. */
  fail(error: unknown): void {
    void this.#giveUp(error);
  }

  /** Work whose error ends the run. */
  watch(work: Promise<unknown>): void {
    work.catch((error: unknown) => this.fail(error));
  }

  /**
   * Keeps an effect from beginning in a process that leaves the run to another one. When all that was begun has come to its
   * end and is durable, the run is given up.
   */
  leave(): void {
    this.turns.occupy();
    this.#left += 1;
    const look = (): void => {
      if (this.turns.isBusyBeside(this.#left)) this.turns.ring(LEAVE_EVERY, look);
      else this.watch(this.recorder.flush().then(() => this.#giveUp(leftError(this.nonce))));
    };
    if (this.#left === 1) look();
  }

  /** Stops at once, as a crash would; the run can be resumed. */
  async abandon(): Promise<void> {
    await this.#giveUp(closedError(this.nonce));
  }

  async #giveUp(error: unknown): Promise<void> {
    if (this.hasSettled) return;
    this.#close();
    this.recorder.stop("given up");
    // Effects under way are aborted; a write is in doubt now, as after a crash.
    this.root.cancel(GIVEN_UP);
    await this.lease.release();
    this.#reject(error);
  }

  #close(): void {
    this.hasSettled = true;
    this.cancellation.close();
    this.turns.close();
    this.batches.clear();
    this.#replay = undefined;
    this.answers.close();
    this.tape.close();
  }
}

/** How often a run looks whether it has come to rest when it is left, in milliseconds. */
const LEAVE_EVERY = 10;

function leftError(run: string): RunClosedError {
  return new RunClosedError(run, "this worker leaves it to another one");
}

function closedError(run: string): RunClosedError {
  return new RunClosedError(run, "its runtime was closed; resume it");
}
