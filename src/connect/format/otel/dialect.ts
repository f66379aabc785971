import type { Json } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import type { FieldReader, Fields } from "../fields.js";
import { isFields, listOf, objectsOf, parsed, stringOf, wordsFor } from "../fields.js";
import type { Role } from "./understand.js";

/** The attributes of the AI SDK's own telemetry (versions 4 to 6) that say more than those of the conventions. */
export const AI = {
  operation: "ai.operationId",
  function: "ai.telemetry.functionId",
  model: "ai.model.id",
  prompt: "ai.prompt.messages",
  tools: "ai.prompt.tools",
  finish: "ai.response.finishReason",
  toolName: "ai.toolCall.name",
  toolCall: "ai.toolCall.id",
  toolArguments: "ai.toolCall.args",
  toolResult: "ai.toolCall.result",
} as const;

/** `ai.generateText` asks a model through `ai.generateText.doGenerate`, and runs tools as `ai.toolCall`. */
export function aiSdkRole(operation: string): Role | undefined {
  if (/^ai\.\w+\.do(Generate|Stream)$/.test(operation)) return "chat";
  if (operation === "ai.toolCall") return "tool";
  return /^ai\.(generate|stream)(Text|Object)$/.test(operation) ? "workflow" : undefined;
}

/** A message of the AI SDK's prompt in the shape of the conventions. */
export function aiSdkMessage({ role = "user", content }: Fields): Fields {
  const parts = typeof content === "string" ? [{ type: "text", content }] : listOf(content).map(partOf);
  return { role, parts };
}

function partOf(part: Json): Fields {
  if (!isFields(part)) return { type: "other", value: part };
  switch (part.type) {
    case "text":
    case "reasoning":
      return { type: part.type, content: wordsFor(part.text) };
    case "tool-call":
      return callOf(part);
    case "tool-result": {
      const output = part.output ?? part.result ?? null;
      const response = isFields(output) && output.value !== undefined ? output.value : output;
      return { type: "tool_call_response", id: wordsFor(part.toolCallId), response };
    }
    default:
      return { type: "other", value: part };
  }
}

function callOf({ toolCallId, toolName, input, args }: Fields): Fields {
  const given = parsed(input ?? args ?? {});
  return { type: "tool_call", id: wordsFor(toolCallId), name: wordsFor(toolName), arguments: given };
}

/** The answer of the model: thoughts, words or an object, and calls. */
export function aiSdkOutput(left: FieldReader): readonly Fields[] {
  const reasoning = left.text("ai.response.reasoning");
  const words = left.text("ai.response.text") ?? left.text("ai.response.object");
  const calls = left.json("ai.response.toolCalls");
  const asked = objectsOf(parsed(calls ?? null)).map(callOf);
  if (calls !== undefined && asked.length === 0) left.keep("ai.response.toolCalls", calls);
  const parts = [
    ...(reasoning === undefined ? [] : [{ type: "reasoning", content: reasoning }]),
    ...(words === undefined || words === "" ? [] : [{ type: "text", content: words }]),
    ...asked,
  ];
  return parts.length === 0 ? [] : [{ role: "assistant", parts }];
}

/** The tools that the model could call, each as JSON text. */
export function aiSdkTools(left: FieldReader): readonly Json[] | undefined {
  return left.list(AI.tools)?.map((tool) => {
    const value = parsed(tool);
    if (!isFields(value)) return value;
    const { inputSchema, ...rest } = value;
    return inputSchema === undefined ? value : { ...rest, parameters: inputSchema };
  });
}

/** Messages that OpenInference spreads over attributes (`llm.input_messages.0.message.role`), in the shape of the conventions. */
export function flatMessages(left: FieldReader, prefix: string): readonly Fields[] {
  const pattern = new RegExp(`^${prefix.replaceAll(".", "\\.")}\\.(\\d{1,4})\\.message\\.(.+)$`);
  const found = new Map<number, Map<string, Json>>();
  for (const name of left.names) {
    const [, index, rest] = pattern.exec(name) ?? [];
    if (index === undefined || rest === undefined || !KNOWN.test(rest)) continue;
    const message = found.get(Number(index)) ?? new Map<string, Json>();
    message.set(rest, left.json(name) ?? null);
    found.set(Number(index), message);
  }
  return [...found].sort(([one], [other]) => one - other).map(([, fields]) => messageOf(fields));
}

const CALL = /^tool_calls\.(\d{1,4})\.tool_call\.(id|function\.name|function\.arguments)$/;
const KNOWN =
  /^(role|content|name|tool_call_id)$|^contents\.\d{1,4}\.message_content\.[\w.]+$|^tool_calls\.\d{1,4}\.tool_call\.(id|function\.name|function\.arguments)$/;

function messageOf(fields: ReadonlyMap<string, Json>): Fields {
  const role = stringOf(fields.get("role")) ?? "user";
  const content = fields.get("content");
  const id = stringOf(fields.get("tool_call_id"));
  if (role === "tool")
    return { role, parts: [{ type: "tool_call_response", ...defined({ id }), response: content ?? null }] };
  const words =
    content === undefined
      ? contentsOf(fields)
      : [{ type: "text", content: stringOf(content) ?? JSON.stringify(content) }];
  const calls = new Map<number, { [field: string]: Json }>();
  for (const [name, value] of fields) {
    const [, index, field] = CALL.exec(name) ?? [];
    if (index === undefined) continue;
    const call = calls.get(Number(index)) ?? { type: "tool_call", name: "" };
    if (field === "id") call.id = value;
    else if (field === "function.name") call.name = stringOf(value) ?? "";
    else call.arguments = parsed(value);
    calls.set(Number(index), call);
  }
  const asked = [...calls].sort(([one], [other]) => one - other).map(([, call]) => call);
  return { role, parts: [...words, ...asked] };
}

/** Parts of a message: `contents.0.message_content.type`. Other parts than text are kept as they are. */
function contentsOf(fields: ReadonlyMap<string, Json>): readonly Fields[] {
  const parts = new Map<number, { [field: string]: Json }>();
  for (const [name, value] of fields) {
    const [, index, field] = /^contents\.(\d+)\.message_content\.(.+)$/.exec(name) ?? [];
    if (index === undefined || field === undefined) continue;
    parts.set(Number(index), { ...parts.get(Number(index)), [field]: value });
  }
  return [...parts]
    .sort(([one], [other]) => one - other)
    .map(([, part]) =>
      typeof part.text === "string" && Object.keys(part).every((key) => key === "text" || key === "type")
        ? { type: part.type === "reasoning" ? "reasoning" : "text", content: part.text }
        : { type: "other", value: part },
    );
}

/** The tools that OpenInference names: `llm.tools.0.tool.json_schema`. */
export function flatTools(left: FieldReader): readonly Json[] | undefined {
  const names = left.names.filter((name) => /^llm\.tools\.\d{1,4}\.tool\.json_schema$/.test(name));
  if (names.length === 0) return undefined;
  return names.map((name) => {
    const tool = parsed(left.json(name) ?? null);
    if (!isFields(tool)) return tool;
    const { function: held, ...rest } = tool;
    return isFields(held) ? { ...rest, ...held } : tool;
  });
}
