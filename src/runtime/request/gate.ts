import {
  type Effect,
  type FactInput,
  type Json,
  type Principal,
  type Session,
  termsFault,
  thrownMessage,
} from "../../session/index.js";
import {
  type Action,
  delegationOf,
  type Policy,
  type PolicyDecision,
  strictestOf,
  type Touches,
  untrustedIn,
  type Wanted,
} from "../policy/index.js";
import type { Request } from "./request.js";

/** The decision of the policies about a request, as it is recorded. */
export type Ruling = Omit<
  Extract<FactInput, { readonly type: "policy-decide" }>,
  "type" | "of" | "by" | "at"
>;

/** Whether a policy has anything to say about such requests. */
export function isRuled(policies: readonly Policy[], { fact }: Request): boolean {
  const kind = KINDS[fact.type];
  return kind !== undefined && policies.some((policy) => isCovered(policy, kind));
}

/**
 * Asks all policies; the strictest verdict counts. undefined where no policy has anything to say about such requests.
 *
 * @param editor who put other arguments in place of those that were asked for
 */
export function rulingOn(
  policies: readonly Policy[],
  request: Request,
  asked: Session,
  editor?: Principal,
): Ruling | undefined {
  const kind = KINDS[request.fact.type];
  if (kind === undefined || request.asks === true) return undefined;
  const those = policies.filter((policy) => isCovered(policy, kind));
  if (those.length === 0) return undefined;
  const action = actionOf(kind, request, asked, editor);
  const decisions = those.map((policy) => decidedBy(policy, action));
  const verdict = strictestOf(decisions.map((decision) => decision.verdict));
  const makers = decisions.filter((decision) => decision.verdict === verdict);
  const why = makers.flatMap((decision) => decision.why ?? []).join("; ");
  const labels = untrustedIn(asked);
  const approvals = verdict === "ask" ? wantedBy(those, decisions) : [];
  return {
    verdict,
    policies: those.map(({ name, version }) => ({ name, version })),
    rules: makers.flatMap(({ rules }) => rules),
    ...(action.for.length > 0 && { for: action.for }),
    ...(approvals.length > 0 && { approvals }),
    ...(labels.length > 0 && { labels }),
    ...(why !== "" && { why }),
  };
}

/** The approvals that all asking policies want, each under a name of its own: two policies may have rules of one name. */
function wantedBy(policies: readonly Policy[], decisions: readonly PolicyDecision[]): readonly Wanted[] {
  const taken = new Set([""]);
  return decisions.flatMap(({ verdict, approvals = [], why }, place) =>
    verdict !== "ask"
      ? []
      : approvals.map((one) => {
          const name = `${policies[place]?.name}/${one.rule}`;
          let rule = name;
          for (let count = 2; taken.has(rule); count++) rule = `${name} (${count})`;
          taken.add(rule);
          return { ...one, rule, ...(one.why === undefined && why !== undefined && { why }) };
        }),
  );
}

const VERDICTS: ReadonlySet<unknown> = new Set(["allow", "ask", "deny"]);

function isCovered(policy: Policy, kind: Action["kind"]): boolean {
  try {
    return policy.covers(kind) !== false;
  } catch {
    return true;
  }
}

/** A policy of somebody else's may throw, or say something else: then nothing passes. */
function decidedBy(policy: Policy, action: Action): PolicyDecision {
  try {
    const decision = policy.decide(action);
    if (!VERDICTS.has(decision?.verdict) || !Array.isArray(decision.rules))
      throw new TypeError("it gave no verdict");
    for (const wanted of decision.approvals ?? []) {
      const { rule, why: _, ...terms } = wanted;
      const fault = typeof rule === "string" ? termsFault(terms) : { reason: "an approval names no rule" };
      if (fault !== undefined) throw new TypeError(fault.reason);
    }
    return decision;
  } catch (error) {
    const reason = thrownMessage(error);
    return { verdict: "deny", rules: [], why: `the policy ${policy.name} could not tell: ${reason}` };
  }
}

const KINDS: { readonly [type: string]: Action["kind"] } = {
  "tool-call": "tool",
  "step-call": "step",
  "model-call": "model",
};

function actionOf(
  kind: Action["kind"],
  { fact, effect: said, presumed, touches, reversible, schema }: Request,
  asked: Session,
  editor: Principal | undefined,
): Action {
  const effect: Effect = presumed ?? said;
  const { name, model, input } = fact as {
    readonly name?: string;
    readonly model?: string;
    readonly input?: Json;
  };
  return {
    kind,
    name: (kind === "model" ? model : name) ?? "",
    by: asked.fact.by as Principal,
    for: delegationOf(asked),
    effect,
    reversible: reversible ?? (effect === "pure" || effect === "read"),
    input: input ?? null,
    touches: touches as Touches | undefined,
    session: asked,
    ...(editor !== undefined && { editor }),
    ...(schema !== undefined && { schema }),
  };
}
