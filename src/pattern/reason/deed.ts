import type { Fact, FactId, Principal, Session } from "../../session/index.js";
import { plainText } from "./found.js";

/** Who did what on which branch. */
export type Deed = {
  readonly branch: string;
  readonly by: Principal;
  readonly did: string;
  /** The session that it made. */
  readonly id: FactId;
};

/**
 * Who did what on which branch, read from the record alone: what was said, asked, called, found, chosen, forked and
 * merged, in the order in which it happened.
 *
 * ```ts
 * for (const { branch, by, did } of deedsOf(session)) console.log(`${branch} | ${by} | ${did}`);
 * ```
 */
export function deedsOf(session: Session): readonly Deed[] {
  const deeds: (Deed & { readonly fact: Fact })[] = [];
  const agents = new Map<FactId, string | undefined>();
  for (const node of session.history()) {
    const { fact, id } = node;
    if (fact.type === "model-call") agents.set(id, fact.agent);
    const did = deedOf(node);
    if (did === undefined) continue;
    // A model replies for the agent that asked it.
    const agent = fact.type === "model-reply" ? agents.get(fact.of) : undefined;
    deeds.push({ branch: node.branch, by: agent === undefined ? fact.by : `agent:${agent}`, did, id, fact });
  }
  return deeds.sort(byTime).map(({ fact: _, ...deed }) => Object.freeze(deed));
}

/** A history lists one branch after the other; what a run did side by side has its place in the run. */
function byTime({ fact: one }: { readonly fact: Fact }, { fact: other }: { readonly fact: Fact }): number {
  if (one.at !== other.at) return one.at < other.at ? -1 : 1;
  return one.run !== undefined && one.run === other.run ? (one.seq ?? 0) - (other.seq ?? 0) : 0;
}

function deedOf({ fact }: Session): string | undefined {
  switch (fact.type) {
    case "session-start":
      return fact.text === undefined ? "starts" : `says ${short(plainText(fact.text))}`;
    case "message-say":
      return `says ${short(plainText(fact.content))}`;
    case "model-reply":
      return `says ${short(plainText(fact.content))}`;
    case "tool-call":
      return `calls ${fact.name} ${short(fact.input)}`;
    case "tool-result":
      return `gives ${short(fact.output)}`;
    case "tool-failure":
    case "step-failure":
    case "model-failure":
      return `fails: ${fact.error.message}`;
    case "step-result":
      return `gives ${short(fact.value)}`;
    case "validation-report": {
      const score = fact.score === undefined ? "" : ` (${fact.score})`;
      return `finds ${fact.name} ${fact.passed ? "good" : "bad"}${score}`;
    }
    case "route-choose":
      return `chooses ${fact.chosen ?? "none"}${fact.why === undefined ? "" : `: ${fact.why}`}`;
    case "branch-fork":
      return `forks${fact.why === undefined ? "" : `: ${fact.why}`}`;
    case "branch-merge":
      return `merges${fact.why === undefined ? "" : `: ${fact.why}`}`;
    case "budget-stop":
      return `stops at ${fact.allowed} ${fact.limit}`;
    case "note":
      return `notes ${fact.kind ?? "something"}`;
    default:
      return undefined;
  }
}

function short(value: unknown): string {
  const words = (typeof value === "string" ? value : JSON.stringify(value)).replace(/\s+/g, " ");
  return words.length > 80 ? `${words.slice(0, 80).toWellFormed()}…` : words;
}
