import { RequestError } from "../connect/front/index.js";
import { type Json, RathError, readableError, warnOf } from "../session/index.js";

/** Errors of the library about a request, safe to show, and their status. All others are shown to nobody but the log. */
const STATUS: { readonly [code: string]: number } = {
  "not-found": 404,
  "file-missing": 404,
  "file-unknown": 404,
  "message-unknown": 404,
  "step-unknown": 404,
  "memory-unknown": 404,
  "format-unknown": 404,
  "no-prompt": 404,
  "not-a-run": 409,
  "not-recorded": 409,
  "answer-refused": 409,
  "name-conflict": 409,
  "name-fenced": 409,
  "work-pending": 409,
  "merge-refused": 409,
  "placement-mismatch": 409,
  "files-unmerged": 409,
  "files-conflict": 409,
  "conflict-unresolved": 409,
  "conflict-choice-refused": 409,
  divergence: 409,
  "tape-ended": 409,
  "verification-failed": 409,
  "memory-held": 409,
  "memory-busy": 409,
  "content-erased": 410,
  "file-withheld": 410,
  "content-refused": 422,
  "fact-refused": 422,
  "question-refused": 422,
  "time-refused": 422,
  "erase-refused": 422,
  "not-erasable": 422,
  "nothing-to-erase": 422,
  "run-refused": 422,
  "module-refused": 422,
  "option-refused": 422,
  "store-failed": 422,
  "cursor-refused": 422,
  "file-not-a-file": 422,
  "file-not-a-directory": 422,
  "path-refused": 422,
  "beyond-horizon": 422,
  indexing: 503,
};

const TITLES: { readonly [status: number]: string } = {
  400: "The request cannot be read",
  401: "Nobody knows who sent this",
  403: "This is not allowed",
  404: "There is no such thing",
  405: "The method is not answered here",
  409: "The state does not allow it",
  410: "The content was erased",
  413: "The request is too long",
  415: "The content type is not known",
  416: "The range is not satisfiable",
  421: "This is another server",
  422: "The request makes no sense",
  429: "Too many requests",
  500: "The server failed",
  503: "The server is busy",
};

export type Problem = {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: string;
  readonly hint?: string;
  readonly data?: Json;
};

/** A database that is away, or held by others: the same request may succeed soon. */
const AWAY: ReadonlySet<string> = new Set(["store-unreachable", "store-locked"]);

/** An error as a client may see it. */
export function problemOf(thrown: unknown): Problem {
  const error = readableError(thrown);
  if (error instanceof RathError && AWAY.has(error.code)) {
    // Where the database is stands in the log of the server.
    warnOf(error, "OPENRATH_SERVER");
    const away = described(503, error.code, "The store of the server cannot be reached now.");
    return { ...away, hint: "try again in a few seconds", data: { retryAfter: 5 } };
  }
  const status =
    error instanceof RequestError
      ? error.status
      : error instanceof RathError
        ? STATUS[error.code]
        : undefined;
  if (!(error instanceof RathError) || status === undefined) {
    // The reason may hold anything, a path or a password in a URL: it is for the log of the server.
    warnOf(error, "OPENRATH_SERVER");
    return described(500, "internal", "The server could not do this.");
  }
  const [detail = ""] = error.message.split("\n  hint: ");
  return { ...described(status, error.code, detail), hint: error.hint, data: error.data };
}

function described(status: number, code: string, detail: string): Problem {
  return { type: `urn:openrath:error:${code}`, title: TITLES[status] ?? "Refused", status, detail, code };
}

/** RFC 9457. */
export function problemResponse(thrown: unknown): Response {
  const problem = problemOf(thrown);
  const { status, data } = problem;
  const headers = new Headers({ "content-type": "application/problem+json" });
  if (status === 401) headers.set("www-authenticate", 'Bearer realm="rath"');
  const { allow } = ((status === 405 ? data : undefined) as { readonly allow?: readonly string[] }) ?? {};
  if (allow !== undefined) headers.set("allow", allow.join(", "));
  const wait =
    status === 429 || status === 503 ? (data as { readonly retryAfter?: number } | undefined) : undefined;
  if (wait?.retryAfter !== undefined) headers.set("retry-after", String(wait.retryAfter));
  return new Response(JSON.stringify(problem), { status, headers });
}
