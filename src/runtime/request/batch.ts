import {
  canonical,
  type Draft,
  digestOf,
  drafted,
  dueOf,
  type Edited,
  type Fact,
  type FactId,
  type FactInput,
  type FactOf,
  type Failure,
  type Json,
  type Principal,
  parentsOf,
  type Realm,
  readableError,
  Session,
  Withheld,
  warnOf,
} from "../../session/index.js";
import { CancelledError, ErasedContentError, failureOf } from "../error.js";
import { RefusedError } from "../given.js";
import { type Answer, sessionOf } from "../people/mailbox.js";
import { spentOn } from "../run/budget.js";
import { Scope } from "../run/scope.js";
import type { Entry } from "../tape/tape.js";
import {
  AGREED,
  denied,
  editedTo,
  NOT_ANSWERED,
  refused,
  requiredApprovals,
  shownForApproval,
  takenOver,
} from "./approval-outcome.js";
import type { Question, Standing } from "./consent.js";
import type { RunContext } from "./context.js";
import { EffectRecorder } from "./effect-recorder.js";
import { beganWith, changeOf, EVIDENCE, type Evidence, rebased, withoutFiles } from "./evidence.js";
import { isRuled, rulingOn } from "./gate.js";
import { askedBy, type Child, type Item, keyOf, newItem, settled, type Wait } from "./pending-request.js";
import { Pieces } from "./pieces.js";
import type { Attempt, Outcome, Request } from "./request.js";
import { delayOf, isRetryable, isUnanswered } from "./retry.js";
import { LONGEST_TIMER, TimeoutError, timed } from "./timeout.js";

/** What wakes whoever awaits the strand, or may. */
const OUTCOMES: ReadonlySet<string> = new Set([
  "model-reply",
  "model-failure",
  "tool-result",
  "tool-failure",
  "step-result",
  "step-failure",
  "timer-fire",
]);

/** What may let a request pass, or end a wait. */
const LETTING: ReadonlySet<string> = new Set(["answer-take", "wait-cancel", "policy-decide"]);

/**
 * Requests that are dealt with side by side on one chain of facts: first all requests, then what happens to them as it
 * happens. The chain is the runtime's own until the last outcome is there; then it is handed back.
 */
export class RequestBatch {
  readonly result: Promise<Session>;
  readonly #run: RunContext;
  readonly #scope: Scope;
  readonly #realm: Realm;
  readonly #items: readonly Item[];
  readonly #asked: Set<FactId>;
  #tip: Session;
  /** The end of the line of those that change files. */
  #files: Promise<void> = Promise.resolve();
  #resolve!: (session: Session) => void;
  #reject!: (error: unknown) => void;

  constructor(run: RunContext, scope: Scope, session: Session, requests: readonly (Request | Wait)[]) {
    this.#run = run;
    this.#scope = scope;
    this.#realm = Session.realmOf(session);
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Nobody may be listening any more when the run is cut off.
    this.result.catch(() => {});
    let tip = session;
    // All of them or none: a request that nobody deals with would be pending for ever.
    const drafts = requests.map(({ fact }) => drafted(run.secrets.conceal(fact).value));
    this.#items = requests.map((request, place) => {
      tip = scope.next([tip], drafts[place] as Draft, this.#realm);
      return newItem(request, tip);
    });
    this.#tip = tip;
    this.#asked = new Set(run.tape.adopting ? this.#items.map((item) => item.asked.id) : []);
    for (const { request } of this.#items)
      if ("spend" in request && request.spend) scope.ledger?.reserve(request.spend);
    scope.add(this);
  }

  /** Begins what can be begun. */
  start(): void {
    this.#kick();
  }

  /** Whether it has not come to an end. */
  get open(): boolean {
    return this.#items.some((item) => !item.done);
  }

  /** Whether a module inside is back and not joined yet. Where one that failed has come to may still change. */
  get unsettled(): boolean {
    return this.#items.some(
      ({ child, done }) => child !== undefined && !done && settled(child) !== undefined,
    );
  }

  /** The requests that nothing has answered, for those who ask where a run stands. */
  get frontier(): readonly Session[] {
    return this.#items
      .filter((item) => !item.done)
      .flatMap((item) => (item.consent.open.length > 0 ? item.consent.open : [item.asked]));
  }

  /**
   * The next recorded fact of this strand that may wake somebody, if it can be told now. What the runtime noted on the
   * way to it is taken along.
   */
  recorded(): Entry | undefined {
    for (;;) {
      const entry = this.#run.tape
        .after(this.#tip)
        ?.chained(this.#tip, this.#asked, (one) => this.#fits(one));
      if (entry === undefined) return undefined;
      if (!this.#wakes(entry)) {
        this.#adopt(entry);
        continue;
      }
      const item = this.#itemOf(entry);
      // A module that is not back yet: what it still has to do was recorded before this.
      const away = item?.child !== undefined && settled(item.child) === undefined;
      return away && OUTCOMES.has(entry.type) ? undefined : entry;
    }
  }

  /** Whether it joins what is joined now: a module that came back with something else has another outcome. */
  #fits(entry: Entry): boolean {
    // What it left on the way joins nothing, and what let it in was there before it.
    if (EVIDENCE.has(entry.type) || LETTING.has(entry.type)) return true;
    const child = this.#itemOf(entry)?.child;
    const head = child && settled(child);
    return head === undefined || parentsOf(entry.line)[1] === head.id;
  }

  /** Takes over a recorded outcome. */
  deliver(entry: Entry): void {
    const item = this.#itemOf(entry);
    this.#adopt(entry);
    if (item?.done === true) this.#scope.made(this.#tip);
    this.#kick();
    this.#finish();
  }

  #wakes(entry: Entry): boolean {
    if (OUTCOMES.has(entry.type)) return true;
    if (!LETTING.has(entry.type)) return false;
    const item = this.#itemOf(entry);
    if (item === undefined) return false;
    // What lets a module in: it then does what it does at that time and not before.
    return "effect" in item.request ? item.request.inside !== undefined : entry.type !== "policy-decide";
  }

  #itemOf({ of }: Entry): Item | undefined {
    return this.#items.find((item) => item.asked.id === of || item.consent.get(of) !== undefined);
  }

  #adopt(entry: Entry): void {
    const item = this.#itemOf(entry);
    const second = item === undefined ? undefined : this.#secondParent(entry, item);
    this.#tip = this.#run.recorder.adopt(
      entry,
      second === undefined ? [this.#tip] : [this.#tip, second],
      this.#realm,
    );
    const gone = Object.values(this.#tip.fact).find((value) => value instanceof Withheld);
    if (gone instanceof Withheld) throw new ErasedContentError(entry.id, gone);
    if (item !== undefined) this.#note(item, this.#tip.fact, this.#tip, second);
  }

  /** What a recorded fact joins to the chain: the module that ran inside, or the answer that was given. */
  #secondParent(entry: Entry, item: Item): Session | undefined {
    const [, id] = parentsOf(entry.line);
    if (id === undefined) return undefined;
    const child = item.child && settled(item.child);
    if (child?.id === id) return child;
    const answer = this.#run.tape.foreign(id, [askedBy(item, entry.of)], this.#realm);
    if (answer === undefined) throw this.#run.diverged(entry);
    return answer;
  }

  /** Where an item stands after a fact of its chain, recorded or made now. */
  #note(item: Item, fact: Fact, session: Session, answer: Session | undefined): void {
    if (EVIDENCE.has(fact.type)) return;
    switch (fact.type) {
      case "approval-ask":
        if (item.consent.edit !== undefined && fact.problem !== undefined) item.verdict = item.first;
        item.consent.asked(session);
        this.#asked.add(session.id);
        return;
      case "policy-decide":
        item.verdict = fact;
        if (isAsAsked(item)) item.first = fact;
        return;
      case "effect-start":
        item.attempts = fact.attempt;
        item.started = true;
        item.startedIn = fact.run;
        this.#run.answers.begun(item.asked);
        return;
      case "effect-fail":
        item.attempts = fact.attempt;
        item.started = false;
        return;
      case "effect-doubt":
        return;
      case "answer-take":
        this.#run.answers.took(fact.answer);
        this.#pause(askedBy(item, fact.of), session);
        if (!("effect" in item.request)) item.done = true;
        else if (answer?.fact.type === "effect-settle") {
          // What they may not say, they have not said: it stays in doubt.
          if (!item.consent.isSettledBy(answer.fact)) return;
          item.started = false;
          if (answer.fact.decision === "again") item.consent.again(answer.fact);
        } else if (answer?.fact.type === "approval-give") {
          item.consent.answered(fact.of, answer.fact);
          // With other arguments it is another deed, which is still to be made.
          if (answer.fact.edit !== undefined && item.consent.edit !== undefined) {
            item.verdict = undefined;
            item.remade = false;
          }
        }
        return;
      case "wait-cancel":
        this.#run.answers.dropped(askedBy(item, fact.of));
        item.consent.dropped(fact.of, fact.late === true);
        if (!("effect" in item.request)) item.done = true;
        return;
      case "timer-fire":
        this.#pause(item.asked, session);
        item.done = true;
        return;
      default:
        item.done = true;
        if ("spend" in item.request && item.request.spend)
          this.#scope.ledger?.settle(item.request.spend, spentOn(item.request.spend, fact));
    }
  }

  #pause(from: Session, to: Session): void {
    this.#scope.ledger?.pause(Date.parse(from.fact.at), Date.parse(to.fact.at));
  }

  /** Begins every request that nothing stands in the way of. */
  #kick(): void {
    try {
      this.#kickAll();
    } catch (error) {
      // A question about the session that cannot be answered: the request would be pending for ever.
      this.#run.fail(error);
    }
  }

  #kickAll(): void {
    for (const item of this.#items) {
      if (item.done || item.running || item.child !== undefined || this.#blocked(item)) continue;
      const { request } = item;
      // What has not begun by then is given up, each in its turn.
      if (this.#scope.cancelled !== undefined) continue;
      if (!this.#run.tape.adopting) this.#begin(item);
      else if ("effect" in request && request.inside !== undefined && this.#wasLetIn(item, request))
        this.#enter(item, request);
    }
  }

  /** Whether the record so far lets a module in: it is entered again where it was entered. */
  #wasLetIn(item: Item, request: Request): boolean {
    const { asked, verdict } = item;
    if (verdict?.verdict === "deny") return false;
    if (verdict === undefined && this.#run.tape.isDecided(asked.id)) return false;
    // Nothing was decided before a policy came to be: what had begun by then goes on.
    if (verdict === undefined && isRuled(this.#scope.policies, request) && !this.#run.tape.isForked(asked))
      return false;
    const what = shownForApproval(item, request, this.#run.secrets);
    return what === undefined || this.#standing(item, request, what).state === "agreed";
  }

  /** Whether an earlier request that is not done meets this one at a key. */
  #blocked(item: Item): boolean {
    const keys = (item.request as Request).conflicts;
    if (keys === undefined || keys.length === 0) return false;
    for (const earlier of this.#items) {
      if (earlier === item) return false;
      if (!earlier.done && (earlier.request as Request).conflicts?.some((key) => keys.includes(key)))
        return true;
    }
    return false;
  }

  /** The tape has ended: what was parked begins. */
  goLive(): void {
    for (const item of this.#items)
      if (item.child !== undefined && settled(item.child) !== undefined && !item.done) this.#return(item);
    if (this.#scope.cancelled === undefined) {
      this.#kick();
      return;
    }
    this.cancel(this.#scope.cancelled);
    // What is in doubt stays so, cancelled or not.
    for (const item of this.#items) if (!item.done && item.started) this.#begin(item);
  }

  /** Runs a module on a fork of the request. It goes through the door itself, so it is entered again on a tape. */
  #enter(item: Item, request: Request): void {
    const { branch, body } = request.inside as NonNullable<Request["inside"]>;
    // A scope of its own knows where it has come to, should it fail: an error may be thrown in several places at once.
    const scope = new Scope(this.#scope.run, this.#scope);
    const fork = scope.next(
      [item.asked],
      drafted({ type: "branch-fork", name: branch, by: "runtime" }),
      scope.realm(this.#realm),
    );
    const child: Child = { scope, fork, head: undefined, failed: undefined };
    item.child = child;
    void (async () => body(fork))()
      .then(
        (head) => {
          child.head = head;
        },
        (error: unknown) => {
          child.failed = { error: readableError(error) };
        },
      )
      .then(() => {
        scope.leave();
        this.#back(item);
      });
  }

  #back(item: Item): void {
    if (this.#run.tape.adopting) this.#run.look(this);
    else this.#return(item);
  }

  /** A module that ran inside came back: its head joins the chain, and its files those of the chain. */
  #return(item: Item): void {
    const { failed, head } = item.child as Child;
    const theirs = head?.files.tree ?? null;
    if (failed !== undefined || theirs === null || theirs === item.asked.files.tree) {
      this.#run.turns.soon(() => this.#join(item));
      return;
    }
    this.#inTurn(
      async () => {
        try {
          item.evidence.push(
            ...(await this.#run.pool.join(item.asked.files.tree, this.#tip.files.tree, theirs)),
          );
        } catch (error) {
          (item.child as Child).failed = { error };
        }
      },
      () => this.#join(item),
    );
  }

  /** Outcomes that change files go on the chain one after the other: each is made ready for the files that are there then. */
  #inTurn(ready: () => Promise<void>, settle: () => void): void {
    const release = this.#run.turns.occupy();
    this.#files = this.#files
      .then(ready)
      .catch((error: unknown) => this.#run.fail(error))
      .then(
        () =>
          new Promise<void>((resolve) => {
            this.#run.turns.soon(() => {
              try {
                settle();
              } finally {
                resolve();
              }
            });
            release();
          }),
      );
  }

  /** What a call did to files that are not those of the chain any more is merged into them. */
  async #rebase(item: Item): Promise<void> {
    const change = changeOf(item.evidence);
    const ours = this.#tip.files.tree;
    if (change === undefined || beganWith(item.evidence) === ours) return;
    const [merge] = await this.#run.pool.join(change.base, ours, change.after);
    if (merge !== undefined) item.evidence = [...rebased(item.evidence, merge)];
  }

  #join(item: Item): void {
    if (item.done) return;
    const request = item.request as Request;
    const child = item.child as Child;
    const { failed, head } = child;
    const outcome =
      failed === undefined
        ? attemptSync(
            () => (request.inside as NonNullable<Request["inside"]>).outcome(head as Session),
            request,
          )
        : failedAs(request, failed.error);
    this.#append(item, outcome, [settled(child) as Session]);
    this.#end();
  }

  #begin(item: Item): void {
    const { request } = item;
    item.running = true;
    if (!("effect" in request)) {
      this.#await(item);
      return;
    }
    if (item.remaking) return;
    if (item.consent.edit !== undefined && !item.remade) {
      item.remaking = true;
      this.#remake(item, request).catch((error: unknown) => this.#run.fail(error));
      return;
    }
    // What is in doubt is not asked about before somebody has found out what became of it.
    const inDoubt = item.started && request.effect === "write" && !this.#failedBefore(item);
    if (!this.#isLetPass(item, request) || (!inDoubt && !this.#isAgreed(item, request))) return;
    if (request.inside !== undefined) {
      this.#enter(item, request);
      return;
    }
    // What somebody changed is looked for under what was asked for, and is not the same.
    const reuse = item.remade
      ? undefined
      : this.#run.tape.reusable(this.#run.secrets.conceal(request.fact).value, this.#tip);
    if (reuse !== undefined) {
      this.#run.turns.soon(() => {
        item.evidence.push(...(reuse.evidence.map((fact) => bodyOf(fact as Fact)) as unknown as Evidence[]));
        this.#append(item, { ...bodyOf(reuse.fact), from: reuse.id } as unknown as Outcome, []);
        this.#end();
      });
      return;
    }
    if (inDoubt) {
      this.#reconcile(item, request).catch((error: unknown) => this.#run.fail(error));
      return;
    }
    this.#try(item, request);
  }

  /** Has policies decide, once, before anything is done. What they deny ends here, as a failure that can be read. */
  #isLetPass(item: Item, request: Request): boolean {
    // What was started was let pass.
    if (item.verdict === undefined && !item.started) {
      const editor = item.remade ? item.consent.edit?.by : undefined;
      const ruling = rulingOn(this.#scope.policies, request, item.asked, editor);
      if (ruling !== undefined) this.#chain(item, { type: "policy-decide", of: item.asked.id, ...ruling });
      // Where nobody has anything to say about other arguments, what was said of the first ones holds.
      else if (item.remade) item.verdict = item.first;
    }
    if (item.verdict?.verdict !== "deny") return true;
    const denial = denied(item.verdict);
    for (const ask of item.consent.open) this.#drop(item, ask, "it is denied");
    this.#run.turns.soon(() => {
      if (item.done) return;
      this.#append(item, request.failed(denial, undefined), []);
      this.#end();
    });
    return false;
  }

  #standing(item: Item, request: Request, what: Json): Standing {
    const editors = item.remade ? item.consent.editors : [];
    return item.consent.standing(requiredApprovals(item, request), digestOf(canonical(what)), editors);
  }

  /** Whether those who must have agreed to exactly the bytes that will be executed. Asks them if they have not been. */
  #isAgreed(item: Item, request: Request): boolean {
    const { consent } = item;
    const what = shownForApproval(item, request, this.#run.secrets);
    const digest = what === undefined ? undefined : digestOf(canonical(what));
    const stale = consent.open.filter((ask) => (ask.fact as FactOf<"approval-ask">).digest !== digest);
    if (stale.length > 0) {
      this.#withdraw(item, stale).catch((error: unknown) => this.#run.fail(error));
      return false;
    }
    const standing: Standing = what === undefined ? AGREED : this.#standing(item, request, what);
    if (consent.taken === undefined && standing.state === "open" && what !== undefined) {
      for (const question of standing.questions) this.#ask(item, what, question);
      // Whoever is asked must be able to see it, also while something else is under way.
      if (standing.questions.length > 0) this.#run.recorder.flushSoon();
      item.problem = undefined;
      for (const ask of consent.open) this.#waitUntil(item, ask);
      return false;
    }
    for (const ask of consent.open) this.#drop(item, ask, "it is decided");
    if (consent.taken === undefined && standing.state === "agreed") return true;
    const outcome =
      standing.state === "refused"
        ? request.failed(refused(standing.give), undefined)
        : consent.taken !== undefined
          ? takenOver(request, consent.taken)
          : request.failed(NOT_ANSWERED, undefined);
    this.#run.turns.soon(() => {
      if (item.done) return;
      this.#append(item, outcome, []);
      this.#end();
    });
    return false;
  }

  #ask(item: Item, what: Json, { rule, why, level, to, within }: Question): void {
    const { edit } = item.consent;
    const request = item.request as Request;
    const { input: was = null } = item.asked.fact as { readonly input?: Json };
    const expires =
      within === undefined ? undefined : new Date(this.#run.services.now() + within).toISOString();
    this.#chain(item, {
      type: "approval-ask",
      what,
      digest: digestOf(canonical(what)),
      of: item.asked.id,
      ...(expires !== undefined && { expires }),
      ...(to.length > 0 && { to }),
      ...(request.name !== undefined && { name: request.name }),
      ...(rule !== "" && { rule }),
      ...(why !== undefined && { why }),
      ...(level > 0 && { level }),
      ...(edit !== undefined && item.remade && { edited: { by: edit.by, was } }),
      ...((request.edit === undefined || request.inside !== undefined) && { fixed: true }),
      ...(request.answer !== undefined && { answer: request.answer }),
      ...(item.problem !== undefined && { problem: item.problem }),
      ...(item.consent.isSecond && { execution: item.attempts + 1 }),
    });
  }

  #drop(item: Item, ask: Session, why: string, late = false): void {
    this.#run.answers.forget(ask.id);
    this.#chain(item, { type: "wait-cancel", of: ask.id, why, ...(late && { late }) });
  }

  /** Takes questions back that are about something else by now, unless somebody has answered them: that is heard first. */
  async #withdraw(item: Item, asks: readonly Session[]): Promise<void> {
    const release = this.#run.turns.occupy();
    const answered = new Set<Session>();
    try {
      for (const ask of asks) if (await this.#run.answers.lastAnswerTo(ask.id)) answered.add(ask);
    } finally {
      release();
    }
    this.#run.turns.soon(() => {
      if (item.done) return;
      for (const ask of asks) {
        if (!item.consent.open.includes(ask)) continue;
        if (answered.has(ask)) this.#wait(item, ask);
        else this.#drop(item, ask, "it is something else by now");
      }
      if (answered.size > 0) this.#run.answers.poke();
      else {
        item.running = false;
        this.#end();
      }
    });
  }

  /** Waits for an answer as long as there is time for one. */
  #waitUntil(item: Item, ask: Session): void {
    this.#wait(item, ask);
    const { expires } = ask.fact as FactOf<"approval-ask">;
    if (expires === undefined) return;
    const left = Date.parse(expires) - this.#run.services.now();
    const expire = (): void => {
      this.#expire(item, ask, expires).catch((error: unknown) => this.#run.fail(error));
    };
    if (left <= 0) expire();
    // Quietly: when nothing else is under way the run is suspended, and whoever resumes it finds that time is up.
    else if (left <= LONGEST_TIMER) this.#run.turns.ring(left, expire, true);
  }

  async #expire(item: Item, ask: Session, expires: string): Promise<void> {
    if (!item.consent.open.includes(ask)) return;
    const release = this.#run.turns.occupy();
    // One that was given in time counts, and from here on none can be given.
    const given = await this.#run.answers.lastAnswerTo(ask.id).finally(release);
    if (given) return;
    this.#run.turns.soon(() => {
      if (item.done || !item.consent.open.includes(ask)) return;
      this.#drop(item, ask, `nobody answered by ${expires}`, true);
      item.running = false;
      this.#end();
    });
  }

  /** Somebody gave other arguments: the request is made with these, or asked about again. */
  async #remake(item: Item, request: Request): Promise<void> {
    const edit = item.consent.edit as Edited;
    const release = this.#run.turns.occupy();
    const made = await editedTo(request, edit.input).finally(release);
    this.#run.turns.soon(() => {
      item.remaking = false;
      if (item.done) return;
      item.running = false;
      // Somebody else gave others meanwhile.
      if (item.consent.edit !== edit) {
        this.#end();
        return;
      }
      if ("act" in made) {
        item.request = made;
        item.remade = true;
      } else if (item.started) {
        // It was begun with them once, and what it was that was begun nobody here can tell.
        item.running = true;
        this.#wait(item, item.asked);
        return;
      } else {
        item.problem = made.message;
        item.consent.void();
        item.verdict = item.first;
        for (const ask of item.consent.open) this.#drop(item, ask, "it is asked anew");
      }
      this.#end();
    });
  }

  /** Whether it is known to have failed, in the run that this one is a retry of. */
  #failedBefore({ asked, startedIn }: Item): boolean {
    return startedIn !== this.#run.nonce && this.#run.tape.failedBefore(asked.id);
  }

  #try(item: Item, request: Request): void {
    this.#attempt(item, request).catch((error: unknown) => this.#run.fail(error));
  }

  async #attempt(item: Item, request: Request): Promise<void> {
    const number = item.attempts + 1;
    const write = request.effect === "write";
    if (write)
      this.#chain(item, { type: "effect-start", of: item.asked.id, attempt: number, key: keyOf(item) });
    else item.attempts = number;
    const turn = ++item.turn;
    const controller = new AbortController();
    item.controller = controller;
    const release = this.#run.turns.occupy();
    item.release = release;
    let outcome: Outcome | undefined;
    let thrown: { error: unknown } | undefined;
    const recorder = this.#effectRecorder(item, controller);
    const pieces = this.#piecesOf(item);
    const began = this.#run.services.now();
    try {
      // What must never be repeated unseen is on the disk before it starts; so is the key of what may be sent again.
      if (write || request.effect === "idempotent") await this.#run.recorder.flush();
      // Stopped for a while, in that or before it: another process may have taken the run over, and done this.
      if (!this.#run.lease.isHeld) await this.#run.lease.hold();
      if (this.#run.recorder.stopped !== undefined || item.turn !== turn) return;
      // Cancelled while that was being written: nothing has happened yet, and nothing shall.
      if (this.#scope.cancelled !== undefined) throw new CancelledError(this.#scope.cancelled);
      outcome = await timed(
        request.act(this.#attemptOf(item, number, controller, recorder, pieces)),
        this.#patience(request),
        controller,
        write,
      );
    } catch (error) {
      thrown = { error: readableError(error) };
    }
    pieces.flush();
    try {
      await recorder.finish(thrown?.error instanceof TimeoutError && thrown.error.running);
    } catch (error) {
      // What it did is gone with its sandbox, whatever it said.
      outcome = undefined;
      thrown ??= { error };
    }
    const settle = (): void => {
      if (item.turn !== turn || item.done) return;
      this.#settle(item, request, number, this.#run.services.now() - began, outcome, thrown);
    };
    if (changeOf(item.evidence) === undefined) this.#run.turns.soon(settle);
    else this.#inTurn(() => this.#rebase(item), settle);
    release();
  }

  /** Milliseconds that an attempt may take. A `write` is not stopped because a budget is spent: nobody would know how it ended. */
  #patience({ effect, timeout = Number.POSITIVE_INFINITY }: Request): number {
    const { ledger } = this.#scope;
    const left =
      ledger === undefined || effect === "write"
        ? Number.POSITIVE_INFINITY
        : ledger.left(this.#run.services.now());
    return Math.min(timeout, Math.max(1, left));
  }

  #piecesOf(item: Item): Pieces {
    return new Pieces(this.#run.secrets, (delta) => this.#run.recorder.emit(item.asked, delta));
  }

  #attemptOf(
    item: Item,
    number: number,
    controller: AbortController,
    recorder: EffectRecorder,
    pieces: Pieces,
  ): Attempt {
    const run = this.#run;
    return {
      attempt: number,
      number,
      signal: controller.signal,
      key: keyOf(item),
      request: item.asked,
      emit: (delta) => pieces.take(delta),
      sandbox: async () => {
        this.#requireAlone(item);
        return recorder.sandbox();
      },
      secret: (name) => run.secrets.get(name),
      redact: (value) => {
        const { value: redacted, names } = run.secrets.conceal(value);
        for (const name of names) item.redacted.add(name);
        return redacted;
      },
      trees: () => run.pool.trees(),
      store: () => run.pool.store(),
      record: (fact) => recorder.record(fact),
    };
  }

  #effectRecorder(item: Item, controller: AbortController): EffectRecorder {
    const { name } = item.asked.fact as { readonly name?: string };
    return new EffectRecorder({
      pool: this.#run.pool,
      tip: this.#tip,
      run: this.#run.nonce,
      signal: controller.signal,
      evidence: item.evidence,
      by: name === undefined || name === "" ? undefined : `tool:${name}`,
    });
  }

  /** Of calls that go on side by side on the same files, nobody could say which of them changed what. */
  #requireAlone(item: Item): void {
    const { conflicts = [] } = item.request as Request;
    if (this.#items.length === 1 || conflicts.includes(WORKSPACE)) return;
    throw new RefusedError(
      "use the sandbox",
      "other calls may use it at the same time",
      `say that calls of this tool go one after the other: conflicts: [${JSON.stringify(WORKSPACE)}]`,
    );
  }

  #settle(
    item: Item,
    request: Request,
    number: number,
    milliseconds: number,
    outcome: Outcome | undefined,
    thrown: { error: unknown } | undefined,
  ): void {
    if (thrown !== undefined && this.#inDoubt(request, thrown.error)) {
      const error = this.#run.secrets.conceal(failureOfRequest(request, thrown.error)).value;
      this.#tell(item, withoutFiles(item.evidence));
      this.#chain(item, { type: "effect-doubt", of: item.asked.id, attempt: number, error });
      this.#run.recorder.flushSoon();
      // While it may still happen, nobody can find out that it did not.
      if (thrown.error instanceof TimeoutError && thrown.error.running) this.#wait(item, item.asked);
      else this.#reconcile(item, request, error).catch((failed: unknown) => this.#run.fail(failed));
      return;
    }
    if (thrown !== undefined && this.#scope.cancelled === undefined) {
      const { retry } = request;
      if (retry !== undefined && number < (retry.attempts ?? 3) && isRetryable(thrown.error, retry)) {
        const wait = delayOf(thrown.error, number, retry, this.#run.services);
        this.#tell(item, withoutFiles(item.evidence));
        this.#chain(item, {
          type: "effect-fail",
          of: item.asked.id,
          attempt: number,
          error: this.#run.secrets.conceal(failureOfRequest(request, thrown.error)).value,
          wait,
        });
        item.running = false;
        item.release = this.#run.turns.later(wait, () => this.#kick());
        return;
      }
    }
    const cancelled = this.#scope.cancelled;
    const body: Outcome =
      outcome ??
      // How a write failed is part of what became of it, cancelled or not.
      (cancelled === undefined || request.effect === "write"
        ? failedAs(request, thrown?.error)
        : request.failed(failureOf(new CancelledError(cancelled)), undefined));
    this.#append(item, { milliseconds, ...body }, []);
    this.#end();
  }

  /** Whether a `write` may have happened though it failed; unless its owner wants it tried again whatever happened. */
  #inDoubt({ effect, retry }: Request, error: unknown): boolean {
    if (effect !== "write" || !isUnanswered(error)) return false;
    return retry?.when === undefined || !isRetryable(error, retry);
  }

  /** Appends the outcome of an item, whatever it is: one that the record cannot hold is a failure of its own. */
  #append(item: Item, outcome: Outcome, more: readonly Session[]): void {
    const request = item.request as Request;
    this.#tell(item, item.evidence);
    const { edit } = item.consent;
    const make = (body: Outcome): Session => {
      const changed = edit !== undefined && item.remade && !body.type.startsWith("model-");
      const edited = changed ? { edited: edit } : {};
      const { value, names } = this.#run.secrets.conceal({ ...body, ...edited });
      const all = [...new Set([...item.redacted, ...names])].sort();
      const redacted = all.length > 0 ? { redacted: all } : {};
      return this.#run.recorder.next(
        [this.#tip, ...more],
        drafted({ ...value, ...redacted, of: item.asked.id } as unknown as FactInput),
        this.#realm,
      );
    };
    let session: Session;
    try {
      session = make(outcome);
    } catch (error) {
      if (this.#run.recorder.stopped !== undefined) throw error;
      session = make(failedAs(request, error));
    }
    this.#tip = session;
    item.running = false;
    item.started = false;
    this.#scope.made(session);
    this.#note(item, session.fact, session, undefined);
    if (request.effect === "write" || session.fact.type === "model-reply") this.#run.recorder.flushSoon();
  }

  /** Puts what an attempt left on the chain, each piece with the request it belongs to. */
  #tell(item: Item, evidence: readonly Evidence[]): void {
    item.evidence = [];
    for (const fact of evidence) {
      try {
        const where = fact.type === "memory-read" && { module: this.#scope.path };
        this.#chain(
          item,
          { of: item.asked.id, ...this.#run.secrets.conceal(fact).value, ...where } as FactInput,
          this.#authorOf(item),
        );
      } catch (error) {
        if (this.#run.recorder.stopped !== undefined) throw error;
        // What the record cannot hold must not cost the outcome.
        warnOf(error, "OPENRATH_EVIDENCE");
      }
    }
  }

  /** Who leaves evidence without saying who: the tool that is called, else the module that acts. */
  #authorOf({ asked: { fact } }: Item): Principal | undefined {
    const { actor } = this.#scope;
    return actor !== undefined && fact.type === "tool-call" ? `tool:${fact.name}` : actor;
  }

  #chain(item: Item, fact: FactInput, actor?: Principal): void {
    const draft = drafted(this.#run.secrets.conceal(fact).value, actor);
    this.#tip = this.#run.recorder.next([this.#tip], draft, this.#realm);
    this.#note(item, this.#tip.fact, this.#tip, undefined);
  }

  /** Waits for what only the world can bring. */
  #await(item: Item): void {
    const { fact } = item.asked;
    if (fact.type === "timer-set") {
      const left = Date.parse(dueOf(fact)) - this.#run.services.now();
      const fire = (): void => {
        if (item.done) return;
        this.#chain(item, { type: "timer-fire", of: item.asked.id });
        this.#scope.made(this.#tip);
        this.#end();
      };
      if (left <= this.#run.services.patience) item.release = this.#run.turns.later(Math.max(0, left), fire);
      else this.#run.answers.wait(item.asked.id);
      return;
    }
    this.#wait(item, item.asked);
  }

  #wait(item: Item, asked: Session): void {
    this.#run.answers.wait(asked.id, (answer) => this.#answered(item, asked, answer));
  }

  /** Somebody answered: the answer hangs from the request, and the chain takes it in. */
  #answered(item: Item, asked: Session, line: Answer): boolean {
    // A question that was withdrawn is not answered any more; the answer is kept where the run ends.
    if (item.done || (asked !== item.asked && !item.consent.open.includes(asked))) return false;
    const answer = sessionOf(line, asked, this.#realm);
    this.#tip = this.#run.recorder.next(
      [this.#tip, answer],
      drafted({ type: "answer-take", of: asked.id, answer: answer.id }),
      this.#realm,
    );
    this.#note(item, this.#tip.fact, this.#tip, answer);
    item.running = false;
    if (item.done) this.#scope.made(this.#tip);
    const { request } = item;
    const { fact } = answer;
    if ("effect" in request) {
      if (fact.type === "effect-settle") {
        if (item.started) {
          item.running = true;
          this.#wait(item, item.asked);
          return true;
        }
        this.#settled(item, request, fact);
      } else if (request.inside === undefined) {
        this.#hear(item);
        return true;
      }
    }
    this.#end();
    return true;
  }

  /** Goes on after all answers that came together: of those a no, or somebody who did it themselves, counts for more. */
  #hear(item: Item): void {
    item.running = true;
    if (item.hearing) return;
    item.hearing = true;
    this.#run.turns.soon(() => {
      item.hearing = false;
      if (item.done) return;
      item.running = false;
      this.#end();
    });
  }

  /** A person said what became of a write that nobody knew the outcome of. */
  #settled(item: Item, request: Request, fact: FactOf<"effect-settle">): void {
    if (fact.decision === "again") this.#givenUp(item, request);
    else if (fact.decision === "failed") {
      const error = fact.error ?? { name: "EffectFailed", message: fact.why ?? "it did not happen" };
      this.#append(item, request.failed(error, undefined), []);
    } else {
      const value = fact.value ?? null;
      const field = request.fact.type === "tool-call" ? "tool-result" : "step-result";
      this.#append(
        item,
        field === "tool-result" ? { type: field, output: value } : { type: field, value },
        [],
      );
    }
  }

  /** A write that was started and has no outcome: found out by its reconciler, or left to a person. Never repeated unseen. */
  async #reconcile(item: Item, request: Request, error?: Failure): Promise<void> {
    let found: Outcome | "again" | "unknown" = "unknown";
    if (request.reconcile !== undefined) {
      const release = this.#run.turns.occupy();
      const controller = new AbortController();
      const recorder = this.#effectRecorder(item, controller);
      try {
        found = await request.reconcile(
          this.#attemptOf(item, item.attempts, controller, recorder, this.#piecesOf(item)),
        );
      } catch (failed) {
        // Nobody knows, then; but its owner should.
        warnOf(failed, "OPENRATH_RECONCILE");
      } finally {
        await recorder.finish(false).catch(() => {});
        release();
      }
    }
    this.#run.turns.soon(() => {
      if (item.done) return;
      if (found === "unknown") this.#wait(item, item.asked);
      else if (found === "again") {
        item.started = false;
        // What it was found out with is on the record before the next attempt, which then goes on in the same sandbox.
        this.#tell(item, withoutFiles(item.evidence));
        // It certainly did not happen: then it failed, and is tried again as often as failures are.
        if (error !== undefined && item.attempts >= attemptsFor(request, error)) {
          this.#append(item, request.failed(error, undefined), []);
          this.#end();
        } else if (!this.#givenUp(item, request)) {
          item.running = false;
          this.#end();
        }
      } else {
        this.#append(item, found, []);
        this.#end();
      }
    });
  }

  /** What would have to be done again is not, once its scope is cancelled. */
  #givenUp(item: Item, request: Request): boolean {
    const { cancelled } = this.#scope;
    if (cancelled === undefined) return false;
    this.#append(item, request.failed(failureOf(new CancelledError(cancelled)), undefined), []);
    this.#end();
    return true;
  }

  /** The scope is cancelled: what can be given up is given up, a write under way is only asked to stop. */
  cancel(why: string): void {
    if (this.#run.tape.adopting) return;
    const error = new CancelledError(why);
    for (const item of this.#items) {
      if (item.done) continue;
      item.controller?.abort(error);
      const { request } = item;
      // What runs inside is cancelled through its own scope and comes back; a write must be waited for.
      if (item.child !== undefined || (item.started && item.controller !== undefined)) continue;
      // In doubt since before: only a person can say.
      if (item.started) continue;
      item.turn += 1;
      // What ignores its signal must not keep the run from coming to rest.
      item.release?.();
      this.#run.turns.soon(() => {
        if (item.done) return;
        for (const waiting of "effect" in request ? item.consent.open : [item.asked])
          this.#drop(item, waiting, why);
        if (item.done) this.#scope.made(this.#tip);
        if ("effect" in request) this.#append(item, request.failed(failureOf(error), undefined), []);
        this.#end();
      });
    }
  }

  #end(): void {
    this.#kick();
    this.#finish();
  }

  #finish(): void {
    if (this.open) return;
    this.#scope.remove(this);
    this.#run.ended(this);
    const why = this.#scope.cancelled;
    if (why === undefined) this.#resolve(this.#tip);
    else this.#reject(new CancelledError(why));
  }
}

/** What a fact says, without its stamp and the request it belonged to. */
function bodyOf(fact: Fact): { readonly [field: string]: unknown } {
  const { of: _of, at: _at, run: _run, seq: _seq, ...body } = fact as Fact & { of?: FactId };
  return body;
}

/** Whether it is with the arguments that were asked for, as they were or because somebody put them back. */
function isAsAsked({ consent, asked }: Item): boolean {
  const { input = null } = asked.fact as { readonly input?: Json };
  return consent.edit === undefined || canonical(consent.edit.input) === canonical(input);
}

/**
 * How often a call is tried that certainly did not happen. That its sandbox went away once says nothing about the call; that
 * a second one did says that the call is what ends them.
 */
function attemptsFor({ retry }: Request, { code }: Failure): number {
  return Math.max(retry?.attempts ?? 1, code === "sandbox-lost" ? WITH_LOST_SANDBOXES : 1);
}

const WITH_LOST_SANDBOXES = 2;

/** The key of calls that use the workspace: they go one after the other. */
const WORKSPACE = "workspace";

function attemptSync(make: () => Outcome, request: Request): Outcome {
  try {
    return make();
  } catch (error) {
    return failedAs(request, readableError(error));
  }
}

/** How a request failed, in its own words; without a look at the error where that throws. */
function failedAs(request: Request, error: unknown): Outcome {
  const failure = failureOf(error);
  try {
    return request.failed(failure, error);
  } catch {
    return request.failed(failure, undefined);
  }
}

function failureOfRequest(request: Request, error: unknown): Failure {
  const { error: failure } = failedAs(request, error) as unknown as {
    readonly error?: Failure;
  };
  return failure ?? failureOf(error);
}
