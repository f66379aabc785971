import { type Awaited, detailsOf } from "../../../runtime/index.js";
import type { FactId, Json } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import { replySchema } from "../answer.js";

/** The version of the protocol that is spoken. */
export const AGUI_VERSION = "1.0";

type Fields = { readonly [field: string]: Json | undefined };

/** An event of the AG-UI protocol, version 1.0, as far as a run of ours has something to say. */
export type AguiEvent = Fields & { readonly type: AguiEventType };

export type AguiEventType =
  | `${"RUN" | "STEP" | "SUBAGENT"}_${"STARTED" | "FINISHED"}`
  | `${"RUN" | "SUBAGENT"}_ERROR`
  | `${"TEXT" | "REASONING"}_MESSAGE_${"START" | "CONTENT" | "END"}`
  | `REASONING_${"START" | "END"}`
  | `TOOL_CALL_${"START" | "ARGS" | "END" | "RESULT"}`
  | `${"STATE" | "MESSAGES"}_SNAPSHOT`
  | "STATE_DELTA"
  | "CUSTOM";

/** Two pieces of one message as one piece: what a slow reader gets instead of both. */
export function mergedEvent(earlier: AguiEvent, later: AguiEvent): AguiEvent | undefined {
  const { type, messageId, delta } = earlier;
  if (type !== "TEXT_MESSAGE_CONTENT" && type !== "REASONING_MESSAGE_CONTENT") return undefined;
  if (later.type !== type || later.messageId !== messageId) return undefined;
  return { ...later, delta: `${delta}${later.delta}` };
}

/**
 * Something that is awaited, as an interrupt: its id names exactly what is shown.
 *
 * @param call the tool call that it is about
 * @param mayAnswer whether the reader is one of those who may answer it
 */
export function interruptOf(one: Awaited, call: FactId | undefined, mayAnswer: boolean): Json {
  return {
    id: one.id,
    reason: one.doubt === true ? "in-doubt" : (REASONS[one.type] ?? one.type),
    message: one.what,
    ...defined({ toolCallId: call, responseSchema: replySchema(one), expiresAt: one.expires }),
    metadata: { openrath: { ...detailsOf(one), mayAnswer } },
  };
}

const REASONS: { readonly [type: string]: string } = {
  "approval-ask": "tool_call",
  "signal-await": "input_required",
  "timer-set": "timer",
};
