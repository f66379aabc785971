import type { Content, FactId, Json, Part } from "../../../session/index.js";
import { isObject } from "../../../util/index.js";
import type { Reply } from "../answer.js";
import { RequestError } from "../door.js";

/** The body that `useChat` posts, as far as it is used: the record has the rest. */
export type UiInput = {
  readonly thread: string;
  readonly trigger: "submit-message" | "regenerate-message";
  /** The last message, if it is the user's. */
  readonly message?: { readonly id: string; readonly content: Content };
  /** Answers to requests for approval that its messages hold. */
  readonly approvals: readonly {
    readonly id: string;
    readonly approved: boolean;
    readonly reason?: string;
  }[];
  /** Results of tool calls that its messages hold. */
  readonly outputs: readonly { readonly call: string; readonly output?: Json; readonly error?: string }[];
  /** Answers of any kind: `sendMessage(undefined, { body: { answers: [{ of, value }] } })`. */
  readonly answers: readonly Reply[];
};

type Fields = { readonly [field: string]: unknown };

/** Checks what came from outside. */
export function inputOf(body: unknown): UiInput {
  const fields = fieldsOf(body, "the request");
  const { trigger = "submit-message" } = fields;
  if (trigger !== "submit-message" && trigger !== "regenerate-message")
    throw broken("trigger", 'is neither "submit-message" nor "regenerate-message"');
  const messages = fields.message === undefined ? listOf(fields.messages, "messages") : [fields.message];
  const approvals: UiInput["approvals"][number][] = [];
  const outputs: UiInput["outputs"][number][] = [];
  let message: UiInput["message"];
  for (const [place, one] of messages.entries()) {
    const where = `messages[${place}]`;
    const { id, role, parts } = fieldsOf(one, where);
    const list = listOf(parts, `${where}.parts`).map((part, index) =>
      fieldsOf(part, `${where}.parts[${index}]`),
    );
    if (role !== "user" && role !== "assistant" && role !== "system")
      throw broken(`${where}.role`, "is not user, assistant or system");
    if (role === "assistant") for (const part of list) takeAnswer(part, approvals, outputs);
    if (role === "user" && place === messages.length - 1)
      message = { id: idOf(id, `${where}.id`), content: contentOf(list, idOf(id, `${where}.id`), where) };
  }
  return {
    thread: idOf(fields.id, "id"),
    trigger,
    ...(message !== undefined && { message }),
    approvals,
    outputs,
    answers: listOf(fields.answers ?? [], "answers").map((one, place) => {
      const { of, value = null } = fieldsOf(one, `answers[${place}]`);
      return { of: idOf(of, `answers[${place}].of`) as FactId, value: value as Json };
    }),
  };
}

function takeAnswer(part: Fields, approvals: object[], outputs: object[]): void {
  const { state, approval, toolCallId: call, output = null, errorText } = part;
  const { id, approved, reason } = isObject(approval) ? (approval as Fields) : {};
  if (state === "approval-responded" && typeof approved === "boolean" && typeof id === "string")
    approvals.push({ id, approved, ...(typeof reason === "string" && { reason }) });
  if (state === "output-available" && typeof call === "string") outputs.push({ call, output });
  if (state === "output-error" && typeof call === "string") outputs.push({ call, error: String(errorText) });
}

/** The content of a message. Its id is noted at the first part: with it a message that comes again is recognized. */
function contentOf(list: readonly Fields[], message: string, where: string): Content {
  const parts = list.flatMap((part, place): readonly Part[] => {
    const at = `${where}.parts[${place}]`;
    if (part.type === "text") {
      if (typeof part.text !== "string" || !part.text.isWellFormed())
        throw broken(`${at}.text`, "is not a text");
      return part.text.trim() === "" ? [] : [{ type: "text", text: part.text }];
    }
    if (part.type !== "file") return [];
    const { mediaType, url, filename } = part;
    if (typeof url !== "string" || !/^(?:data:|https?:\/\/)/i.test(url) || !URL.canParse(url))
      throw broken(`${at}.url`, "is not a data: or https: URL");
    if (typeof mediaType !== "string" || mediaType === "")
      throw broken(`${at}.mediaType`, "is not a media type");
    const name = typeof filename === "string" ? { name: filename } : {};
    return [{ type: "file", media: mediaType, data: dataOf(url, at), ...name }];
  });
  if (parts.length === 0) throw broken(where, "has neither text nor a file");
  const [first, ...rest] = parts as [Part & { readonly type: "text" | "file" }, ...Part[]];
  return [{ ...first, meta: { openrath: { message } } }, ...rest];
}

/** Base64, or the URL of what lies elsewhere. */
function dataOf(url: string, at: string): string {
  if (!/^data:/i.test(url)) return url;
  const comma = url.indexOf(",");
  const data = url.slice(comma + 1);
  if (comma === -1) throw broken(`${at}.url`, "has no data");
  if (/;base64$/i.test(url.slice(0, comma))) return data;
  try {
    return Buffer.from(decodeURIComponent(data)).toString("base64");
  } catch {
    throw broken(`${at}.url`, "has broken data");
  }
}

/** The id that the front end gave to a message, as it is on the record. */
export function messageIdOf(content: unknown): string | undefined {
  const [first] = Array.isArray(content) ? (content as readonly Part[]) : [];
  const meta = first !== undefined && "meta" in first ? Object(first.meta).openrath : undefined;
  const id: unknown = Object(meta).message;
  return typeof id === "string" ? id : undefined;
}

const LONGEST_ID = 256;

export function idOf(value: unknown, where: string): string {
  if (typeof value === "string" && value !== "" && value.length <= LONGEST_ID && value.isWellFormed())
    return value;
  throw broken(where, `is not a text of 1 to ${LONGEST_ID} characters`);
}

function fieldsOf(value: unknown, where: string): Fields {
  if (isObject(value)) return value;
  throw broken(where, "is not an object");
}

function listOf(value: unknown, where: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw broken(where, "is not a list");
}

function broken(where: string, reason: string): RequestError {
  return new RequestError(422, "input-broken", `The request cannot be taken: ${where} ${reason}.`, {
    hint: "send what useChat sends: { id, messages: [{ id, role, parts }], trigger }",
    data: { where, reason },
  });
}
