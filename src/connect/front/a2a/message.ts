import type { Awaited } from "../../../runtime/index.js";
import type { Content, Json, Part } from "../../../session/index.js";
import { defined, isObject, isText } from "../../../util/index.js";
import { isAnswerable, type Reply } from "../answer.js";
import { RequestError, toldOf } from "../door.js";
import { jsonNames } from "./proto-name.js";

/** A message from outside, checked. */
export type A2aMessage = {
  readonly messageId: string;
  readonly taskId?: string;
  readonly contextId?: string;
  readonly parts: readonly A2aPart[];
};

type A2aPart =
  | { readonly text: string }
  | { readonly data: Json }
  | { readonly file: string; readonly media: string; readonly name?: string };

export function messageOf(message: unknown): A2aMessage {
  if (!isObject(message)) throw broken("it has no message");
  const { messageId, taskId, contextId, parts, role } = message;
  if (typeof messageId !== "string" || messageId === "") throw broken("its message has no messageId");
  if (role !== "ROLE_USER") throw broken("its message is not of the role ROLE_USER");
  if (!Array.isArray(parts) || parts.length === 0) throw broken("its message has no parts");
  return {
    messageId,
    ...(isText(taskId) && { taskId }),
    ...(isText(contextId) && { contextId: contextOf(contextId) }),
    parts: parts.map(partOf),
  };
}

/** A context may be named by the caller. */
function contextOf(contextId: string): string {
  if (contextId.length <= LONGEST_ID && contextId.isWellFormed()) return contextId;
  throw broken(`its contextId is longer than ${LONGEST_ID} characters`);
}

const LONGEST_ID = 256;

/** The content of a message for an agent. */
export function contentOf({ parts }: A2aMessage): Content {
  const [first] = parts;
  if (parts.length === 1 && first !== undefined && "text" in first) return first.text;
  return parts.map((part): Part => {
    if ("text" in part) return { type: "text", text: part.text };
    if ("data" in part) return { type: "text", text: JSON.stringify(part.data) };
    const { file, media, name } = part;
    return { type: "file", media, data: file, ...(name !== undefined && { name }) };
  });
}

/**
 * The answers of a message to the questions of a task: `{ "answers": [{ "id", "value" }] }` as data; or, where one thing is
 * asked, the data itself, or the text.
 */
export function repliesOf({ parts }: A2aMessage, pending: readonly Awaited[]): readonly Reply[] {
  const open = pending.filter((one) => isAnswerable(one) && !one.answered);
  // Somebody else has answered: whatever is said makes the task go on.
  if (open.length === 0 && pending.some(({ answered }) => answered)) return [];
  const data = parts.find((part) => "data" in part)?.data;
  const { answers } = Object(data) as { readonly answers?: Json };
  if (Array.isArray(answers))
    return answers.map((answer) => {
      const { id, value = null } = Object(answer) as { readonly id?: Json; readonly value?: Json };
      return { of: String(id), value };
    });
  const [only] = open;
  if (only === undefined || open.length > 1)
    throw broken(
      `it does not say which of ${open.length} questions it answers: send { "answers": [{ "id", "value" }] }`,
    );
  const text = parts.map((part) => ("text" in part ? part.text : "")).join("");
  return [{ of: only.id, value: data ?? text }];
}

function partOf(part: unknown): A2aPart {
  const { text, raw, url, data, mediaType, filename } = Object(part) as Params;
  if (typeof text === "string") return { text };
  const file = typeof raw === "string" ? raw : url;
  if (typeof file === "string" && file !== "") {
    const media = isText(mediaType) ? mediaType : "application/octet-stream";
    return { file, media, ...(isText(filename) && { name: filename }) };
  }
  if (data !== undefined) return { data: data as Json };
  throw broken("one of its parts is neither text, raw, url nor data");
}

function broken(reason: string): RpcError {
  return new RpcError(
    "INVALID_PARAMS",
    `The message cannot be taken: ${reason}.`,
    'send { "message": { "messageId": "1", "role": "ROLE_USER", "parts": [{ "text": "…" }] } }',
  );
}

/** The errors of JSON-RPC and of A2A, by the word that stands beside the number. */
const CODES = {
  PARSE_ERROR: -32700,
  INVALID_REQUEST: -32600,
  METHOD_NOT_FOUND: -32601,
  INVALID_PARAMS: -32602,
  INTERNAL_ERROR: -32603,
  TASK_NOT_FOUND: -32001,
  TASK_NOT_CANCELABLE: -32002,
  PUSH_NOTIFICATION_NOT_SUPPORTED: -32003,
  UNSUPPORTED_OPERATION: -32004,
  VERSION_NOT_SUPPORTED: -32009,
} as const;

/** A call that cannot be served, by the rules of the protocol. */
export class RpcError extends RequestError {
  readonly reason: keyof typeof CODES;

  constructor(reason: keyof typeof CODES, message: string, hint: string) {
    super(200, reason.toLowerCase().replaceAll("_", "-"), message, { hint });
    this.reason = reason;
  }
}

/** A call by JSON-RPC; without an id, by HTTP+JSON. */
export type RpcCall = { readonly id?: Json; readonly method: string; readonly params: Params };
export type Params = { readonly [field: string]: unknown };

export function callOf(body: unknown): RpcCall {
  const { jsonrpc, method, params: given = {} } = Object(body) as Params;
  const params = jsonNames(given);
  const id = idOf(body);
  if (jsonrpc !== "2.0" || id === undefined || typeof method !== "string")
    throw new RpcError(
      "INVALID_REQUEST",
      "This is not a call of JSON-RPC 2.0.",
      'send { "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": { … } }',
    );
  if (!isObject(params))
    throw new RpcError("INVALID_PARAMS", "The parameters must be an object.", 'send "params": { … }');
  return { id, method, params };
}

/** The id of a call; undefined where it has none, or one that cannot be sent back. */
export function idOf(body: unknown): Json | undefined {
  const { id } = Object(body) as Params;
  return id === null || typeof id === "string" || typeof id === "number" ? id : undefined;
}

export function resultOf(id: Json, result: Json): { readonly [field: string]: Json } {
  return { jsonrpc: "2.0", id, result };
}

/** The answer to a call that failed. */
export function errorOf(id: Json, error: unknown): { readonly [field: string]: Json } {
  const { reason, message, info } = failureOf(error);
  return { jsonrpc: "2.0", id, error: { code: CODES[reason], message, data: [info] } };
}

/** An error as A2A names it, with the status that HTTP has for it. */
export function failureOf(error: unknown): {
  readonly reason: keyof typeof CODES;
  readonly message: string;
  readonly status: number;
  readonly info: Json;
} {
  const { told, status } = toldOf(error);
  const reason: keyof typeof CODES =
    error instanceof RpcError
      ? error.reason
      : ["json-broken", "body-broken"].includes(told.code)
        ? "PARSE_ERROR"
        : told.code === "internal"
          ? "INTERNAL_ERROR"
          : "INVALID_PARAMS";
  const info = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    reason,
    domain: "a2a-protocol.org",
    metadata: { code: told.code, ...defined({ hint: told.hint }) },
  };
  return { reason, message: told.message, status, info };
}

/** A number of messages or tasks; undefined where none is given. */
export function countOf(
  value: unknown,
  field: string,
  from = 0,
  to = Number.MAX_SAFE_INTEGER,
): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= from && value <= to) return value;
  throw new RpcError(
    "INVALID_PARAMS",
    `${field} is not a number from ${from} to ${to}.`,
    `send "${field}": 50`,
  );
}

/** A text that a call must have. */
export function textIn(params: Params, field: string): string {
  const value = params[field];
  if (typeof value === "string" && value !== "") return value;
  throw new RpcError("INVALID_PARAMS", `The parameters have no ${field}.`, `send "${field}": "…"`);
}
