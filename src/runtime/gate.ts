import {
  type Deed,
  type Policy,
  type PolicyDecision,
  strictestOf,
  type Touches,
  untrustedIn,
} from "../policy/index.js";
import type { Effect, FactInput, Json, Principal, Session } from "../session/index.js";
import type { Request } from "./request.js";

/** What the policies that hold in a place decide about a request, as it goes on the record. */
export type Ruling = Omit<
  Extract<FactInput, { readonly type: "policy-decide" }>,
  "type" | "of" | "by" | "at"
>;

/**
 * Asks all policies; the strictest verdict counts. undefined where there are none, or none has anything to say about such
 * requests. A module that runs inside is let in: each of its own deeds is decided for itself.
 */
export function rulingOn(policies: readonly Policy[], request: Request, asked: Session): Ruling | undefined {
  const deed = request.inside === undefined ? deedOf(request, asked) : undefined;
  const those = deed === undefined ? [] : policies.filter((policy) => isCovered(policy, deed.kind));
  if (deed === undefined || those.length === 0) return undefined;
  const decisions = those.map((policy) => decidedBy(policy, deed));
  const verdict = strictestOf(decisions.map((decision) => decision.verdict));
  const makers = decisions.filter((decision) => decision.verdict === verdict);
  const why = makers.flatMap((decision) => decision.why ?? []).join("; ");
  const labels = untrustedIn(asked);
  return {
    verdict,
    policies: those.map(({ name, version }) => ({ name, version })),
    rules: makers.flatMap(({ rules }) => rules),
    ...(labels.length > 0 && { labels }),
    ...(why !== "" && { why }),
  };
}

const VERDICTS: ReadonlySet<unknown> = new Set(["allow", "ask", "deny"]);

function isCovered(policy: Policy, kind: Deed["kind"]): boolean {
  try {
    return policy.covers(kind) !== false;
  } catch {
    return true;
  }
}

/** A policy of somebody else's may throw, or say something else: then nothing passes. */
function decidedBy(policy: Policy, deed: Deed): PolicyDecision {
  try {
    const decision = policy.decide(deed);
    if (!VERDICTS.has(decision?.verdict) || !Array.isArray(decision.rules))
      throw new TypeError("it gave no verdict");
    return decision;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { verdict: "deny", rules: [], why: `the policy ${policy.name} could not tell: ${reason}` };
  }
}

const KINDS: { readonly [type: string]: Deed["kind"] } = {
  "tool-call": "tool",
  "step-call": "step",
  "model-call": "model",
};

function deedOf({ fact, effect, touches, reversible }: Request, asked: Session): Deed | undefined {
  const kind = KINDS[fact.type];
  if (kind === undefined) return undefined;
  const said = fact as { readonly name?: string; readonly model?: string; readonly input?: Json };
  return {
    kind,
    name: (kind === "model" ? said.model : said.name) ?? "",
    by: asked.fact.by as Principal,
    effect: effect as Effect,
    reversible: reversible ?? (effect === "pure" || effect === "read"),
    input: said.input ?? null,
    touches: touches as Touches | undefined,
    session: asked,
  };
}
