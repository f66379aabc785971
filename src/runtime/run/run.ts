import {
  canonical,
  type Draft,
  drafted,
  type Fact,
  type FactId,
  type FactInput,
  type FactOf,
  type Json,
  parentsOf,
  type RathError,
  type Realm,
  readableError,
  readFact,
  requireSession,
  Session,
  thrownMessage,
  Withheld,
} from "../../session/index.js";
import type { Lease, Store } from "../../store/index.js";
import {
  BudgetError,
  bodyOf,
  CancelledError,
  DescentError,
  DivergenceError,
  ErasedContentError,
  failureOf,
  RunClosedError,
  RunFailedError,
  type Side,
  TapeEndedError,
} from "../error.js";
import type { Module } from "../module.js";
import { type Answer, Mailbox, sessionOf } from "../people/mailbox.js";
import type { Policy } from "../policy/index.js";
import type { Prices } from "../price.js";
import { Strand } from "../request/batch.js";
import { beganWith, type Evidence, saidAgain } from "../request/evidence.js";
import type { Wait } from "../request/pending-request.js";
import type { Request } from "../request/request.js";
import type { SandboxPool } from "../sandboxes/pool.js";
import type { Secrets } from "../secrets.js";
import type { Services } from "../services.js";
import { Queue } from "../tape/queue.js";
import type { Entry, Tape } from "../tape/tape.js";
import { Ledger, type Stretch } from "./budget.js";
import { failAt } from "./failed.js";
import { answerName, Keeper, runName } from "./keeper.js";
import { boundedFailure, withoutLongText } from "./long-text.js";
import type { Lane, Limits, RunOptions } from "./options.js";
import { differing, isSameProgram, type StartFact, startFactOf } from "./program.js";
import { Scope } from "./scope.js";
import { Turns } from "./turns.js";

/** Milliseconds that a cancelled body has for what it awaits beside the door. */
const GRACE = 1_000;

/** Modules inside each other before the stack is left. */
const DEEP = 100;

/** How often a lease is renewed at once before a run gives up. */
const RENEWALS = 20;

/** Milliseconds after which what was made is durable, though nothing asked for it: a crash must not cost an hour of reading. */
const KEPT_WITHIN = 1_000;

/** A recorded outcome, and who is told it. */
type Recording = { readonly strand: Strand; readonly entry: Entry };
/** Takes an answer in; a timer has none. */
type Take = (answer: Answer) => boolean;

/**
 * One outermost `forward`: from `run-start` to `run-end`, or to a suspension. It makes every session of the run, takes
 * facts from the tape as long as there are any, and wakes one waiter at a time, in the order of the record.
 */
export class Run {
  readonly nonce: string;
  readonly services: Services;
  readonly turns: Turns;
  readonly result: Promise<Session>;
  readonly #options: RunOptions;
  readonly #keeper: Keeper;
  readonly #mailbox: Mailbox;
  /** What it begins with: its tree of modules is gone through once. */
  readonly #program: StartFact;
  #tape: Tape | undefined;
  readonly #root: Scope;
  readonly #strands = new Set<Strand>();
  /** While the tape lasts: strands that must be asked what they can be told, and what the others said. */
  readonly #changed = new Set<Strand>();
  readonly #recorded = new Queue<Recording>();
  readonly #waiting = new Map<FactId, Take | undefined>();
  /** Made now, with no recorded twin: nothing on the tape can have been made from them. */
  readonly #fresh = new WeakSet<Session>();
  #firstFresh: Session | undefined;
  #seq: number;
  #adopting: boolean;
  /** The `run-start` of a what-if. Nothing is made of it but the end: what fits hangs where the other run has it. */
  #own: Session | undefined;
  /** The `run-start` of the run that a what-if comes from. */
  #origin: Session | undefined;
  /** What was made will be durable before long. */
  #keeping = false;
  /** A cancelled body has a little time left. */
  #patient = false;
  #closed: "ended" | "suspended" | "given up" | undefined;
  #body: { readonly session: Session } | { readonly error: unknown } | undefined;
  #start!: Session;
  #seeking = false;
  /** Whether somebody may have answered since it was last looked. */
  #poked = false;
  #suspending = false;
  /** When nothing was done: between the runs that a what-if comes from, and before itself. */
  #gaps: readonly Stretch[] = [];
  /** What was asked for, and is not awaited any more. */
  readonly #dropped = new Map<FactId, Session>();
  readonly #begun = new Map<FactId, Session>();
  /** The program has another digest than the recorded one. */
  #otherProgram: DivergenceError | undefined;
  /** The body was not waited for. */
  #abandoned = false;
  /** Why to stop as soon as the tape is at its end. */
  #cancelling: string | undefined;
  #unlisten: (() => void) | undefined;
  #lease: Lease | undefined;
  #renewal: NodeJS.Timeout | undefined;
  #resolve!: (session: Session) => void;
  #reject!: (error: unknown) => void;

  constructor(options: RunOptions) {
    this.#options = options;
    this.nonce = options.nonce;
    this.services = options.services;
    this.#tape = options.tape;
    this.#adopting = options.tape !== undefined;
    this.#seq = (options.tape?.lastSeq ?? -1) + 1;
    this.#keeper = new Keeper({
      store: options.store,
      run: options.nonce,
      name: options.name,
      told: (session) => options.observe({ kind: "fact", session }),
    });
    this.#mailbox = new Mailbox(options.store, options.nonce);
    this.#program = startFactOf(options);
    this.turns = new Turns(
      () => this.#turn(),
      (error) => void this.#giveUp(error),
    );
    const { budget } = options;
    this.#root = new Scope(this, undefined, {
      ledger: budget && new Ledger(budget, undefined),
      module: options.module,
      given: options.base,
    });
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Whoever began the run hears of it; when its beginning fails nobody else does.
    this.result.catch(() => {});
  }

  get adopting(): boolean {
    return this.#adopting;
  }

  get closed(): boolean {
    return this.#stopped !== undefined;
  }

  /** Whether it has come to its end: what is made of its sessions now is outside of it. */
  get isOver(): boolean {
    return this.#closed === "ended" && !this.#abandoned;
  }

  get name(): string {
    return this.#options.name;
  }

  /** Whether what the program does is recorded in the name of the module that does it. */
  get namesActors(): boolean {
    return this.#options.for !== undefined;
  }

  /** What hosts what comes out of it. */
  get outer(): object | undefined {
    return this.#options.outer;
  }

  get policies(): readonly Policy[] {
    return this.#options.policies;
  }

  get secrets(): Secrets {
    return this.#options.secrets;
  }

  get prices(): Prices {
    return this.#options.prices;
  }

  get pool(): SandboxPool {
    return this.#options.pool;
  }

  /** Takes the lease, makes the beginning durable, and only then lets the body go. */
  async begin(): Promise<Session> {
    try {
      const { store, tape } = this.#options;
      const { mode } = this.#options;
      // Nothing is written of a run that is over, so its name may be in other hands.
      const reading = mode === "replay" || mode === "verify" || tape?.ended === true;
      if (store !== undefined && !reading) await this.#takeLease(store);
      this.#requireOpen();
      this.#keeper.begin(this.#lease, tape !== undefined && mode !== "what-if");
      this.#open();
      if (tape === undefined) await this.flush();
      this.#requireOpen();
      this.#root.ledger?.begin(this.#start.fact.at, this.#gaps);
      this.#listen();
    } catch (error) {
      await this.#letGo();
      throw error;
    }
    this.#go();
    return this.result;
  }

  /** Its runtime may be closed while it begins: then no body is called, and no lease stays behind. */
  #requireOpen(): void {
    if (this.#closed !== undefined) throw new RunClosedError(this.nonce, "its runtime was closed; resume it");
  }

  #open(): void {
    const { base, starts = [], origin, own } = this.#options;
    const realm = this.#root.realm(Session.realmOf(base));
    const [first, ...later] = starts;
    if (first === undefined) {
      this.#start = this.#root.next([base], drafted(this.#program), realm);
      this.#keeper.also(runName(this.nonce), this.#start);
      return;
    }
    if (origin === undefined) this.#checkProgram(first);
    this.#start = this.adopt(first, [base], realm);
    this.#root.made(this.#start);
    if (origin === undefined) return;
    const restored = (entry: Entry, parent: Session): Session => {
      entry.used = true;
      return Session.restore(entry.line, [parent], realm, { id: entry.id });
    };
    const begun = [this.#start];
    for (const entry of later) begun.push(restored(entry, begun.at(-1) as Session));
    this.#origin = begun.at(-1) as Session;
    if (own === undefined) {
      const fact = this.#stamped(drafted({ ...this.#program, from: origin }));
      this.#own = Session.made([this.#origin], fact, realm);
      this.#keeper.begun(this.#own);
      this.#keeper.also(runName(this.nonce), this.#own);
    } else {
      this.#checkProgram(own);
      this.#own = restored(own, this.#origin);
    }
    this.#gaps = gapsBetween([...begun, this.#own], this.#tape as Tape);
  }

  /** The program must be the one that was recorded. A what-if is there to change it, and says so where it begins. */
  #checkProgram(start: Entry): void {
    const recorded = readFact(start.line, undefined) as FactOf<"run-start">;
    if (isSameProgram(recorded, this.#program)) return;
    const now = this.#program;
    const parents = parentsOf(start.line);
    const error = new DivergenceError(
      this.nonce,
      { id: start.id, fact: bodyOf(recorded), parents },
      { fact: now as unknown as Json, parents },
      differing(recorded, now),
    );
    if (recorded.module !== now.module) throw error;
    // Digests say that something differs, and not what: the first fact that differs says it better, if there is one.
    this.#otherProgram = error;
  }

  #listen(): void {
    const { signal } = this.#options;
    const recorded = this.#tape?.cancelled(this.#start);
    if (recorded?.seq === ((this.#own ?? this.#start).fact.seq ?? 0) + 1) this.#adoptCancel(recorded);
    if (signal === undefined) return;
    const why = (): string => thrownMessage(signal.reason);
    if (!signal.aborted) {
      const heard = (): void => this.cancel(why());
      signal.addEventListener("abort", heard, { once: true });
      // It may be the signal of a whole program, and must not hold every run there ever was.
      this.#unlisten = () => signal.removeEventListener("abort", heard);
    } else if (this.#adopting) this.cancel(why());
    // Before the body has done anything, and so it is on a tape.
    else this.#cancel(why());
  }

  #go(): void {
    void (async () => this.#options.body(this.#start))().then(
      (session) => this.#over({ session }),
      (error: unknown) => this.#over({ error: readableError(error) }),
    );
    this.turns.wake();
  }

  #over(body: { session: Session } | { error: unknown }): void {
    this.#body = body;
    this.turns.wake();
  }

  /** How it came to rest. Nothing comes after a suspension, also while that is being written. */
  get #stopped(): "ended" | "suspended" | "given up" | undefined {
    return this.#closed ?? (this.#suspending ? "suspended" : undefined);
  }

  // -- making sessions

  /** The next session of the run: the recorded one where there is one, else a new one with its stamp. */
  next(
    parents: readonly Session[],
    fact: Draft,
    realm: Realm,
    labels: () => readonly string[] = () => [],
  ): Session {
    if (this.#stopped !== undefined) return this.#late(parents, fact, realm);
    const found = this.#find(parents, fact, realm);
    return found === undefined
      ? this.#make(parents, labelled(fact, labels()), realm)
      : this.adopt(found, parents, realm);
  }

  #find(parents: readonly Session[], fact: Draft, realm: Realm): Entry | undefined {
    if (!this.#adopting || this.#tape === undefined || parents.some((parent) => this.#fresh.has(parent)))
      return undefined;
    const cut = withoutLongText(fact);
    // A record from before texts were cut has all of it.
    const whole = cut === fact ? undefined : this.#tape.find(parents, fact, realm);
    return whole ?? this.#tape.find(parents, cut, realm);
  }

  #make(parents: readonly Session[], fact: Draft, realm: Realm): Session {
    // What was recorded is taken over as it is; only a new move must lead somewhere.
    if (fact.type === "placement-change") this.pool.require((fact as { readonly sandbox?: string }).sandbox);
    const session = Session.made(parents, this.#stamped(withoutLongText(fact)), realm);
    if (this.#adopting) {
      this.#fresh.add(session);
      this.#firstFresh ??= session;
    }
    this.#keeper.add(session, parents, true);
    if (!this.#adopting) this.#keepSoon();
    return session;
  }

  #keepSoon(): void {
    if (this.#keeping) return;
    this.#keeping = true;
    this.turns.ring(
      KEPT_WITHIN,
      () => {
        this.#keeping = false;
        this.flushSoon();
      },
      true,
    );
  }

  #stamped(fact: Draft): Fact {
    if (fact.at === "") fact.at = this.#time();
    fact.run = this.nonce;
    fact.seq = this.#seq++;
    return Object.freeze(fact) as unknown as Fact;
  }

  /** A replay asks no clock, not even for what it will throw away. */
  #time(): string {
    const { mode } = this.#options;
    return this.#adopting && (mode === "replay" || mode === "verify")
      ? this.#start.fact.at
      : this.services.time();
  }

  /** Takes over a recorded fact, byte for byte. */
  adopt(entry: Entry, parents: readonly Session[], realm: Realm): Session {
    entry.used = true;
    const session = Session.restore(entry.line, parents, realm, { id: entry.id });
    this.#keeper.add(session, parents, false);
    return session;
  }

  /** Something is made of a session of this run after it: outside of the run when it ended, an error when it was cut off. */
  #late(parents: readonly Session[], fact: Draft, realm: Realm): Session {
    if (this.#stopped !== "ended" || this.#abandoned)
      throw new RunClosedError(
        this.nonce,
        `it was ${this.#abandoned ? "cancelled" : this.#stopped}, and its body does not go on`,
      );
    const { run: _run, seq: _seq, ...plain } = fact;
    const { outer } = this.#options;
    const { host: _host, ...rest } = realm;
    return Session.made(
      parents,
      Object.freeze({ ...plain, at: fact.at === "" ? this.services.time() : fact.at }) as unknown as Fact,
      Object.freeze(outer === undefined ? rest : { ...rest, host: outer }),
    );
  }

  // -- what modules ask for

  /** A module inside this run, between its `module-enter` and its `module-exit`. */
  async enter(
    scope: Scope,
    module: Module,
    session: Session,
    body: (session: Session) => Promise<Session>,
    limits: Limits = {},
  ): Promise<Session> {
    const { budget, policy } = limits;
    // The outermost module is bracketed by the run itself.
    if (session === this.#start && module === this.#options.module)
      return requireSession(await body(this.#limited(session, module, limits)), "go on");
    if (scope.cancelled !== undefined) throw new CancelledError(scope.cancelled);
    const realm = Session.realmOf(session);
    const ledger = budget && new Ledger(budget, scope.ledger);
    const inner = new Scope(this, scope, { ledger, policy, module, given: session });
    let entered = inner.next(
      [session],
      drafted({ type: "module-enter", module: module.name }),
      inner.realm(realm),
    );
    const bracket = entered.id;
    ledger?.begin(entered.fact.at, this.#gaps);
    for (const fact of limitFacts(module, limits)) entered = entered.append(fact);
    try {
      // Modules call each other on the stack. A fresh one every so often, always at the same depth, so that how deep they
      // can go is no matter of the machine, and a replay goes as deep.
      if (inner.depth % DEEP === 0) await undefined;
      const result = requireSession(await body(entered), "go on");
      if (!result.descendsFrom(entered)) throw new DescentError(module.name, entered.id, result.id);
      return scope.next([result], drafted({ type: "module-exit", of: bracket }), realm);
    } catch (thrown) {
      const error = readableError(thrown);
      if (this.#closed !== undefined) throw error;
      const exit = scope.next(
        [inner.last ?? entered],
        drafted({ type: "module-exit", of: bracket, error: this.secrets.conceal(failureOf(error)).value }),
        realm,
      );
      failAt(error, exit);
      throw error;
    } finally {
      inner.leave();
    }
  }

  /** The session with the outermost module's own budget and policy. */
  #limited(session: Session, module: Module, limits: Limits): Session {
    const [first, ...others] = limitFacts(module, limits);
    if (first === undefined) return session;
    const { budget, policy } = limits;
    const ledger = budget && new Ledger(budget, this.#root.ledger);
    ledger?.begin(session.fact.at, this.#gaps);
    const scope = new Scope(this, this.#root, { ledger, policy });
    const limited = scope.next([session], drafted(first), scope.realm(Session.realmOf(session)));
    return others.reduce((last, fact) => last.append(fact), limited);
  }

  /** The same session in a scope of its own. */
  lane(session: Session): Lane {
    const realm = Session.realmOf(session);
    const scope = new Scope(this, realm.host as Scope);
    const inside = Session.moved(session, scope.realm(realm));
    this.#keeper.replace(session, inside);
    if (this.#fresh.has(session)) this.#fresh.add(inside);
    return {
      session: inside,
      rest: () => scope.last ?? inside,
      cancel: (why) => scope.cancel(why),
      leave: () => scope.leave(),
    };
  }

  /** Asks the world, through the one door. */
  perform(scope: Scope, session: Session, requests: readonly (Request | Wait)[]): Promise<Session> {
    if (this.#stopped !== undefined) throw new RunClosedError(this.nonce, `it was ${this.#stopped}`);
    if (scope.cancelled !== undefined) throw new CancelledError(scope.cancelled);
    if (requests.length === 0) return Promise.resolve(session);
    if (scope.ledger !== undefined) this.#afford(scope, scope.ledger, session, requests);
    const strand = new Strand(this, scope, session, requests);
    this.#strands.add(strand);
    if (this.#adopting) this.#changed.add(strand);
    strand.start();
    this.turns.wake();
    return strand.result;
  }

  /** Stops before a call that would exceed a budget. What the record decided is not decided again. */
  #afford(scope: Scope, ledger: Ledger, session: Session, requests: readonly (Request | Wait)[]): void {
    const spend = { steps: 0, tokens: 0, money: 0 };
    for (const request of requests) {
      if (!("spend" in request) || request.spend === undefined) continue;
      spend.steps += request.spend.steps ?? 0;
      spend.tokens += request.spend.tokens ?? 0;
      spend.money += request.spend.money ?? 0;
    }
    const realm = Session.realmOf(session);
    const tape = this.#adopting && !this.#fresh.has(session) ? this.#tape : undefined;
    const [first] = requests as readonly [Request];
    const asked = tape?.find([session], drafted(first.fact), realm);
    const recorded = tape?.typed(session, "budget-stop");
    // Of two that asked on one session, time may have run out in between.
    if (recorded !== undefined && recorded.seq < (asked?.seq ?? Number.POSITIVE_INFINITY)) {
      const stopped = this.adopt(recorded, [session], realm);
      scope.made(stopped);
      throw new BudgetError(stopped, stopped.fact as FactOf<"budget-stop">);
    }
    if (asked !== undefined) return;
    const excess = ledger.excess(spend, this.services.now());
    if (excess === undefined) return;
    throw new BudgetError(scope.next([session], drafted({ type: "budget-stop", ...excess }), realm), excess);
  }

  // -- turns

  /** One outcome at a time, then a look around. */
  #turn(): void {
    if (this.#stopped !== undefined || this.turns.held) return;
    if (this.#adopting) {
      if (!this.#replayOne()) this.#rest();
      return;
    }
    const job = this.turns.next();
    if (job !== undefined) {
      job();
      this.turns.wake();
      return;
    }
    if (this.turns.busy) {
      // What somebody answers meanwhile need not wait until everything does.
      if (this.#poked && this.#waiting.size > 0) this.#seek();
      return;
    }
    if (this.#strands.size === 0) {
      if (this.#body !== undefined) this.#finish();
      // Otherwise the body awaits something that is not ours, and will be back; whether or not it was cancelled.
      else if (this.#root.cancelled !== undefined) this.#abandonLater(this.#root.cancelled);
      return;
    }
    if (this.#waiting.size > 0) this.#seek();
  }

  /** Tells the oldest recorded outcome that somebody waits for. */
  #replayOne(): boolean {
    const cancelled = this.#tape?.cancelled(this.#start);
    const next = this.#nextRecorded();
    if (cancelled !== undefined && (next === undefined || cancelled.seq < next.entry.seq))
      this.#adoptCancel(cancelled);
    else if (next !== undefined) {
      if (next === this.#recorded.first) this.#recorded.shift();
      this.#changed.add(next.strand);
      next.strand.deliver(next.entry);
    } else {
      // Every branch rests: this is where a what-if left the run before it, and where it goes on with what is its own.
      if (this.#elsewhere || this.#tape?.leave() !== true) return false;
      for (const strand of this.#strands) this.#changed.add(strand);
      return this.#replayOne();
    }
    this.turns.wake();
    return true;
  }

  /** The oldest outcome that a strand can be told. Only those are asked that may have another answer than before. */
  #nextRecorded(): Recording | undefined {
    let next: Recording | undefined;
    for (const strand of this.#changed) {
      const open = this.#strands.has(strand);
      const entry = open ? strand.recorded() : undefined;
      if (open && strand.unsettled) {
        // Asked every time: what it can be told depends on what else happens inside.
        if (entry !== undefined && (next === undefined || entry.seq < next.entry.seq))
          next = { strand, entry };
        continue;
      }
      this.#changed.delete(strand);
      if (entry !== undefined) this.#recorded.add(entry.seq, { strand, entry });
    }
    const { first } = this.#recorded;
    if (first === undefined) return next;
    if (first.entry.used || !this.#strands.has(first.strand)) {
      // Taken by somebody else meanwhile.
      this.#recorded.shift();
      this.#changed.add(first.strand);
      return this.#nextRecorded();
    }
    return next !== undefined && next.entry.seq < first.entry.seq ? next : first;
  }

  /** A strand may have something else to be told than before. */
  look(strand: Strand): void {
    this.#changed.add(strand);
    this.turns.wake();
  }

  /** Whether the body awaits something that is not ours. */
  get #elsewhere(): boolean {
    return this.#strands.size === 0 && this.#body === undefined;
  }

  /** Every branch rests and the tape has nothing for any of them. */
  #rest(): void {
    const { mode = "resume" } = this.#options;
    const tape = this.#tape as Tape;
    // Nobody waits at our door and the body is not over: it awaits something else, and will be back.
    if (this.#elsewhere) {
      if (this.#wasAbandoned()) this.#abandon(this.#root.cancelled as string);
      return;
    }
    const over = this.#strands.size === 0 && this.#body !== undefined;
    const unused = tape.unused().filter(({ type }) => !(over && type === "run-end"));
    const [expected] = unused;
    if (expected !== undefined && mode !== "what-if") {
      void this.#giveUp(this.#divergence(expected));
      return;
    }
    if (this.#otherProgram !== undefined) {
      void this.#giveUp(this.#otherProgram);
      return;
    }
    if (over && this.#tryEnd()) return;
    const [end] = over ? tape.unused() : [];
    if (mode === "what-if" || (mode === "resume" && end === undefined)) {
      this.#goLive();
      return;
    }
    if (over) {
      void this.#giveUp(end === undefined ? this.#tapeEnded() : this.#divergence(end, this.#ending().fact));
      return;
    }
    const suspended = this.#recordedSuspension();
    if (suspended !== undefined) this.#settle("suspended", suspended);
    else void this.#giveUp(this.#tapeEnded());
  }

  /** A body that was cancelled and awaits something of its own is not waited for for ever. */
  #abandonLater(why: string): void {
    if (this.#patient) return;
    this.#patient = true;
    this.turns.ring(GRACE, () => {
      this.#patient = false;
      if (this.#closed === undefined && this.#elsewhere && !this.turns.busy) this.#abandon(why);
    });
  }

  #abandon(why: string): void {
    this.#abandoned = true;
    this.#over({ error: new CancelledError(why, undefined, true) });
  }

  /** Whether the record says that the body was not waited for, and nothing else is left of it. */
  #wasAbandoned(): boolean {
    const [end, ...more] = this.#tape?.unused() ?? [];
    if (this.#root.cancelled === undefined || end?.type !== "run-end" || more.length > 0) return false;
    const { error } = readFact(end.line, undefined) as FactOf<"run-end">;
    return (error?.data as { readonly abandoned?: boolean } | undefined)?.abandoned === true;
  }

  /** Ends as the record does, if it does. */
  #tryEnd(): boolean {
    const { parents: ours, fact, realm } = this.#ending();
    const recorded = this.#tape?.entries.find(({ type, run }) => type === "run-end" && run === this.nonce);
    const parents = [...ours, ...this.#recordedStrays(recorded, ours.length)];
    const entry = this.#find(parents, drafted(fact), realm);
    const end = entry === undefined ? this.#oldEnd() : this.adopt(entry, parents, realm);
    if (end === undefined) return false;
    this.#settle("ended", end);
    return true;
  }

  /** The end of the run that a what-if comes from, when the same program did nothing else: then it is that run. */
  #oldEnd(): Session | undefined {
    const { origin, mode } = this.#options;
    if (mode !== "what-if" || this.#origin === undefined || origin?.again === true) return undefined;
    if (!isSameProgram(this.#origin.fact as FactOf<"run-start">, this.#program)) return undefined;
    const entry = this.#tape?.entries.find(({ type, run }) => type === "run-end" && run === origin?.run);
    if (entry === undefined) return undefined;
    const { parents, fact, realm } = this.#ending();
    const then = parents.map((parent) => (parent === this.#own ? (this.#origin as Session) : parent));
    // Of a first run, the beginning is no leaf.
    if (this.#origin === this.#start) then.pop();
    then.push(...this.#recordedStrays(entry, then.length));
    const recorded = canonical(bodyOf(readFact(entry.line, realm.blobs)));
    const whole = { by: "runtime", ...fact, of: this.#origin.id } as unknown as Draft;
    const isSame = [whole, withoutLongText(whole)].some(
      (now) => canonical(now as unknown as Json) === recorded,
    );
    if (!sameIds(parentsOf(entry.line), then) || !isSame) return undefined;
    return this.adopt(entry, then, realm);
  }

  /** The record goes another way than the program. */
  diverged(expected: Entry): RathError {
    return this.#divergence(expected);
  }

  #divergence(expected: Entry, ending?: FactInput): RathError {
    const fact = readFact(expected.line, Session.realmOf(this.#options.base).blobs);
    const erased = Object.values(fact).find((value) => value instanceof Withheld);
    // What the program makes cannot be held against what is gone.
    if (erased instanceof Withheld) return new ErasedContentError(expected.id, erased);
    const recorded: Side = {
      id: expected.id,
      fact: bodyOf(fact),
      parents: parentsOf(expected.line),
      ...maybe(this.#tape?.pathOf(expected)),
    };
    const now = this.#firstFresh;
    return new DivergenceError(
      this.nonce,
      recorded,
      now === undefined
        ? ending && { fact: ending as unknown as Json, parents: [] }
        : {
            fact: bodyOf(now.fact),
            parents: now.parents.map((parent) => parent.id),
            ...maybe(now.host instanceof Scope ? now.host.path : undefined),
          },
    );
  }

  #tapeEnded(): TapeEndedError {
    const frontiers = [...this.#strands].flatMap((strand) => strand.frontier);
    return new TapeEndedError(
      this.nonce,
      frontiers.map(({ id, fact }) => ({ id, type: fact.type })),
    );
  }

  #goLive(): void {
    this.#adopting = false;
    this.#tape?.close();
    this.#keeper.retire(this.#options.stale ?? []);
    const live = (): void => {
      if (this.#cancelling !== undefined) this.#cancel(this.#cancelling);
      for (const strand of [...this.#strands]) strand.goLive();
      this.turns.wake();
    };
    if (this.#options.mode !== "what-if") {
      live();
      return;
    }
    // A name that is taken must be found out before anything is called.
    const done = this.turns.occupy();
    void this.flush().then(
      () => {
        done();
        if (this.#closed === undefined) live();
      },
      () => {},
    );
  }

  // -- waiting

  /** Notes that a request waits for an answer, or for a time. */
  wait(request: FactId, take?: Take): void {
    this.#waiting.set(request, take);
    this.turns.wake();
  }

  forget(request: FactId): void {
    this.#waiting.delete(request);
  }

  /** Somebody may have answered. */
  poke(): void {
    if (this.#waiting.size === 0) return;
    this.#poked = true;
    this.turns.wake();
  }

  /** Everything waits: looks for answers that were given meanwhile, and suspends when there are none. */
  #seek(): void {
    if (this.#seeking) return;
    this.#seeking = true;
    this.#poked = false;
    const done = this.turns.occupy();
    void this.#answers()
      .then((answers) => {
        done();
        this.#seeking = false;
        if (this.#closed !== undefined) return;
        for (const { request, answer } of answers) {
          const take = this.#waiting.get(request);
          this.#waiting.delete(request);
          this.turns.soon(() => {
            // Its name goes in the commit that takes it in, or it would answer the same request again; where it is not
            // taken in, its name is all that leads to it, and the end will see to it.
            const name = answerName(this.nonce, request);
            this.#keeper.also(name, null);
            if (take?.(answer) !== true) this.#keeper.leave(name);
          });
        }
        // Something may have come up meanwhile, such as a cancellation: then not everything waits any more.
        if (answers.length > 0 || !this.turns.idle || this.#waiting.size === 0) this.turns.wake();
        else this.#suspend();
      })
      .catch((error: unknown) => this.#giveUp(error));
  }

  async #answers(): Promise<readonly { request: FactId; answer: Answer }[]> {
    await this.flush();
    const found: { request: FactId; answer: Answer }[] = [];
    for (const [request, take] of this.#waiting) {
      const answer = take && (await this.#mailbox.answerTo(request));
      if (answer !== undefined) found.push({ request, answer });
    }
    // Of what came together a no counts before all else, then what somebody did themselves; the rest as it was given.
    const weights = new Map(found.map((one) => [one, weightOf(one.answer)]));
    const of = (one: (typeof found)[number]) => weights.get(one) as ReturnType<typeof weightOf>;
    return found.sort((one, other) => of(one).rank - of(other).rank || of(one).at - of(other).at);
  }

  /** An answer was taken in: it answers nothing else. */
  took(answer: FactId): void {
    this.#mailbox.took(answer);
  }

  /** An effect was begun: somebody may say what became of it. */
  begun(request: Session): void {
    this.#begun.set(request.id, request);
  }

  /** Nobody waits for this any more; it may be answered all the same. */
  dropped(request: Session): void {
    this.#dropped.set(request.id, request);
  }

  /** Answers that came when nobody waited for them any more: somebody was told that they are kept. */
  async #strays(): Promise<readonly Session[]> {
    const strays: Session[] = [];
    // What became of an effect may have been found out, in an earlier process too, after somebody had said it.
    for (const request of await this.#mailbox.answered()) {
      const asked = this.#begun.get(request);
      if (asked !== undefined) this.#dropped.set(request, asked);
    }
    for (const [request, asked] of this.#dropped) {
      const answer = await this.#mailbox.lastAnswerTo(request, this.#start.id);
      this.#keeper.also(answerName(this.nonce, request), null);
      if (answer === undefined) continue;
      strays.push(sessionOf(answer, asked, Session.realmOf(this.#start)));
    }
    return strays;
  }

  /** The same, as the record of an end has them: after everything else. */
  #recordedStrays(end: Entry | undefined, ours: number): readonly Session[] {
    const ids = end === undefined ? [] : parentsOf(end.line).slice(ours);
    return ids.flatMap((id) => {
      const line = this.#tape?.others.get(id);
      const parent = line === undefined ? "" : (parentsOf(line)[0] ?? "");
      const before = this.#tape?.others.get(parent);
      const request = before === undefined ? parent : (parentsOf(before)[0] ?? "");
      const asked = this.#dropped.get(request) ?? this.#begun.get(request);
      return asked === undefined ? [] : (this.foreign(id, [asked], Session.realmOf(this.#start)) ?? []);
    });
  }

  /** A session that the tape refers to and that is no part of the run. */
  foreign(id: FactId, parents: readonly Session[], realm: Realm): Session | undefined {
    const others = this.#tape?.others;
    const line = others?.get(id);
    if (line === undefined) return undefined;
    const [parent = ""] = parentsOf(line);
    // A revocation hangs from the approval that it takes back.
    const before = parents[0]?.id === parent ? undefined : others?.get(parent);
    const from = before === undefined ? parents : [Session.restore(before, parents, realm, { id: parent })];
    return Session.restore(line, from, realm, { id });
  }

  /** Whether policies decided about a request, and that is still to be told. */
  isDecided(request: FactId): boolean {
    return this.#adopting && this.#tape?.isDecided(request) === true;
  }

  /** Whether a module was entered on this session. */
  isForked(asked: Session): boolean {
    return this.#tape?.typed(asked, "branch-fork") !== undefined;
  }

  /** Whether a request was answered; if not, none can answer it from now on. */
  async lastAnswerTo(request: FactId): Promise<boolean> {
    await this.flush();
    return (await this.#mailbox.lastAnswerTo(request, this.#start.id)) !== undefined;
  }

  chained(tip: Session, asked: ReadonlySet<FactId>, fits: (entry: Entry) => boolean): Entry | undefined {
    return this.#adopting && !this.#fresh.has(tip) ? this.#tape?.chained(tip, asked, fits) : undefined;
  }

  /** Whether it is known that a request failed, in the run whose failures are done again. */
  failedBefore(request: FactId): boolean {
    return this.#tape?.redone.has(request) === true;
  }

  /** The outcome that another run recorded for the same request, to be used again. */
  reusable(
    request: FactInput,
    tip: Session,
  ): { readonly id: FactId; readonly fact: Fact; readonly evidence: readonly Evidence[] } | undefined {
    const { blobs } = Session.realmOf(this.#options.base);
    const read = (entries: readonly Entry[]): readonly Evidence[] =>
      entries.map(({ line }) => readFact(line, blobs) as unknown as Evidence);
    const found = this.#tape?.outcomeOf(drafted(request), blobs, (entries) => {
      const began = entries.length === 0 ? undefined : beganWith(read(entries));
      // What was done to other files than these says nothing about these.
      return began === undefined || began === tip.files.tree;
    });
    if (found === undefined) return undefined;
    const { entry, evidence } = found;
    return { id: entry.id, fact: readFact(entry.line, blobs), evidence: saidAgain(read(evidence)) };
  }

  // -- the end

  ended(strand: Strand): void {
    this.#strands.delete(strand);
    this.turns.wake();
  }

  /** Stops what is under way, from outside. It is recorded when it happened, so that a replay stops at the same place. */
  cancel(why: string): void {
    // What is only gone through again is not under way yet.
    if (this.#adopting) this.#cancelling ??= why;
    else this.turns.soon(() => this.#cancel(why));
  }

  #cancel(why: string): void {
    if (this.#root.cancelled !== undefined) return;
    this.next(
      [this.#start],
      drafted({ type: "run-cancel", of: this.#startId, why }),
      Session.realmOf(this.#start),
    );
    this.#root.cancel(why);
  }

  #adoptCancel(entry: Entry): void {
    const { fact } = this.adopt(entry, [this.#start], Session.realmOf(this.#start));
    this.#root.cancel((fact as FactOf<"run-cancel">).why ?? "");
  }

  /** What the `run-end` is made of: the result and every other leaf, so that one head holds all that a replay needs. */
  #ending(): { parents: readonly Session[]; fact: FactInput; realm: Realm } {
    const body = this.#outcome();
    const result = "session" in body ? body.session : (this.#root.last ?? this.#start);
    const leaves = this.#keeper.tips
      .filter((tip) => tip !== result)
      .sort((one, other) => (one.fact.seq ?? 0) - (other.fact.seq ?? 0));
    return {
      parents: [result, ...leaves, ...(this.#own === undefined ? [] : [this.#own])],
      fact: {
        type: "run-end",
        of: this.#startId,
        ...("error" in body && { error: this.secrets.conceal(failureOf(body.error)).value }),
      },
      realm: Session.realmOf(this.#start),
    };
  }

  /** How the body came out; one that lost what it was given has failed. */
  #outcome(): { readonly session: Session } | { readonly error: unknown } {
    const body = this.#body as { readonly session: Session } | { readonly error: unknown };
    if ("error" in body) return body;
    try {
      const session = requireSession(body.session, "end a run");
      if (session.descendsFrom(this.#start)) return body;
      throw new DescentError(this.#options.module.name, this.#start.id, session.id);
    } catch (error) {
      this.#body = { error };
      return this.#body;
    }
  }

  get #startId(): FactId {
    return (this.#own ?? this.#start).id;
  }

  #finish(): void {
    this.turns.occupy();
    void this.#end().catch((error: unknown) => this.#giveUp(error));
  }

  async #end(): Promise<void> {
    const strays = this.#dropped.size + this.#begun.size > 0 ? await this.#strays() : [];
    if (this.#closed !== undefined) return;
    const { parents, fact, realm } = this.#ending();
    const end = this.next([...parents, ...strays], drafted(fact), realm);
    this.#keeper.also(runName(this.nonce), null);
    await this.flush();
    this.#settle("ended", end);
  }

  #suspend(): void {
    const waiting = [...this.#waiting.keys()];
    const recorded = this.#keeper.fresh ? undefined : this.#recordedSuspension();
    if (recorded !== undefined) {
      this.#settle("suspended", recorded);
      return;
    }
    const suspended = this.next(
      this.#frontiers,
      drafted({ type: "run-suspend", of: this.#startId, waiting }),
      Session.realmOf(this.#start),
    );
    this.#suspending = true;
    void this.flush().then(
      () => this.#settle("suspended", suspended),
      () => {},
    );
  }

  get #frontiers(): readonly Session[] {
    return this.#own === undefined ? this.#keeper.tips : [...this.#keeper.tips, this.#own];
  }

  /** The recorded suspension at exactly this place. */
  #recordedSuspension(): Session | undefined {
    const tips = this.#frontiers;
    const ids = new Set(tips.map((tip) => tip.id));
    for (const entry of this.#tape?.entries ?? []) {
      if (entry.type !== "run-suspend" || entry.run !== this.nonce) continue;
      const parents = parentsOf(entry.line);
      if (parents.length !== ids.size || !parents.every((id) => ids.has(id))) continue;
      const byId = new Map(tips.map((tip) => [tip.id, tip]));
      const sessions = parents.map((id) => byId.get(id) as Session);
      return this.adopt(entry, sessions, Session.realmOf(this.#start));
    }
    return undefined;
  }

  #settle(how: "ended" | "suspended", session: Session): void {
    if (this.#closed !== undefined) return;
    this.#close(how);
    const { outer, base, mode, module } = this.#options;
    const { host: _host, ...realm } = Session.realmOf(base);
    const out = Session.moved(
      session,
      Object.freeze(outer === undefined ? realm : { ...realm, host: outer }),
    );
    void this.#letGo().then(() => {
      const body = this.#body;
      if (how === "ended" && body !== undefined && "error" in body && mode !== "replay" && mode !== "verify")
        this.#reject(
          body.error instanceof CancelledError && this.#root.cancelled !== undefined
            ? new CancelledError(this.#root.cancelled, out)
            : new RunFailedError(
                module.name,
                boundedFailure(this.secrets.conceal(failureOf(body.error)).value),
                out,
                body.error,
              ),
        );
      else this.#resolve(out);
    });
  }

  /** Something that cannot be: the run cannot go on, and what is durable can be resumed. */
  fail(error: unknown): void {
    void this.#giveUp(error);
  }

  /** Leaves the run as a crash would: what is durable can be resumed. */
  async #giveUp(error: unknown): Promise<void> {
    if (this.#closed !== undefined) return;
    this.#close("given up");
    await this.#letGo();
    this.#reject(error);
  }

  /** Stops at once, as a crash would; whoever resumes it later goes on. */
  async abandon(): Promise<void> {
    await this.#giveUp(new RunClosedError(this.nonce, "its runtime was closed; resume it"));
  }

  #close(how: "ended" | "suspended" | "given up"): void {
    this.#closed = how;
    this.#unlisten?.();
    this.turns.close();
    this.#strands.clear();
    this.#changed.clear();
    this.#waiting.clear();
    // The sessions that were made keep the run; it need not keep the tape.
    this.#tape = undefined;
    // Effects that nobody waits for any more are told so; what a write does now is in doubt, as after a crash.
    if (how === "given up") this.#root.cancel("the run was given up");
  }

  // -- keeping

  async flush(): Promise<void> {
    try {
      await this.#keeper.flush();
    } catch (error) {
      void this.#giveUp(error);
      throw error;
    }
  }

  /** Writes without waiting: a reply that cost money must not be lost for long. */
  flushSoon(): void {
    this.flush().catch(() => {});
  }

  emit(request: Session, delta: Json): void {
    if (this.#closed !== undefined) return;
    const tell = (): void => this.#options.observe({ kind: "delta", request, delta });
    // Whoever listens must know what it is a piece of: the request, and everything that came before it, is told first.
    if (!this.#keeper.after(request, tell)) this.flushSoon();
  }

  /** Whether this process certainly is the only one that runs this. */
  get isHeld(): boolean {
    return this.#lease?.isFresh !== false;
  }

  /** Makes sure of that: who was stopped for longer than a lease lasts may have been replaced, and then gives up. */
  async hold(): Promise<void> {
    for (let asked = 0; !this.isHeld; asked++) {
      try {
        // A lease that ends while it is being renewed cannot be held.
        if (asked === RENEWALS)
          throw new RunClosedError(this.nonce, "its lease expires before it can be renewed");
        await this.#lease?.renew();
      } catch (error) {
        void this.#giveUp(error);
        throw error;
      }
    }
  }

  async #takeLease(store: Store): Promise<void> {
    this.#lease = this.#options.lease ?? (await store.lease(this.#options.name));
    this.#renewal = setInterval(() => {
      this.#lease?.renew().catch((error: unknown) => this.#giveUp(error));
    }, 10_000);
    this.#renewal.unref();
  }

  async #letGo(): Promise<void> {
    clearInterval(this.#renewal);
    const lease = this.#lease;
    this.#lease = undefined;
    // A store that is gone keeps the lease until it ends by itself.
    await lease?.release().catch(() => {});
  }
}

function maybe(module: readonly string[] | undefined): Pick<Side, "module"> {
  return module === undefined ? {} : { module };
}

function sameIds(ids: readonly FactId[], sessions: readonly Session[]): boolean {
  return ids.length === sessions.length && ids.every((id, place) => id === sessions[place]?.id);
}

/** From the last fact of each run to the beginning of the next. */
function gapsBetween(starts: readonly Session[], tape: Tape): readonly Stretch[] {
  return starts.slice(1).map((next, place) => {
    const last = tape.lastOf(starts[place]?.fact.run as string);
    const from = last === undefined ? next.fact.at : readFact(last.line, undefined).at;
    return { from: Date.parse(from), to: Date.parse(next.fact.at) };
  });
}

/** What a module is limited to, as it goes on the record. */
function limitFacts({ name }: Module, { budget, policy }: Limits): readonly FactInput[] {
  return [
    ...(budget === undefined ? [] : [{ type: "budget-set", limits: { ...budget }, by: "runtime" } as const]),
    ...(policy === undefined
      ? []
      : [{ type: "policy-set", module: name, policy: policy.name, version: policy.version } as const]),
  ];
}

function weightOf({ line }: Answer): { readonly rank: number; readonly at: number } {
  const { decision, at } = readFact(line, undefined) as Fact & { readonly decision?: string };
  const rank = ["reject", "take-over"].indexOf(decision ?? "");
  return { rank: rank < 0 ? 2 : rank, at: Date.parse(at) };
}

/**
 * The labels of what a body had read stand in the stamp of a fact, before `by`: like the time, they do not belong to what the
 * program says again at a replay, which may have read in another order.
 */
function labelled(fact: Draft, labels: readonly string[]): Draft {
  if (labels.length === 0) return fact;
  const {
    type,
    at,
    run,
    seq,
    labels: own = [],
    ...body
  } = fact as Draft & { readonly labels?: readonly string[] };
  return { type, at, run, seq, labels: [...new Set([...own, ...labels])], ...body } as unknown as Draft;
}
