import type { Json } from "../../../session/index.js";
import { type FieldReader, type Fields, isFields, listOf, objectsOf, parsed, wordsFor } from "../fields.js";
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

/** What the model answered: thoughts, words or an object, and calls. */
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
  const list = left.list(AI.tools);
  return list?.map((tool) => {
    const value = parsed(tool);
    if (!isFields(value)) return value;
    const { inputSchema, ...rest } = value;
    return inputSchema === undefined ? value : { ...rest, parameters: inputSchema };
  });
}
