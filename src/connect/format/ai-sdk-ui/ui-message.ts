import type { Content, Json, Part, Role, Session } from "../../../session/index.js";
import { agentNamed, Fields, isObject, type JsonObject, timeIn } from "../fields.js";
import { keepRest } from "../intake.js";
import { partsOf, type ToolUse, toolUseOf, used } from "./tool.js";

/** Appends what a UI message says; `left` is told whether some of it went into a note. */
export function uiMessage(session: Session, message: JsonObject, role: Role, left: () => void): Session {
  const fields = new Fields(message);
  fields.text("role");
  const parts = fields.list("parts") ?? [];
  const { metadata, createdAt } = message;
  const at =
    timeIn(createdAt) ?? timeIn(isObject(metadata) ? metadata.createdAt : undefined) ?? session.fact.at;
  const step = new Step(session, role, at);
  const rests: { [place: string]: Json } = {};
  for (const [index, part] of parts.entries()) {
    const rest = step.take(part);
    if (rest !== undefined) rests[index] = rest;
  }
  step.close();
  if (parts.length === 0) step.session = step.session.say("", { role, at, ...byRole(role) });
  if (Object.keys(rests).length > 0) fields.keep("parts", rests);
  const { rest } = fields;
  if (rest === undefined) return step.session;
  // An id alone is nothing to tell about.
  if (fields.names.some((name) => name !== "id")) left();
  return keepRest(step.session, "message", rest, at);
}

/** What is said and done in one step: the words and calls of one reply, then what the calls gave. */
class Step {
  session: Session;
  readonly #role: Role;
  readonly #at: string;
  #parts: Part[] = [];
  #uses: ToolUse[] = [];

  constructor(session: Session, role: Role, at: string) {
    this.session = session;
    this.#role = role;
    this.#at = at;
  }

  /** Takes a part of the message; what is left of it comes back. */
  take(part: Json): Json | undefined {
    if (!isObject(part) || typeof part.type !== "string") {
      this.#parts.push({ type: "other", value: part });
      return undefined;
    }
    const fields = new Fields(part);
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
    const [only] = this.#parts;
    const content: Content =
      this.#parts.length === 1 && only?.type === "text" && only.meta === undefined ? only.text : this.#parts;
    this.session = this.session.say(content, { role: this.#role, at: this.#at, ...byRole(this.#role) });
    for (const use of this.#uses) this.session = used(this.session, use, this.#at);
    this.#parts = [];
    this.#uses = [];
  }
}

/** Words, thoughts, files and sources; undefined for what there is no word for. */
function saidIn(type: string, fields: Fields): Part | undefined {
  switch (type) {
    case "text":
    case "reasoning": {
      const text = fields.text("text");
      const meta = fields.object("providerMetadata");
      return text === undefined ? undefined : { type, text, ...(meta !== undefined && { meta }) };
    }
    case "file": {
      const [media, data, name] = [fields.text("mediaType"), fields.text("url"), fields.text("filename")];
      if (media === undefined || data === undefined) return undefined;
      const meta = fields.object("providerMetadata");
      return {
        type: "file",
        media,
        data,
        ...(name !== undefined && { name }),
        ...(meta !== undefined && { meta }),
      };
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

export function byRole(role: Role): { readonly by?: "agent" | `agent:${string}` } {
  return role === "assistant" ? { by: agentNamed("assistant") } : {};
}
