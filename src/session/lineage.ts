import { defined } from "../util/index.js";
import type { Fact, FactId, Principal } from "./fact/index.js";
import { asJson, frozenAs, type Json } from "./json.js";
import { List } from "./list.js";
import type { Session } from "./session.js";
import { adopted, savedAsJson, type View } from "./view.js";

/** A session and the ones before it on its own line, newest first: of a merge the first parent. Ends before `until`. */
export function* backFrom(session: Session, until?: Session): Generator<Session, void> {
  let node: Session | undefined = session;
  while (node !== undefined && node !== until) {
    yield node;
    node = node.soleParent ?? node.parents[0];
  }
}

/** One place where the history began, branched or came together: the place, the time, the principal, and the reason. */
export type LineageStep = {
  readonly kind: "start" | "fork" | "merge" | "detach";
  readonly id: FactId;
  readonly parents: readonly FactId[];
  readonly at: string;
  readonly by: Principal;
  readonly branch: string;
  readonly why?: string;
  readonly adopt?: Json;
  readonly from?: FactId;
};

// A map: a fact of another version may be called "constructor".
const operators = new Map<string, LineageStep["kind"]>([
  ["session-start", "start"],
  ["session-detach", "detach"],
  ["branch-fork", "fork"],
  ["branch-merge", "merge"],
]);

/** The change of a fact to the branches of a history, if it makes one. */
export function operatorOf({ type }: Fact): LineageStep["kind"] | undefined {
  return operators.get(type);
}

/** Every start, fork, merge and detach of the history, in its order. */
export const lineageView: View<List<LineageStep>> = {
  name: "lineage",
  start: List.empty,
  step(steps, fact, session) {
    const kind = operatorOf(fact);
    if (kind === undefined) return steps;
    const { why, adopt, from } = fact as { why?: string; adopt?: Json; from?: FactId };
    return steps.push(
      Object.freeze({
        kind,
        id: session.id,
        parents: Object.freeze([...session.parentIds]),
        at: fact.at,
        by: fact.by,
        branch: session.branch,
        ...(typeof why === "string" && { why }),
        ...defined({ adopt, from }),
      }),
    );
  },
  save: (steps) => asJson(steps.toArray()),
  load: (saved) => List.of(frozenAs<readonly LineageStep[]>(saved)),
};

/** The same list for the same answer. */
export function lineageIn(steps: List<LineageStep>): readonly LineageStep[] {
  const known = lists.get(steps);
  if (known !== undefined) return known;
  const list = Object.freeze(steps.toArray());
  lists.set(steps, list);
  return list;
}

const lists = new WeakMap<object, readonly LineageStep[]>();

/** The name of the branch a session is on: the last fork on the way that was adopted. */
export const branchView: View<string> = {
  name: "branch",
  start: "main",
  step: (branch, fact) => (fact.type === "branch-fork" ? fact.name : branch),
  merge: (branches, merge) => branches[adopted(merge) ?? 0] ?? "main",
  ...savedAsJson<string>(),
};
