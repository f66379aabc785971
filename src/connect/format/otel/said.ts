import type { Json, Message, Part, Session } from "../../../session/index.js";
import { missingIn, sayMissing } from "../../ai-sdk/conversation.js";
import { agentNamed, type Fields, fieldsIn, objectsOf, stringOf } from "../fields.js";

/** Appends what messages of the conventions say and the session does not, once. */
export function heard(
  session: Session,
  messages: readonly Fields[],
  agent: string | undefined,
  at: string,
): Session {
  let next = session;
  for (const message of messages)
    if (message.role === "system" || message.role === "developer") {
      const text = textsOf(message).join("\n");
      const known = (one: Message) => one.role === "system" && one.content === text;
      if (!next.transcript.some(known)) next = next.say(text, { role: "system", at });
    }
  for (const said of missingIn(next.transcript, promptOf(messages)))
    next = sayMissing(next, said, agentNamed(agent), { at });
  return next;
}

/** The parts of a reply. */
export function replyParts(messages: readonly Fields[]): readonly Part[] {
  return messages.flatMap((message) => partsIn(message).map(partOf));
}

function partsIn(message: Fields): readonly Fields[] {
  const { parts, content } = message;
  if (Array.isArray(parts)) return objectsOf(parts);
  return typeof content === "string" ? [{ type: "text", content }] : [];
}

function textsOf(message: Fields): readonly string[] {
  return partsIn(message).flatMap(({ content }) => stringOf(content) ?? []);
}

function partOf(part: Fields): Part {
  const [call, name] = [stringOf(part.id) ?? "", stringOf(part.name) ?? ""];
  switch (part.type) {
    case "text":
    case "reasoning":
      return typeof part.content === "string"
        ? { type: part.type, text: part.content }
        : { type: "other", value: part };
    case "tool_call":
      return { type: "tool-call", call, name, input: part.arguments ?? {} };
    case "server_tool_call": {
      const { arguments: input = {} } = fieldsIn(part, "server_tool_call");
      return { type: "tool-call", call, name, input, provider: true };
    }
    case "server_tool_call_response": {
      const held = fieldsIn(part, "server_tool_call_response");
      return { type: "tool-result", call, name: stringOf(held.type) ?? "", output: held.output ?? null };
    }
    case "tool_call_response":
      return { type: "tool-result", call, name, output: part.response ?? part.result ?? null };
    case "blob":
    case "uri": {
      const data = stringOf(part.content) ?? stringOf(part.uri);
      return data === undefined
        ? { type: "other", value: part }
        : { type: "file", media: stringOf(part.mime_type) ?? stringOf(part.modality) ?? "", data };
    }
    case "source":
      return { type: "source", source: part.source ?? null };
    case "other":
      return { type: "other", value: part.value ?? null };
    default:
      return { type: "other", value: part };
  }
}

/** The same messages as the AI SDK would send them, which is what conversations are compared by. */
function promptOf(messages: readonly Fields[]): readonly Fields[] {
  const names = new Map<string, string>();
  return messages.map((message) => {
    const parts = partsIn(message).map(partOf);
    for (const part of parts) if (part.type === "tool-call") names.set(part.call, part.name);
    const isTool =
      message.role === "tool" ||
      (parts.some((part) => part.type === "tool-result") && message.role === "user");
    return {
      role: isTool
        ? "tool"
        : message.role === "assistant" || message.role === "user"
          ? message.role
          : "system",
      content: parts.map((part) => sent(part, names)),
    };
  });
}

function sent(part: Part, names: ReadonlyMap<string, string>): Json {
  switch (part.type) {
    case "tool-call":
      return {
        type: "tool-call",
        toolCallId: part.call,
        toolName: part.name,
        input: part.input,
        ...(part.provider && { providerExecuted: true }),
      };
    case "tool-result":
      return {
        type: "tool-result",
        toolCallId: part.call,
        toolName: part.name === "" ? (names.get(part.call) ?? "") : part.name,
        output: { type: "json", value: part.output },
      };
    case "file":
      return { type: "file", mediaType: part.media, data: part.data };
    case "other":
      return part.value;
    default:
      return part;
  }
}
