import type { Json } from "../../session/index.js";

/** The version of the protocol that is spoken. */
export const AGUI_VERSION = "1.0";

type Fields = { readonly [field: string]: Json | undefined };

/** An event of the AG-UI protocol, version 1.0, as far as a run of ours has something to say. */
export type AguiEvent = Fields & { readonly type: AguiEventType };

export type AguiEventType =
  | "RUN_STARTED"
  | "RUN_FINISHED"
  | "RUN_ERROR"
  | "STEP_STARTED"
  | "STEP_FINISHED"
  | "TEXT_MESSAGE_START"
  | "TEXT_MESSAGE_CONTENT"
  | "TEXT_MESSAGE_END"
  | "REASONING_START"
  | "REASONING_MESSAGE_START"
  | "REASONING_MESSAGE_CONTENT"
  | "REASONING_MESSAGE_END"
  | "REASONING_END"
  | "TOOL_CALL_START"
  | "TOOL_CALL_ARGS"
  | "TOOL_CALL_END"
  | "TOOL_CALL_RESULT"
  | "SUBAGENT_STARTED"
  | "SUBAGENT_FINISHED"
  | "SUBAGENT_ERROR"
  | "STATE_SNAPSHOT"
  | "CUSTOM";

/** Two pieces of one message as one piece: what a slow reader gets instead of both. */
export function mergedEvent(earlier: AguiEvent, later: AguiEvent): AguiEvent | undefined {
  const { type, messageId, delta } = earlier;
  if (type !== "TEXT_MESSAGE_CONTENT" && type !== "REASONING_MESSAGE_CONTENT") return undefined;
  if (later.type !== type || later.messageId !== messageId) return undefined;
  return { ...later, delta: `${delta}${later.delta}` };
}
