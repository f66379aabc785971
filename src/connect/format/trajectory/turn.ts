import type { Content, Fact, FactId, FactOf, Json, Message, Part, Role } from "../../../session/index.js";
import { Withheld } from "../../../session/index.js";
import { withheldText } from "./kept.js";
import type { Lines, Side, Told } from "./line.js";

/** A call of a tool and what became of it. */
export type Action = {
  readonly call: string;
  readonly name: string;
  readonly input: Json;
  readonly asked?: Told;
  outcome?: Told;
  /** The output where no fact has it: a provider ran the tool, or the session was detached. */
  output?: Json;
  sides: readonly Side[];
};

/** A step of a conversation: words, an answer with its calls, a summary, a merge. `also`: facts meanwhile. */
export type Turn = {
  readonly kind: "message" | "reply" | "action" | "summary" | "join";
  readonly role: Role;
  readonly content: Content | Withheld;
  readonly at: string;
  readonly told: Told[];
  readonly also: Told[];
  readonly actions: Action[];
  readonly asked?: FactOf<"model-call">;
  readonly reply?: FactOf<"model-reply"> | undefined;
  readonly failure?: FactOf<"model-failure"> | undefined;
  readonly sides: readonly Side[];
  /** Said before this line began. */
  readonly copied?: true;
};

/** The turns of a line, in the order in which they happened. */
export function turnsOf(line: readonly Told[], lines: Lines): readonly Turn[] {
  const turns: Turn[] = [];
  const asked = new Map<FactId, Told>();
  const acts = new Map<FactId, Action>();
  const wanted = new Map<string, Turn>();
  let early: Told[] = [];
  const put = (turn: Turn): Turn => {
    turn.also.push(...early);
    early = [];
    turns.push(turn);
    return turn;
  };
  for (const told of line) {
    const { fact, session } = told;
    switch (fact.type) {
      case "session-start":
        if (fact.text === undefined) early.push(told);
        else put(turnOf("message", told, "user", fact.text));
        break;
      case "session-detach":
        for (const turn of turnsOfMessages(fact.messages, fact.at)) put(turn);
        early.push(told);
        break;
      case "message-say":
        put(turnOf("message", told, fact.role, fact.content));
        break;
      case "model-call":
        asked.set(told.id, told);
        break;
      case "model-reply":
      case "model-failure": {
        const call = asked.get(fact.of);
        asked.delete(fact.of);
        const content = fact.type === "model-reply" ? fact.content : "";
        const turn = put({
          ...turnOf("reply", told, "assistant", content),
          ...(call !== undefined && { asked: call.fact as FactOf<"model-call"> }),
          ...(fact.type === "model-reply" ? { reply: fact } : { failure: fact }),
        });
        if (call !== undefined) turn.told.unshift(call);
        for (const part of partsOf(content)) if (part.type === "tool-call") wanted.set(part.call, turn);
        break;
      }
      case "tool-call": {
        const { call = told.id, name, input } = fact;
        const turn = wanted.get(call) ?? put(turnOf("action", undefined, "assistant", "", fact.at));
        const action: Action = { call, name, input, asked: told, sides: [] };
        turn.actions.push(action);
        turn.told.push(told);
        acts.set(told.id, action);
        break;
      }
      case "tool-result":
      case "tool-failure": {
        const action = acts.get(fact.of);
        const sides = lines.sidesOf(session);
        if (action === undefined)
          put({ ...turnOf("join", undefined, "system", "", fact.at), sides }).also.push(told);
        else {
          action.outcome = told;
          action.sides = sides;
          wanted.get(action.call)?.told.push(told);
        }
        break;
      }
      case "context-compress":
        put(turnOf("summary", told, "system", fact.summary));
        break;
      default: {
        const sides = fact.type === "answer-take" ? [] : lines.sidesOf(session);
        if (fact.type === "answer-take")
          beside(turns, early).push(...lines.sidesOf(session).flatMap((side) => side.line));
        if (sides.length > 0) put({ ...turnOf("join", told, "system", "", fact.at), sides });
        else beside(turns, early).push(told);
      }
    }
  }
  // A question nobody answered is not a turn, but it was asked.
  beside(turns, early).push(...asked.values());
  if (turns.length === 0 && early.length > 0) put(turnOf("join", undefined, "system", "", early[0]?.fact.at));
  return turns;
}

function beside(turns: readonly Turn[], early: Told[]): Told[] {
  return turns.at(-1)?.also ?? early;
}

function turnOf(
  kind: Turn["kind"],
  told: Told | undefined,
  role: Role,
  content: Content | Withheld,
  at: string = told?.fact.at ?? "",
): Turn {
  return {
    kind,
    role,
    content,
    at,
    told: told === undefined ? [] : [told],
    also: [],
    actions: [],
    sides: [],
  };
}

/** The conversation that a detached session brought along. */
function turnsOfMessages(messages: readonly Message[] | Withheld, at: string): readonly Turn[] {
  if (messages instanceof Withheld)
    return [{ ...turnOf("message", undefined, "system", messages, at), copied: true }];
  const turns: Turn[] = [];
  const actions = new Map<string, Action>();
  for (const message of messages) {
    if (message.role === "tool") {
      const output = message.error?.message ?? message.output ?? null;
      const action = actions.get(message.call);
      if (action !== undefined) action.output = output;
      continue;
    }
    const turn: Turn = { ...turnOf("message", undefined, message.role, message.content, at), copied: true };
    for (const part of partsOf(message.content))
      if (part.type === "tool-call") {
        const action: Action = { call: part.call, name: part.name, input: part.input, sides: [] };
        turn.actions.push(action);
        actions.set(part.call, action);
      }
    turns.push(turn);
  }
  return turns;
}

/** The pieces of a message; withheld content is one. */
export function partsOf(content: Content | Withheld | undefined): readonly Part[] {
  if (content === undefined) return [];
  if (content instanceof Withheld)
    return [{ type: "withheld", reason: content.reason, digest: content.digest }];
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

/** The words of a message, with marks in place of withheld content. */
export function wordsOf(content: Content | Withheld | undefined): string {
  return partsOf(content)
    .flatMap((part) => {
      if (part.type === "text") return [part.text];
      if (part.type === "withheld") return [withheldText(part)];
      if (part.type === "file") return [`[file ${part.name ?? ""} ${part.media}]`.replace("  ", " ")];
      return [];
    })
    .join("\n");
}

export function thoughtsOf(content: Content | Withheld | undefined): string | undefined {
  const thoughts = partsOf(content).flatMap((part) => (part.type === "reasoning" ? [part.text] : []));
  return thoughts.length === 0 ? undefined : thoughts.join("\n");
}

/** The outcome of an action in words, and whether it failed. */
export function outcomeOf({
  outcome,
  output,
}: Action): { readonly text: string; readonly failed: boolean } | undefined {
  const fact = outcome?.fact as FactOf<"tool-result" | "tool-failure"> | undefined;
  if (fact === undefined) return output === undefined ? undefined : { text: textOf(output), failed: false };
  if (fact.type === "tool-result") return { text: textOf(fact.output), failed: false };
  const error = fact.error as Fact | Withheld | { message: string };
  return {
    text: error instanceof Withheld ? withheldText(error) : (error as { message: string }).message,
    failed: true,
  };
}

/** The message of an error; all of it where it has none. */
export function errorText(error: unknown): string {
  return textOf((error as { readonly message?: unknown }).message ?? error);
}

/** The instructions that a line was first configured with. */
export function instructionsOf(main: readonly Told[]): string | undefined {
  const fact = main.find((told) => told.fact.type === "agent-configure")?.fact;
  return fact?.type === "agent-configure" && fact.instructions !== undefined
    ? textOf(fact.instructions)
    : undefined;
}

export function textOf(value: unknown): string {
  if (value instanceof Withheld) return withheldText(value);
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}
