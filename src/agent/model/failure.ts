import { type Failure, type Json, RathError, readableError } from "../../session/index.js";
import { defined } from "../../util/index.js";
import { plainJson } from "./content.js";

type Fields = { readonly [field: string]: unknown };
type Signs = Partial<Record<"network" | "body", string | undefined>> & {
  readonly status: number | undefined;
};

/** So much of a provider's answer is kept with a failure. */
const BODY = 2_000;

/** A model that did not answer. `retryAfter` is in milliseconds. It never holds the prompt. */
export class ModelError extends RathError {
  readonly isRetryable: boolean;
  readonly retryAfter: number | undefined;
  /** How the record keeps it. */
  readonly failure: Failure;

  private constructor(what: string, failure: Failure, cause?: unknown) {
    const data = (failure.data ?? {}) as { [key: string]: Json };
    const hint = data.retryable === true ? "it may pass: try again" : "see data.status and data.body";
    super(failure.code ?? "model-failed", `${what}: ${failure.message}`, { hint, data, cause });
    this.isRetryable = data.retryable === true;
    this.retryAfter = typeof data.retryAfter === "number" ? data.retryAfter : undefined;
    this.failure = failure;
  }

  static of(error: unknown, what = "The model could not be asked"): ModelError {
    const known = readableError(error);
    return known instanceof ModelError ? known : new ModelError(what, described(known), known);
  }

  static cut(): ModelError {
    const message = "it ended before the model had finished";
    const failure = { name: "ModelError", message, code: "stream-cut", data: { retryable: true } };
    return new ModelError("The stream is not whole", failure);
  }

  static again(failure: Failure): ModelError {
    return new ModelError("The record has a failure here", failure);
  }
}

/** A failure as the record keeps it: what happened and whether to try again, without what was sent and without secrets. */
export function failureOf(error: unknown): Failure {
  const known = readableError(error);
  return known instanceof ModelError ? known.failure : described(known);
}

function described(error: unknown): Failure {
  if (error instanceof RathError) {
    const data = plainJson(error.data) as { [key: string]: Json };
    const [message = ""] = error.message.split("\n  hint: ", 1);
    return { name: error.name, message: scrub(message), code: error.code, data };
  }
  const fields = (typeof error === "object" && error !== null ? error : {}) as Fields;
  const status = typeof fields.statusCode === "number" ? fields.statusCode : undefined;
  const body = bodyOf(fields, error);
  const network = networkCode(error);
  const code = network ?? (status === undefined ? undefined : `http-${status}`);
  const retryAfter = retryAfterIn(fields.responseHeaders);
  const said = [fields.message, error].find((one) => typeof one === "string");
  const url = typeof fields.url === "string" ? withoutQuery(fields.url) : undefined;
  const retryable = mayPass(error, fields, { status, network, body });
  return {
    name: typeof fields.name === "string" ? fields.name : "Error",
    message: scrub(said ?? "the provider gave no reason"),
    ...defined({ code }),
    data: { retryable, ...defined({ status, retryAfter, url, body }) },
  };
}

function mayPass(error: unknown, fields: Fields, { status, network, body = "" }: Signs): boolean {
  if (fields.name === "AbortError") return false;
  // An empty account answers like a busy server, and does not fill by waiting.
  if (/insufficient_quota|billing/i.test(body)) return false;
  if (status !== undefined && ([408, 409, 425, 429].includes(status) || status >= 500)) return true;
  if (typeof fields.isRetryable === "boolean") return fields.isRetryable;
  if (network !== undefined || fields.name === "TimeoutError") return true;
  // Errors inside a stream have no status, only the provider's word for it.
  const word = `${typeof error === "string" ? error : ""} ${status === undefined ? body : ""}`;
  return /overloaded|rate.?limit|server_error|api_error|internal|unavailable|timeout/i.test(word);
}

function bodyOf(fields: Fields, error: unknown): string | undefined {
  // A stream often reports a plain object as its error.
  const body =
    fields.responseBody ??
    (error instanceof Error || typeof error !== "object" ? undefined : plainJson(error));
  if (body === undefined || body === null || body === "") return undefined;
  const text = scrub(typeof body === "string" ? body : JSON.stringify(body));
  return text.length <= BODY ? text : `${text.slice(0, BODY).toWellFormed()}…`;
}

/** The code of a broken connection, wherever it is wrapped. */
function networkCode(error: unknown): string | undefined {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth++) {
    const { code } = cause as { code?: unknown };
    if (typeof code === "string" && /^(E[A-Z_]+|UND_ERR_\w+)$/.test(code) && !code.startsWith("ERR_"))
      return code;
  }
  return error instanceof TypeError && /fetch failed|terminated/.test(error.message)
    ? "ECONNFAILED"
    : undefined;
}

/** Milliseconds, from seconds, a date, or the header that some providers send in milliseconds. */
function retryAfterIn(headers: unknown): number | undefined {
  const named = new Map(
    Object.entries((headers ?? {}) as object).map(([name, value]) => [name.toLowerCase(), String(value)]),
  );
  const exact = Number(named.get("retry-after-ms") ?? Number.NaN);
  if (exact >= 0) return exact;
  const said = named.get("retry-after");
  if (said === undefined) return undefined;
  const seconds = Number(said);
  if (seconds >= 0) return Math.round(seconds * 1_000);
  const until = Date.parse(said);
  return Number.isNaN(until) ? undefined : Math.max(0, until - Date.now());
}

function withoutQuery(url: string): string {
  const [place = ""] = url.split(/[?#]/, 1);
  return place.replace(/\/\/[^/@]*@/, "//");
}

/** Providers repeat parts of keys in their messages. */
function scrub(text: string): string {
  return text
    .replace(/\b(Bearer|Basic)\s+[\w.~+/=-]+/gi, "$1 [hidden]")
    .replace(/\b(sk|pk|rk|xai|gsk|AIza)[-_\w]{8,}[\w*.-]*/g, "[hidden]")
    .replace(/([?&](?:[\w-]*key|token|access_token|sig|signature)=)[^&\s"']+/gi, "$1[hidden]");
}
