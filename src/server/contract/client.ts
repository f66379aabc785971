import type { AnswerOf, InputOf, Route } from "./route.js";
import { fieldsOf, parametersOf } from "./route.js";
import { type Routes, routes } from "./routes.js";

export type ClientOptions = {
  /** A bearer token. Without it the browser's cookie is sent. */
  readonly token?: string;
  /** Default: the global one. */
  readonly fetch?: typeof fetch;
};

export type CallOptions = {
  readonly signal?: AbortSignal;
  readonly headers?: { readonly [name: string]: string };
};

type Call<Given extends Route> = keyof InputOf<Given> extends never
  ? (input?: Record<string, never>, options?: CallOptions) => Promise<AnswerOf<Given>>
  : Record<string, never> extends InputOf<Given>
    ? (input?: InputOf<Given>, options?: CallOptions) => Promise<AnswerOf<Given>>
    : (input: InputOf<Given>, options?: CallOptions) => Promise<AnswerOf<Given>>;

/** The operations of a server as functions: parameters of the path, the query and the body in one object. */
export type Client = { readonly [Name in keyof Routes]: Call<Routes[Name]> };

/** A refused request: the problem details of the server. */
export class ProblemError extends Error {
  readonly status: number;
  readonly code: string;
  readonly hint: string | undefined;
  readonly data: unknown;

  constructor(status: number, problem: { readonly [field: string]: unknown }) {
    const { detail, code, hint, data } = problem;
    super(typeof detail === "string" ? detail : `The server answered with ${status}.`);
    this.name = "ProblemError";
    this.status = status;
    this.code = typeof code === "string" ? code : "unexpected";
    this.hint = typeof hint === "string" ? hint : undefined;
    this.data = data;
  }
}

/**
 * A typed client of a server of `rath serve`, for browsers and Node.
 *
 * ```ts
 * const rath = client("http://127.0.0.1:7284", { token });
 * const { items, next } = await rath.sessions({ limit: 20 });
 * ```
 *
 * Operations that do not answer with one JSON document resolve with the `Response`.
 */
export function client(url: string, options: ClientOptions = {}): Client {
  const base = url.replace(/\/+$/, "");
  const calls = Object.entries(routes).map(([name, route]) => [
    name,
    (input: { readonly [name: string]: unknown } = {}, call: CallOptions = {}) =>
      send(base, route, input, { ...options, ...call }),
  ]);
  return Object.fromEntries(calls) as Client;
}

async function send(
  base: string,
  route: Route,
  input: { readonly [name: string]: unknown },
  { token, fetch: send = fetch, signal, headers = {} }: ClientOptions & CallOptions,
): Promise<unknown> {
  const rest = new Map(Object.entries(input).filter(([, value]) => value !== undefined));
  const path = parametersOf(route.path).reduce((path, name) => {
    const value = String(rest.get(name) ?? "");
    rest.delete(name);
    return path.replace(`{${name}}`, encodeURIComponent(value));
  }, route.path);
  const query = new URLSearchParams();
  for (const name of Object.keys(fieldsOf(route.query))) {
    const value = rest.get(name);
    rest.delete(name);
    for (const one of Array.isArray(value) ? value : value === undefined ? [] : [value])
      query.append(name, String(one));
  }
  const search = query.size > 0 ? `?${query}` : "";
  const response = await patiently(() =>
    send(`${base}${path}${search}`, {
      method: route.method,
      credentials: "same-origin",
      headers: {
        accept: "media" in route.answer ? route.answer.media : "application/json",
        ...(route.method !== "GET" && { "x-rath": "1" }),
        ...(route.body !== undefined && { "content-type": "application/json" }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...headers,
      },
      ...(route.body !== undefined && { body: JSON.stringify(Object.fromEntries(rest)) }),
      ...(signal !== undefined && { signal }),
    }),
  );
  if (!response.ok) throw new ProblemError(response.status, await problemIn(response));
  return "media" in route.answer ? response : response.json();
}

/** Asks again as long as the server makes the index that an answer needs. */
async function patiently(ask: () => Promise<Response>): Promise<Response> {
  for (;;) {
    const response = await ask();
    const seconds = Number(response.headers.get("retry-after"));
    if (response.status !== 503 || !(seconds > 0)) return response;
    if ((await problemIn(response.clone())).code !== "indexing") return response;
    await new Promise((done) => setTimeout(done, seconds * 1000));
  }
}

async function problemIn(response: Response): Promise<{ readonly [field: string]: unknown }> {
  try {
    return (await response.json()) as { readonly [field: string]: unknown };
  } catch {
    return {};
  }
}
