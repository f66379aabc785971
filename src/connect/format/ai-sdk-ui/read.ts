import type { Json } from "../../../session/index.js";
import { parseJson } from "../../../util/index.js";
import type { Imported, ImportFormat } from "../exchange.js";
import { FieldReader, isFields } from "../fields.js";
import { beginning, beginsLike, defineImport, type Foreign } from "../foreign.js";
import { Arrival } from "../trajectory/arrival.js";
import { ModelMessages, tellUiMessage } from "./message.js";

/** Messages are objects whose first key is one of few; other systems keep lists of messages too, but in something else. */
const LIST = /^\s*\[\s*\{\s*"(id|role|metadata|parts|content)"\s*:/;
const CHAT = /"messages"\s*:\s*\[\s*\{\s*"(id|role|metadata|parts)"\s*:/;
const SPEAKER = /"role"\s*:\s*"(system|user|assistant|tool)"/;

/** Chats of the AI SDK: a list of UI messages or of model messages, alone or as `messages` of an object. */
export const aiSdkUi: ImportFormat = defineImport({
  name: "ai-sdk-ui",
  title: "AI SDK chats (UI messages or model messages, JSON)",
  fits: (source) =>
    (beginsLike(source, LIST, SPEAKER, /"(parts|content)"\s*:/) && speaks(beginning(source))) ||
    (beginsLike(source, /^\s*\{/, CHAT, SPEAKER, /"parts"\s*:\s*\[/) && !beginsLike(source, /\}\r?\n\{/)),
  quoteUnsafe: true,
  read,
});

/** Whether the first object of a list has a role of its own: other lists hold messages further inside. */
function speaks(text: string): boolean {
  const start = text.indexOf("{");
  let depth = 0;
  for (const { 0: token, index } of text.slice(start).matchAll(/"(?:[^"\\]|\\.)*"|[{}]/gs)) {
    if (token === "{") depth += 1;
    else if (token === "}" && --depth === 0) {
      const first = parseJson(text.slice(start, start + index + 1));
      return isFields(first) && typeof first.role === "string";
    }
  }
  return true;
}

function read(foreign: Foreign): Imported {
  const whole = foreign.json();
  const around = isFields(whole) ? new FieldReader(whole) : undefined;
  const where = around === undefined ? "" : "messages";
  const listed = around === undefined ? whole : around.json("messages");
  const messages = foreign.list(listed, where, "it is not a list of messages");
  if (messages.length === 0) foreign.refuse(where, "the list of messages is empty");
  const name = (around?.text("id") ?? foreign.source.name.replace(/\.[^.]*$/, "")) || "chat";
  around?.keep("id", isFields(whole) ? whole.id : undefined);
  const arrival = Arrival.start(foreign, { name });
  const models = new ModelMessages(arrival);
  const left = () => foreign.notes.add("Other fields of messages are kept in notes.");
  for (const [index, message] of messages.entries())
    tellMessage(message, `${where}[${index}]`, { foreign, arrival, models, left });
  if (around?.rest !== undefined) foreign.notes.add("Other fields of the chat are kept in a note.");
  arrival.rest("chat", around?.rest);
  arrival.suspend();
  return arrival.imported(name);
}

type Telling = {
  readonly foreign: Foreign;
  readonly arrival: Arrival;
  readonly models: ModelMessages;
  readonly left: () => void;
};

function tellMessage(value: Json, where: string, { foreign, arrival, models, left }: Telling): void {
  const message = foreign.object(value, where, "a message is an object");
  const { role, parts, content } = message;
  if (role !== "system" && role !== "user" && role !== "assistant" && role !== "tool")
    foreign.refuse(`${where}.role`, "nobody speaks in a message of this role");
  else if (role !== "tool" && Array.isArray(parts)) tellUiMessage(arrival, message, role, left);
  else if (typeof content === "string" || Array.isArray(content)) models.tell(message, role, left);
  else foreign.refuse(where, "a message has parts, or content that is text or a list");
}
