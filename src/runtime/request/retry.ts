import type { Services } from "../services.js";
import type { Retry } from "./request.js";

const WAIT = 500;
const MOST = 30_000;
/** A server may ask for a longer wait than our default, up to this limit. */
const LONGEST = 10 * 60_000;
/** Nobody was reached: whatever was to be done was not. */
const UNREACHED: ReadonlySet<string> = new Set(["ECONNREFUSED", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);
/** Nobody answered: it may have been done all the same. */
const UNANSWERED: ReadonlySet<string> = new Set([
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
  if (retry.when !== undefined) {
    try {
      return retry.when(error);
    } catch {
      return false;
    }
  }
  return spoken(error, ({ isRetryable: said, code }) => {
    if (typeof said === "boolean") return said;
    return UNREACHED.has(code) || UNANSWERED.has(code) || undefined;
  });
}

/** Whether the effect may have happened although it failed: a `write` is then in doubt. */
export function isUnanswered(error: unknown): boolean {
  return spoken(error, ({ isRetryable: said, code }) => {
    // An error that says whether to try again knows how the call ended.
    if (typeof said === "boolean" || UNREACHED.has(code)) return false;
    return UNANSWERED.has(code) || undefined;
  });
}

/** The first answer among an error and its causes. */
function spoken(
  error: unknown,
  say: (one: { readonly isRetryable?: unknown; readonly code: string }) => boolean | undefined,
): boolean {
  for (let cause = error, depth = 0; typeof cause === "object" && cause !== null && depth < 5; depth++) {
    const { isRetryable: said, code, cause: inner } = fieldsOf(cause);
    const answer = say({ isRetryable: said, code: typeof code === "string" ? code : "" });
    if (answer !== undefined) return answer;
    cause = inner;
  }
  return false;
}

/** The fields of an error; nothing, where reading them throws. */
function fieldsOf(error: object): { readonly [field: string]: unknown } {
  try {
    const { isRetryable: said, code, cause } = error as { readonly [field: string]: unknown };
    return { isRetryable: said, code, cause };
  } catch {
    return {};
  }
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
    return askedIn(error, host);
  } catch {
    return undefined;
  }
}

function askedIn(error: unknown, host: Services): number | undefined {
  const { retryAfter, data, responseHeaders } = (error ?? {}) as {
    retryAfter?: unknown;
    data?: { retryAfter?: unknown };
    responseHeaders?: { readonly [name: string]: string };
  };
  if (typeof retryAfter === "number") return retryAfter;
  if (typeof data?.retryAfter === "number") return data.retryAfter;
  const exact = Number(responseHeaders?.["retry-after-ms"]);
  if (exact > 0) return exact;
  const header = responseHeaders?.["retry-after"];
  if (header === undefined) return undefined;
  const seconds = Number(header);
  const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(header) - host.now();
  return wait > 0 ? wait : undefined;
}
