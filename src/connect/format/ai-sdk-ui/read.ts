import type { Json } from "../../../session/index.js";
import { beginsLike, type Document, readDocument } from "../document.js";
import type { Imported, ImportFormat, Source } from "../exchange.js";
import { Fields, isObject, type JsonObject } from "../fields.js";
import { keepRest, startImport } from "../intake.js";
import { modelMessage, type Open } from "./model-message.js";
import { uiMessage } from "./ui-message.js";

const FORMAT = "ai-sdk-ui";

/** Messages are objects whose first key is one of few; other systems keep lists of messages too, but in something else. */
const LIST = /^\s*\[\s*\{\s*"(id|role|metadata|parts|content)"\s*:/;
const CHAT = /"messages"\s*:\s*\[\s*\{\s*"(id|role|metadata|parts)"\s*:/;
const SPEAKER = /"role"\s*:\s*"(system|user|assistant|tool)"/;

/** Chats of the AI SDK: a list of UI messages or of model messages, alone or as `messages` of an object. */
export const aiSdkUi: ImportFormat = {
  name: FORMAT,
  title: "AI SDK chats (UI messages or model messages, JSON)",
  fits: (source) =>
    beginsLike(source, LIST, SPEAKER, /"(parts|content)"\s*:/) ||
    (beginsLike(source, /^\s*\{/, CHAT, SPEAKER, /"parts"\s*:\s*\[/) && !beginsLike(source, /\}\r?\n\{/)),
  read: (source) => readDocument(FORMAT, source, (document) => [read(source, document)]),
};

function read(source: Source, document: Document): Imported {
  const whole = document.json();
  const around = isObject(whole) ? new Fields(whole) : undefined;
  const messages = around === undefined ? whole : around.json("messages");
  const where = around === undefined ? "" : "messages";
  if (!Array.isArray(messages) || messages.length === 0)
    throw document.refusal({ where, reason: "it is not a list of messages" });
  const name = (around?.text("id") ?? source.name.replace(/\.[^.]*$/, "")) || "chat";
  around?.keep("id", isObject(whole) ? whole.id : undefined);
  let session = startImport(source, FORMAT, { name });
  const open: Open = { calls: new Map(), questions: new Map() };
  const left = () => document.note("What messages say beside their parts is kept in notes.");
  for (const [index, message] of (messages as readonly Json[]).entries()) {
    const place = `${where}[${index}]`;
    const { role, kind, fields } = requireMessage(message, place, document);
    session =
      kind === "ui" && role !== "tool"
        ? uiMessage(session, fields, role, left)
        : modelMessage(session, fields, role, open, left);
  }
  const rest = around?.rest;
  if (rest !== undefined) {
    session = keepRest(session, "chat", rest);
    document.note("What the chat says beside its messages is kept in a note.");
  }
  return { name, session, notes: [...document.notes] };
}

type Role = "system" | "user" | "assistant" | "tool";

function requireMessage(
  message: Json,
  where: string,
  document: Document,
): { readonly role: Role; readonly kind: "ui" | "model"; readonly fields: JsonObject } {
  if (!isObject(message)) throw document.refusal({ where, reason: "a message is an object" });
  const { role, parts, content } = message;
  if (role !== "system" && role !== "user" && role !== "assistant" && role !== "tool")
    throw document.refusal({ where: `${where}.role`, reason: "nobody speaks in a message of this role" });
  if (role !== "tool" && Array.isArray(parts)) return { role, kind: "ui", fields: message };
  if (typeof content === "string" || Array.isArray(content)) return { role, kind: "model", fields: message };
  throw document.refusal({ where, reason: "a message has parts, or content that is text or a list" });
}
