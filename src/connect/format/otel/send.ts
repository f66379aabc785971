import { setTimeout as wait } from "node:timers/promises";
import { RathError } from "../../../session/index.js";
import { defined, optionNames, parseJson } from "../../../util/index.js";
import { requireCount, requireOptions } from "../../../workflow/index.js";
import type { Subject } from "../exchange.js";
import { fieldsIn, fieldsOf, stringOf } from "../fields.js";
import { shownOf } from "../trajectory/line.js";
import type { Span } from "./span.js";
import { spansOf } from "./tracer.js";
import { documentPieces, resourceOf, spanText } from "./write.js";

export type SendOptions = {
  /** Where to: an address, or that of a receiver (`http://localhost:4318`). Default: that of the environment. */
  readonly url?: string;
  readonly headers?: { readonly [name: string]: string };
  /** Include messages, arguments and results. Default false. */
  readonly content?: boolean;
  /** The `service.name` of the spans. Default "openrath". */
  readonly service?: string;
  /** How many spans go out at once (default 512). */
  readonly batch?: number;
  /** How often a batch is tried (default 5). */
  readonly attempts?: number;
  /** Milliseconds before the second try (default 1,000), twice as many before each further one. */
  readonly backoff?: number;
  /** Milliseconds that a receiver has to answer (default 10,000). */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
};

export type SentSpans = {
  readonly spans: number;
  readonly batches: number;
  /** How many of them the receiver took and did not want. */
  readonly rejected: number;
  /** The messages of the receiver about them. */
  readonly messages: readonly string[];
};

const OPTIONS = optionNames<SendOptions>()(
  "url headers content service batch attempts backoff timeout signal",
);
const EXAMPLE = 'sendSpans(subject, { url: "http://localhost:4318" })';
/** The statuses that the protocol allows to try again. */
const AGAIN: ReadonlySet<number> = new Set([429, 502, 503, 504]);
/** A receiver that wants more time than this is as good as gone. */
const LONGEST_WAIT = 60_000;
/** Receivers commonly refuse requests of more than four megabytes. */
const LARGEST_BATCH = 3_000_000;
const LONGEST_ANSWER = 65_536;

/** Sends the spans of a session over OTLP/HTTP as JSON. Ids come from the record, so repeats merge. */
export async function sendSpans(given: Subject, options: SendOptions = {}): Promise<SentSpans> {
  const refuse = (reason: string, hint: string): Error => new SpanOptionError(reason, hint);
  requireOptions(options, refuse, EXAMPLE, OPTIONS);
  const { content = false, service, batch = 512, attempts = 5, backoff = 1_000, signal } = options;
  for (const [name, value] of Object.entries({ batch, attempts, timeout: options.timeout ?? 1 }))
    requireCount(value, name, refuse);
  requireCount(backoff, "backoff", refuse, 0);
  const endpoint = endpointOf(options, process.env);
  const subject = { ...given, session: await shownOf(given) };
  const spans = spansOf(subject, { content });
  const sender = new Sender(endpoint, { attempts, backoff, of: spans.length, ...defined({ signal }) });
  const messages: string[] = [];
  let [batches, rejected] = [0, 0];
  let sent = 0;
  for (const some of batchesOf(spans, batch)) {
    const body = [...documentPieces(some, resourceOf(subject, service))].join("");
    const answer = await sender.send(body, sent);
    sent += some.length;
    batches += 1;
    rejected += Math.min(answer.rejected, some.length);
    if (answer.message !== "" && !messages.includes(answer.message)) messages.push(answer.message);
  }
  return { spans: spans.length, batches, rejected, messages };
}

/** So many spans at once, and no more text than receivers take. */
function* batchesOf(spans: readonly Span[], most: number): Generator<readonly string[]> {
  let some: string[] = [];
  let size = 0;
  for (const span of spans) {
    const text = spanText(span);
    if (some.length > 0 && (some.length === most || size + text.length > LARGEST_BATCH)) {
      yield some;
      some = [];
      size = 0;
    }
    some.push(text);
    size += text.length;
  }
  if (some.length > 0) yield some;
}

type How = {
  readonly attempts: number;
  readonly backoff: number;
  readonly of: number;
  readonly signal?: AbortSignal;
};
type Answer = { readonly rejected: number; readonly message: string };

class Sender {
  readonly #endpoint: Endpoint;
  readonly #how: How;

  constructor(endpoint: Endpoint, how: How) {
    this.#endpoint = endpoint;
    this.#how = how;
  }

  /** Posts one document, again while that makes sense. `sent` spans are there already. */
  async send(body: string, sent: number): Promise<Answer> {
    const { attempts, backoff, signal } = this.#how;
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#post(body, sent);
      if (!("failure" in outcome)) return outcome;
      const pause = outcome.wait ?? Math.min(LONGEST_WAIT, backoff * 2 ** (attempt - 1));
      if (attempt >= attempts || pause > LONGEST_WAIT) throw outcome.failure;
      try {
        await wait(pause, undefined, signal === undefined ? {} : { signal });
      } catch (cause) {
        throw this.#failure("it was stopped", sent, undefined, cause);
      }
    }
  }

  async #post(
    body: string,
    sent: number,
  ): Promise<Answer | { readonly failure: SpansError; readonly wait?: number }> {
    const { url, headers, timeout } = this.#endpoint;
    const { signal } = this.#how;
    const late = AbortSignal.timeout(timeout);
    try {
      const response = await fetch(url, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body,
        // A key must not follow where somebody else points.
        redirect: "manual",
        signal: signal === undefined ? late : AbortSignal.any([late, signal]),
      });
      const text = await beginning(response);
      if (response.ok) return answerIn(text);
      const failure = this.#failure(`it answered ${response.status}`, sent, response.status);
      if (!AGAIN.has(response.status)) throw failure;
      const asked = retryAfter(response.headers.get("retry-after"));
      return { failure, ...(asked !== undefined && { wait: asked }) };
    } catch (cause) {
      if (cause instanceof SpansError) throw cause;
      if (signal?.aborted) throw this.#failure("it was stopped", sent, undefined, cause);
      const reason = late.aborted
        ? `it did not answer within ${timeout} milliseconds`
        : "it cannot be reached";
      return { failure: this.#failure(reason, sent, undefined, cause) };
    }
  }

  #failure(reason: string, sent: number, status?: number, cause?: unknown): SpansError {
    const hint =
      status === 401 || status === 403
        ? "check the key: headers: { authorization: … }, or OTEL_EXPORTER_OTLP_HEADERS"
        : status === 404 || status === 405
          ? "check the path: receivers take traces at /v1/traces"
          : "send again: spans that are there already are the same spans";
    const told = { ...(status !== undefined && { status }), sent, of: this.#how.of };
    // Causes of fetch may repeat headers; their code is enough.
    const code = (cause as { readonly cause?: { readonly code?: unknown } } | undefined)?.cause?.code;
    const why = typeof code === "string" ? `${reason} (${code})` : reason;
    return new SpansError(this.#endpoint.shown, why, told, hint);
  }
}

/** The answer of a receiver that rejected spans. */
function answerIn(text: string): Answer {
  const partial = fieldsIn(fieldsOf(parseJson(text)), "partialSuccess");
  const rejected = Number(partial.rejectedSpans ?? 0);
  const { errorMessage } = partial;
  return {
    rejected: Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0,
    message: stringOf(errorMessage)?.slice(0, 500) ?? "",
  };
}

/** The beginning of an answer, so that a long answer cannot fill the memory. */
async function beginning(response: Response): Promise<string> {
  if (response.body === null) return "";
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of response.body as ReadableStream<Uint8Array> & AsyncIterable<Uint8Array>) {
    pieces.push(piece);
    size += piece.length;
    if (size >= LONGEST_ANSWER) break;
  }
  return Buffer.concat(pieces).toString("utf8", 0, LONGEST_ANSWER);
}

/** Milliseconds of a Retry-After: seconds, or a date. */
function retryAfter(value: string | null): number | undefined {
  if (value === null) return undefined;
  if (/^\d{1,9}$/.test(value.trim())) return Number(value) * 1_000;
  const until = Date.parse(value);
  return Number.isNaN(until) ? undefined : Math.max(0, until - Date.now());
}

/** Where spans go, and with which headers. */
export type Endpoint = {
  readonly url: URL;
  readonly headers: { readonly [name: string]: string };
  /** The address for messages, without a user, a password or a query. */
  readonly shown: string;
  readonly timeout: number;
};

type Environment = { readonly [name: string]: string | undefined };

const TIMEOUT = 10_000;

/** The given endpoint or the environment's, whose headers go to no other: a key must not reach others. */
export function endpointOf(
  given: {
    readonly url?: string | undefined;
    readonly headers?: { readonly [name: string]: string } | undefined;
    readonly timeout?: number | undefined;
  },
  environment: Environment,
): Endpoint {
  const of = (name: string) =>
    environment[`OTEL_EXPORTER_OTLP_TRACES_${name}`] ?? environment[`OTEL_EXPORTER_OTLP_${name}`];
  const url =
    given.url !== undefined
      ? addressOf(given.url, "its url", true)
      : environment.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT !== undefined
        ? addressOf(
            environment.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT,
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
            false,
          )
        : environment.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined
          ? below(addressOf(environment.OTEL_EXPORTER_OTLP_ENDPOINT, "OTEL_EXPORTER_OTLP_ENDPOINT", false))
          : undefined;
  if (url === undefined)
    throw new SpanOptionError(
      "nobody says where to",
      'give a url, or set OTEL_EXPORTER_OTLP_ENDPOINT: sendSpans(subject, { url: "http://localhost:4318" })',
    );
  const own = given.url === undefined ? headersIn(of("HEADERS")) : {};
  const waits = given.timeout ?? timeoutIn(of("TIMEOUT"));
  return {
    url,
    headers: { ...own, ...checked(given.headers ?? {}) },
    shown: `${url.origin}${url.pathname}`,
    timeout: waits,
  };
}

/** A bare address means the receiver there; a path is taken as it is. */
function addressOf(text: string, what: string, complete: boolean): URL {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new SpanOptionError(
      `${what} is not an address`,
      'write it whole: "http://localhost:4318/v1/traces"',
    );
  }
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new SpanOptionError(`${what} is neither http nor https`, "spans go out over HTTP as JSON");
  if (url.username !== "" || url.password !== "")
    throw new SpanOptionError(
      `${what} has a password in it`,
      'put it into a header: headers: { authorization: "Basic …" }',
    );
  return complete && url.pathname === "/" ? below(url) : url;
}

function below(url: URL): URL {
  const under = new URL(url);
  under.pathname = `${under.pathname.replace(/\/+$/, "")}/v1/traces`;
  return under;
}

/** `name=value,name=value`, with percent signs for what cannot stand there. */
function headersIn(text: string | undefined): { readonly [name: string]: string } {
  const headers: { [name: string]: string } = {};
  for (const pair of (text ?? "").split(",")) {
    if (pair.trim() === "") continue;
    const [name, ...value] = pair.split("=");
    try {
      if (value.length === 0) throw new Error("no value");
      headers[decodeURIComponent((name as string).trim())] = decodeURIComponent(value.join("=").trim());
    } catch {
      throw new SpanOptionError(
        "OTEL_EXPORTER_OTLP_HEADERS cannot be read",
        "write it like this: OTEL_EXPORTER_OTLP_HEADERS=name=value,other=value",
      );
    }
  }
  return checked(headers);
}

/** Refuses headers that cannot be sent, without showing their values. */
function checked(headers: { readonly [name: string]: string }): { readonly [name: string]: string } {
  for (const [name, value] of Object.entries(headers)) {
    try {
      new Headers([[name, value]]);
    } catch {
      throw new SpanOptionError(
        `the header ${JSON.stringify(name.slice(0, 60))} cannot be sent`,
        "check its name and value",
      );
    }
  }
  return headers;
}

function timeoutIn(text: string | undefined): number {
  const timeout = Number(text ?? TIMEOUT);
  return Number.isFinite(timeout) && timeout > 0 ? timeout : TIMEOUT;
}

/** Spans that did not all arrive. */
export class SpansError extends RathError {
  constructor(
    url: string,
    reason: string,
    told: { readonly status?: number; readonly sent: number; readonly of: number },
    hint: string,
    cause?: unknown,
  ) {
    super(
      "spans-not-sent",
      `Cannot send all spans to ${url}: ${reason}. ${told.sent} of ${told.of} are there.`,
      { hint, data: { url, reason, ...told }, ...(cause !== undefined && { cause }) },
    );
  }
}

/** An option, or a variable of the environment, that cannot be used. */
export class SpanOptionError extends RathError {
  constructor(reason: string, hint: string) {
    super("option-refused", `Cannot send spans: ${reason}.`, { hint, data: { reason } });
  }
}
