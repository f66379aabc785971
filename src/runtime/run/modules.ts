import { drafted, type FactInput, readableError, requireSession, Session } from "../../session/index.js";
import { CancelledError, DescentError, failureOf } from "../error.js";
import type { Module } from "../module.js";
import { Ledger } from "./budget.js";
import type { Limits } from "./options.js";
import { Scope } from "./scope.js";

/** Modules inside each other before the stack is left. */
const DEEP = 100;

/** A module inside a run, between its `module-enter` and its `module-exit`. */
export async function bracketed(
  scope: Scope,
  module: Module,
  session: Session,
  body: (session: Session) => Promise<Session>,
  limits: Limits,
): Promise<Session> {
  const { run } = scope;
  if (scope.cancelled !== undefined) throw new CancelledError(scope.cancelled);
  const realm = Session.realmOf(session);
  const ledger = ledgerOf(limits, scope);
  const inner = new Scope(run, scope, { ledger, policy: limits.policy, module, given: session });
  let entered = inner.next(
    [session],
    drafted({ type: "module-enter", module: module.name }),
    inner.realm(realm),
  );
  const bracket = entered.id;
  ledger?.begin(entered.fact.at, run.beginning.gaps);
  for (const fact of limitFacts(module, limits)) entered = entered.append(fact);
  try {
    // Modules call each other on the stack. A fresh one every so often, always at the same depth, so that the
    // depth does not depend on the machine, and a replay goes as deep.
    if (inner.depth % DEEP === 0) await undefined;
    const result = requireSession(await body(entered), "go on");
    if (!result.descendsFrom(entered)) throw new DescentError(module.name, entered.id, result.id);
    return scope.next([result], drafted({ type: "module-exit", of: bracket }), realm);
  } catch (thrown) {
    const error = readableError(thrown);
    if (run.hasSettled) throw error;
    const exit = scope.next(
      [inner.last ?? entered],
      drafted({ type: "module-exit", of: bracket, error: run.secrets.conceal(failureOf(error)).value }),
      realm,
    );
    // A caller that catches it can keep the evidence.
    if (typeof error === "object" && error !== null) sessions.set(error, exit);
    throw error;
  } finally {
    inner.leave();
  }
}

/** The session with the outermost module's own budget and policy: that module is bracketed by the run itself. */
export function limited(root: Scope, module: Module, session: Session, limits: Limits): Session {
  const [first, ...others] = limitFacts(module, limits);
  if (first === undefined) return session;
  const ledger = ledgerOf(limits, root);
  ledger?.begin(session.fact.at, root.run.beginning.gaps);
  const scope = new Scope(root.run, root, { ledger, policy: limits.policy });
  const start = scope.next([session], drafted(first), scope.realm(Session.realmOf(session)));
  return others.reduce((last, fact) => last.append(fact), start);
}

function ledgerOf({ budget }: Limits, outer: Scope): Ledger | undefined {
  return budget && new Ledger(budget, outer.ledger);
}

/** The same session in a scope of its own, which can be cancelled alone. */
export function laneOf(session: Session) {
  const realm = Session.realmOf(session);
  const outer = realm.host as Scope;
  const scope = new Scope(outer.run, outer);
  const inside = Session.moved(session, scope.realm(realm));
  outer.run.recorder.replace(session, inside);
  return {
    session: inside,
    /** The newest session that was made in it. */
    rest: () => scope.last ?? inside,
    cancel: (why: string) => scope.cancel(why),
    leave: () => scope.leave(),
  };
}

function limitFacts({ name }: Module, { budget, policy }: Limits): readonly FactInput[] {
  const facts: FactInput[] = [];
  if (budget !== undefined) facts.push({ type: "budget-set", limits: { ...budget }, by: "runtime" });
  if (policy !== undefined)
    facts.push({ type: "policy-set", module: name, policy: policy.name, version: policy.version });
  return facts;
}

const sessions = new WeakMap<object, Session>();

/** The session at which the body of a module failed with this error: its evidence up to there. */
export function failedAt(error: unknown): Session | undefined {
  return typeof error === "object" && error !== null ? sessions.get(error) : undefined;
}
