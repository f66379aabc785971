import { setTimeout as wait } from "node:timers/promises";
import { defined, optionNames, parseJson, showValue } from "../../../util/index.js";
import { requireOptionNames } from "../../options.js";
import type { Subject } from "../exchange.js";
import { fieldsIn, fieldsOf, stringOf } from "../fields.js";
import { shownOf } from "../trajectory/shown.js";
import { type Endpoint, endpointOf } from "./endpoint.js";
import { SpanOptionError, SpansError } from "./error.js";
import { documentPieces, spanText } from "./otlp.js";
import type { Span } from "./span.js";
import { spansOf } from "./tracer.js";
import { resourceOf } from "./write.js";

export type SendOptions = {
  /** Where to: an address, or that of a receiver (`http://localhost:4318`). Default: that of the environment. */
  readonly url?: string;
  readonly headers?: { readonly [name: string]: string };
  /** What was said, arguments and results go along. Default: they do not. */
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
  /** What the receiver said about it. */
  readonly messages: readonly string[];
};

const OPTIONS = optionNames<SendOptions>()(
  "url headers content service batch attempts backoff timeout signal",
);
const EXAMPLE = 'sendSpans(subject, { url: "http://localhost:4318" })';
/** What the protocol says may be tried again. */
const AGAIN: ReadonlySet<number> = new Set([429, 502, 503, 504]);
/** A receiver that wants more time than this is as good as gone. */
const LONGEST_WAIT = 60_000;
/** Receivers commonly refuse requests of more than four megabytes. */
const LARGEST_BATCH = 3_000_000;
const LONGEST_ANSWER = 65_536;

/**
 * Sends the spans of a session to a receiver of OpenTelemetry, over HTTP as JSON. The ids of spans come from the record:
 * what is sent twice is the same span twice.
 */
export async function sendSpans(given: Subject, options: SendOptions = {}): Promise<SentSpans> {
  requireOptionNames(options, OPTIONS, (reason, hint) => new SpanOptionError(reason, hint), EXAMPLE);
  const { content = false, service, batch = 512, attempts = 5, backoff = 1_000, signal } = options;
  requireNumber("batch", batch, 1);
  requireNumber("attempts", attempts, 1);
  requireNumber("backoff", backoff, 0);
  if (options.timeout !== undefined) requireNumber("timeout", options.timeout, 1);
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

/** What a receiver says about spans that it did not want. */
function answerIn(text: string): Answer {
  const partial = fieldsIn(fieldsOf(parseJson(text)), "partialSuccess");
  const rejected = Number(partial.rejectedSpans ?? 0);
  const { errorMessage } = partial;
  return {
    rejected: Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0,
    message: stringOf(errorMessage)?.slice(0, 500) ?? "",
  };
}

/** The beginning of an answer: nobody shall fill the memory with it. */
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

function requireNumber(name: string, value: unknown, least: number): void {
  if (Number.isSafeInteger(value) && (value as number) >= least) return;
  throw new SpanOptionError(
    `its \`${name}\` is ${showValue(value)}, not a whole number, at least ${least}`,
    `${name}: ${Math.max(least, 10)}`,
  );
}
