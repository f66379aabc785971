import { type Draft, drafted, dueOf, parentsOf, type Session } from "../../session/index.js";
import { CancelledError, failureOf } from "../error.js";
import { type Answer, sessionOf } from "../people/mailbox.js";
import type { Run } from "../run/run.js";
import type { Scope } from "../run/scope.js";
import type { Entry } from "../tape/tape.js";
import { Approval } from "./approval.js";
import { Attempts } from "./attempt.js";
import { Chain } from "./chain.js";
import { EVIDENCE } from "./evidence.js";
import { FileLine } from "./files.js";
import { Inside } from "./inside.js";
import { PendingRequest, type Wait } from "./pending-request.js";
import type { Request } from "./request.js";
import type { BatchWork } from "./work.js";

/** Facts that may end a batch or one of its waits. */
const OUTCOMES: ReadonlySet<string> = new Set([
  "model-reply",
  "model-failure",
  "tool-result",
  "tool-failure",
  "step-result",
  "step-failure",
  "timer-fire",
]);

/** Facts that may let a request pass, or end a wait. */
const LETTING: ReadonlySet<string> = new Set(["answer-take", "wait-cancel", "policy-decide"]);

/**
 * Requests that are dealt with side by side on one chain of facts: first all requests, then what happens to them as it
 * happens. The chain is the runtime's own until the last outcome is there; then it is handed back.
 */
export class RequestBatch {
  readonly result: Promise<Session>;
  readonly #run: Run;
  readonly #scope: Scope;
  readonly #items: readonly PendingRequest[];
  readonly #chain: Chain;
  readonly #approval: Approval;
  readonly #attempts: Attempts;
  readonly #inside: Inside;
  #resolve!: (session: Session) => void;
  #reject!: (error: unknown) => void;

  constructor(run: Run, scope: Scope, session: Session, requests: readonly (Request | Wait)[]) {
    this.#run = run;
    this.#scope = scope;
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Nobody listens when the run is cut off.
    this.result.catch(() => {});
    // All of them or none: a request that nobody deals with would stay pending.
    const drafts = requests.map(({ fact }) => drafted(run.secrets.conceal(fact).value, scope.actor));
    const chain = new Chain(run, scope, session);
    this.#chain = chain;
    this.#items = requests.map(
      (request, place) => new PendingRequest(request, chain.ask(drafts[place] as Draft)),
    );
    const files = new FileLine(run, chain);
    const work: BatchWork = {
      run,
      scope,
      chain,
      size: requests.length,
      wait: (item, asked) => this.#wait(item, asked),
      goOn: () => this.#goOn(),
      soon: (item, job) =>
        run.turns.soon(() => {
          if (!item.isDone) job();
        }),
    };
    this.#approval = new Approval(work);
    this.#attempts = new Attempts(work, files);
    this.#inside = new Inside(work, files, (item) => this.#back(item));
    for (const { request } of this.#items)
      if ("spend" in request && request.spend) scope.ledger?.reserve(request.spend);
    scope.add(this);
  }

  /** Begins what can be begun. */
  start(): void {
    this.#kick();
  }

  /** Whether a module inside is back and not joined yet. Where one that failed has come to may still change. */
  get unsettled(): boolean {
    return this.#items.some((item) => !item.isDone && item.settledChild !== undefined);
  }

  /** The requests that nothing has answered, for those who ask where a run stands. */
  get frontier(): readonly Session[] {
    return this.#items
      .filter((item) => !item.isDone)
      .flatMap((item) => (item.consent.open.length > 0 ? item.consent.open : [item.asked]));
  }

  // -- on a tape

  /**
   * The next recorded fact of this batch that may wake somebody, if it can be told now. What the runtime noted on the
   * way to it is taken along.
   */
  recorded(): Entry | undefined {
    const chain = this.#chain;
    for (;;) {
      const entry = chain.recorded((one) => this.#fits(one));
      if (entry === undefined) return undefined;
      const item = this.#itemOf(entry);
      if (!this.#wakes(entry, item)) {
        chain.adopt(entry, item);
        continue;
      }
      // A module that is not back yet: what it still has to do was recorded before this.
      const away = item?.child !== undefined && item.settledChild === undefined;
      return away && OUTCOMES.has(entry.type) ? undefined : entry;
    }
  }

  /** Whether it joins what is joined now: a module that came back with something else has another outcome. */
  #fits(entry: Entry): boolean {
    // Evidence joins nothing, and the fact that let a module in was there before it.
    if (EVIDENCE.has(entry.type) || LETTING.has(entry.type)) return true;
    const head = this.#itemOf(entry)?.settledChild;
    return head === undefined || parentsOf(entry.line)[1] === head.id;
  }

  /** Takes over a recorded outcome. */
  deliver(entry: Entry): void {
    const item = this.#itemOf(entry);
    this.#chain.adopt(entry, item);
    if (item?.isDone === true) this.#scope.made(this.#chain.tip);
    this.#goOn();
  }

  #wakes(entry: Entry, item: PendingRequest | undefined): boolean {
    if (OUTCOMES.has(entry.type)) return true;
    if (!LETTING.has(entry.type) || item === undefined) return false;
    // The fact that lets a module in: the module then begins at that time and not before.
    return "effect" in item.request ? item.request.inside !== undefined : entry.type !== "policy-decide";
  }

  #itemOf({ of }: Entry): PendingRequest | undefined {
    return this.#items.find((item) => item.asked.id === of || item.consent.get(of) !== undefined);
  }

  #back(item: PendingRequest): void {
    if (this.#run.tape.adopting) this.#run.look(this);
    else this.#inside.return(item);
  }

  /** The tape has ended: what was parked begins. */
  goLive(): void {
    for (const item of this.#items) {
      item.advance({ type: "cut-off" });
      if (!item.isDone && item.settledChild !== undefined) this.#inside.return(item);
    }
    if (this.#scope.cancelled === undefined) {
      this.#kick();
      return;
    }
    this.cancel(this.#scope.cancelled);
    // A request in doubt stays in doubt, cancelled or not.
    for (const item of this.#items) if (item.begun !== undefined && !item.state.held) this.#begin(item);
  }

  // -- live

  /** Begins what can be begun now, and hands the chain back when everything is done. */
  #goOn(): void {
    this.#kick();
    this.#finish();
  }

  /** Begins every request that nothing stands in the way of. */
  #kick(): void {
    try {
      for (const item of this.#items) if (this.#isFree(item)) this.#kickOne(item);
    } catch (error) {
      // A question about the session that cannot be answered: the request would stay pending.
      this.#run.fail(error);
    }
  }

  #isFree(item: PendingRequest): boolean {
    const { at, held } = item.state;
    return at !== "done" && at !== "inside" && !held && !this.#blocked(item);
  }

  #kickOne(item: PendingRequest): void {
    const { request } = item;
    // Requests that have not begun are given up, each in its turn.
    if (this.#scope.cancelled !== undefined) return;
    if (!this.#run.tape.adopting) this.#begin(item);
    else if ("effect" in request && request.inside !== undefined && this.#approval.wasLetIn(item, request))
      this.#inside.enter(item, request);
  }

  /** Whether an earlier request that is not done meets this one at a key. */
  #blocked(item: PendingRequest): boolean {
    const keys = (item.request as Request).conflicts;
    if (keys === undefined || keys.length === 0) return false;
    for (const earlier of this.#items) {
      if (earlier === item) return false;
      if (!earlier.isDone && (earlier.request as Request).conflicts?.some((key) => keys.includes(key)))
        return true;
    }
    return false;
  }

  #begin(item: PendingRequest): void {
    const { request } = item;
    item.advance({ type: "begin" });
    if (!("effect" in request)) {
      this.#await(item);
      return;
    }
    const { at, edited } = item.state;
    if (at === "editing") return;
    if (item.consent.edit !== undefined && !edited) {
      this.#approval.edit(item, request);
      return;
    }
    // Nobody is asked about a request in doubt before its outcome is known.
    const inDoubt = this.#attempts.isInDoubt(item, request);
    if (!this.#approval.isLetPass(item, request)) return;
    if (!inDoubt && !this.#approval.isAgreed(item, request)) return;
    if (request.inside !== undefined) this.#inside.enter(item, request);
    else if (this.#attempts.reuse(item, request)) return;
    else
      this.#run.watch(inDoubt ? this.#attempts.reconcile(item, request) : this.#attempts.try(item, request));
  }

  /** Waits for what only the world can bring. */
  #await(item: PendingRequest): void {
    const { asked } = item;
    if (asked.fact.type !== "timer-set") {
      this.#wait(item, asked);
      return;
    }
    const { turns, services, answers } = this.#run;
    const left = Date.parse(dueOf(asked.fact)) - services.now();
    const fire = (): void => {
      if (item.isDone) return;
      this.#chain.append(item, { type: "timer-fire", of: asked.id });
      this.#scope.made(this.#chain.tip);
      this.#goOn();
    };
    if (left <= services.patience) item.release = turns.later(Math.max(0, left), fire);
    else answers.wait(asked.id);
  }

  #wait(item: PendingRequest, asked: Session): void {
    this.#run.answers.wait(asked.id, (answer) => this.#answered(item, asked, answer));
  }

  /** Somebody answered: the answer hangs from the request, and the chain takes it in. */
  #answered(item: PendingRequest, asked: Session, line: Answer): boolean {
    // The answer to a withdrawn question is kept where the run ends.
    if (item.isDone || (asked !== item.asked && !item.consent.open.includes(asked))) return false;
    const answer = sessionOf(line, asked, this.#chain.realm);
    this.#chain.takeIn(item, asked, answer);
    item.advance({ type: "let-go" });
    if (item.isDone) this.#scope.made(this.#chain.tip);
    const { request } = item;
    const { fact } = answer;
    if ("effect" in request) {
      if (fact.type === "effect-settle") {
        if (item.begun !== undefined) {
          item.advance({ type: "begin" });
          this.#wait(item, item.asked);
          return true;
        }
        this.#attempts.settledBy(item, request, fact);
      } else if (request.inside === undefined) {
        this.#approval.hear(item);
        return true;
      }
    }
    this.#goOn();
    return true;
  }

  /** The scope is cancelled: what can be given up is given up, a write under way is only asked to stop. */
  cancel(why: string): void {
    if (this.#run.tape.adopting) return;
    const error = new CancelledError(why);
    for (const item of this.#items) {
      if (item.isDone) continue;
      item.controller?.abort(error);
      // What runs inside is cancelled through its own scope and comes back; a write must be waited for; of one that has been in
      // doubt since before, only a person can say what became of it.
      if (item.child !== undefined || item.begun !== undefined) continue;
      item.turn += 1;
      // An effect that ignores its signal must not keep the run from coming to rest.
      item.release?.();
      this.#run.turns.soon(() => this.#giveUp(item, why, error));
    }
  }

  #giveUp(item: PendingRequest, why: string, error: CancelledError): void {
    if (item.isDone) return;
    const { request } = item;
    for (const waiting of "effect" in request ? item.consent.open : [item.asked])
      this.#chain.drop(item, waiting, why);
    if (item.isDone) this.#scope.made(this.#chain.tip);
    if ("effect" in request) this.#chain.end(item, request.failed(failureOf(error), undefined));
    this.#goOn();
  }

  #finish(): void {
    if (this.#items.some((item) => !item.isDone)) return;
    this.#scope.remove(this);
    this.#run.ended(this);
    const why = this.#scope.cancelled;
    if (why === undefined) this.#resolve(this.#chain.tip);
    else this.#reject(new CancelledError(why));
  }
}
