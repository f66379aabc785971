import { isAboutTheRecord, statusIn } from "../../runtime/index.js";
import type { Cost, Fact, FactId } from "../../session/index.js";
import { costWith, isPerson } from "../../session/index.js";

/** A session as lists show it. */
export type Summary = {
  state: string;
  /** The facts that say its first and its newest words. The words may be erased, so they are read when they are shown. */
  title?: FactId;
  text?: FactId;
  module?: string;
  facts: number;
  branches: number;
  tokens: number;
  /** In US dollars; null when a model call has no known price. */
  cost: Cost;
  models: string[];
  tools: string[];
  people: string[];
  failures: number;
  waits: number;
  startedAt: string;
  changedAt: string;
  origin?: Origin;
  /** The last fact that another session had first. */
  shared?: { readonly of: FactId; readonly name: string; readonly session: number };
  /** The memory spaces that were read. */
  spaces: string[];
};

/** Where a session comes from: the fact in another session, or the name of the format it was imported from. */
export type Origin = {
  readonly kind: "fork" | "what-if" | "import";
  readonly of: FactId | string;
  readonly name?: string;
};

/** A session of very many people, tools or models names so many of each. */
const MOST = 100;

export function newSummary(): Summary {
  return {
    ...{ state: "open", facts: 0, branches: 1, tokens: 0, cost: 0, failures: 0, waits: 0 },
    ...{ models: [], tools: [], people: [], spaces: [], startedAt: "", changedAt: "" },
  };
}

/** Takes one more fact of the history into a summary. */
export function addFact(sum: Summary, id: FactId, fact: Fact): void {
  sum.facts += 1;
  if (sum.startedAt === "") sum.startedAt = fact.at;
  sum.changedAt = fact.at;
  if (!isAboutTheRecord(fact)) sum.state = statusIn(fact);
  if (isPerson(fact.by)) note(sum.people, fact.by);
  switch (fact.type) {
    case "session-start":
      if (fact.text !== undefined) sum.title ??= id;
      break;
    case "message-say":
      if (fact.role === "user") sum.title ??= id;
      if (fact.role === "assistant") sum.text = id;
      break;
    case "model-call":
      note(sum.models, fact.model);
      break;
    case "model-reply": {
      sum.tokens += fact.usage.input + fact.usage.output;
      sum.cost = costWith(sum.cost, fact.cost);
      sum.text = id;
      break;
    }
    case "tool-call":
      note(sum.tools, fact.name);
      break;
    case "tool-failure":
    case "model-failure":
    case "step-failure":
      sum.failures += 1;
      break;
    case "approval-ask":
    case "signal-await":
      sum.waits += 1;
      break;
    case "branch-fork":
      sum.branches += 1;
      break;
    case "memory-read":
      note(sum.spaces, fact.space);
      break;
    case "run-start":
      sum.module = fact.module;
      if (fact.from !== undefined) sum.origin ??= { kind: "what-if", of: fact.from.start };
      break;
    case "record-import":
      sum.origin ??= { kind: "import", of: fact.format };
      break;
    default:
  }
}

/** The values that sessions are chosen by. */
export function traitsOf(sum: Summary): readonly (readonly [kind: string, value: string])[] {
  return [
    ...sum.models.map((one) => ["model", one] as const),
    ...sum.tools.map((one) => ["tool", one] as const),
    ...sum.people.map((one) => ["person", one] as const),
    ...sum.spaces.map((one) => ["memory", one] as const),
    ...(sum.failures > 0 ? [["failed", ""] as const] : []),
    ...(sum.origin === undefined ? [] : [["origin", sum.origin.name ?? sum.origin.of] as const]),
  ];
}

function note(list: string[], value: string): void {
  if (list.length < MOST && !list.includes(value)) list.push(value);
}
