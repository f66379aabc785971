import type { Json } from "../../../session/index.js";

type Fields = { readonly [field: string]: Json | undefined };

/** A chunk of the UI message stream protocol of the AI SDK, version 1. */
export type UiChunk = Fields & { readonly type: string };

/** A part of a message, as `useChat` has it. */
export type UiPart = Fields & { readonly type: string };

/** A message, as `useChat` has it. */
export type UiMessage = {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly parts: readonly UiPart[];
};

/** The major version of the AI SDK that reads. Version 5 knows no approvals: it gets them as data parts alone. */
export type UiVersion = 5 | 6 | 7;

/** The headers by which clients know the protocol. */
export const UI_HEADERS = { "x-vercel-ai-ui-message-stream": "v1" };

/** Two pieces of one part as one piece. */
export function mergedChunk(earlier: UiChunk, later: UiChunk): UiChunk | undefined {
  const { type, id, toolCallId } = earlier;
  if (later.type !== type || later.id !== id || later.toolCallId !== toolCallId) return undefined;
  if (type === "text-delta" || type === "reasoning-delta")
    return { ...later, delta: `${earlier.delta}${later.delta}` };
  if (type !== "tool-input-delta") return undefined;
  return { ...later, inputTextDelta: `${earlier.inputTextDelta}${later.inputTextDelta}` };
}

/** A chunk as a version of the AI SDK can read it; undefined where it has no word for it. */
export function chunkFor(version: UiVersion, chunk: UiChunk): UiChunk | undefined {
  if (version !== 5) return chunk;
  if (chunk.type === "tool-approval-request") return undefined;
  if (chunk.type !== "tool-output-denied") return chunk;
  const { toolCallId, reason } = chunk;
  return { type: "tool-output-error", toolCallId, errorText: String(reason) };
}

/** The parts of a message that its chunks make, as a client would put them together. */
export function partsOf(chunks: readonly UiChunk[]): readonly UiPart[] {
  const parts: { type: string; [field: string]: Json | undefined }[] = [];
  const open = new Map<Json | undefined, { type: string; text?: Json | undefined }>();
  const toolOf = (id: Json | undefined): { [field: string]: Json | undefined } =>
    parts.find(({ toolCallId }) => toolCallId === id) ?? {};
  for (const { type, ...chunk } of chunks) {
    const { id, toolCallId } = chunk;
    switch (type) {
      case "text-start":
      case "reasoning-start": {
        const part = { type: type.slice(0, -"-start".length), text: "", state: "done" };
        parts.push(part);
        open.set(id, part);
        break;
      }
      case "text-delta":
      case "reasoning-delta": {
        const part = open.get(id);
        if (part !== undefined) part.text = `${part.text}${chunk.delta}`;
        break;
      }
      case "tool-input-available": {
        const { toolName, ...rest } = chunk;
        parts.push({ type: `tool-${toolName}`, state: "input-available", ...rest });
        break;
      }
      case "tool-approval-request":
        Object.assign(toolOf(toolCallId), {
          state: "approval-requested",
          approval: { id: chunk.approvalId },
        });
        break;
      case "tool-output-available":
        Object.assign(toolOf(toolCallId), { state: "output-available", output: chunk.output });
        break;
      case "tool-output-error":
        Object.assign(toolOf(toolCallId), { state: "output-error", errorText: chunk.errorText });
        break;
      case "tool-output-denied": {
        const approval = { id: chunk.approvalId, approved: false, reason: chunk.reason };
        Object.assign(toolOf(toolCallId), { state: "output-denied", approval });
        break;
      }
      case "start-step":
        parts.push({ type: "step-start" });
        break;
      case "file":
      case "source-url":
        parts.push({ type, ...chunk });
        break;
      default:
        if (type.startsWith("data-") && chunk.transient !== true) parts.push({ type, ...chunk });
    }
  }
  return parts;
}
