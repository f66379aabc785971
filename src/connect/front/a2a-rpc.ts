import type { Json } from "../../session/index.js";
import { defined, isObject } from "../../util/index.js";
import { RequestError, toldOf } from "./error.js";

/** The errors of JSON-RPC and of A2A, by the word that stands beside the number. */
const CODES = {
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

export type RpcCall = { readonly id: Json; readonly method: string; readonly params: Params };
export type Params = { readonly [field: string]: unknown };

export function callOf(body: unknown): RpcCall {
  const { jsonrpc, id, method, params = {} } = Object(body) as Params;
  const named = id === null || typeof id === "string" || typeof id === "number";
  if (jsonrpc !== "2.0" || !named || typeof method !== "string" || !isObject(params))
    throw new RpcError(
      "INVALID_REQUEST",
      "This is not a call of JSON-RPC 2.0.",
      'send { "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": { … } }',
    );
  return { id, method, params };
}

export function resultOf(id: Json, result: Json): { readonly [field: string]: Json } {
  return { jsonrpc: "2.0", id, result };
}

/** The answer to a call that failed. */
export function errorOf(id: Json, error: unknown): { readonly [field: string]: Json } {
  const { told } = toldOf(error);
  const reason: keyof typeof CODES =
    error instanceof RpcError ? error.reason : told.code === "internal" ? "INTERNAL_ERROR" : "INVALID_PARAMS";
  const info = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    reason,
    domain: "a2a-protocol.org",
    metadata: { code: told.code, ...defined({ hint: told.hint }) },
  };
  return { jsonrpc: "2.0", id, error: { code: CODES[reason], message: told.message, data: [info] } };
}
