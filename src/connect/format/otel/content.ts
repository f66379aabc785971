import type { Content, Json, Message, Part, Session } from "../../../session/index.js";
import { transcriptView, Withheld } from "../../../session/index.js";

/** The newest messages of a prompt are enough to read a span by; each call repeats all that came before. */
const MESSAGES = 100;

/** A conversation in the shape of `gen_ai.input.messages`, and how many of its first messages were left out. */
export function inputMessages(session: Session | undefined): {
  readonly messages: Json;
  readonly omitted: number;
} {
  if (session === undefined) return { messages: [], omitted: 0 };
  const { settled, open, omitted } = session.view(transcriptView);
  const all = settled.length + open.length + omitted;
  const messages = all === 0 ? [] : session.recent(MESSAGES);
  return { messages: messages.map(chatMessage), omitted: all - messages.length };
}

/** A reply in the shape of `gen_ai.output.messages`. */
export function outputMessages(content: Content | Withheld, finish: string): Json {
  return [{ role: "assistant", parts: partsOf(content), finish_reason: finish }];
}

export function instructionsOf(text: string): Json {
  return [{ type: "text", content: text }];
}

function chatMessage(message: Message): Json {
  if (message.role !== "tool")
    return {
      role: message.role,
      parts: partsOf(message.content),
      ...(message.author !== undefined && { name: message.author }),
    };
  const { call, output, error } = message;
  const response =
    error === undefined ? (output ?? null) : { error: { name: error.name, message: error.message } };
  return { role: "tool", parts: [{ type: "tool_call_response", id: call, response }] };
}

function partsOf(content: Content | Withheld): readonly Json[] {
  if (content instanceof Withheld) return [withheld(content)];
  return typeof content === "string" ? [{ type: "text", content }] : content.map(partOf);
}

function partOf(part: Part): Json {
  switch (part.type) {
    case "text":
    case "reasoning":
      return { type: part.type, content: part.text };
    case "tool-call":
      return part.provider
        ? {
            type: "server_tool_call",
            id: part.call,
            name: part.name,
            server_tool_call: { type: part.name, arguments: part.input },
          }
        : { type: "tool_call", id: part.call, name: part.name, arguments: part.input };
    case "tool-result":
      return {
        type: "server_tool_call_response",
        id: part.call,
        server_tool_call_response: { type: part.name, output: part.output },
      };
    case "file": {
      const modality = part.media.split("/")[0] as string;
      const known = ["image", "video", "audio"].includes(modality) ? modality : "document";
      const [, inline] = /^data:[^,]*;base64,(.*)$/s.exec(part.data) ?? [];
      const isUri = inline === undefined && /^[a-z][a-z0-9+.-]*:/i.test(part.data);
      return isUri
        ? { type: "uri", mime_type: part.media, modality: known, uri: part.data }
        : { type: "blob", mime_type: part.media, modality: known, content: inline ?? part.data };
    }
    case "source":
      return { type: "source", source: part.source };
    case "other":
      return { type: "other", value: part.value };
    case "withheld":
      return { type: "withheld", reason: part.reason, digest: part.digest };
  }
}

/** A mark in place of erased content. */
export function withheld({ reason, digest }: Withheld): Json {
  return { type: "withheld", reason, digest };
}
