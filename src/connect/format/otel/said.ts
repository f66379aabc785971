import type { Json, Message, Part, Session } from "../../../session/index.js";
import { type Missing, missingIn, sayMissing, sdkPart, wordsAlone } from "../../ai-sdk/conversation.js";
import { agentNamed, type Fields, fieldsIn, isFields, objectsOf, stringOf } from "../fields.js";

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
      const text = partsIn(message)
        .flatMap(({ content }) => stringOf(content) ?? [])
        .join("\n");
      const known = (one: Message) => one.role === "system" && one.content === text;
      if (!next.transcript.some(known)) next = next.say(text, { role: "system", at });
    }
  for (const said of missingIn(next.transcript, saidIn(messages)))
    next = sayMissing(next, said, agentNamed(agent), { at });
  return next;
}

export function replyParts(messages: readonly Fields[]): readonly Part[] {
  return messages.flatMap((message) => partsIn(message).map(partOf));
}

function partsIn(message: Fields): readonly Fields[] {
  const { parts, content } = message;
  if (Array.isArray(parts)) return objectsOf(parts);
  return typeof content === "string" ? [{ type: "text", content }] : [];
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

/** The messages of the conventions in the form in which conversations are compared. */
function saidIn(messages: readonly Fields[]): readonly Missing[] {
  const [names, inputs] = [new Map<string, string>(), new Map<string, Json>()];
  return messages.flatMap((message): readonly Missing[] => {
    const { role } = message;
    const told = partsIn(message).map(partOf);
    for (const part of told) if (part.type === "tool-call") names.set(part.call, part.name);
    const parts = told.map((part): Part => {
      if (part.type === "source") return { type: "other", value: part };
      if (part.type === "tool-result") return { ...part, name: part.name || (names.get(part.call) ?? "") };
      // Others may be parts of the AI SDK.
      return part.type === "other" && isFields(part.value) ? sdkPart(part.value) : part;
    });
    if (role === "tool" || (role === "user" && parts.some(({ type }) => type === "tool-result")))
      return parts.flatMap((part) => {
        if (part.type !== "tool-result") return [];
        const { call, name, output } = part;
        return [{ role: "tool", call, name, input: inputs.get(call) ?? {}, output }];
      });
    if (role !== "user" && role !== "assistant") return [];
    for (const part of parts) if (part.type === "tool-call") inputs.set(part.call, part.input);
    return [{ role, content: wordsAlone(parts) }];
  });
}
