import { drafted, type FactOf, Session } from "../../session/index.js";
import { BudgetError, UnpricedModelError } from "../error.js";
import type { Wait } from "../request/pending-request.js";
import type { Budget, Request, Spend } from "../request/request.js";
import type { Scope } from "./scope.js";

/** The limit that the next call would exceed. */
type Excess = Pick<FactOf<"budget-stop">, "limit" | "allowed" | "spent" | "asked">;

/** A stretch of time, in milliseconds since 1970. */
export type Stretch = { readonly from: number; readonly to: number };

const KINDS = ["steps", "tokens", "money"] as const;
/** Three times 0.1 is a little more than 0.3, and must still fit. */
const ROUNDING = 1e-9;

/**
 * The limits of a scope, and its costs so far. Calls under way count with what they will cost at least, so branches that run
 * side by side share one budget exactly. A call must fit into every budget around it.
 */
export class Ledger {
  readonly limits: Budget;
  readonly #outer: Ledger | undefined;
  readonly #spent = { steps: 0, tokens: 0, money: 0 };
  readonly #reserved = { steps: 0, tokens: 0, money: 0 };
  #since = 0;
  /** When somebody waited for people, timers and signals: that time is nobody's. Apart from each other, in order. */
  readonly #idle: Stretch[] = [];
  #gaps: readonly Stretch[] = [];

  constructor(limits: Budget, outer: Ledger | undefined) {
    this.limits = limits;
    this.#outer = outer;
  }

  /**
   * Time counts from when the record says that its scope began. Between the end of a run and the beginning of a what-if of
   * it there is a gap: that is nobody's time either.
   */
  begin(at: string, gaps: readonly Stretch[]): void {
    this.#since = Date.parse(at);
    this.#gaps = gaps;
  }

  /** Whether a call still fits, here and in all budgets around. */
  excess(spend: Spend, now: number): Excess | undefined {
    for (const kind of KINDS) {
      const allowed = this.limits[kind];
      const asked = spend[kind] ?? 0;
      const spent = this.#spent[kind] + this.#reserved[kind];
      if (allowed !== undefined && asked > 0 && spent + asked > allowed * (1 + ROUNDING))
        return { limit: kind, allowed, spent, asked };
    }
    const { milliseconds } = this.limits;
    const passed = milliseconds === undefined ? 0 : now - this.#since - this.#idled();
    if (milliseconds !== undefined && passed >= milliseconds)
      return { limit: "milliseconds", allowed: milliseconds, spent: passed, asked: 1 };
    return this.#outer?.excess(spend, now);
  }

  /** The nearest limit of money, here or in a budget around. */
  get money(): number | undefined {
    return this.limits.money ?? this.#outer?.money;
  }

  /** Milliseconds until the time is spent, here or in a budget around. */
  left(now: number): number {
    const { milliseconds = Number.POSITIVE_INFINITY } = this.limits;
    const left = milliseconds - (now - this.#since - this.#idled());
    return Math.min(left, this.#outer?.left(now) ?? Number.POSITIVE_INFINITY);
  }

  reserve(spend: Spend): void {
    for (const kind of KINDS) this.#reserved[kind] += spend[kind] ?? 0;
    this.#outer?.reserve(spend);
  }

  /** The call is over: what it was thought to cost goes, what it did cost stays. */
  settle(spend: Spend, actual: Spend): void {
    for (const kind of KINDS) {
      this.#reserved[kind] -= spend[kind] ?? 0;
      this.#spent[kind] += actual[kind] ?? 0;
    }
    this.#outer?.settle(spend, actual);
  }

  /** Somebody waited. Branches that wait at the same time do not get the time twice. */
  pause(from: number, to: number): void {
    let start = from;
    for (let last = this.#idle.at(-1); last !== undefined && last.to >= start; last = this.#idle.at(-1)) {
      start = Math.min(start, last.from);
      this.#idle.pop();
    }
    this.#idle.push({ from: start, to: Math.max(start, to) });
    this.#outer?.pause(from, to);
  }

  /** A wait may have begun before the scope did, and may span a gap. */
  #idled(): number {
    let sum = 0;
    for (const gap of this.#gaps) sum += lengthOf(gap, this.#since);
    for (const idle of this.#idle) {
      sum += lengthOf(idle, this.#since);
      for (const gap of this.#gaps)
        sum -= lengthOf({ from: Math.max(idle.from, gap.from), to: Math.min(idle.to, gap.to) }, this.#since);
    }
    return sum;
  }
}

function lengthOf({ from, to }: Stretch, since: number): number {
  return Math.max(0, to - Math.max(from, since));
}

/** The actual cost of a call, from its outcome. */
export function spentOn(spend: Spend, outcome: { readonly type: string } | undefined): Spend {
  if (outcome?.type !== "model-reply") return { steps: spend.steps ?? 0 };
  const { usage, cost } = outcome as FactOf<"model-reply">;
  return { steps: spend.steps ?? 0, tokens: usage.input + usage.output, money: cost ?? 0 };
}

/** Throws before a call that would exceed a budget. A recorded decision is not made again. */
export function requireBudgetLeft(
  scope: Scope,
  session: Session,
  requests: readonly (Request | Wait)[],
): void {
  const { ledger, run } = scope;
  if (ledger === undefined) return;
  const spend = { steps: 0, tokens: 0, money: 0 };
  for (const request of requests)
    if ("spend" in request) for (const kind of KINDS) spend[kind] += request.spend?.[kind] ?? 0;
  const realm = Session.realmOf(session);
  if (run.tape.adopting) {
    const [first] = requests as readonly [Request];
    const asked = run.tape.twin([session], drafted(first.fact, scope.actor), realm);
    const recorded = run.tape.typed(session, "budget-stop");
    // Of two that asked on one session, time may have run out in between.
    if (recorded !== undefined && recorded.seq < (asked?.seq ?? Number.POSITIVE_INFINITY)) {
      const stopped = run.recorder.adopt(recorded, [session], realm);
      scope.made(stopped);
      throw new BudgetError(stopped, stopped.fact as FactOf<"budget-stop">);
    }
    if (asked !== undefined) return;
  }
  // A call that nobody can count would never be stopped.
  for (const request of ledger.money === undefined ? [] : requests)
    if (request.fact.type === "model-call" && "spend" in request && request.spend?.money === undefined)
      throw new UnpricedModelError(String(request.fact.model), ledger.money as number);
  const excess = ledger.excess(spend, run.services.now());
  if (excess === undefined) return;
  throw new BudgetError(scope.next([session], drafted({ type: "budget-stop", ...excess }), realm), excess);
}
