import { type Awaited, detailsOf } from "../../runtime/index.js";
import type { FactId, Json, Session } from "../../session/index.js";
import { defined } from "../../util/index.js";
import { replySchema } from "./answer.js";

/**
 * Something that is awaited, as an interrupt: its id names exactly what is shown.
 *
 * @param mayAnswer whether the reader is one of those who may answer it
 */
export function interruptOf(one: Awaited, session: Session, mayAnswer: boolean): Json {
  const schema = replySchema(one);
  const call =
    one.type === "approval-ask" ? callOf(session, one.id) : one.doubt === true ? one.id : undefined;
  return {
    id: one.id,
    reason: one.doubt === true ? "in-doubt" : (REASONS.get(one.type) ?? one.type),
    message: one.what,
    ...defined({ toolCallId: call, responseSchema: schema, expiresAt: one.expires }),
    metadata: { openrath: { ...detailsOf(one), mayAnswer } },
  };
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ["approval-ask", "tool_call"],
  ["signal-await", "input_required"],
  ["timer-set", "timer"],
]);

/** The tool call that an approval is of. */
function callOf(session: Session, ask: FactId): FactId | undefined {
  for (const { id, fact } of session.history())
    if (id === ask) return fact.type === "approval-ask" ? fact.of : undefined;
  return undefined;
}
