import { type Json, RathError, readableError, warnOf } from "../../session/index.js";

/** A front door that cannot be made of what it was given. */
export class FrontError extends RathError {
  constructor(door: string, reason: string, hint: string) {
    super("front-refused", `Cannot open ${door}: ${reason}.`, { hint, data: { door, reason } });
  }
}

/** A request from outside that cannot be served. The sender gets the code, the reason and a hint, as JSON. */
export class RequestError extends RathError {
  readonly status: number;

  constructor(
    status: number,
    code: string,
    message: string,
    more: { readonly hint: string; readonly data?: { [key: string]: Json } },
  ) {
    super(code, message, more);
    this.status = status;
  }
}

/** The answer to a request that failed. Errors that must not be shown become an error of the server. */
export function refusal(error: unknown): Response {
  const { status, told } = toldOf(error);
  return Response.json({ error: told }, { status, headers: { "cache-control": "no-store" } });
}

/** The part of an error that a sender may see. */
export function toldOf(thrown: unknown): {
  readonly status: number;
  readonly told: {
    readonly code: string;
    readonly message: string;
    readonly hint?: string;
    readonly data?: Json;
  };
} {
  const error = readableError(thrown);
  if (error instanceof RathError && (error instanceof RequestError || OURS.has(error.code))) {
    const [message = ""] = error.message.split("\n  hint: ");
    const status = error instanceof RequestError ? error.status : 409;
    return { status, told: { code: error.code, message, hint: error.hint, data: error.data } };
  }
  // The reason may hold anything, a path or a password in a URL: it is for the log of the server.
  warnOf(error, "OPENRATH_FRONT");
  return { status: 500, told: { code: "internal", message: "The server could not do this." } };
}

/** Errors of the runtime that are about what was asked for, and safe to show. */
const OURS: ReadonlySet<string> = new Set(["answer-refused", "work-pending", "content-refused"]);
