import { type Draft, drafted, dueOf, parentsOf, type Session } from "../../session/index.js";
import { CancelledError, failureOf } from "../error.js";
import { type Answer, sessionOf } from "../run/answers.js";
import type { Run } from "../run/run.js";
import type { Scope } from "../run/scope.js";
import type { Entry } from "../tape/tape.js";
import { editRequest, isAgreed, isLetPass, wasLetIn } from "./approval.js";
import { isInDoubt, reconcile, reuseOutcome, settleDoubt, tryEffect } from "./attempt.js";
import { Chain } from "./chain.js";
import { EVIDENCE } from "./evidence.js";
import { enterModule, returnModule } from "./inside.js";
import { PendingRequest, type Wait } from "./pending-request.js";
import type { Request } from "./request.js";

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
const LETTING: ReadonlySet<string> = new Set(["answer-take", "approval-use", "wait-cancel", "policy-decide"]);

/**
 * Requests that are dealt with side by side on one chain of facts: first all requests, then what happens to them as it
 * happens. The chain is the runtime's own until the last outcome is there; then it is handed back.
 */
export class RequestBatch {
  readonly run: Run;
  readonly scope: Scope;
  readonly chain: Chain;
  readonly items: readonly PendingRequest[];
  readonly result: Promise<Session>;
  #resolve!: (session: Session) => void;
  #reject!: (error: unknown) => void;

  constructor(run: Run, scope: Scope, session: Session, requests: readonly (Request | Wait)[]) {
    this.run = run;
    this.scope = scope;
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // All of them or none: a request that nobody deals with would stay pending.
    const drafts = requests.map(({ fact }) => drafted(run.secrets.conceal(fact).value, scope.actor));
    this.chain = new Chain(run, scope, session);
    this.items = requests.map(
      (request, place) => new PendingRequest(this, request, this.chain.ask(drafts[place] as Draft)),
    );
    for (const { effect } of this.items) if (effect?.spend) scope.ledger?.reserve(effect.spend);
    scope.add(this);
  }

  /** Whether a module inside is back and not joined yet. Where one that failed has come to may still change. */
  get unsettled(): boolean {
    return this.items.some((item) => !item.isDone && item.settledChild !== undefined);
  }

  /** The requests that nothing has answered, for those who ask where a run stands. */
  get frontier(): readonly Session[] {
    return this.items
      .filter((item) => !item.isDone)
      .flatMap((item) => (item.consent.open.length > 0 ? item.consent.open : [item.asked]));
  }

  // -- on a tape

  /**
   * The next recorded fact of this batch that may wake somebody, if it can be told now. Adopts the facts of the runtime that
   * come before it.
   */
  recorded(): Entry | undefined {
    for (;;) {
      const entry = this.chain.recorded((one) => this.#fits(one));
      if (entry === undefined) return undefined;
      const item = this.#itemOf(entry);
      if (this.#wakes(entry, item)) {
        // A module that is not back yet: what it still has to do was recorded before this.
        const away = item?.child !== undefined && item.settledChild === undefined;
        return away && OUTCOMES.has(entry.type) ? undefined : entry;
      }
      this.chain.adopt(entry, item);
    }
  }

  /** Whether it joins what is joined now: a module that came back with something else has another outcome. */
  #fits(entry: Entry): boolean {
    // Evidence joins nothing, and the fact that let a module in was there before it.
    if (EVIDENCE.has(entry.type) || LETTING.has(entry.type)) return true;
    const head = this.#itemOf(entry)?.settledChild;
    return head === undefined || parentsOf(entry.line)[1] === head.id;
  }

  #wakes(entry: Entry, item: PendingRequest | undefined): boolean {
    if (OUTCOMES.has(entry.type)) return true;
    if (!LETTING.has(entry.type) || item === undefined) return false;
    // The fact that lets a module in: the module then begins at that time and not before.
    return item.effect === undefined ? entry.type !== "policy-decide" : item.effect.inside !== undefined;
  }

  #itemOf({ of }: Entry): PendingRequest | undefined {
    return this.items.find((item) => item.asked.id === of || item.consent.get(of) !== undefined);
  }

  deliver(entry: Entry): void {
    const item = this.#itemOf(entry);
    this.chain.adopt(entry, item);
    if (item?.isDone === true) this.scope.made(this.chain.tip);
    this.goOn();
  }

  /** The tape has ended: what was parked begins. */
  goLive(): void {
    for (const item of this.items) {
      item.advance({ type: "cut-off" });
      if (!item.isDone && item.settledChild !== undefined) returnModule(item);
    }
    const { cancelled } = this.scope;
    if (cancelled === undefined) {
      this.start();
      return;
    }
    this.cancel(cancelled);
    // A request in doubt stays in doubt, cancelled or not.
    for (const item of this.items) if (item.begun !== undefined && !item.state.held) this.#begin(item);
  }

  // -- live

  /** Begins what can be begun now, and hands the chain back when everything is done. */
  goOn(): void {
    this.start();
    if (this.items.some((item) => !item.isDone)) return;
    this.scope.remove(this);
    this.run.ended(this);
    const why = this.scope.cancelled;
    if (why === undefined) this.#resolve(this.chain.tip);
    else this.#reject(new CancelledError(why));
  }

  /** Begins every request that nothing stands in the way of. */
  start(): void {
    try {
      for (const item of this.items) {
        const { at, held } = item.state;
        // Requests that have not begun when the scope is cancelled are given up, each in its turn.
        if (at === "done" || at === "inside" || held || this.scope.cancelled !== undefined) continue;
        if (this.#isBlocked(item)) continue;
        if (!this.run.tape.adopting) this.#begin(item);
        else if (item.effect?.inside !== undefined && wasLetIn(item, item.effect))
          enterModule(item, item.effect);
      }
    } catch (error) {
      // A question about the session that cannot be answered: the request would stay pending.
      this.run.fail(error);
    }
  }

  /** Whether an earlier request that is not done has a conflict key in common with this one. */
  #isBlocked(item: PendingRequest): boolean {
    const { conflicts: keys = [] } = item.request as Request;
    if (keys.length === 0) return false;
    for (const earlier of this.items) {
      if (earlier === item) return false;
      if (!earlier.isDone && earlier.effect?.conflicts?.some((key) => keys.includes(key))) return true;
    }
    return false;
  }

  #begin(item: PendingRequest): void {
    const { effect } = item;
    item.advance({ type: "begin" });
    if (effect === undefined) {
      this.#await(item);
      return;
    }
    const { at, edited } = item.state;
    if (at === "editing") return;
    if (item.consent.edit !== undefined && !edited) {
      editRequest(item, effect);
      return;
    }
    // Nobody is asked about a request in doubt before its outcome is known.
    const inDoubt = isInDoubt(item, effect);
    if (!isLetPass(item, effect) || (!inDoubt && !isAgreed(item, effect))) return;
    if (effect.inside !== undefined) enterModule(item, effect);
    else if (!reuseOutcome(item, effect))
      this.run.watch(inDoubt ? reconcile(item, effect) : tryEffect(item, effect));
  }

  #await(item: PendingRequest): void {
    const { asked } = item;
    const { turns, services, answers } = this.run;
    if (asked.fact.type !== "timer-set") {
      item.wait();
      return;
    }
    const left = Date.parse(dueOf(asked.fact)) - services.now();
    const fire = (): void => {
      if (item.isDone) return;
      item.append({ type: "timer-fire", of: asked.id });
      this.scope.made(this.chain.tip);
      this.goOn();
    };
    if (left <= services.patience) item.release = turns.later(Math.max(0, left), fire);
    else answers.wait(asked.id);
  }

  /** Somebody answered: the answer hangs from the request, and the chain takes it in. */
  answered(item: PendingRequest, asked: Session, line: Answer): boolean {
    // The answer to a withdrawn question is kept where the run ends.
    if (item.isDone || (asked !== item.asked && !item.consent.open.includes(asked))) return false;
    const answer = sessionOf(line, asked, this.chain.realm);
    this.chain.takeIn(item, asked, answer);
    item.advance({ type: "let-go" });
    if (item.isDone) this.scope.made(this.chain.tip);
    const { effect } = item;
    const { fact } = answer;
    if (effect !== undefined && fact.type === "effect-settle") {
      if (item.begun !== undefined) {
        item.advance({ type: "begin" });
        item.wait();
      } else settleDoubt(item, effect, fact);
    } else if (effect === undefined || effect.inside !== undefined) this.goOn();
    else item.hear();
    return true;
  }

  /** The scope is cancelled: what can be given up is given up, a write under way is only asked to stop. */
  cancel(why: string): void {
    if (this.run.tape.adopting) return;
    const error = new CancelledError(why);
    for (const item of this.items) {
      if (item.isDone) continue;
      item.controller?.abort(error);
      // A module inside is cancelled through its own scope and comes back; a write must be waited for; of one that has been in
      // doubt since before, only a person can say what became of it.
      if (item.child !== undefined || item.begun !== undefined) continue;
      item.turn += 1;
      // An effect that ignores its signal must not keep the run from coming to rest.
      item.release?.();
      item.soon(() => this.#giveUp(item, why, error));
    }
  }

  #giveUp(item: PendingRequest, why: string, error: CancelledError): void {
    const { effect } = item;
    for (const waiting of effect === undefined ? [item.asked] : item.consent.open) item.drop(waiting, why);
    if (effect !== undefined) {
      item.end(effect.failed(failureOf(error), undefined));
      return;
    }
    if (item.isDone) this.scope.made(this.chain.tip);
    this.goOn();
  }
}
