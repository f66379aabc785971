import type { Fact, FactId, FactOf, Json, Principal, Session } from "../../session/index.js";
import { describeFact, lineOf, textOf } from "../../session/index.js";
import { plainText } from "./found.js";

export type Deed = {
  readonly branch: string;
  readonly by: Principal;
  readonly did: string;
  readonly id: FactId;
};

/**
 * The actions on all branches in order, read from the record alone.
 *
 * ```ts
 * for (const { branch, by, did } of deedsOf(session)) console.log(`${branch} | ${by} | ${did}`);
 * ```
 */
export function deedsOf(session: Session): readonly Deed[] {
  const deeds: (Deed & { readonly fact: Fact })[] = [];
  const known: Known = { requests: new Map(), rulings: new Map() };
  for (const node of session.history()) {
    const { fact, id } = node;
    const request = requestOf(fact);
    if (request !== undefined) known.requests.set(id, request);
    const did = deedOf(fact, known);
    if (did === undefined) continue;
    // A model replies for the agent that asked it.
    const agent = fact.type === "model-reply" ? known.requests.get(fact.of)?.agent : undefined;
    deeds.push({ branch: node.branch, by: agent === undefined ? fact.by : `agent:${agent}`, did, id, fact });
  }
  return deeds.sort(byTime).map(({ fact: _, ...deed }) => Object.freeze(deed));
}

/** Something that was asked for, in words, which others decide about. */
type Asked = {
  readonly what: string;
  readonly agent?: string | undefined;
  /** A model's question to a person. */
  readonly question?: string;
};

type Known = {
  readonly requests: Map<FactId, Asked>;
  /** The last ruling of the policies on a request: they are asked again at each answer. */
  readonly rulings: Map<FactId, string>;
};

/** Actions of people, agents, tools and policies. The rest is bookkeeping. */
const DEEDS: ReadonlySet<string> = new Set([
  "session-start",
  "message-say",
  "model-reply",
  "model-failure",
  "tool-call",
  "tool-result",
  "tool-failure",
  "step-result",
  "step-failure",
  "validation-report",
  "route-choose",
  "branch-fork",
  "branch-merge",
  "budget-stop",
  "note",
  "policy-decide",
  "approval-give",
  "signal-give",
  "effect-doubt",
  "effect-settle",
  "run-cancel",
] satisfies Fact["type"][]);

/** A history lists branch after branch; parallel work has its order in the run. */
function byTime({ fact: one }: { readonly fact: Fact }, { fact: other }: { readonly fact: Fact }): number {
  if (one.at !== other.at) return one.at < other.at ? -1 : 1;
  return one.run !== undefined && one.run === other.run ? (one.seq ?? 0) - (other.seq ?? 0) : 0;
}

function requestOf(fact: Fact): Asked | undefined {
  switch (fact.type) {
    case "model-call":
      return { what: `the model ${fact.model}`, agent: fact.agent };
    case "tool-call":
      return { what: `${fact.name} ${short(fact.input)}` };
    case "step-call":
    case "signal-await":
      return { what: fact.name };
    case "approval-ask":
      return shownIn(fact);
    default:
      return undefined;
  }
}

/** The question to a person: a tool call with its arguments, or something else to approve. */
function shownIn({ what, name }: FactOf<"approval-ask">): Asked {
  const { tool, input } = Object(what) as { readonly tool?: Json; readonly input?: Json };
  if (typeof tool !== "string" || input === undefined)
    return { what: name === undefined ? short(what) : `${name} ${short(what)}` };
  const { question } = Object(input) as { readonly question?: Json };
  return { what: `${tool} ${short(input)}`, ...(typeof question === "string" && { question }) };
}

function deedOf(fact: Fact, { requests, rulings }: Known): string | undefined {
  if (!DEEDS.has(fact.type)) return undefined;
  if (fact.type === "approval-give" && fact.decision === "take-over") {
    const question = requests.get(fact.of)?.question;
    if (question !== undefined) return `answered ${short(question)} ${short(fact.value)}`;
  }
  // A reply that only calls tools says nothing: the calls are deeds of their own.
  const said = fact.type === "model-reply" ? { ...fact, content: plainText(fact.content) } : fact;
  if (said.type === "model-reply" && said.content.trim() === "") return undefined;
  const did = describeFact(said, { each: LENGTH, nameOf: (id) => requests.get(id)?.what });
  if (fact.type !== "policy-decide") return did;
  const isOld = fact.verdict === "allow" || rulings.get(fact.of) === did;
  rulings.set(fact.of, did);
  return isOld ? undefined : did;
}

const LENGTH = 80;

function short(value: unknown): string {
  return lineOf(textOf(value), LENGTH);
}
