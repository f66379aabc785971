import type { Json, Part } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import { amountIn, type Fields, fieldsIn, isFields, listOf, own, parsed, textIn } from "../fields.js";
import { fileIn, partsIn } from "../trajectory/arrival.js";

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

/** The effect of lines on the conversation. */
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
    // Notes beside an answer do not end it; messages and token counts do.
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

/** The words, thoughts or calls of a model as parts of the record. */
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
  if (typeof content === "string") return partsIn(content);
  return listOf(content).map((part): Part => {
    if (!isFields(part)) return { type: "other", value: part };
    if (typeof part.text === "string") return { type: "text", text: part.text };
    return fileIn(part.image_url) ?? { type: "other", value: part };
  });
}

/** Whether a line is of the stream that `codex exec --json` prints. */
export function isExecEvent(value: Fields): boolean {
  const type = textIn(value, "type") ?? "";
  return /^(thread\.started|turn\.(started|completed|failed)|item\.\w+)$/.test(type);
}

/** The lines of a stream as lines of an equal rollout. Lines without a counterpart stay beside it. */
export function rolloutOf(
  lines: readonly { readonly line: number; readonly value: Fields }[],
): readonly Item[] {
  const started = new Set<string>();
  // An error that ends a turn is there twice.
  const isTurnFailed = lines.some(({ value }) => own(value, "type") === "turn.failed");
  return lines.flatMap(({ line, value }): readonly Item[] => {
    const at = own(value, "timestamp");
    const item = (type: string, payload: Fields): Item => ({ line, value, at, type, payload });
    const type = own(value, "type");
    if (type === "thread.started") return [item("session_meta", { id: own(value, "thread_id") ?? null })];
    if (type === "turn.completed")
      return [
        item("event_msg", { type: "token_count", info: { last_token_usage: own(value, "usage") ?? null } }),
      ];
    if (type === "turn.failed" || (type === "error" && !isTurnFailed))
      return [item("event_msg", { type: "error", message: messageIn(own(value, "error") ?? value) })];
    const held = own(value, "item");
    if (!isFields(held) || (type !== "item.started" && type !== "item.completed")) return [item("", {})];
    const isDone = type === "item.completed";
    const words = isDone ? wordsOf(held) : undefined;
    if (words !== undefined) return [item("response_item", words)];
    const call = callOfEntry(held);
    if (call === undefined) return [item("", {})];
    const id = String(own(held, "id") ?? line);
    const asked = started.has(id)
      ? []
      : [item("response_item", { type: "function_call", call_id: id, ...call })];
    started.add(id);
    if (!isDone) return asked;
    const outcome = { type: "function_call_output", call_id: id, output: outputOf(held) };
    const output = item("response_item", outcome);
    // One line says both: it is kept once.
    return [...asked.map((one) => ({ ...one, isRepeated: true as const })), output];
  });
}

function kindOfEntry(item: Fields): Json {
  return own(item, "type") ?? own(item, "item_type") ?? "";
}

/** The words and thoughts of the model, and searches by its provider. */
function wordsOf(item: Fields): Fields | undefined {
  const text = own(item, "text") ?? "";
  switch (kindOfEntry(item)) {
    case "agent_message":
    case "assistant_message":
    case "plan":
      return { type: "message", role: "assistant", content: [{ type: "output_text", text }] };
    case "reasoning":
      return { type: "reasoning", summary: [{ type: "summary_text", text }] };
    case "web_search":
      return { ...item, type: "web_search_call" };
    default:
      return undefined;
  }
}

function callOfEntry(item: Fields): { readonly name: string; readonly arguments: Json } | undefined {
  const kind = kindOfEntry(item);
  const { command, changes, server, tool, prompt, receiver_thread_ids } = item;
  switch (kind) {
    case "command_execution":
      return { name: kind, arguments: defined({ command }) };
    case "file_change":
      return { name: kind, arguments: defined({ changes }) };
    case "mcp_tool_call":
      return { name: `${server ?? ""}__${tool ?? ""}`, arguments: own(item, "arguments") ?? {} };
    case "collab_tool_call":
      return { name: String(tool ?? kind), arguments: defined({ prompt, receiver_thread_ids }) };
    default:
      return undefined;
  }
}

/** The outcome of a call in the form of rollouts: `content` and `success`. */
function outputOf(item: Fields): Fields {
  const status = own(item, "status");
  const success = status !== "failed" && status !== "declined";
  const result = own(item, "result");
  const error = own(item, "error");
  const told = isFields(result)
    ? (own(result, "structured_content") ?? own(result, "content") ?? null)
    : (own(item, "aggregated_output") ?? own(item, "agents_states") ?? null);
  const content = isFields(error) ? messageIn(error) : told;
  return { content: content === null || content === "" ? (status ?? "") : content, success };
}

function messageIn(error: Json): Json {
  return isFields(error) ? (own(error, "message") ?? "") : error;
}
