import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { warnOf } from "../../session/index.js";
import { optionNames } from "../../util/index.js";
import { requireOptions } from "../../workflow/index.js";
import { FrontError, type Handler, RequestError, refusal } from "./door.js";

export type ServeOptions = {
  /** Default 0: any port that is free. */
  readonly port?: number;
  /** The address to listen at. Default "127.0.0.1": this machine alone. */
  readonly host?: string;
  /** Bytes of a request at most. Default 32 MiB. */
  readonly maxBody?: number;
  /**
   * Milliseconds within which the headers of a request must have come; its body may take three times as long. Default 20,000: a
   * client that sends a byte now and then would hold its connection for good.
   */
  readonly patience?: number;
  /** Connections at once at most; further ones are refused. Default 10,000. */
  readonly connections?: number;
};

/** A server that runs, its URL, and the way to end it: answers that are under way are cut off. */
export type Served = { readonly url: string; close(): Promise<void> };

const OPTIONS = optionNames<ServeOptions>()("port host maxBody patience connections");
const PATIENCE = 20_000;
const CONNECTIONS = 10_000;
const MAX_BODY = 32 * 1024 ** 2;

/**
 * Serves a fetch handler with `node:http`.
 *
 * ```ts
 * const { url, close } = await serve(uiStream(rath, clerk, { principal }), { port: 3000 });
 * ```
 */
export async function serve(handler: Handler, options: ServeOptions = {}): Promise<Served> {
  const refuse = (reason: string, hint: string): Error => new FrontError("serve", reason, hint);
  if (typeof handler !== "function")
    throw refuse("its handler must be a function", "serve(uiStream(rath, module, { principal }))");
  requireOptions(options, refuse, "serve(handler, { port: 3000 })", OPTIONS);
  const { port = 0, host = "127.0.0.1", patience = PATIENCE, connections = CONNECTIONS } = options;
  for (const [option, value] of Object.entries({ patience, connections }))
    if (!(Number.isSafeInteger(value) && value > 0))
      throw refuse(`its \`${option}\` must be a whole number, at least 1`, `${option}: ${PATIENCE}`);
  const limits = {
    headersTimeout: patience,
    requestTimeout: 3 * patience,
    connectionsCheckingInterval: Math.max(50, Math.floor(patience / 4)),
  };
  const server = createServer(limits, nodeListener(handler, options));
  server.maxConnections = connections;
  await new Promise<void>((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException): void => {
      const isTaken = error.code === "EADDRINUSE";
      const reason = isTaken ? `port ${port} is used by another program` : error.message;
      reject(refuse(reason, isTaken ? "give another port, or 0 for a free one" : "check port and host"));
    };
    server.once("error", failed);
    server.listen(port, host, () => {
      server.off("error", failed);
      resolve();
    });
  });
  const { address, family, port: bound } = server.address() as AddressInfo;
  const url = `http://${family === "IPv6" ? `[${address}]` : address}:${bound}`;
  return { url, close: () => closed(server) };
}

/**
 * A fetch handler as a listener of `node:http`, and as a middleware of Express: put it before those that read the body.
 */
export function nodeListener(
  handler: Handler,
  { maxBody = MAX_BODY }: Pick<ServeOptions, "maxBody"> = {},
): (incoming: IncomingMessage, outgoing: ServerResponse) => void {
  return (incoming, outgoing) => {
    exchange(handler, incoming, outgoing, maxBody).catch((error: unknown) => {
      warnOf(error, "OPENRATH_FRONT");
      outgoing.destroy();
    });
  };
}

async function exchange(
  handler: Handler,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  maxBody: number,
): Promise<void> {
  const left = new AbortController();
  outgoing.on("close", () => {
    if (!outgoing.writableFinished) left.abort(new Error("the client went away"));
  });
  // A client that leaves is told by "close".
  outgoing.on("error", () => {});
  incoming.on("error", () => {});
  const body = new LimitedBody(incoming, maxBody);
  let response: Response;
  try {
    const request = requestOf(incoming, body, left.signal);
    answering.set(outgoing, request);
    response = await handler(request);
  } catch (error) {
    response = refusal(error);
  }
  await send(body.isTooLarge ? refusal(tooLarge(maxBody)) : response, outgoing, left.signal);
  // The rest of a body that nobody reads: without this the connection could not be used again.
  if (!incoming.complete) incoming.resume();
}

/** Methods that a Request cannot have. */
const UNSENT: ReadonlySet<string> = new Set(["TRACE", "TRACK", "CONNECT"]);

/** The signal of a Request follows another one only as long as the Request is in memory: until its answer is over. */
const answering = new WeakMap<ServerResponse, Request>();

function requestOf(incoming: IncomingMessage, body: LimitedBody, signal: AbortSignal): Request {
  const { method = "GET", headers: given, headersDistinct } = incoming;
  // Express takes the path of a middleware away.
  const { originalUrl = incoming.url ?? "/" } = incoming as { readonly originalUrl?: string };
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(headersDistinct))
    for (const value of values) headers.append(name, value);
  const base = `http://${given.host ?? "localhost"}`;
  const url = URL.canParse(originalUrl, base) ? new URL(originalUrl, base) : undefined;
  if (UNSENT.has(method))
    throw new RequestError(405, "method-refused", "This method is not supported here.", {
      hint: "send GET or POST",
    });
  if (url === undefined || url.username !== "" || url.password !== "")
    throw new RequestError(400, "url-broken", "The address of the request is not valid.", {
      hint: "send a valid Host and path",
    });
  const bodied = method !== "GET" && method !== "HEAD";
  const init: RequestInit & { duplex: "half" } = { method, headers, signal, duplex: "half" };
  return new Request(url, bodied ? { ...init, body: body.stream } : init);
}

/** The body of a request, which ends with an error where it grows too long. */
class LimitedBody {
  readonly stream: ReadableStream<Uint8Array>;
  isTooLarge = false;

  constructor(incoming: IncomingMessage, most: number) {
    let size = 0;
    // Left to itself the iterator would end the connection, which the response still needs.
    const pieces = incoming.iterator({ destroyOnReturn: false }) as AsyncIterator<Uint8Array, undefined>;
    this.stream = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const { value } = await pieces.next();
        size += value?.length ?? 0;
        this.isTooLarge = size > most;
        if (this.isTooLarge) controller.error(tooLarge(most));
        else if (value === undefined) controller.close();
        else controller.enqueue(value);
      },
    });
  }
}

async function send(response: Response, outgoing: ServerResponse, signal: AbortSignal): Promise<void> {
  const { status, headers, body } = response;
  const fields: { [name: string]: string | string[] } = Object.fromEntries(headers);
  const cookies = headers.getSetCookie();
  if (cookies.length > 0) fields["set-cookie"] = cookies;
  outgoing.writeHead(status, fields);
  outgoing.flushHeaders();
  const reader = body?.getReader();
  const leave = (): void => void reader?.cancel(signal.reason).catch(() => {});
  if (signal.aborted) leave();
  signal.addEventListener("abort", leave);
  try {
    for (let next = await reader?.read(); next !== undefined && !next.done; next = await reader?.read())
      if (!outgoing.write(next.value) && !signal.aborted) await drained(outgoing);
    outgoing.end();
  } finally {
    signal.removeEventListener("abort", leave);
  }
}

function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      outgoing.off("drain", done);
      outgoing.off("close", done);
      resolve();
    };
    outgoing.on("drain", done);
    outgoing.on("close", done);
  });
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

function tooLarge(most: number): RequestError {
  return new RequestError(413, "too-large", `The request is longer than ${most} bytes.`, {
    hint: "send less at once",
    data: { most },
  });
}
