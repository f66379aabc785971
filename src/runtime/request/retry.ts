import type { Services } from "../services.js";
import type { Retry } from "./request.js";

const WAIT = 500;
const MOST = 30_000;
/** A server may ask for a longer wait than our default, up to this limit. */
const LONGEST = 10 * 60_000;
/** Nobody was reached: whatever was to be done was not. */
const UNREACHED: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);
/** Nobody answered: it may have been done all the same. */
const UNANSWERED: ReadonlySet<unknown> = new Set([
  "timeout",
  "ECONNRESET",
  "ETIMEDOUT",
  "EPIPE",
  "UND_ERR_SOCKET",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
  "sandbox-lost",
]);

/** Whether a failure may pass by itself, so that it makes sense to try again. */
export function isRetryable(error: unknown, retry: Retry): boolean {
  if (retry.when === undefined) return !["final", "unknown"].includes(reasonOf(error));
  try {
    return retry.when(error);
  } catch {
    return false;
  }
}

/** Whether the effect may have happened although it failed: a `write` is then in doubt. */
export function isUnanswered(error: unknown): boolean {
  return reasonOf(error) === "unanswered";
}

/**
 * Why a call failed, from the first among an error and its causes that tells. "retryable" or "final": the error says so itself,
 * and knows how the call ended.
 */
function reasonOf(error: unknown): "retryable" | "final" | "unreached" | "unanswered" | "unknown" {
  try {
    for (let cause = error, depth = 0; typeof cause === "object" && cause !== null && depth < 5; depth++) {
      const fields = cause as { readonly [field: string]: unknown };
      const { isRetryable: retryable, code, cause: inner } = fields;
      if (typeof retryable === "boolean") return retryable ? "retryable" : "final";
      if (UNREACHED.has(code)) return "unreached";
      if (UNANSWERED.has(code)) return "unanswered";
      cause = inner;
    }
  } catch {
    // Reading the fields of an error may throw: then it tells nothing.
  }
  return "unknown";
}

/** Milliseconds until the next attempt: as long as the server asks for, or twice as long each time with some chance in it. */
export function delayOf(error: unknown, attempt: number, retry: Retry, host: Services): number {
  const asked = askedFor(error, host);
  if (asked !== undefined) return Math.min(LONGEST, asked);
  const wait = Math.min(retry.most ?? MOST, (retry.wait ?? WAIT) * 2 ** (attempt - 1));
  // Half of it is fixed: many clients that failed together must not come back together, nor at once.
  return Math.round(wait / 2 + (wait / 2) * host.random());
}

/** The wait that a Retry-After header asks for, in milliseconds; nothing, where reading the error throws. */
function askedFor(error: unknown, host: Services): number | undefined {
  try {
    const { retryAfter, data, responseHeaders } = (error ?? {}) as {
      retryAfter?: unknown;
      data?: { retryAfter?: unknown };
      responseHeaders?: { readonly [name: string]: string };
    };
    if (typeof retryAfter === "number") return retryAfter;
    if (typeof data?.retryAfter === "number") return data.retryAfter;
    const exact = Number(responseHeaders?.["retry-after-ms"]);
    if (exact > 0) return exact;
    const header = responseHeaders?.["retry-after"] ?? "";
    const seconds = Number(header === "" ? Number.NaN : header);
    const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(header) - host.now();
    return wait > 0 ? wait : undefined;
  } catch {
    return undefined;
  }
}
