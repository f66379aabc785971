import { within } from "../../../agent/index.js";
import { textOf } from "../../../agent/model/index.js";
import {
  type Content,
  type FactId,
  type FactOf,
  isWorkflow,
  type Json,
  type Session,
} from "../../../session/index.js";
import { defined } from "../../../util/index.js";

/** The note of a request: its ids, and those of the messages that it brought. */
export const RUN_NOTE = "agui-run";

type Fields = { [field: string]: Json };

/**
 * The messages of a thread as AG-UI has them, by the ids under which they were told: those of the user by the ids that the
 * front end gave them. Agents that worked as tools are left out.
 */
export function messagesIn(session: Session): readonly Json[] {
  const messages: Fields[] = [];
  /** The ids of the messages that a request brought, in order. */
  let given: readonly string[] = [];
  let hidesContext = false;
  for (const node of session.history()) {
    const { id, fact } = node;
    if (within(node) !== undefined) continue;
    if (fact.type === "note" && fact.kind === RUN_NOTE) {
      given = fact.messages as readonly string[];
      hidesContext = fact.told === true;
    } else if (fact.type === "message-say" && fact.role === "user" && !isWorkflow(fact.by)) {
      if (hidesContext) hidesContext = false;
      else {
        messages.push({ id: given[0] ?? id, role: "user", content: contentOf(fact.content) });
        given = given.slice(1);
      }
    } else if (fact.type === "message-say" && fact.role === "assistant")
      messages.push({ id, role: "assistant", content: textOf(fact.content) });
    else if (fact.type === "model-reply") messages.push(...replyOf(fact));
    else if (fact.type === "tool-call") addCall(messages, node, fact);
    else if (fact.type === "tool-result" || fact.type === "tool-failure")
      messages.push({ id, role: "tool", toolCallId: fact.of, content: outcomeText(fact) });
  }
  return messages.filter(
    ({ role, content, toolCalls }) => role !== "assistant" || content !== "" || toolCalls !== undefined,
  );
}

/** The output of a call, or its failure, as text. */
export function outcomeText(fact: FactOf<"tool-result"> | FactOf<"tool-failure">): string {
  if (fact.type === "tool-result")
    return typeof fact.output === "string" ? fact.output : JSON.stringify(fact.output);
  const { name, message, code } = fact.error;
  return JSON.stringify({ error: { name, message, ...defined({ code }) } });
}

function replyOf({ of, content }: FactOf<"model-reply">): readonly Fields[] {
  const parts = typeof content === "string" ? [] : content;
  const thought = parts.map((part) => (part.type === "reasoning" ? part.text : "")).join("");
  const message: Fields = { id: of, role: "assistant", content: textOf(content) };
  return thought === ""
    ? [message]
    : [{ id: `${of}-reasoning`, role: "reasoning", content: thought }, message];
}

/** The model call whose reply asked for a tool call. */
export function replyBefore(call: Session): FactId | undefined {
  for (let node = call.parents[0]; node !== undefined; node = node.parents[0]) {
    if (node.fact.type === "model-reply") return node.fact.of;
    if (node.fact.type !== "tool-call") return undefined;
  }
  return undefined;
}

/** A call belongs to the reply that asked for it. */
function addCall(messages: Fields[], node: Session, { name, input }: FactOf<"tool-call">): void {
  const { id } = node;
  const call = { id, type: "function", function: { name, arguments: JSON.stringify(input) } };
  const parent = replyBefore(node);
  const reply = messages.findLast((message) => message.role === "assistant" && message.id === parent);
  if (reply === undefined)
    messages.push({ id: `${id}-call`, role: "assistant", content: "", toolCalls: [call] });
  else reply.toolCalls = [...((reply.toolCalls ?? []) as readonly Json[]), call];
}

function contentOf(content: Content): Json {
  if (typeof content === "string") return content;
  return content.flatMap((part): Json[] => {
    if (part.type === "text") return [{ type: "text", text: part.text }];
    if (part.type !== "file" || typeof part.data !== "string") return [];
    const { media, data } = part;
    const kind = /^(image|audio|video)\//.exec(media)?.[1] ?? "document";
    const isUrl = /^(https?|data):/.test(data);
    return [{ type: kind, source: { type: isUrl ? "url" : "data", value: data, mimeType: media } }];
  });
}
