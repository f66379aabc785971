import type { Fact, FactOf, Failure, Json } from "../../session/index.js";
import { failureOf } from "../error.js";
import type { Wanted } from "../policy/index.js";
import type { Secrets } from "../secrets.js";
import type { Standing } from "./consent.js";
import type { PendingRequest } from "./pending-request.js";
import type { Outcome, Request } from "./request.js";

/** What a person must see and agree to: because the request wants it, or because a policy does. */
export function shownForApproval(
  { asked, state }: PendingRequest,
  request: Request,
  secrets: Secrets,
): Json | undefined {
  const { verdict, edited } = state;
  const { approval } = request;
  if (approval !== undefined) return secrets.conceal(approval.what).value;
  if (verdict?.verdict !== "ask") return undefined;
  if (request.shown !== undefined) return secrets.conceal(request.shown).value;
  // As it is on the record: without the values of secrets.
  const { type, name, model } = asked.fact as Fact & { name?: string; model?: string };
  const { input = null } = (edited ? secrets.conceal(request.fact).value : asked.fact) as { input?: Json };
  const kind = type === "tool-call" ? "tool" : type === "step-call" ? "step" : "model";
  return { [kind]: name ?? model ?? "", input };
}

/** Whose agreement it takes: what the rules want, and the request itself. Somebody's, if nobody says whose. */
export function requiredApprovals({ state }: PendingRequest, { approval }: Request): readonly Wanted[] {
  const { verdict } = state;
  const asked = verdict?.verdict === "ask";
  const wanted = asked ? (verdict.approvals as readonly Wanted[] | undefined) : [];
  const { terms = {} } = approval ?? {};
  const own = Object.keys(terms).length === 0 ? [] : [{ rule: "", ...terms }];
  const all = [...(wanted ?? []), ...own];
  const why = asked && verdict.why !== undefined ? { why: verdict.why } : {};
  return all.length > 0 ? all : [{ rule: "", ...why }];
}

export const AGREED: Standing = { state: "agreed" };

export const NOT_ANSWERED: Failure = {
  name: "NotAnswered",
  message: "This was not done: nobody agreed to it in time.",
  code: "approval-expired",
};

export async function editedTo(request: Request, input: Json): Promise<Request | Failure> {
  const fixed = request.edit === undefined || request.inside !== undefined;
  if (fixed) return { name: "EditError", message: "its arguments cannot be changed" };
  try {
    return await (request.edit as NonNullable<Request["edit"]>)(input);
  } catch (error) {
    return failureOf(error);
  }
}

/** What comes of a request that somebody dealt with in its place. */
export function takenOver({ fact }: Request, { by, value = null }: FactOf<"approval-give">): Outcome {
  if (fact.type === "tool-call") return { type: "tool-result", output: value, by };
  if (fact.type === "step-call") return { type: "step-result", value, by };
  const content = typeof value === "string" ? value : JSON.stringify(value);
  const { agent } = fact as { readonly agent?: string };
  return {
    type: "model-reply",
    content,
    finish: "stop",
    usage: { input: 0, output: 0 },
    ...(agent !== undefined && { agent }),
    by,
  };
}

export function denied({ rules, why }: FactOf<"policy-decide">): Failure {
  const by = rules.length === 0 ? "the policy" : `the policy (${rules.join(", ")})`;
  return {
    name: "PolicyDenied",
    message: `This was not done: ${by} forbids it${why === undefined ? "." : `: ${why}`}`,
    code: "policy-denied",
    data: { rules },
  };
}

export function refused(fact: Fact): Failure {
  if (fact.type === "approval-give" && fact.decision === "reject")
    return { name: "Rejected", message: fact.why ?? `${fact.by} said no`, code: "rejected" };
  return {
    name: "ApprovalMismatch",
    message: "the approval is for something else than this call",
    code: "approval-mismatch",
  };
}
