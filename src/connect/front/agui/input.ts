import { type Content, type Json, type Part, RathError } from "../../../session/index.js";
import { isObject } from "../../../util/index.js";
import { RequestError } from "../door.js";
import { type FrontContext, type FrontTool, frontTool } from "./front-tool.js";
import { withoutOwn } from "./state.js";

/** The request of a front end: the AG-UI `RunAgentInput`, as far as it is used here. */
export type AguiInput = {
  readonly threadId: string;
  readonly runId: string;
  readonly parentRunId?: string;
  /** The messages of the user. Messages of others are on the record, if they are true. */
  readonly messages: readonly { readonly id: string; readonly content: Content }[];
  readonly resume: readonly {
    readonly interruptId: string;
    readonly status: "resolved" | "cancelled";
    readonly payload?: Json;
  }[];
  /** The results of tools that the front end ran. */
  readonly results: readonly FrontResult[];
  /** The state of the app; undefined where the request has none. */
  readonly state: Json | undefined;
  readonly tools: readonly FrontTool[];
  readonly context: readonly FrontContext[];
};

export type FrontResult = {
  readonly toolCallId: string;
  readonly content: string;
  readonly error?: string;
};

const LONGEST_ID = 256;

type Fields = { readonly [field: string]: unknown };

/** Checks what came from outside. */
export function inputOf(body: unknown): AguiInput {
  const fields = fieldsOf(body, "the request");
  const { parentRunId, state } = fields;
  const messages = listOf(fields.messages, "messages");
  const resume = fields.resume === undefined ? [] : listOf(fields.resume, "resume");
  const tools = fields.tools === undefined ? [] : listOf(fields.tools, "tools");
  const context = fields.context === undefined ? [] : listOf(fields.context, "context");
  return {
    threadId: idOf(fields.threadId, "threadId"),
    runId: idOf(fields.runId, "runId"),
    ...(parentRunId !== undefined &&
      parentRunId !== null && { parentRunId: idOf(parentRunId, "parentRunId") }),
    messages: messages.flatMap((message, place) => {
      const where = `messages[${place}]`;
      const { id, role, content } = fieldsOf(message, where);
      return role === "user" ? [{ id: idOf(id, `${where}.id`), content: contentOf(content, where) }] : [];
    }),
    resume: resume.map((entry, place) => {
      const where = `resume[${place}]`;
      const { interruptId, status, payload } = fieldsOf(entry, where);
      if (status !== "resolved" && status !== "cancelled")
        throw broken(`${where}.status`, 'is neither "resolved" nor "cancelled"');
      return {
        interruptId: idOf(interruptId, `${where}.interruptId`),
        status,
        ...(payload !== undefined && { payload: payload as Json }),
      };
    }),
    results: messages.flatMap((message, place) => {
      const where = `messages[${place}]`;
      const { role, toolCallId, content, error } = fieldsOf(message, where);
      if (role !== "tool") return [];
      const text = typeof content === "string" ? content : JSON.stringify(content ?? null);
      return [
        {
          toolCallId: idOf(toolCallId, `${where}.toolCallId`),
          content: text,
          ...(typeof error === "string" && { error }),
        },
      ];
    }),
    state: state === undefined || state === null ? undefined : withoutOwn(state as Json),
    tools: toolsOf(tools),
    context: context.map((one, place) => {
      const { description, value } = fieldsOf(one, `context[${place}]`);
      return { description: String(description), value: String(value) };
    }),
  };
}

/** The tools that a front end offers. One that an agent could not call is refused before anything is done. */
function toolsOf(tools: readonly unknown[]): readonly FrontTool[] {
  const names = new Set<string>();
  return tools.map((given, place) => {
    const where = `tools[${place}]`;
    const { name, description, parameters } = fieldsOf(given, where);
    const offered: FrontTool = {
      name: idOf(name, `${where}.name`),
      description: typeof description === "string" ? description : "",
      parameters: isObject(parameters) ? (parameters as Json) : { type: "object" },
    };
    if (names.has(offered.name)) throw broken(where, "has the name of another");
    names.add(offered.name);
    try {
      frontTool(offered);
    } catch (error) {
      if (!(error instanceof RathError)) throw error;
      throw broken(where, `cannot be called by a model (${error.code})`);
    }
    return offered;
  });
}

function contentOf(content: unknown, where: string): Content {
  if (typeof content === "string") return content;
  return listOf(content, `${where}.content`).map((part, place): Part => {
    const at = `${where}.content[${place}]`;
    const { type, text, source } = fieldsOf(part, at);
    if (type === "text" && typeof text === "string") return { type: "text", text };
    if (!["image", "audio", "video", "document"].includes(String(type)))
      throw broken(at, `is of the type ${JSON.stringify(type)}, which is not known`);
    const { type: kind, value, mimeType } = fieldsOf(source, `${at}.source`);
    if (typeof value !== "string" || value === "") throw broken(`${at}.source`, "has no value");
    if (kind !== "data" && kind !== "url")
      throw broken(`${at}.source`, `is of the type ${JSON.stringify(kind)}: send the data, or a URL`);
    const media = typeof mimeType === "string" ? mimeType : MEDIA.get(String(type));
    if (media === undefined || (kind === "data" && typeof mimeType !== "string"))
      throw broken(`${at}.source`, "does not say its mimeType");
    return { type: "file", media, data: value };
  });
}

const MEDIA: ReadonlyMap<string, string> = new Map([
  ["image", "image/*"],
  ["audio", "audio/*"],
  ["video", "video/*"],
  ["document", "application/octet-stream"],
]);

function fieldsOf(value: unknown, where: string): Fields {
  if (isObject(value)) return value;
  throw broken(where, "is not an object");
}

function listOf(value: unknown, where: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw broken(where, "is not a list");
}

export function idOf(value: unknown, where: string): string {
  if (typeof value === "string" && value !== "" && value.length <= LONGEST_ID && value.isWellFormed())
    return value;
  throw broken(where, `is not a text of 1 to ${LONGEST_ID} characters`);
}

/** An example of answers, with the interrupt's `responseSchema` as the payload. */
const RESUME =
  'answer an interrupt by its id: "resume": [{ "interruptId": "…", "status": "resolved", "payload": { "approved": true } }]; with "edit" in the payload for other arguments, or "approved": false, with "instead" for what a person did';

function broken(where: string, reason: string): RequestError {
  return new RequestError(422, "input-broken", `The request cannot be taken: ${where} ${reason}.`, {
    hint: where.startsWith("resume")
      ? RESUME
      : "send a RunAgentInput of AG-UI 1.0: { threadId, runId, messages }",
    data: { where, reason },
  });
}
