import {
  adopted,
  asJson,
  canonical,
  type Digest,
  digestOf,
  type FactId,
  type FactOf,
  keepInSnapshots,
  mayAgree,
  type Principal,
  type Session,
  savedAsJson,
  type View,
} from "../../session/index.js";
import { defined } from "../../util/index.js";
import { delegationOf } from "./delegation.js";

/** Which later calls of a session a standing approval covers: the same call again, or any call of the same tool. */
export type Always = "arguments" | "tool";

/** A standing approval that a session has in its past, with everything that a call must have in common with the approved one. */
export type StandingApproval = {
  /** The `approval-give` that gave it. */
  readonly id: FactId;
  readonly by: Principal;
  readonly always: Always;
  /** The digest of what was shown. */
  readonly digest: Digest;
  readonly rule: string;
  /** The caller, the people it acts for, and the tool with its source and effect, as a digest. */
  readonly caller: Digest;
  /** The rules that asked, in the version of their policies, as a digest. */
  readonly ground: Digest;
  /** The deadline of the question that it answered: it lapses then. */
  readonly expires?: string;
};

/** A call that may rely on a standing approval, as far as one rule is concerned. */
export type Covered = Pick<StandingApproval, "digest" | "rule" | "caller" | "ground">;

/** Whether a standing approval covers a call at a time, for one rule. Whether it was revoked is for the store to say. */
export function isCoveredBy(standing: StandingApproval, call: Covered, at: number): boolean {
  const { always, digest, rule, caller, ground, expires } = standing;
  return (
    rule === call.rule &&
    caller === call.caller &&
    ground === call.ground &&
    (always === "tool" || digest === call.digest) &&
    (expires === undefined || at < Date.parse(expires))
  );
}

/** Calls that may be covered: a question of a program, or of a model, is asked each time. */
export function callerOf(asked: Session): Digest | undefined {
  const { fact } = asked;
  if (fact.type !== "tool-call" && fact.type !== "step-call") return undefined;
  const { type, by, name, effect, source } = fact as FactOf<"tool-call">;
  const who = { type, by, name, for: delegationOf(asked), ...defined({ effect, source }) };
  return digestOf(canonical(asJson(who)));
}

/** The rule that asks for the agreement, as a digest: a rule with terms by its name; else the request itself, and the rules that ask without terms. */
export function groundOf(rule: string, verdict: FactOf<"policy-decide"> | undefined): Digest {
  const { policies = [], rules = [] } = verdict?.verdict === "ask" ? verdict : {};
  const ground = { rule, policies, rules: rule === "" ? [...rules].sort() : [] };
  return digestOf(canonical(asJson(ground)));
}

/** The standing approvals in the past of a session. A fork has those that were given before it, a merge those of what it adopts. */
export function standingIn(session: Session): readonly StandingApproval[] {
  return session.view(standingView);
}

const NONE: readonly StandingApproval[] = Object.freeze([]);

const standingView: View<readonly StandingApproval[]> = keepInSnapshots<readonly StandingApproval[]>({
  name: "standing",
  start: NONE,
  step(known, fact, session) {
    if (fact.type === "answer-take") {
      const given = givenBy(session);
      return given === undefined ? known : unite([known, [given]]);
    }
    // A module that worked as a tool: what was given for its calls holds for it the next time too.
    if (fact.type !== "tool-result" && fact.type !== "step-result") return known;
    const inside = session.parents.slice(1).map((child) => child.view(standingView));
    return inside.length === 0 ? known : unite([known, ...inside]);
  },
  merge(sides, merge) {
    const side = adopted(merge);
    return side === undefined ? unite(sides) : (sides[side] as readonly StandingApproval[]);
  },
  ...savedAsJson<readonly StandingApproval[]>(),
});

/**
 * The standing approval in an answer that a run has taken in. The answer must hang from the question, and the question must be
 * about a call: nothing that a body appends looks like that.
 */
function givenBy({ parents: [, answer] }: Session): StandingApproval | undefined {
  const give = answer?.fact;
  if (answer === undefined || give?.type !== "approval-give" || give.decision !== "approve") return undefined;
  const { always, by, digest, edit } = give;
  const question = answer.soleParent;
  const ask = question?.fact;
  if (question === undefined || ask?.type !== "approval-ask" || question.id !== give.of) return undefined;
  if (!isAlways(always) || edit !== undefined || digest !== ask.digest || !mayStand(ask)) return undefined;
  const { call, verdict } = callOf(question, ask.of as FactId);
  const caller = call === undefined ? undefined : callerOf(call);
  if (caller === undefined || call?.fact.by === by || !mayAgree(ask, by)) return undefined;
  const { rule = "", expires } = ask;
  const ground = groundOf(rule, verdict);
  return Object.freeze({ id: answer.id, by, always, digest, rule, caller, ground, ...defined({ expires }) });
}

export function isAlways(always: unknown): always is Always {
  return always === "arguments" || always === "tool";
}

/** Whether an approval of this may stand: it is about a call, as it was asked for, and about its first execution. */
export function mayStand({ of, name, answer, execution, edited }: FactOf<"approval-ask">): boolean {
  return (
    of !== undefined &&
    name === undefined &&
    answer === undefined &&
    execution === undefined &&
    edited === undefined
  );
}

/** The call that a question is about, and what the policies last said of it before the question. */
function callOf(
  question: Session,
  of: FactId,
): { readonly call: Session | undefined; readonly verdict: FactOf<"policy-decide"> | undefined } {
  let verdict: FactOf<"policy-decide"> | undefined;
  for (let node: Session | undefined = question; node !== undefined; node = node.parents[0]) {
    if (node.id === of) return { call: node, verdict };
    if (node.fact.type === "policy-decide" && node.fact.of === of) verdict ??= node.fact;
  }
  return { call: undefined, verdict };
}

function unite(sides: readonly (readonly StandingApproval[])[]): readonly StandingApproval[] {
  const [first = NONE, ...others] = sides;
  const known = new Set(first.map(({ id }) => id));
  const more = others.flat().filter(({ id }) => !known.has(id) && known.add(id));
  return more.length === 0 ? first : Object.freeze([...first, ...more]);
}
