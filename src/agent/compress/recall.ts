import { type FactId, type Json, type Session, Withheld } from "../../session/index.js";
import { optionNames, showValue } from "../../util/index.js";
import { refusing, requireCount, requireOptions } from "../../workflow/index.js";
import { pastOf } from "../model/transcript.js";
import { objectSchema, splits, type Tool, tool } from "../tool/index.js";
import { within } from "../within.js";
import { type Compression, type Covered, compressionsView } from "./compression.js";
import { short, wordsOf } from "./summary.js";

export type RecallOptions = {
  /** The name of the tool for models. Default "recall". */
  readonly name?: string;
  /** Characters that one call gives at most. Default 4,000. */
  readonly characters?: number;
  /** "own": what was left out of the agent's own conversation (the default). "all": also of those around it. */
  readonly context?: "own" | "all";
};

/** A page of what was left out of view. `next` is where the rest begins. */
export type Page = {
  readonly fact?: FactId;
  readonly what: string;
  readonly text: string;
  readonly offset: number;
  readonly total: number;
  readonly next?: number;
};

const CHARACTERS = 4_000;
const MOST = 100_000;
const KNOWN = optionNames<RecallOptions>()("name characters context");
const EXAMPLE = "recallTool({ characters: 4_000 })";

/** A tool that lists what left the view, shows what a compression covers, or pages a covered fact in full. */
export function recallTool(options: RecallOptions = {}): Tool<{ readonly [field: string]: Json }, Page> {
  const refuse = refusing("recallTool");
  requireOptions(options, refuse, EXAMPLE, KNOWN);
  const { name = "recall", characters = CHARACTERS, context = "own" } = options;
  requireCount(characters, "characters", refuse, 100, EXAMPLE);
  if (characters > MOST) throw refuse(`its \`characters\` are more than ${MOST}`, EXAMPLE);
  if (context !== "own" && context !== "all")
    throw refuse(`its context is ${showValue(context)}`, 'context: "own", or "all"');
  return tool({
    name,
    description:
      "Reads what was left out of view in this conversation. Without `fact`: lists what was left out. With `fact` (an id as shown in a summary or where an output is left out): gives its content in full, a page at a time; go on with `offset`.",
    input: objectSchema(
      {
        fact: { type: "string", description: "The id of a fact, or at least its first 8 characters." },
        offset: { type: "integer", minimum: 0, description: "Where to go on: `next` of the page before." },
      },
      [],
    ),
    effect: "pure",
    // The rest of a page, beside its text, is short.
    maxOutput: 2 * characters + 2_000,
    run: ({ fact, offset = 0 }, { session }): Page => {
      const all = compressionsIn(session, context);
      const found = fact === undefined ? listed(all) : read(session, all, String(fact));
      return paged(found, offset as number, characters);
    },
  }) as Tool<{ readonly [field: string]: Json }, Page>;
}

type Found = { readonly fact?: FactId; readonly what: string; readonly text: string };

function compressionsIn(session: Session, context: "own" | "all"): readonly Compression[] {
  const all = session.view(compressionsView).toArray();
  if (context === "all") return all;
  // An agent that works as a tool sees its own task, and must not see more by asking.
  const own = within(session);
  return all.filter((one) => one.within === own);
}

function listed(all: readonly Compression[]): Found {
  const lines = all.map(({ id, policy, covers, summary }) => {
    const [line = ""] = summary.split("\n", 1);
    return `${short(id)} ${policy}, ${covers.length} messages: ${line.slice(0, 120)}`;
  });
  return { what: "what was left out of view", text: lines.join("\n") || "Nothing was left out of view." };
}

function read(session: Session, all: readonly Compression[], asked: string): Found {
  const id = asked.trim().toLowerCase();
  if (!/^[0-9a-f]{8,64}$/.test(id))
    return {
      what: "no fact",
      text: `${JSON.stringify(asked.slice(0, 80))} is not an id: give the hex digits as shown.`,
    };
  const facts = new Map<FactId, Found | Covered>();
  for (const one of all) {
    for (const covered of one.covers) {
      const { fact, outcome } = covered;
      if (fact.startsWith(id)) facts.set(outcome ?? fact, covered);
      else if (outcome?.startsWith(id) === true) facts.set(outcome, covered);
    }
    if (!one.id.startsWith(id)) continue;
    const lines = one.covers.map(({ fact, outcome, what }) => `${short(outcome ?? fact)} ${what}`);
    const text = `${one.summary}\n\nIt covers:\n${lines.join("\n")}`;
    facts.set(one.id, { fact: one.id, what: one.policy, text });
  }
  const [only, other] = facts;
  if (only === undefined)
    return {
      what: "no fact",
      text: `Nothing that was left out of view has the id ${id}. Without \`fact\` there is a list.`,
    };
  if (other !== undefined)
    return {
      what: "several facts",
      text: `Several facts begin with ${id}:\n${[...facts.keys()].join("\n")}`,
    };
  const [fact, found] = only;
  return "text" in found ? found : { fact, what: found.what, text: evidenceOf(session, found) };
}

/** The exact content of a message: tool texts as they came, other values as JSON, parts as words. */
export function evidenceOf(session: Session, { fact, outcome }: Pick<Covered, "fact" | "outcome">): string {
  const { fact: told } = pastOf(session, (outcome ?? fact).slice(0, 64));
  switch (told.type) {
    case "tool-result":
      return textIn(told.output);
    case "tool-failure":
      return textIn(told.error as Json | Withheld);
    case "session-start":
      return wordsIn(told.text ?? "");
    case "message-say":
    case "model-reply":
      return wordsIn(told.content);
    case "context-compress":
      return wordsIn(told.summary);
    case "session-detach": {
      const messages: readonly unknown[] | Withheld = told.messages;
      const message = messages instanceof Withheld ? messages : messages[Number(fact.slice(65) || 0)];
      return textIn((message ?? null) as Json | Withheld);
    }
    default:
      return `(a ${told.type} without an outcome)`;
  }
}

function textIn(value: Json | Withheld): string {
  if (value instanceof Withheld) return `[content ${value.reason}]`;
  return typeof value === "string" ? value : JSON.stringify(value);
}

function wordsIn(content: Parameters<typeof wordsOf>[0] | Withheld): string {
  return content instanceof Withheld ? `[content ${content.reason}]` : wordsOf(content);
}

function paged({ text, ...found }: Found, offset: number, characters: number): Page {
  const from = Math.min(offset, text.length);
  let to = Math.min(text.length, from + characters);
  // Never split a character: the next page begins with all of it.
  if (splits(text, to)) to--;
  return {
    ...found,
    text: text.slice(from, to),
    offset: from,
    total: text.length,
    ...(to < text.length && { next: to }),
  };
}
