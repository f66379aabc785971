import type { Json, Part, Role } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import { FieldReader, type Fields, fieldsIn, isFields, isTime } from "../fields.js";
import { type Arrival, plainContent } from "../trajectory/arrival.js";
import { partsOf, type ToolUse, tellUse, toolUseOf } from "./tool.js";

/** Tells what a UI message says; `left` is called when some of it went into a note. */
export function tellUiMessage(arrival: Arrival, message: Fields, role: Role, left: () => void): void {
  const fields = new FieldReader(message);
  fields.text("role");
  const parts = fields.list("parts") ?? [];
  arrival.clock([message.createdAt, fieldsIn(message, "metadata").createdAt].find(isTime));
  const step = new Step(arrival, role);
  const rests: { [place: string]: Json } = {};
  for (const [index, part] of parts.entries()) {
    const rest = step.take(part);
    if (rest !== undefined) rests[index] = rest;
  }
  step.close();
  if (parts.length === 0) arrival.say(role, "", speaker(role));
  if (Object.keys(rests).length > 0) fields.keep("parts", rests);
  // An id alone is nothing to tell about.
  if (fields.names.some((name) => name !== "id")) left();
  arrival.rest("message", fields.rest);
}

/** What is said and done in one step: the words and calls of one reply, then what the calls gave. */
class Step {
  readonly #arrival: Arrival;
  readonly #role: Role;
  #parts: Part[] = [];
  #uses: ToolUse[] = [];

  constructor(arrival: Arrival, role: Role) {
    this.#arrival = arrival;
    this.#role = role;
  }

  /** Takes a part of the message; what is left of it comes back. */
  take(part: Json): Json | undefined {
    if (!isFields(part) || typeof part.type !== "string") {
      this.#parts.push({ type: "other", value: part });
      return undefined;
    }
    const fields = new FieldReader(part);
    const type = fields.text("type") as string;
    if (type === "step-start") {
      this.close();
      return fields.rest;
    }
    const tool =
      type === "dynamic-tool"
        ? (fields.text("toolName") ?? "")
        : type.startsWith("tool-")
          ? type.slice(5)
          : undefined;
    if (tool !== undefined && this.#role === "assistant") {
      if (type === "dynamic-tool") fields.keep("dynamic", true);
      const use = toolUseOf(tool, fields);
      this.#uses.push(use);
      this.#parts.push(...partsOf(use));
      return fields.rest;
    }
    // What is said after a result is said by another reply.
    if (this.#uses.some(({ outcome, provider }) => outcome !== undefined && !provider)) this.close();
    const said = saidIn(type, fields);
    this.#parts.push(said ?? { type: "other", value: part });
    return said === undefined ? undefined : fields.rest;
  }

  /** Says what was taken, and does what was called. */
  close(): void {
    if (this.#parts.length === 0) return;
    this.#arrival.say(this.#role, plainContent(this.#parts), speaker(this.#role));
    for (const use of this.#uses) tellUse(this.#arrival, use);
    this.#parts = [];
    this.#uses = [];
  }
}

/** Words, thoughts, files and sources; undefined for what there is no word for. */
function saidIn(type: string, fields: FieldReader): Part | undefined {
  switch (type) {
    case "text":
    case "reasoning": {
      const text = fields.text("text");
      const meta = fields.object("providerMetadata");
      return text === undefined ? undefined : { type, text, ...defined({ meta }) };
    }
    case "file": {
      const [media, data, name] = [fields.text("mediaType"), fields.text("url"), fields.text("filename")];
      if (media === undefined || data === undefined) return undefined;
      const meta = fields.object("providerMetadata");
      return { type: "file", media, data, ...defined({ name, meta }) };
    }
    case "source-url":
    case "source-document": {
      const source = { type, ...fields.rest };
      for (const name of fields.names) fields.json(name);
      return { type: "source", source };
    }
    default:
      return undefined;
  }
}

export function speaker(role: Role): "agent:assistant" | undefined {
  return role === "assistant" ? "agent:assistant" : undefined;
}
