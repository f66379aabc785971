import type { Json } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import { type Fields, isFields, own, textIn } from "../fields.js";
import type { Item } from "./turn.js";

/** Whether a line is of the stream that `codex exec --json` prints. */
export function isExecEvent(value: Fields): boolean {
  const type = textIn(value, "type") ?? "";
  return /^(thread\.started|turn\.(started|completed|failed)|item\.\w+)$/.test(type);
}

/** The lines of a stream as those of a rollout that says the same. What has no counterpart there stays beside it. */
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
    const call = callOf(held);
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

function kindOf(item: Fields): Json {
  return own(item, "type") ?? own(item, "item_type") ?? "";
}

/** What the model said, thought or had its provider search. */
function wordsOf(item: Fields): Fields | undefined {
  const text = own(item, "text") ?? "";
  switch (kindOf(item)) {
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

function callOf(item: Fields): { readonly name: string; readonly arguments: Json } | undefined {
  const kind = kindOf(item);
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

/** What came of a call: `content` and whether it was a success, as rollouts say it. */
function outputOf(item: Fields): Fields {
  const status = own(item, "status");
  const success = status !== "failed" && status !== "declined";
  const result = own(item, "result");
  const error = own(item, "error");
  const told = isFields(result)
    ? (own(result, "structured_content") ?? own(result, "content") ?? null)
    : (own(item, "aggregated_output") ?? own(item, "agents_states") ?? null);
  const content = isFields(error) ? messageIn(error) : told;
  const isSilent = content === null || content === "";
  return { content: isSilent ? (status ?? "") : content, success };
}

function messageIn(error: Json): Json {
  return isFields(error) ? (own(error, "message") ?? "") : error;
}
