import { SpanOptionError } from "./error.js";

/** Where spans go, and with which headers. */
export type Endpoint = {
  readonly url: URL;
  readonly headers: { readonly [name: string]: string };
  /** What may stand in messages: the address without a user, a password or a query. */
  readonly shown: string;
  readonly timeout: number;
};

type Environment = { readonly [name: string]: string | undefined };

const TIMEOUT = 10_000;

/**
 * The endpoint that was given, or that of the environment. Headers of the environment are for its own endpoint: a key
 * must not reach whoever else is named.
 */
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
    throw new SpanOptionError(`${what} is no address`, 'write it whole: "http://localhost:4318/v1/traces"');
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

/** Headers that can be sent. What they hold is told to nobody. */
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
