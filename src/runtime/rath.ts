import { randomBytes } from "node:crypto";
import type { ExportedGit, ExportOptions, WorkspaceFiles } from "../sandbox/index.js";
import {
  type Content,
  dueOf,
  type Fact,
  type FactId,
  type FactOf,
  type Json,
  type Principal,
  parentsOf,
  readFact,
  requireSession,
  Session,
  type StartOptions,
  sandboxView,
  warnOf,
} from "../session/index.js";
import { ConflictError, type Lease, type Line, openStore, type Store } from "../store/index.js";
import {
  type Approval,
  type Decision,
  giveAnswer,
  revokeAnswer,
  type Settle,
  type TakeOver,
} from "./answer.js";
import { type Awaited, begunIn, shownIn } from "./awaited.js";
import { type Doubt, doubtAbout } from "./doubt.js";
import { NameTakenError, NotARunError, NotOpenError, PendingWorkError, VerificationError } from "./error.js";
import {
  RefusedError,
  requireBudget,
  requireDecision,
  requireFreeName,
  requireKnown,
  requireMode,
  requireModule,
  requirePrincipal,
} from "./given.js";
import { answerName } from "./keeper.js";
import type { Module } from "./module.js";
import { Places, type ProviderSource, staysOpen } from "./places.js";
import { behalfOf, type Policy } from "./policy/index.js";
import type { Prices } from "./price.js";
import { nameOf, type Recorded, recordedRun, startsOf, unfinishedRuns } from "./recorded.js";
import type { Budget } from "./request.js";
import { type Mode, type Observation, Run } from "./run.js";
import { Scope } from "./scope.js";
import { Secrets } from "./secrets.js";
import { type ServiceOptions, type Services, services } from "./services.js";
import { statusIn } from "./status.js";
import { Tape } from "./tape.js";

export type RathOptions = ServiceOptions & {
  /** Where sessions are kept: a store, or the URL of one. Default: `sqlite:./rath.db`. */
  readonly store?: Store | string;
  /** What models cost, for budgets in money: replaces the listed prices of these models. */
  readonly prices?: Prices;
  /** What each run may spend, unless it says otherwise. */
  readonly budget?: Budget;
  /** What may be done at all; of several, the strictest counts. */
  readonly policy?: Policy | readonly Policy[];
  /** Kinds of sandboxes by the name that sessions move to, beside and instead of local, virtual, docker and host. */
  readonly sandboxes?: { readonly [name: string]: ProviderSource };
  /**
   * The values of secrets: for the sandboxes of placements that name them, and for tools and steps that ask for them. They are
   * never recorded: where one would be, its name stands instead.
   */
  readonly secrets?: { readonly [name: string]: string | undefined };
};

export type RunSettings = {
  /** Who begins it, and so on whose behalf everything in it is done: "user:ada". Default: who spoke last in the session. */
  readonly by?: Principal;
  /** The name that stands at the run's newest session. Default: one made for this run, `unnamed/…`. */
  readonly name?: string;
  readonly budget?: Budget;
  /** Cancels the run; that it was cancelled, and when, is recorded. */
  readonly signal?: AbortSignal;
};

export type ReplaySettings = {
  /**
   * "replay" (the default) ends where the record does; "verify" also demands the same id; "resume" goes on where it
   * ends; "what-if" goes on where it says something else too, in a run of its own.
   */
  readonly mode?: Mode;
  /** The name of a what-if. */
  readonly name?: string;
  readonly signal?: AbortSignal;
};

/** A run that has not ended. */
export type Unfinished = {
  readonly run: string;
  readonly name: string;
  /** The name of the module that began it. */
  readonly module: string;
  /** Whether it waits for somebody or something; otherwise it is under way in some process, or was cut off. */
  readonly waiting: boolean;
  /** When the first timer is due that it waits for, or the first time to agree is up. */
  readonly due?: string;
};

/**
 * The runtime: hosts sessions, runs modules on them and keeps what happens.
 *
 * ```ts
 * const rath = openRath({ store: "sqlite:./rath.db" });
 * let session = rath.start("Fix issue 41.");
 * session = await rath.run(engineer, session, { name: "issue-41" });
 * ```
 */
export class Rath {
  readonly services: Services;
  readonly #given: Store | string | undefined;
  readonly #prices: Prices;
  readonly #secrets: Secrets;
  readonly #policies: readonly Policy[];
  readonly #budget: Budget | undefined;
  readonly #observers = new Set<(observation: Observation) => void>();
  readonly #runs = new Set<Run>();
  readonly #places: Places;
  #store: Promise<Store> | undefined;
  #closed = false;

  constructor(options: RathOptions, store: Store | string | undefined) {
    requireBudget(options.budget, "open a runtime");
    this.services = services(options);
    this.#given = store;
    this.#prices = options.prices ?? {};
    this.#policies = policiesOf(options.policy);
    this.#budget = options.budget;
    const { secrets = {} } = options;
    this.#secrets = new Secrets(secrets);
    this.#places = new Places({
      store: () => this.store(),
      sandboxes: options.sandboxes ?? {},
      secret: (name) => this.#secrets.find(name),
    });
  }

  /** Where sessions are kept; opened when it is first needed. */
  async store(): Promise<Store> {
    if (this.#closed) throw new NotOpenError();
    const given = this.#given ?? "memory:";
    this.#store ??= typeof given === "string" ? this.#open(given) : Promise.resolve(given);
    this.#places.begin();
    return this.#store;
  }

  /** A store that could not be opened now may be there at the next try: another process held it, or a folder was missing. */
  #open(url: string): Promise<Store> {
    const opening = openStore(url);
    opening.catch(() => {
      if (this.#store === opening) this.#store = undefined;
    });
    return opening;
  }

  /** Begins a session that lives here. */
  start(text?: Content, options: Omit<StartOptions, "host"> = {}): Session {
    return Session.start(text, { at: this.services.time(), ...options, host: this });
  }

  /** The session of a name, an id, or the beginning of an id, hosted here. */
  async load(nameOrId: string): Promise<Session> {
    return this.#hosted(await (await this.store()).load(nameOrId));
  }

  /**
   * The files of a session, whatever session it is: to look into, to compare with another's, to put into a folder.
   *
   * ```ts
   * await (await rath.filesAt(session)).checkout("./result");
   * ```
   */
  async filesAt(session: Session): Promise<WorkspaceFiles> {
    requireSession(session, "look at the files");
    const { filesAt } = await import("../sandbox/index.js");
    return filesAt(session, await this.#places.trees());
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
    requireSession(session, "import files");
    if (typeof source !== "string" && options.exclude !== undefined)
      throw new RefusedError(
        "import files",
        "a commit is taken as it is, and nothing of it is excluded",
        "leave out `exclude`, or import a folder: rath.importFiles(session, folder, { exclude })",
      );
    const { importFolder, importGit } = await import("../sandbox/index.js");
    const trees = await this.#places.trees();
    const folder =
      typeof source === "string" ? await importFolder(source, trees, options.exclude) : undefined;
    const commit = typeof source === "string" ? undefined : await importGit(trees, source.git, source.commit);
    const { tree, files, bytes, skipped } = (folder ?? commit) as NonNullable<typeof folder>;
    return session.append({
      type: "workspace-import",
      source: typeof source === "string" ? source : `${source.git}#${commit?.commit}`,
      after: tree,
      files,
      bytes,
      ...(skipped.length > 0 && { skipped }),
      by: "runtime",
    });
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
    return exportGit(await this.#places.trees(), repository, await stepsOf(session), options);
  }

  /** Keeps a session, under a name if given: what is not made by a run is in memory only until then. */
  async save(session: Session, name?: string): Promise<Session> {
    await (await this.store()).save(session, name === undefined ? {} : { name });
    return session;
  }

  /**
   * Runs a module on a session. Resolves with the session at the end of the run, or at its suspension: then
   * `session.pending` says what is awaited. Rejects with a `RunFailedError` when the module threw.
   */
  async run(module: Module, session: Session, settings: RunSettings = {}): Promise<Session> {
    requireModule(module, "run it");
    requireSession(session, `run ${module.name}`);
    requireBudget(settings.budget, `run ${module.name}`);
    requireFreeName(settings.name, `run ${module.name}`);
    requirePrincipal(settings.by, `run ${module.name}`);
    requireKnown(settings, RUN, `run ${module.name}`);
    const { host } = session;
    if (host instanceof Scope && !host.run.closed)
      throw new RefusedError(
        `run ${module.name}`,
        `its session is inside run ${host.nonce}, and a replay of that would run it again`,
        "make it a part of that run: await module.forward(session); or run it beside: rath.run(module, await rath.load(session.id))",
      );
    if (session.fact.type === "run-suspend" && this.#given !== undefined)
      return this.resume(session.id, module, settings);
    const base = this.#given === undefined ? session : await this.#whole(await this.store(), session);
    const { pending } = base;
    if (pending.length > 0) throw new PendingWorkError(pending);
    this.#places.require(base.placement?.sandbox);
    const nonce = randomBytes(9).toString("base64url");
    const { name = `unnamed/${nonce}`, signal } = settings;
    try {
      return await this.#begin({
        module,
        base,
        nonce,
        name,
        signal,
        budget: settings.budget ?? this.#budget,
        by: settings.by,
        for: behalfOf(base, settings.by),
      });
    } catch (error) {
      if (!(error instanceof ConflictError) || error.data.name !== name) throw error;
      const store = await this.store();
      const at = await store.head(name);
      const newest = at === undefined ? undefined : await factAt(store, at);
      throw at === undefined || newest === undefined
        ? error
        : new NameTakenError(name, at, "begin a run as", statusIn(newest));
    }
  }

  /**
   * Goes on with a run that crashed or waits, by the name or id of its session. What was recorded is taken over, and
   * nothing that is finished is done again. A run that is over is given back as it is.
   */
  async resume(
    nameOrId: string,
    module: Module,
    settings: Pick<RunSettings, "signal"> = {},
  ): Promise<Session> {
    return this.replay(nameOrId, module, {
      ...(settings.signal && { signal: settings.signal }),
      mode: "resume",
    });
  }

  /**
   * Goes on with a run that failed or was cancelled, in a run of its own: everything that was finished is taken over, and
   * what made it fail is done again. Failures that the program itself went on from stay as they are. The old run stays too.
   */
  async retry(
    nameOrId: string,
    module: Module,
    settings: Pick<RunSettings, "name" | "signal"> = {},
  ): Promise<Session> {
    const use = `retry ${JSON.stringify(nameOrId)}`;
    requireModule(module, use);
    requireFreeName(settings.name, use);
    requireKnown(settings, ["name", "signal"], use);
    const store = await this.store();
    const recorded = await recordedRun(store, nameOrId);
    if (recorded === undefined) throw new NotARunError(nameOrId, "retry");
    const newest = await factAt(store, recorded.head);
    const status = newest === undefined ? "open" : statusIn(newest);
    if (status !== "failed" && status !== "cancelled")
      throw new RefusedError(
        use,
        status === "finished" ? "it has not failed" : "it is not over",
        status === "finished"
          ? `run it again: rath.run(module, session), or go on from where it ended: await rath.load(${JSON.stringify(nameOrId)})`
          : `go on with it: await rath.resume(${JSON.stringify(nameOrId)}, module)`,
      );
    return this.#again(store, recorded, module, { ...settings, mode: "what-if" }, undefined, true);
  }

  /** Runs a recorded run again with its record as the world; the modes differ in what happens where it ends. */
  async replay(nameOrId: string, module: Module, settings: ReplaySettings = {}): Promise<Session> {
    const { mode = "replay", name } = settings;
    requireMode(mode);
    requireKnown(settings, ["mode", "name", "signal"], `${mode} ${JSON.stringify(nameOrId)}`);
    requireModule(module, `${mode} ${JSON.stringify(nameOrId)}`);
    requireFreeName(name, `begin a ${mode}`);
    const store = await this.store();
    const recorded = await recordedRun(store, nameOrId);
    if (recorded === undefined) throw new NotARunError(nameOrId, "replay");
    if (mode !== "resume" || recorded.over) return this.#again(store, recorded, module, settings);
    // Taken before the record is read: whoever held it until now may have gone on since.
    const lease = await store.lease(nameOf(recorded));
    try {
      const newest = (await recordedRun(store, recorded.head)) ?? recorded;
      if (newest.elsewhere !== undefined)
        throw new NameTakenError(nameOf(newest), newest.elsewhere, "resume");
      if (!newest.over) return await this.#again(store, newest, module, settings, lease);
      await lease.release();
      return await this.#again(store, newest, module, settings);
    } catch (error) {
      // Nothing happens when the run has given it back already.
      await lease.release().catch(() => {});
      throw error;
    }
  }

  async #again(
    store: Store,
    recorded: Recorded,
    module: Module,
    settings: ReplaySettings,
    lease?: Lease,
    again = false,
  ): Promise<Session> {
    const { mode = "replay", name, signal } = settings;
    const fork = mode === "what-if";
    const taken = fork && name !== undefined ? await store.head(name) : undefined;
    if (name !== undefined && taken !== undefined)
      throw new NameTakenError(name, taken, "begin a what-if as");
    const nonce = fork ? randomBytes(9).toString("base64url") : recorded.nonce;
    const origin = fork
      ? { run: recorded.nonce, start: recorded.root, leaves: recorded.leaves, ...(again && { again }) }
      : recorded.fact.from;
    const starts = await startsOf(store, recorded);
    const [first] = starts;
    const [baseId] = first === undefined ? [] : parentsOf(first.line);
    if (first === undefined || baseId === undefined) throw new NotARunError(recorded.head, "replay");
    const heads = new Set(recorded.leaves);
    // Where only this run was brought here, what it did not take from the other one is not needed either.
    for (const id of fork ? [] : (origin?.leaves ?? []))
      if ((await store.line(id)) !== undefined) heads.add(id);
    const lines: Line[] = [];
    for await (const batch of store.lines([...heads], { without: [baseId] }))
      for (const line of batch) lines.push(line);
    const runs = starts.map(({ line }) => (readFact(line, undefined) as FactOf<"run-start">).nonce);
    const tape = new Tape(
      nonce,
      runs.filter((run) => run !== nonce),
    );
    for (const { id, line } of lines) tape.add(id, line);
    if (origin?.again === true) tape.redo(origin.run);
    const entries = tape.entries.filter(({ id }) => starts.some((start) => start.id === id));
    const base = await this.#whole(store, this.#hosted(await store.load(baseId)));
    const { digests, for: behalf } = readFact(first.line, undefined) as FactOf<"run-start">;
    const budget = (digests as { readonly budget?: Budget } | undefined)?.budget;
    const session = await this.#begin({
      module,
      base,
      nonce,
      name: fork ? (name ?? `unnamed/${nonce}`) : nameOf(recorded),
      signal,
      budget,
      for: behalf,
      tape,
      starts: entries.filter(({ run }) => fork || run !== nonce || origin === undefined),
      ...(!fork && origin !== undefined && { own: entries.find(({ run }) => run === nonce) }),
      mode,
      stale: fork ? [] : recorded.names,
      ...(origin !== undefined && { origin }),
      ...(lease && { lease }),
    });
    if (mode === "verify" && session.id !== recorded.head)
      throw new VerificationError(recorded.nonce, recorded.head, session.id);
    return session;
  }

  /**
   * What a session waits for, and whether somebody has answered already. Of a run that is not over: what all of it waits
   * for now, whichever of its sessions is named.
   */
  async pending(nameOrId: string): Promise<readonly Awaited[]> {
    const store = await this.store();
    const run = await recordedRun(store, nameOrId);
    const heads = run === undefined || run.over ? [nameOrId] : run.leaves;
    const awaited = new Map<FactId, Awaited>();
    for (const head of heads) {
      const session = await store.load(head);
      // A suspension says what it waits for; a call that waits for its approval is not asked about itself.
      const waiting = session.fact.type === "run-suspend" ? new Set(session.fact.waiting) : undefined;
      for (const one of session.pending) {
        if (awaited.has(one.id) || waiting?.has(one.id) === false) continue;
        const line = await store.line(one.id);
        const fact = line === undefined ? undefined : readFact(line, Session.realmOf(session).blobs);
        const ask = fact?.type === "approval-ask" ? shownIn(fact) : {};
        const signal = fact?.type === "signal-await" && fact.what !== undefined ? { shown: fact.what } : {};
        const doubt = one.doubt === true ? begunIn((await doubtAbout(store, heads, one.id)).doubt) : {};
        const answered = run !== undefined && (await store.head(answerName(run.nonce, one.id))) !== undefined;
        awaited.set(one.id, { ...one, ...ask, ...signal, ...doubt, answered });
      }
    }
    return [...awaited.values()];
  }

  /**
   * Agrees to exactly what was shown; or, with `edit`, to that in place of the arguments that were. The run takes it in
   * when it is resumed.
   */
  async approve(nameOrId: string, decision: Approval): Promise<FactId> {
    const { edit } = requireDecision(decision, "approve", nameOrId);
    const { names } = this.#secrets.conceal(edit ?? null);
    if (names.length > 0)
      throw new RefusedError(
        `approve what ${JSON.stringify(nameOrId)} waits for`,
        `the arguments hold the secret ${names.join(", ")}, which would be recorded`,
        "leave it out: tools ask for secrets by their names",
      );
    return this.#decide(nameOrId, decision, "approve", edit === undefined ? {} : { edit });
  }

  /** Says no, and why: the model can read it. */
  async reject(nameOrId: string, decision: Decision): Promise<FactId> {
    return this.#decide(nameOrId, requireDecision(decision, "reject", nameOrId), "reject", {});
  }

  /**
   * Revokes an approval that the same person gave and that the run has not used yet. It becomes a rejection, and the record
   * keeps both. Refused once the run has used it, or while the run is under way.
   */
  async revoke(nameOrId: string, decision: Decision): Promise<FactId> {
    requireDecision(decision, "revoke", nameOrId);
    const conceal: Parameters<typeof revokeAnswer>[3] = (fact) => this.#secrets.conceal(fact).value;
    return revokeAnswer(await this.store(), nameOrId, { ...decision, now: this.services.now() }, conceal);
  }

  /** Says that it is not to be done, because a person has done it: `value` is what came of it. */
  async takeOver(nameOrId: string, decision: TakeOver): Promise<FactId> {
    const { value } = requireDecision(decision, "takeOver", nameOrId);
    if (value === undefined)
      throw new RefusedError(
        `take over what ${JSON.stringify(nameOrId)} waits for`,
        "it does not say what came of it",
        `rath.takeOver(${JSON.stringify(nameOrId)}, { by: "user:ada", value: "paid by hand" })`,
      );
    return this.#decide(nameOrId, decision, "take-over", { value });
  }

  #decide(
    nameOrId: string,
    { by, ask, digest, why }: Decision,
    decision: FactOf<"approval-give">["decision"],
    more: { readonly edit?: Json; readonly value?: Json },
  ): Promise<FactId> {
    const make = (fact: Fact) => ({
      type: "approval-give" as const,
      by,
      decision,
      digest: (decision === "reject" ? undefined : digest) ?? (fact as FactOf<"approval-ask">).digest,
      ...(why !== undefined && { why }),
      ...more,
    });
    return this.#answer(nameOrId, ask, "approval-ask", make, { by, digest });
  }

  /** Gives a signal that a session waits for, by the signal's name. */
  async signal(nameOrId: string, signal: string, value: Json, by: Principal): Promise<FactId> {
    if (typeof by !== "string")
      throw new RefusedError(
        `answer ${JSON.stringify(signal)}`,
        "it does not say who answers",
        `say who, after what they say: rath.signal(${JSON.stringify(nameOrId)}, ${JSON.stringify(signal)}, value, "user:ada")`,
      );
    return this.#answer(nameOrId, { signal }, "signal-await", () => ({ type: "signal-give", by, value }));
  }

  /** Answers a request by its id: a signal with a value, and a question of a model with what shall come of it. */
  async answer(nameOrId: string, ask: FactId, value: Json, by: Principal): Promise<FactId> {
    if (await this.#isQuestion(nameOrId, ask)) return this.takeOver(nameOrId, { by, ask, value });
    return this.#answer(nameOrId, ask, "signal-await", () => ({ type: "signal-give", by, value }));
  }

  /** Whether what is asked is a question, to be answered as such. */
  async #isQuestion(nameOrId: string, ask: FactId): Promise<boolean> {
    if (typeof ask !== "string" || ask === "") return false;
    const store = await this.store();
    for (const { id, type } of await this.pending(nameOrId)) {
      if (type !== "approval-ask" || !id.startsWith(ask)) continue;
      const fact = await factAt(store, id);
      return fact?.type === "approval-ask" && fact.answer !== undefined;
    }
    return false;
  }

  /**
   * Settles a `write` that was started and has no outcome. Only approvers of the call may settle it; without an approval, any
   * person or service. "again" on an approved call is a second execution: every approver must agree once more, except `by`.
   */
  async settle(nameOrId: string, settle: Settle): Promise<FactId> {
    requireDecision(settle, "settle", nameOrId);
    const { by, decision, value, error, why, digest } = settle;
    const make = (_: Fact, doubt?: Doubt) => ({
      type: "effect-settle" as const,
      by,
      decision,
      ...(value !== undefined && { value }),
      ...(error !== undefined && { error }),
      ...(why !== undefined && { why }),
      ...(decision === "again" && doubt?.approved !== undefined && { digest: doubt.digest }),
    });
    return this.#answer(nameOrId, settle.of, "doubt", make, { by, digest });
  }

  /** Cancels a run that is under way in this process. False when there is none of that name. */
  cancel(name: string, why = "somebody asked for it"): boolean {
    let found = false;
    for (const run of this.#runs) {
      if (run.name !== name) continue;
      run.cancel(why);
      found = true;
    }
    return found;
  }

  /** Runs that have not ended, in any process: suspended, under way, or cut off by a crash. */
  async unfinished(): Promise<readonly Unfinished[]> {
    const store = await this.store();
    const found: Unfinished[] = [];
    for await (const { fact } of unfinishedRuns(store)) {
      const name = nameOf({ nonce: fact.nonce, fact });
      found.push({ run: fact.nonce, name, module: fact.module, ...(await waitingOf(store, name)) });
    }
    return found;
  }

  /** Tells of every fact once it is durable, and of what streams in meanwhile. Returns the way to stop. */
  observe(observer: (observation: Observation) => void): () => void {
    this.#observers.add(observer);
    return () => this.#observers.delete(observer);
  }

  /** Stops what is under way as a crash would, so that it can be resumed, and closes the store if it was opened here. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await Promise.all([...this.#runs].map((run) => run.abandon()));
    await this.#places.close();
    // A store that could not be opened need not be closed, and its caller got the error.
    if (typeof this.#given === "string") await (await this.#store?.catch(() => undefined))?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #begin(
    options: Pick<
      ConstructorParameters<typeof Run>[0],
      | "module"
      | "base"
      | "nonce"
      | "name"
      | "signal"
      | "budget"
      | "by"
      | "for"
      | "tape"
      | "starts"
      | "own"
      | "mode"
      | "stale"
      | "origin"
      | "lease"
    >,
  ): Promise<Session> {
    const store = this.#given === undefined ? undefined : await this.store();
    const run = new Run({
      ...options,
      store,
      services: this.services,
      prices: this.#prices,
      policies: this.#policies,
      secrets: this.#secrets,
      places: this.#places,
      observe: (observation) => this.#tell(observation),
      outer: this.#given === undefined ? undefined : this,
      body: async (session) => leaving(await options.module.forward(session)),
    });
    this.#runs.add(run);
    this.#places.enter(options.nonce);
    try {
      return await run.begin();
    } finally {
      this.#runs.delete(run);
      await this.#places.leave(options.nonce);
    }
  }

  #tell(observation: Observation): void {
    for (const observer of this.#observers) {
      try {
        // It may be asynchronous: then what it throws comes later.
        const heard = observer(observation) as unknown;
        if (heard instanceof Promise) heard.catch(warn);
      } catch (error) {
        warn(error);
      }
    }
  }

  /**
   * The session with all of its past: policies and prompts ask for what lies before the horizon of a long one too, and a run
   * that finds out in the middle of its work cannot go on.
   */
  async #whole(store: Store, session: Session): Promise<Session> {
    if (isWhole(session)) return session;
    if (!(await store.has(session.id))) await store.save(session);
    return this.#hosted(await store.load(session.id, { horizon: Number.POSITIVE_INFINITY }));
  }

  async #answer(
    nameOrId: string,
    ask: FactId | { readonly signal: string } | undefined,
    kind: "approval-ask" | "signal-await" | "doubt",
    make: Parameters<typeof giveAnswer>[4],
    given: { readonly by?: Principal; readonly digest?: string | undefined } = {},
  ): Promise<FactId> {
    const store = await this.store();
    // What a person types may be a secret too.
    const discreet: typeof make = (...asked) => this.#secrets.conceal(make(...asked)).value;
    const now = this.services.now();
    const id = await giveAnswer(store, nameOrId, ask, kind, discreet, { now, ...given });
    for (const run of this.#runs) run.poke();
    return id;
  }

  #hosted(session: Session): Session {
    return Session.restore(
      session.line,
      session.atHorizon ? undefined : session.parents,
      Object.freeze({ ...Session.realmOf(session), host: this }),
      { id: session.id, depth: session.depth },
    );
  }
}

/**
 * The session with its sandbox closed, as far as the record is concerned: what a run opened goes when it is over. Of the
 * session alone, so that a replay says the same.
 */
function leaving(session: Session): Session {
  if (!(session instanceof Session) || session.placement === undefined || staysOpen(session.placement))
    return session;
  const { open, suspended } = session.view(sandboxView);
  if (open === null || suspended === true) return session;
  const { id: sandbox, incarnation } = open;
  return session.append({ type: "sandbox-close", sandbox, incarnation, why: "the run is over" });
}

/** An observer watches and never changes: what it throws is its own, but nobody should have to guess. */
function warn(error: unknown): void {
  warnOf(error, "OPENRATH_OBSERVER");
}

/** Opens a runtime. The store is opened when it is first needed. */
export function openRath(options: RathOptions = {}): Rath {
  requireKnown(options, OPTIONS, "open a runtime");
  return new Rath(options, options.store ?? "sqlite:./rath.db");
}

/** Whether all of a session's past is in memory. */
function isWhole(session: Session): boolean {
  const seen = new Set<Session>();
  const open = [session];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    // Along one line of facts nothing need be remembered.
    for (let next: Session | undefined = node; next !== undefined; next = next.soleParent) {
      if (next.atHorizon) return false;
      node = next;
    }
    if (node.parents.length < 2 || seen.has(node)) continue;
    seen.add(node);
    open.push(...node.parents);
  }
  return true;
}

/** The policies, if that is what they are: what is none would let everything pass. */
function policiesOf(given: Policy | readonly Policy[] | undefined): readonly Policy[] {
  const policies: readonly Policy[] = given === undefined ? [] : [given].flat();
  for (const one of policies)
    if (typeof one?.decide !== "function" || typeof one.covers !== "function")
      throw new RefusedError(
        "open a runtime",
        "what was given as its policy is none",
        'make one: policy("careful", [{ name: "payments", verdict: "ask", tool: "pay" }])',
      );
  return Object.freeze([...policies]);
}

const RUN: readonly string[] = ["by", "name", "budget", "signal"] satisfies (keyof RunSettings)[];

/** A limit, or a secret, that is misspelt would be none. */
const OPTIONS: readonly string[] = Object.keys({
  store: true,
  prices: true,
  budget: true,
  policy: true,
  sandboxes: true,
  secrets: true,
  clock: true,
  random: true,
  uuid: true,
  patience: true,
} satisfies { readonly [option in keyof RathOptions]-?: true });

let shared: Rath | undefined;

/** For sessions that have no runtime: what happens is recorded on the value and kept nowhere. */
export function passing(): Rath {
  shared ??= new Rath({}, undefined);
  return shared;
}

async function factAt(store: Store, id: FactId): Promise<Fact | undefined> {
  const line = await store.line(id);
  return line === undefined ? undefined : readFact(line, undefined);
}

/** Whether a run waits, and until when at least. */
async function waitingOf(store: Store, name: string): Promise<Pick<Unfinished, "waiting" | "due">> {
  const head = await store.head(name);
  const newest = head === undefined ? undefined : await factAt(store, head);
  if (newest?.type !== "run-suspend") return { waiting: false };
  const timers: string[] = [];
  for (const id of newest.waiting) {
    const fact = await factAt(store, id);
    if (fact?.type === "timer-set") timers.push(dueOf(fact));
    if (fact?.type === "approval-ask" && fact.expires !== undefined) timers.push(fact.expires);
  }
  const [due] = timers.sort();
  return { waiting: true, ...(due !== undefined && { due }) };
}
