import { staysOpen } from "../../sandbox/pool/index.js";
import {
  type FactId,
  isWithinReach,
  type Principal,
  readFact,
  requireSession,
  Session,
  sandboxView,
} from "../../session/index.js";
import { ConflictError, findSession, type Lease, type Store } from "../../store/index.js";
import { defined } from "../../util/index.js";
import {
  NameTakenError,
  NotARunError,
  PendingWorkError,
  RunFailedError,
  TapeEndedError,
  VerificationError,
} from "../error.js";
import {
  RefusedError,
  requireBudget,
  requireKnown,
  requireMode,
  requireModule,
  requireNewName,
  requirePrincipal,
} from "../given.js";
import type { Module } from "../module.js";
import { behalfOf } from "../policy/index.js";
import {
  policiesOf,
  REPLAY_SETTINGS,
  type ReplaySettings,
  RUN_SETTINGS,
  type RunSettings,
} from "../rath-options.js";
import { statusIn } from "../status.js";
import type { Follower } from "../stream/stream.js";
import { call, type Watcher, Watchers } from "../stream/watch.js";
import { factAt, nameOf, type Recorded, recordedRun, startsOf } from "../tape/recorded.js";
import { newNonce, reopen } from "../tape/reopen.js";
import type { Durability } from "./durability.js";
import type { WorkerHold } from "./lease.js";
import { unnamed } from "./names.js";
import type { Observation, RunOptions, RunServices } from "./options.js";
import { Run } from "./run.js";
import { hostedBy, Scope } from "./scope.js";

/** The runs of a runtime: begins them, runs recorded ones again, and knows which are under way. */
export class Runs {
  readonly #shared: RunServices;
  readonly #underWay = new Set<Run>();
  readonly #observers = new Set<(observation: Observation) => void>();
  readonly #watchers = new Watchers();

  constructor(shared: RunServices) {
    this.#shared = shared;
  }

  /** Whether runs are kept in the store; otherwise their facts are on the session alone. */
  get #isKept(): boolean {
    return this.#shared.outer !== undefined;
  }

  #hosted(session: Session): Session {
    return Session.moved(session, hostedBy(this.#shared.outer, Session.realmOf(session)));
  }

  /** @param hold a worker's right to this name */
  async run(
    module: Module,
    session: Session,
    settings: RunSettings,
    follower?: Follower,
    hold?: WorkerHold,
  ): Promise<Session> {
    requireModule(module, "run it");
    const use = `run ${module.name}`;
    requireSession(session, use);
    requireKnown(settings, RUN_SETTINGS, use);
    requireBudget(settings.budget, use);
    await requireNewName(settings.name, use, this.#shared.open);
    requirePrincipal(settings.by, use);
    const { host } = session;
    if (host instanceof Scope && host.run.recorder.stopped === undefined)
      throw new RefusedError(
        use,
        `its session is inside run ${host.nonce}, and a replay of that would run it again`,
        "make it a part of that run: await module.forward(session); or run it beside: rath.run(module, await rath.load(session.id))",
      );
    if (session.fact.type === "run-suspend" && this.#isKept)
      return this.resume(session.id, module, defined({ signal: settings.signal }), follower);
    const base = this.#isKept ? await this.#withinReach(await this.#shared.open(), session) : session;
    const { pending } = base;
    if (pending.length > 0) throw new PendingWorkError(pending);
    this.#shared.pool.require(base.placement?.sandbox);
    const nonce = newNonce();
    const { name = unnamed(nonce), signal } = settings;
    try {
      return await this.#begin({
        module,
        base,
        nonce,
        name,
        signal,
        budget: settings.budget ?? this.#shared.budget,
        by: settings.by,
        for: behalfOf(base, settings.by),
        follower,
        hold,
        lease: hold?.lease,
      });
    } catch (error) {
      if (!(error instanceof ConflictError) || error.data.name !== name) throw error;
      const store = await this.#shared.open();
      const at = await store.head(name);
      const newest = at === undefined ? undefined : await factAt(store, at);
      throw at === undefined || newest === undefined
        ? error
        : new NameTakenError(name, at, "begin a run as", statusIn(newest));
    }
  }

  async resume(
    nameOrId: string,
    module: Module,
    settings: Pick<RunSettings, "signal">,
    follower?: Follower,
    hold?: WorkerHold,
  ): Promise<Session> {
    // The settings of the run itself are in its record; a caller may pass them again.
    requireKnown(settings, RUN_SETTINGS, `resume ${JSON.stringify(nameOrId)}`);
    const { signal } = settings;
    return this.replay(nameOrId, module, { ...defined({ signal }), mode: "resume" }, follower, hold);
  }

  async retry(
    nameOrId: string,
    module: Module,
    settings: Pick<RunSettings, "name" | "signal">,
  ): Promise<Session> {
    const use = `retry ${JSON.stringify(nameOrId)}`;
    requireModule(module, use);
    requireKnown(settings, ["name", "signal"], use);
    await requireNewName(settings.name, use, this.#shared.open);
    const store = await this.#shared.open();
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

  async replay(
    nameOrId: string,
    module: Module,
    settings: ReplaySettings,
    follower?: Follower,
    hold?: WorkerHold,
  ): Promise<Session> {
    const { mode = "replay", name } = settings ?? {};
    requireMode(mode);
    const use = `${mode === "what-if" ? "begin a what-if of" : mode} ${JSON.stringify(nameOrId)}`;
    requireKnown(settings, REPLAY_SETTINGS, use);
    requireModule(module, use);
    await requireNewName(name, `begin a ${mode}`, this.#shared.open);
    requirePrincipal(settings.by, use);
    for (const option of ["by", "policy"] as const)
      if (settings[option] !== undefined && mode !== "what-if")
        throw new RefusedError(use, `\`${option}\` is an option of a what-if`, 'mode: "what-if"');
    const store = await this.#shared.open();
    const recorded = await recordedRun(store, nameOrId);
    if (recorded === undefined) throw new NotARunError(nameOrId, "replay");
    if (mode !== "resume" || recorded.over)
      return this.#again(store, recorded, module, { ...settings, follower });
    // Taken before the record is read: the previous holder may have gone on since.
    const lease = hold?.lease ?? (await store.lease(nameOf(recorded)));
    try {
      const newest = (await recordedRun(store, recorded.head)) ?? recorded;
      if (newest.elsewhere !== undefined)
        throw new NameTakenError(nameOf(newest), newest.elsewhere, "resume");
      if (!newest.over) {
        follower?.taken(newest.head);
        return await this.#again(store, newest, module, { ...settings, follower, hold }, lease);
      }
      await lease.release();
      return await this.#again(store, newest, module, { ...settings, follower });
    } catch (error) {
      // Nothing happens when the run has given it back already.
      await lease.release().catch(() => {});
      throw error;
    }
  }

  /** Runs the program of a recorded run again as far as its record goes. */
  async follow(nameOrId: string, module: Module): Promise<void> {
    await this.replay(nameOrId, module, {}).catch((error: unknown) => {
      // A run that was cut off, or is under way, has no end; a recorded failure is an end.
      if (!(error instanceof TapeEndedError || error instanceof RunFailedError)) throw error;
    });
  }

  /** Cancels the runs of this name. False if no run has it. */
  cancel(name: string, why: string, by: Principal | undefined): boolean {
    requirePrincipal(by, `cancel ${JSON.stringify(name)}`);
    let found = false;
    for (const run of this.#underWay) {
      // One that writes its end or its suspension has come to rest.
      if (run.options.name !== name || run.recorder.stopped !== undefined) continue;
      run.cancellation.cancel(why, by);
      found = true;
    }
    return found;
  }

  /** Observers never change a run: what one of them throws becomes a warning. */
  observe(observer: ((observation: Observation) => void) | Watcher): () => void {
    if (typeof observer !== "function") return this.#watchers.add(observer);
    this.#observers.add(observer);
    return () => this.#observers.delete(observer);
  }

  #tell(observation: Observation): void {
    for (const observer of this.#observers) call(() => observer(observation));
  }

  poke(): void {
    for (const run of this.#underWay) run.answers.poke();
  }

  /** Leaves every run as a crash would. */
  async abandon(): Promise<void> {
    await Promise.all([...this.#underWay].map((run) => run.abandon()));
  }

  async #again(
    store: Store,
    recorded: Recorded,
    module: Module,
    settings: ReplaySettings & {
      readonly follower?: Follower | undefined;
      readonly hold?: WorkerHold | undefined;
    },
    lease?: Lease,
    again = false,
  ): Promise<Session> {
    const { mode = "replay", name, signal, follower, hold, by, policy } = settings;
    const fork = mode === "what-if";
    const upTo = await this.#upTo(store, recorded, settings);
    const taken = fork && name !== undefined ? await store.head(name) : undefined;
    if (name !== undefined && taken !== undefined)
      throw new NameTakenError(name, taken, "begin a what-if as");
    const { base, ...reopened } = await reopen(store, recorded, { fork, name, again, upTo });
    const begun = this.#begin({
      ...reopened,
      module,
      base: this.#hosted(await store.load(base, { fetch: true })),
      signal,
      mode,
      follower,
      hold,
      by,
      ...(policy && { policies: [...this.#shared.policies, ...policiesOf(policy)] }),
      ...(lease && { lease }),
    });
    if (upTo !== undefined && !fork) return this.#at(store, upTo, begun);
    const session = await begun;
    if (mode === "verify" && session.id !== recorded.head)
      throw new VerificationError(recorded.nonce, recorded.head, session.id);
    return session;
  }

  /** The fact at which the record ends for a replay until there, or a what-if from there. */
  async #upTo(
    store: Store,
    recorded: Recorded,
    { mode = "replay", until, from }: ReplaySettings,
  ): Promise<FactId | undefined> {
    const [option, wanted] = from === undefined ? (["until", until] as const) : (["from", from] as const);
    if (wanted === undefined) return undefined;
    const use = `${mode} ${JSON.stringify(nameOf(recorded))} ${option} ${JSON.stringify(wanted)}`;
    if (from !== undefined && until !== undefined)
      throw new RefusedError(use, "it has `until` too", "replay until a fact, or begin a what-if from one");
    if (mode !== (option === "until" ? "replay" : "what-if"))
      throw new RefusedError(
        use,
        `\`${option}\` is an option of a ${option === "until" ? "replay" : "what-if"}`,
        option === "until"
          ? 'rath.replay(name, module, { until: "name~3" })'
          : 'rath.replay(name, module, { mode: "what-if", from: "name~3" })',
      );
    const { id } = await findSession(store, wanted);
    const runs = (await startsOf(store, recorded)).map(({ line }) => readFact(line, undefined).run);
    const { run, type } = (await factAt(store, id)) ?? {};
    if (run === undefined || !runs.includes(run) || type === "run-end" || type === "run-suspend")
      throw new RefusedError(
        use,
        `${id.slice(0, 12)} is not a fact on the way of that run`,
        `choose one of its facts: rath log ${JSON.stringify(nameOf(recorded))}`,
      );
    return id;
  }

  /** The session at which a replay was to end, when the program has come to it. */
  async #at(store: Store, id: FactId, begun: Promise<Session>): Promise<Session> {
    await begun.catch((error: unknown) => {
      // The program goes on, and its record was to end here.
      if (!(error instanceof TapeEndedError)) throw error;
    });
    return this.#hosted(await store.load(id, { fetch: true }));
  }

  async #begin({
    follower,
    ...options
  }: Omit<RunOptions, Exclude<keyof RunServices, "budget"> | "observe" | "store" | "body" | "streams"> & {
    readonly follower: Follower | undefined;
    readonly durability?: Durability;
    readonly policies?: RunServices["policies"];
  }): Promise<Session> {
    const { module, nonce } = options;
    const { pool } = this.#shared;
    const watch = this.#watchers.follow(module.name, options.name);
    const run = new Run({
      ...this.#shared,
      ...options,
      streams: follower !== undefined,
      observe: (observation) => {
        this.#tell(observation);
        watch(observation);
        if (follower !== undefined) call(() => follower.hear(observation));
      },
      store: this.#isKept ? await this.#shared.open() : undefined,
      body: async (session) => closeSandboxOf(await module.forward(session)),
    });
    this.#underWay.add(run);
    pool.beginRun(nonce);
    try {
      return await run.begin();
    } finally {
      this.#underWay.delete(run);
      await pool.endRun(nonce);
    }
  }

  /**
   * The session with its past within reach: policies and prompts ask for what lies before the horizon of a long one too, and
   * a run that finds out in the middle of its work cannot go on.
   */
  async #withinReach(store: Store, session: Session): Promise<Session> {
    if (isWithinReach(session)) return session;
    if (!(await store.has(session.id))) await store.save(session);
    return this.#hosted(await store.load(session.id, { fetch: true }));
  }
}

/**
 * The session with its sandbox closed, as far as the record is concerned: what a run opened goes when it is over. Of the
 * session alone, so that a replay says the same.
 */
function closeSandboxOf(session: Session): Session {
  if (!(session instanceof Session) || session.placement === undefined || staysOpen(session.placement))
    return session;
  const { open, suspended } = session.view(sandboxView);
  if (open === null || suspended === true) return session;
  const { id: sandbox, incarnation } = open;
  return session.append({ type: "sandbox-close", sandbox, incarnation, why: "the run is over" });
}
