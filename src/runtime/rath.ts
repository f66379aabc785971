import type { ExportedGit, ExportOptions, WorkspaceFiles } from "../sandbox/index.js";
import { SandboxPool } from "../sandbox/pool/index.js";
import {
  type Content,
  type FactId,
  type Json,
  type Principal,
  requireSession,
  Session,
  type StartOptions,
} from "../session/index.js";
import { findSession, type LoadOptions, openStore, type Store } from "../store/index.js";
import { NotOpenError } from "./error.js";
import { importFiles } from "./files.js";
import { requireBudget, requireKnown, requireNewName } from "./given.js";
import { requireOpenable } from "./loading.js";
import type { Module } from "./module.js";
import type { Awaited } from "./people/awaited.js";
import {
  type Approval,
  type Decision,
  People,
  type Revocation,
  type Settle,
  type TakeOver,
} from "./people/people.js";
import type { GivenApproval } from "./people/standing.js";
import { RateLimiter } from "./rate.js";
import {
  policiesOf,
  RATH_OPTIONS,
  type RathOptions,
  type ReplaySettings,
  type RunSettings,
} from "./rath-options.js";
import { durabilityOf } from "./run/durability.js";
import type { Observation, RunServices } from "./run/options.js";
import { Runs } from "./run/runs.js";
import { hostedBy } from "./run/scope.js";
import { Secrets } from "./secrets.js";
import { type Services, services } from "./services.js";
import { type Step, stepsOf } from "./step.js";
import { type Streams, streamsOf } from "./stream/streams.js";
import type { Watcher } from "./stream/watch.js";
import type { SubmitOptions, Submitted } from "./submit/index.js";
import { type Unfinished, unfinishedIn } from "./tape/recorded.js";
import { type TurnSettings, Turns } from "./turn.js";

/** The runs of a runtime, for workers: they begin runs under leases of their own. */
export let runsOf: (rath: Rath) => Runs;

/**
 * The runtime: starts sessions, runs modules on them and saves the record.
 *
 * ```ts
 * const rath = openRath({ store: "sqlite:./rath.db" });
 * let session = rath.start("Fix issue 41.");
 * session = await rath.run(engineer, session, { name: "issue-41" });
 * ```
 */
export class Rath {
  static {
    runsOf = (rath) => rath.#runs;
  }
  readonly services: Services;
  readonly #storeOption: Store | string | undefined;
  readonly #runs: Runs;
  readonly #people: People;
  readonly #turns: Turns;
  /**
   * Runs whose events are read while they happen: `rath.stream(module, session)`, `rath.stream.turn(module, name, text)` and
   * `rath.stream.resume(name, module)`.
   */
  readonly stream: Streams;
  readonly #pool: SandboxPool;
  #store: Promise<Store> | undefined;
  #closing: Promise<void> | undefined;

  /** @param isKept whether sessions are kept in a store; otherwise they are in memory only, without a host */
  constructor(options: RathOptions, isKept: boolean) {
    requireBudget(options.budget, "open a runtime");
    this.services = services(options);
    this.#storeOption = isKept ? (options.store ?? undefined) : "memory:";
    const secrets = new Secrets(options.secrets ?? {});
    const open = (): Promise<Store> => this.store();
    this.#pool = new SandboxPool({
      store: open,
      sandboxes: options.sandboxes ?? {},
      secret: (name) => secrets.get(name),
    });
    const shared: RunServices = {
      open,
      budget: options.budget,
      services: this.services,
      prices: options.prices ?? {},
      rates: new RateLimiter(open, options.rates),
      policies: policiesOf(options.policy),
      durability: durabilityOf(options.durability),
      secrets,
      pool: this.#pool,
      outer: isKept ? this : undefined,
    };
    this.#runs = new Runs(shared);
    this.#people = new People(shared, () => this.#runs.poke());
    this.#turns = new Turns(this, this.#runs);
    this.stream = streamsOf(this.#runs, this.#turns);
  }

  /** The store of the sessions; opened when it is first needed. */
  async store(): Promise<Store> {
    if (this.#closing !== undefined) throw new NotOpenError();
    const given = this.#storeOption;
    this.#store ??= typeof given === "object" ? Promise.resolve(given) : this.#open(given);
    this.#pool.begin();
    return this.#store;
  }

  /** A store that could not be opened now may be there at the next try: another process held it, or a folder was missing. */
  #open(url: string | undefined): Promise<Store> {
    const opening = openStore(url);
    opening.catch(() => {
      if (this.#store === opening) this.#store = undefined;
    });
    return opening;
  }

  /** Starts a session with this text. */
  start(text?: Content, options: Omit<StartOptions, "host"> = {}): Session {
    return Session.start(text, { at: this.services.time(), ...options, host: this });
  }

  /**
   * The session of a name, an id, or the beginning of an id, hosted here; `"name~3"` is three facts before it, and
   * `"name@branch"` the newest session of that branch. At most `horizon` facts of it (default 10,000) are
   * held in memory at first; a question that needs older ones reads them then, as long as the store is open.
   */
  async load(nameOrId: string, options: Pick<LoadOptions, "horizon"> = {}): Promise<Session> {
    const store = await this.store();
    const { id, name = id } = await findSession(store, nameOrId);
    const session = await store.load(name, { ...options, fetch: true });
    return Session.moved(session, hostedBy(this, Session.realmOf(session)));
  }

  /**
   * The files of any session: to read, to compare with those of another, or to write to a folder.
   *
   * ```ts
   * await (await rath.filesAt(session)).checkout("./result");
   * ```
   */
  async filesAt(session: Session): Promise<WorkspaceFiles> {
    requireSession(session, "look at the files");
    const { filesAt } = await import("../sandbox/index.js");
    return filesAt(session, await this.#pool.trees());
  }

  /**
   * Gives a session the files of a folder, or of a commit of a git repository, now: a placement with a `workspace` takes
   * them in when its sandbox is first used.
   */
  async importFiles(
    session: Session,
    source: string | { readonly git: string; readonly commit?: string },
    options: { readonly exclude?: readonly string[] } = {},
  ): Promise<Session> {
    return importFiles(session, source, options, () => this.#pool.trees());
  }

  /**
   * Writes the steps of a session into a git repository, a commit for each change of its files, with the id of the
   * session in the message. Work tree, index and other branches stay as they are.
   */
  async exportGit(
    session: Session,
    repository: string,
    options: ExportOptions = { branch: "rath" },
  ): Promise<ExportedGit> {
    requireSession(session, "export to git");
    const { exportGit, stepsOf } = await import("../sandbox/index.js");
    return exportGit(await this.#pool.trees(), repository, await stepsOf(session), options);
  }

  /** Saves a session, under a name if given. A session that no run made is in memory only until it is saved. */
  async save(session: Session, name?: string): Promise<Session> {
    await requireNewName(name, `save a session as ${JSON.stringify(name)}`, () => this.store());
    await (await this.store()).save(session, name === undefined ? {} : { name });
    return session;
  }

  /**
   * Runs a module on a session. Resolves with the session at the end of the run, or at its suspension: then
   * `session.pending` lists the waiting requests. Rejects with a `RunFailedError` when the module threw.
   */
  async run(module: Module, session: Session, settings: RunSettings = {}): Promise<Session> {
    return this.#runs.run(module, session, settings);
  }

  /**
   * Takes one turn of the conversation with this name: starts it, continues it with `text`, or first resumes a run that crashed
   * or waits. Resolves like `run`. Without `text` it only resumes. A text that arrives while an approval is awaited withdraws
   * that request: `rath.turn(clerk, "order-7", "never mind")`. The same text again, before its run has ended, is the same turn,
   * so a program that crashed can simply run again.
   */
  async turn(module: Module, name: string, text?: Content, settings: TurnSettings = {}): Promise<Session> {
    return this.#turns.take(module, name, text, settings);
  }

  /**
   * Continues a run that crashed or waits, by the name or id of its session. Recorded outcomes are reused, and finished
   * work is not repeated. A run that is over is returned unchanged.
   */
  async resume(
    nameOrId: string,
    module: Module,
    settings: Pick<RunSettings, "signal"> = {},
  ): Promise<Session> {
    return this.#runs.resume(nameOrId, module, settings);
  }

  /**
   * Retries a run that failed or was cancelled, in a new run: finished work is reused, and the failed step is done again.
   * Failures that the program itself handled stay as they are. The old run stays too.
   */
  async retry(
    nameOrId: string,
    module: Module,
    settings: Pick<RunSettings, "name" | "signal"> = {},
  ): Promise<Session> {
    return this.#runs.retry(nameOrId, module, settings);
  }

  /** Runs a program against its record. The modes differ in what happens at the end of the record. */
  async replay(nameOrId: string, module: Module, settings: ReplaySettings = {}): Promise<Session> {
    return this.#runs.replay(nameOrId, module, settings);
  }

  /**
   * Steps through a recorded run, fact by fact, with the files and the recalled memories at each. With a module, the program is
   * replayed first, so that the steps are those of the program; `renderedPrompt(step.session)` is the prompt of a model call.
   *
   * ```ts
   * for await (const { fact, files } of rath.steps("fix-1", repair)) console.log(fact.type, (await files()).tree);
   * ```
   */
  async *steps(nameOrId: string, module?: Module): AsyncGenerator<Step, void> {
    if (module !== undefined) await this.#runs.follow(nameOrId, module);
    yield* stepsOf(this, nameOrId);
  }

  /**
   * The requests that a session waits for, and whether somebody has answered them already. For a run that is not over, these
   * are all requests that it waits for now, for any of its sessions.
   */
  async pending(nameOrId: string): Promise<readonly Awaited[]> {
    return this.#people.pending(nameOrId);
  }

  /**
   * Approves exactly what was shown; with `edit`, these arguments instead. The run uses the approval when it
   * is resumed.
   */
  async approve(nameOrId: string, decision: Approval): Promise<FactId> {
    return this.#people.approve(nameOrId, decision);
  }

  /** Rejects a request. The model can read the reason. */
  async reject(nameOrId: string, decision: Decision): Promise<FactId> {
    return this.#people.reject(nameOrId, decision);
  }

  /**
   * Withdraws a request for approval: its requester no longer wants it. The run continues without it when it is resumed, and the
   * model can read why.
   */
  async withdraw(nameOrId: string, decision: Omit<Decision, "digest">): Promise<FactId> {
    return this.#people.withdraw(nameOrId, decision);
  }

  /**
   * Revokes an approval of the same person that the run has not used yet; the record keeps both. Refused while the run is under
   * way. With `approval`, revokes a standing approval at any time: later calls ask again.
   */
  async revoke(nameOrId: string, decision: Revocation): Promise<FactId> {
    return this.#people.revoke(nameOrId, decision);
  }

  /** The standing approvals of a session, or all of this store: `rath.approve(name, { by, always: "tool" })` gives one. */
  async approvals(nameOrId?: string): Promise<readonly GivenApproval[]> {
    return this.#people.approvals(nameOrId);
  }

  /** Takes a call over: a person did it themselves, and `value` is the outcome. */
  async takeOver(nameOrId: string, decision: TakeOver): Promise<FactId> {
    return this.#people.takeOver(nameOrId, decision);
  }

  /** Gives a signal that a session waits for, by the signal's name. */
  async signal(nameOrId: string, signal: string, value: Json, by: Principal): Promise<FactId> {
    return this.#people.signal(nameOrId, signal, value, by);
  }

  /** Answers a request by its id: a signal with its value, or a question of a model. */
  async answer(nameOrId: string, ask: FactId, value: Json, by: Principal): Promise<FactId> {
    return this.#people.answer(nameOrId, ask, value, by);
  }

  /**
   * Settles a `write` that was started and has no outcome. Only approvers of the call may settle it; without an approval, any
   * person or service. "again" on an approved call is a second execution: every approver must agree once more, except `by`.
   */
  async settle(nameOrId: string, settle: Settle): Promise<FactId> {
    return this.#people.settle(nameOrId, settle);
  }

  /** Cancels the runs of this name in this process, in the name of `by`; false when it found no run. */
  cancel(name: string, why = "somebody asked for it", by?: Principal): boolean {
    return this.#runs.cancel(name, why, by);
  }

  /**
   * Puts a session into the queue of its store, where any `rath worker` can run it. It is queued once, even if the call is
   * repeated. The returned name is that of the run.
   *
   * ```ts
   * const { name } = await rath.submit(clerk, rath.start("Pay invoice 7."), { name: "invoice-7" });
   * ```
   */
  async submit(module: Module, session: Session, options: SubmitOptions = {}): Promise<Submitted> {
    const { submit } = await import("./submit/index.js");
    return submit(this, module, session, options);
  }

  /** Runs that have not ended, in any process: suspended, in progress, or interrupted by a crash. */
  async unfinished(): Promise<readonly Unfinished[]> {
    return unfinishedIn(await this.store());
  }

  /**
   * Watches every run of this runtime, and never changes one: functions by the type of the event, or one function for every
   * durable fact and every piece that streams in. Returns the function that stops it.
   *
   * ```ts
   * rath.observe({ "model-reply": ({ module, usage }, run) => console.log(run, module, usage?.output) });
   * ```
   */
  observe(observer: ((observation: Observation) => void) | Watcher): () => void {
    return this.#runs.observe(observer);
  }

  /** Stops runs in progress as a crash would, so that they can be resumed, and closes the store if this runtime opened it. */
  async close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#runs.abandon();
    await this.#pool.close();
    // A store that could not be opened need not be closed, and its caller got the error.
    if (typeof this.#storeOption !== "object") await (await this.#store?.catch(() => undefined))?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/**
 * Opens a runtime. The store is opened when it is first needed: without `store`, the default store, which the command `rath`
 * reads too.
 */
export function openRath(options: RathOptions = {}): Rath {
  requireKnown(options, RATH_OPTIONS, "open a runtime");
  requireOpenable();
  return new Rath(options, true);
}

let shared: Rath | undefined;

/** For sessions that have no runtime: what happens is recorded on the value and kept nowhere. */
export function inMemoryRath(): Rath {
  shared ??= new Rath({}, false);
  return shared;
}
