import type { Json, Part } from "../../../session/index.js";
import { amountIn, type Fields, fieldsIn, isFields, listOf, own, parsed } from "../fields.js";

/** A line of a rollout: when, what kind, and what it says. */
export type Item = {
  readonly line: number;
  readonly value: Fields;
  readonly at: Json | undefined;
  readonly type: string;
  readonly payload: Fields;
  /** The next item is of the same line. */
  readonly isRepeated?: true;
};

/** What lines do to the conversation. */
export type Instruction =
  | { readonly do: "answer"; readonly items: Item[]; usage?: Fields }
  | { readonly do: "rollback"; readonly items: readonly Item[]; readonly turns: number }
  | {
      readonly do: "say" | "output" | "compact" | "fail" | "context" | "other";
      readonly items: readonly Item[];
    };

/** Older rollouts have the items as they are, newer ones in an envelope. */
export function itemOf(line: number, value: Fields): Item {
  const payload = own(value, "payload");
  const type = own(value, "type");
  if (isFields(payload))
    return { line, value, at: own(value, "timestamp"), type: String(type ?? ""), payload };
  const isMeta = type === undefined && typeof own(value, "id") === "string";
  const isItem = typeof type === "string" || kindOf(value) === "message";
  return {
    line,
    value,
    at: own(value, "timestamp"),
    type: isMeta && !isItem ? "session_meta" : isItem ? "response_item" : "",
    payload: value,
  };
}

/** A message may leave out that it is one. */
export function kindOf(payload: Fields): Json {
  return own(payload, "type") ?? (typeof own(payload, "role") === "string" ? "message" : "");
}

const OUTPUTS: ReadonlySet<Json> = new Set([
  "function_call_output",
  "custom_tool_call_output",
  "local_shell_call_output",
]);
const CALLS: ReadonlySet<Json> = new Set([
  "function_call",
  "custom_tool_call",
  "local_shell_call",
  "web_search_call",
]);

/** The lines in groups: thoughts, words and calls that come after each other are one answer of the model. */
export function instructionsOf(items: readonly Item[]): readonly Instruction[] {
  const instructions: Instruction[] = [];
  let answer: (Instruction & { do: "answer" }) | undefined;
  let open = false;
  for (const item of items) {
    const kind = kindOf(item.payload);
    if (item.type === "response_item" && isAnswer(item.payload)) {
      if (answer === undefined || !open) {
        answer = { do: "answer", items: [] };
        instructions.push(answer);
        open = true;
      }
      answer.items.push(item);
      continue;
    }
    const usage = item.type === "event_msg" && kind === "token_count" ? usageIn(item.payload) : undefined;
    if (usage !== undefined && answer !== undefined && answer.usage === undefined) answer.usage = usage;
    const instruction = instructionOf(item, kind);
    // What is told beside an answer does not end it; what was heard or counted does.
    if (instruction.do !== "other" || usage !== undefined) open = false;
    instructions.push(instruction);
  }
  return instructions;
}

function instructionOf(item: Item, kind: Json): Instruction {
  const items = [item];
  if (item.type === "response_item") {
    if (kind === "message") return { do: "say", items };
    if (OUTPUTS.has(kind)) return { do: "output", items };
  }
  if (item.type === "compacted") return { do: "compact", items };
  if (item.type === "turn_context" || item.type === "session_meta") return { do: "context", items };
  if (item.type === "event_msg" && kind === "error") return { do: "fail", items };
  if (item.type === "event_msg" && kind === "thread_rolled_back") {
    const turns = amountIn(item.payload, "num_turns");
    if (turns !== undefined) return { do: "rollback", items, turns };
  }
  return { do: "other", items };
}

function isAnswer(payload: Fields): boolean {
  const kind = kindOf(payload);
  return kind === "reasoning" || CALLS.has(kind) || (kind === "message" && payload.role === "assistant");
}

function usageIn(payload: Fields): Fields | undefined {
  const last = own(fieldsIn(payload, "info"), "last_token_usage");
  return isFields(last) ? last : undefined;
}

/** What a model said, thought or wanted, in the record's words. */
export function partsOf(payload: Fields): readonly Part[] {
  const kind = kindOf(payload);
  if (kind === "message") return contentIn(own(payload, "content"));
  if (kind === "reasoning") {
    const thoughts = [...contentIn(own(payload, "summary")), ...contentIn(own(payload, "content"))];
    const text = thoughts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
    return text === "" ? [] : [{ type: "reasoning", text }];
  }
  const call = callOf(payload);
  return call === undefined ? [{ type: "other", value: payload }] : [call];
}

export function callOf(payload: Fields): (Part & { type: "tool-call" }) | undefined {
  const kind = own(payload, "type");
  const id = own(payload, "call_id") ?? own(payload, "id");
  if (typeof id !== "string") return undefined;
  const call = (name: string, input: Json) => ({ type: "tool-call", call: id, name, input }) as const;
  const name = String(own(payload, "name") ?? "");
  if (kind === "function_call") return call(name, parsed(own(payload, "arguments") ?? {}));
  if (kind === "custom_tool_call") return call(name, own(payload, "input") ?? "");
  if (kind === "local_shell_call") return call("local_shell", own(payload, "action") ?? {});
  return undefined;
}

export function contentIn(content: Json | undefined): readonly Part[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return listOf(content).map((part): Part => {
    if (!isFields(part)) return { type: "other", value: part };
    if (typeof part.text === "string") return { type: "text", text: part.text };
    const image = /^data:([\w.+/-]+);base64,(.*)$/s.exec(
      typeof part.image_url === "string" ? part.image_url : "",
    );
    return image === null
      ? { type: "other", value: part }
      : { type: "file", media: image[1] as string, data: image[2] as string };
  });
}
