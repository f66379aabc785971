import type {
  Content,
  Edited,
  Fact,
  FactId,
  FactOf,
  Json,
  Principal,
  Session,
  Settlement,
} from "../../session/index.js";
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
 * Who did what on which branch, read from the record alone: what was said, called, found, chosen, forked and merged, what
 * policies refused or wanted agreement to, and what people agreed to, changed, refused, took over, answered and settled, in
 * the order in which it happened.
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
    const did = deedOf(fact) ?? decisionOf(fact, known);
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
  /** What a model wants to know of a person. */
  readonly question?: string;
};

type Known = {
  readonly requests: Map<FactId, Asked>;
  /** What policies said last about a request: they are asked again at each answer, mostly to say the same. */
  readonly rulings: Map<FactId, string>;
};

/** A history lists one branch after the other; what a run did side by side has its place in the run. */
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

/** What a person was shown: a call of a tool with its arguments, or whatever else there is to agree to. */
function shownIn({ what, name }: FactOf<"approval-ask">): Asked {
  const { tool, input } = Object(what) as { readonly tool?: Json; readonly input?: Json };
  if (typeof tool !== "string" || input === undefined)
    return { what: name === undefined ? short(what) : `${name} ${short(what)}` };
  const { question } = Object(input) as { readonly question?: Json };
  return { what: `${tool} ${short(input)}`, ...(typeof question === "string" && { question }) };
}

function deedOf(fact: Fact): string | undefined {
  switch (fact.type) {
    case "session-start":
      return said(fact.text ?? "") ?? "starts";
    case "message-say":
    case "model-reply":
      return said(fact.content);
    case "tool-call":
      return `calls ${fact.name} ${short(fact.input)}`;
    case "tool-result":
      return `gives ${short(fact.output)}${edited(fact.edited)}`;
    case "tool-failure":
    case "step-failure":
    case "model-failure":
      return `fails: ${fact.error.message}`;
    case "step-result":
      return `gives ${short(fact.value)}${edited(fact.edited)}`;
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

/** What policies and people decided about what others asked for. */
function decisionOf(fact: Fact, { requests, rulings }: Known): string | undefined {
  const { what = "it", question } = requests.get(String(Object(fact).of)) ?? {};
  switch (fact.type) {
    case "policy-decide": {
      const { of, verdict, rules, why } = fact;
      const by = rules.length === 0 ? "" : ` by the rule${rules.length > 1 ? "s" : ""} ${rules.join(", ")}`;
      const ruling = `${verdict === "deny" ? "denies" : "wants agreement to"} ${what}${by}${because(why)}`;
      const isOld = verdict === "allow" || rulings.get(of) === ruling;
      rulings.set(of, verdict === "allow" ? verdict : ruling);
      return isOld ? undefined : ruling;
    }
    case "approval-give": {
      const { decision, edit, value, why } = fact;
      if (decision === "reject") return `refuses ${what}${because(why)}`;
      if (decision === "take-over" && question !== undefined)
        return `answers ${short(question)} ${short(value)}${because(why)}`;
      if (decision === "take-over") return `takes over ${what} and gives ${short(value)}${because(why)}`;
      const changed = edit === undefined ? "" : `, but with ${short(edit)}`;
      return `agrees to ${what}${changed}${because(why)}`;
    }
    case "signal-give":
      return `answers ${what}: ${short(fact.value)}`;
    case "effect-doubt":
      return `does not know what became of ${what}: ${fact.error.message}`;
    case "effect-settle": {
      const { decision, value, why } = fact;
      const given = value === undefined ? "" : ` with ${short(value)}`;
      return `settles ${what}: ${SETTLED[decision]}${given}${because(why)}`;
    }
    case "run-cancel":
      return `cancels the run${because(fact.why)}`;
    default:
      return undefined;
  }
}

const SETTLED: { readonly [decision in Settlement]: string } = {
  done: "it was done",
  failed: "it was not done",
  again: "do it again",
};

/** Where somebody put other arguments in place of those that were asked for. */
function edited(by: Edited | undefined): string {
  return by === undefined ? "" : `, for ${short(by.input)} of ${by.by}`;
}

function because(why: string | undefined): string {
  return why === undefined ? "" : `: ${short(why)}`;
}

/** A reply that only calls tools says nothing. */
function said(content: Content): string | undefined {
  const text = plainText(content);
  return text.trim() === "" ? undefined : `says ${short(text)}`;
}

function short(value: unknown): string {
  const words = (typeof value === "string" ? value : (JSON.stringify(value) ?? "nothing")).replace(
    /\s+/g,
    " ",
  );
  return words.length > 80 ? `${words.slice(0, 80).toWellFormed()}…` : words;
}
