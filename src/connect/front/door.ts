import {
  type Json,
  MAX_DEPTH,
  type Principal,
  RathError,
  readableError,
  warnOf,
} from "../../session/index.js";
import { optionNames } from "../../util/index.js";
import { requireOptions } from "../../workflow/index.js";
import { isSender, requireAccess, SENDERS } from "../options.js";

/** A front door: what a server of any kind calls with each request. */
export type Handler = (request: Request) => Promise<Response>;

/** Access and limits of a server. */
export type DoorOptions = {
  /**
   * Says who sent a request, which is on the record as `by` and separates the threads and tasks of senders; or answers
   * instead, with a 401 or 403.
   */
  readonly principal?: (request: Request) => Principal | Response | Promise<Principal | Response>;
  /** Lets anybody in, all as one and the same "user". Without it, and without `principal`, no door is opened. */
  readonly open?: boolean;
  /**
   * Lets the sender of a request approve and settle the calls that it leads to. Default false: only other people may, or
   * the approvers that the terms name. Only a person (`user:…`) can approve in this way.
   */
  readonly selfApproval?: boolean;
  /**
   * Says whether the sender of a request may approve and settle in the session of this name. Default: all senders may, as
   * far as `selfApproval` and the approvers that the terms name allow it.
   */
  readonly mayApprove?: (request: Request, name: string) => boolean;
  /** Bytes of a request at most. Default 4 MiB. */
  readonly maxBody?: number;
  /** Bytes that wait for a slow reader at most; then it is cut off, and the run goes on. Default 8 MiB. */
  readonly maxWaiting?: number;
  /** A run whose reader disconnects continues (the default) or is cancelled. */
  readonly onDisconnect?: "continue" | "cancel";
};

/** A client's id as a part of the name of a session; `~3` at the end of a name would be a place in another session. */
export function namePart(id: string): string {
  return encodeURIComponent(id).replace(/~(\d*)$/, "%7E$1");
}

const OPTIONS = optionNames<DoorOptions>()(
  "principal open selfApproval mayApprove maxBody maxWaiting onDisconnect",
);

const MAX_BODY = 4 * 1024 ** 2;

/** Refuses options that would open a door to everybody by mistake. */
export function requireDoor(door: string, options: DoorOptions, more: readonly string[]): void {
  const refuse = (reason: string, hint: string): FrontError => new FrontError(door, reason, hint);
  requireOptions(options, refuse, `${door}(rath, module, { principal })`, [...OPTIONS, ...more]);
  const { principal, open, selfApproval, mayApprove, maxBody, maxWaiting, onDisconnect } = options;
  requireAccess({ principal, open, selfApproval, mayApprove }, "user", refuse);
  if (principal === undefined && open !== true)
    throw refuse(
      "nobody says who may come in",
      'say who sends a request: { principal: (request) => "user:ada" }; or let anybody in: { open: true }',
    );
  if (selfApproval === true && principal === undefined)
    throw refuse("nobody knows who approves", 'selfApproval: true, principal: (request) => "user:ada"');
  for (const [option, value] of Object.entries({ maxBody, maxWaiting }))
    if (value !== undefined && !(Number.isSafeInteger(value) && value > 0))
      throw refuse(`its \`${option}\` must be a number of bytes`, `${option}: ${MAX_BODY}`);
  if (onDisconnect !== undefined && onDisconnect !== "continue" && onDisconnect !== "cancel")
    throw refuse(`its \`onDisconnect\` is neither "continue" nor "cancel"`, 'onDisconnect: "cancel"');
}

/** The sender of a request, or the response that refuses it. */
export async function whoSent(request: Request, { principal }: DoorOptions): Promise<Principal | Response> {
  if (principal === undefined) return "user";
  const who = await principal(request);
  if (who instanceof Response) return who;
  if (isSender(who)) return who;
  throw new RequestError(403, "forbidden", "The sender of this request is not known.", { hint: SENDERS });
}

/** The JSON of a request. Read piece by piece: a header can claim any length, and a sender need not stop. */
export async function jsonOf(request: Request, { maxBody = MAX_BODY }: DoorOptions): Promise<unknown> {
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/(?:[a-z0-9.+-]+\+)?json\s*(?:;|$)/i.test(type.trim()))
    throw new RequestError(415, "not-json", "The request is not JSON.", {
      hint: "send content-type: application/json",
      data: { type },
    });
  const text = await textOf(request, maxBody);
  if (depthOf(text) > MAX_DEPTH)
    throw new RequestError(400, "json-broken", "The request is nested too deep.", {
      hint: `at most ${MAX_DEPTH} objects and lists within each other`,
      data: { reason: "nested too deep" },
    });
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new RequestError(400, "json-broken", "The request is not valid JSON.", {
      hint: "send one JSON document",
      data: { reason: error instanceof Error ? error.message : String(error) },
    });
  }
}

/** How deep a JSON text is nested, found without a call for each level. */
function depthOf(text: string): number {
  let [depth, deepest] = [0, 0];
  for (const [sign] of text.matchAll(/"(?:[^"\\]|\\.)*"?|[[\]{}]/gs)) {
    if (sign === "[" || sign === "{") deepest = Math.max(deepest, ++depth);
    else if (sign === "]" || sign === "}") depth -= 1;
  }
  return deepest;
}

async function textOf(request: Request, most: number): Promise<string> {
  const tooLarge = (): RequestError =>
    new RequestError(413, "too-large", `The request is longer than ${most} bytes.`, {
      hint: "send less at once",
      data: { most },
    });
  if (Number(request.headers.get("content-length") ?? 0) > most) throw tooLarge();
  const pieces: Uint8Array[] = [];
  let size = 0;
  const reader = request.body?.getReader();
  try {
    for (let next = await reader?.read(); next !== undefined && !next.done; next = await reader?.read()) {
      size += next.value.length;
      if (size > most) throw tooLarge();
      pieces.push(next.value);
    }
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(pieces));
  } catch (error) {
    await reader?.cancel().catch(() => {});
    if (error instanceof RequestError) throw error;
    throw new RequestError(400, "body-broken", "The request could not be read.", {
      hint: "send it whole, in UTF-8",
    });
  }
}

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
