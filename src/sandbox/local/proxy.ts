import { chmodSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { ExecResult } from "../sandbox.js";
import { Hosts, type Resolve, resolve as systemResolve, type Target, targetOf } from "./hosts.js";
import { listenAt } from "./registry.js";

export type ProxyOptions = {
  /** The unix socket it listens on. */
  readonly socket: string;
  readonly hosts: readonly string[];
  /** Whether names may lead to private addresses. */
  readonly private?: boolean;
  /** How names are found. Default: as the host's system does. */
  readonly resolve?: Resolve;
  /** Milliseconds without a byte after which a connection is closed. Default two minutes. */
  readonly idle?: number;
};

/**
 * The only way out of a sandbox that may reach some hosts: an HTTP proxy on the host. It resolves a name once
 * and connects to the checked address, so the name cannot change meaning; a redirect is checked anew. CONNECT
 * data are not inspected.
 */
export class NetworkProxy {
  readonly attempts: Attempts = new Attempts();
  readonly #server: Server;
  readonly #hosts: Hosts;
  readonly #resolve: Resolve;
  readonly #idle: number;
  readonly #sockets = new Set<Duplex>();

  private constructor({ hosts, resolve, idle, ...options }: ProxyOptions) {
    this.#hosts = new Hosts(hosts, options);
    this.#resolve = resolve ?? systemResolve;
    this.#idle = idle ?? 120_000;
    this.#server = createServer({
      maxHeaderSize: 16 * 1024,
      requestTimeout: 0,
      headersTimeout: 20_000,
      connectionsCheckingInterval: 5000,
    });
    this.#server.maxConnections = 256;
    this.#server.on("connection", (socket) => this.#keep(socket));
    this.#server.on("connect", (incoming, socket, head) => {
      void this.#tunnel(incoming, socket, head).catch(() => socket.destroy());
    });
    this.#server.on("request", (incoming, outgoing) => {
      void this.#pass(incoming, outgoing).catch(() => outgoing.destroy());
    });
    this.#server.on("clientError", (_error, socket) =>
      refuse(socket, refusal(400, "this is not a request for a proxy")),
    );
    // Of the server itself, after it began to listen: connections that could not be taken. The next may.
    this.#server.on("error", () => {});
  }

  static async start(options: ProxyOptions): Promise<NetworkProxy> {
    const proxy = new NetworkProxy(options);
    rmSync(options.socket, { force: true });
    await listenAt(proxy.#server, options.socket);
    chmodSync(options.socket, 0o600);
    // A forgotten sandbox must not keep the process running.
    proxy.#server.unref();
    return proxy;
  }

  /** Ends all connections and removes the socket. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** Something that is open between us and somebody: it ends when nothing happens, and never ends us. */
  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.setTimeout(this.#idle, () => socket.destroy());
    socket.on("error", () => socket.destroy());
    socket.once("close", () => this.#sockets.delete(socket));
  }

  /** CONNECT: bytes are passed both ways. */
  async #tunnel(incoming: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    const target = targetOf(incoming.url ?? "");
    if (target === undefined) return refuse(client, refusal(400, "a CONNECT names a host and a port"));
    const upstream = await this.#open(target);
    if ("status" in upstream) return refuse(client, upstream);
    if (client.destroyed) {
      upstream.destroy();
      return;
    }
    client.write("HTTP/1.1 200 Connection established\r\n\r\n");
    client.once("close", () => upstream.destroy());
    upstream.once("close", () => client.destroy());
    // Bytes that came together with the request belong to the connection.
    if (head.length > 0) upstream.write(head);
    upstream.pipe(client);
    client.pipe(upstream);
  }

  /** A request with a whole address: made by us, answered as it is answered. */
  async #pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    outgoing.on("error", () => outgoing.destroy());
    const [, authority = "", path = ""] = /^http:\/\/([^/?#]*)([^#]*)$/i.exec(incoming.url ?? "") ?? [];
    const target = targetOf(authority, 80);
    if (target === undefined)
      return answer(outgoing, refusal(400, "a proxy is asked for http://host/path, or with CONNECT"));
    const upstream = await this.#open(target);
    if ("status" in upstream) return answer(outgoing, upstream);
    outgoing.once("close", () => upstream.destroy());
    const asked = request({
      createConnection: () => upstream,
      method: incoming.method,
      path: path.startsWith("/") ? path : `/${path}`,
      headers: headersOf(incoming, hostOf(target)),
      setHost: false,
    });
    asked.on("error", () => {
      if (outgoing.headersSent) outgoing.destroy();
      else answer(outgoing, refusal(502, `${hostOf(target)} broke off before it answered`));
    });
    asked.on("response", (answered) => {
      answered.on("error", () => outgoing.destroy());
      outgoing.writeHead(answered.statusCode ?? 502, answered.statusMessage, headersOf(answered));
      answered.pipe(outgoing);
    });
    incoming.on("error", () => asked.destroy());
    incoming.pipe(asked);
  }

  /** A connection to a target, or the reason for a refusal. */
  async #open(target: Target): Promise<Socket | Refusal> {
    const usable = this.#hosts.allows(target);
    if (usable === undefined) {
      this.attempts.add(target, false);
      return refusal(403, `${hostOf(target)} is not among the hosts that this sandbox may speak with`);
    }
    let addresses: readonly string[];
    try {
      addresses = await this.#resolve(target.host);
    } catch {
      this.attempts.add(target, true);
      return refusal(502, `nobody knows where ${hostOf(target)} is`);
    }
    const allowed = addresses.filter(usable);
    this.attempts.add(target, allowed.length > 0 || addresses.length === 0);
    if (addresses.length > 0 && allowed.length === 0)
      return refusal(403, `${hostOf(target)} leads to an address that is not public`);
    for (const address of allowed.slice(0, 4)) {
      const socket = await this.#connect(address, target.port);
      if (socket !== undefined) return socket;
    }
    return refusal(502, `${hostOf(target)} cannot be reached`);
  }

  async #connect(host: string, port: number): Promise<Socket | undefined> {
    return new Promise((resolve) => {
      const socket = connect({ host, port, allowHalfOpen: true, timeout: 15_000 });
      const failed = (): void => {
        socket.destroy();
        resolve(undefined);
      };
      socket.once("timeout", failed);
      socket.once("error", failed);
      this.#sockets.add(socket);
      socket.once("close", () => {
        this.#sockets.delete(socket);
        resolve(undefined);
      });
      socket.once("connect", () => {
        socket.off("timeout", failed);
        this.#keep(socket);
        resolve(socket);
      });
    });
  }
}

/** Fields that are between two neighbours, not between the ends. */
const BETWEEN_NEIGHBOURS = [
  ...["connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection"],
  // The last one is answered by us.
  ...["te", "trailer", "upgrade", "http2-settings", "expect"],
];

/** The fields of a message as they came, in pairs; `Host` is the one that was checked. */
function headersOf(message: IncomingMessage, host?: string): string[] {
  const named = (message.headers.connection ?? "").toLowerCase().split(/\s*,\s*/);
  const headers: string[] = host === undefined ? [] : ["Host", host, "Connection", "close"];
  for (let place = 0; place + 1 < message.rawHeaders.length; place += 2) {
    const [name = "", value = ""] = message.rawHeaders.slice(place, place + 2);
    const lower = name.toLowerCase();
    if (BETWEEN_NEIGHBOURS.includes(lower) || named.includes(lower)) continue;
    if (lower === "host" && host !== undefined) continue;
    // Of an answer, how its length is told is ours to say again.
    if (lower === "transfer-encoding" && host === undefined) continue;
    headers.push(name, value);
  }
  return headers;
}

function hostOf({ host, port }: Target): string {
  const name = host.includes(":") ? `[${host}]` : host;
  return port === 80 ? name : `${name}:${port}`;
}

type Refusal = { readonly status: 400 | 403 | 502; readonly why: string };

function refusal(status: Refusal["status"], why: string): Refusal {
  return { status, why };
}

function answer(outgoing: ServerResponse, { status, why }: Refusal): void {
  // The rest of the request is ignored: the connection ends with the answer.
  outgoing.writeHead(status, { "Content-Type": "text/plain", Connection: "close" });
  outgoing.end(`${why}\n`);
}

const REASONS = { 400: "Bad Request", 403: "Forbidden", 502: "Bad Gateway" } as const;

function refuse(socket: Duplex, { status, why }: Refusal): void {
  if (socket.destroyed || !socket.writable) {
    socket.destroy();
    return;
  }
  const body = `${why}\n`;
  const length = Buffer.byteLength(body);
  socket.end(
    `HTTP/1.1 ${status} ${REASONS[status]}\r\nContent-Type: text/plain\r\nContent-Length: ${length}\r\nConnection: close\r\n\r\n${body}`,
  );
}

type Attempt = NonNullable<ExecResult["network"]>[number];

/** Somebody who asks for more different places than this is only told of the last of them. */
const REMEMBERED = 1000;

/** Attempts to reach the network: each place once, however often it was asked for. */
export class Attempts {
  readonly #seen = new Map<string, { readonly attempt: Attempt; last: number }>();
  #count = 0;

  /** Where the list of attempts stands. */
  get mark(): number {
    return this.#count;
  }

  add({ host, port }: Target, allowed: boolean): void {
    const key = `${allowed} ${port} ${host}`;
    const seen = this.#seen.get(key);
    const last = this.#count++;
    if (seen !== undefined) {
      seen.last = last;
      return;
    }
    if (this.#seen.size >= REMEMBERED) {
      const [oldest] = this.#seen.keys();
      if (oldest !== undefined) this.#seen.delete(oldest);
    }
    this.#seen.set(key, { attempt: Object.freeze({ host, port, allowed }), last });
  }

  /** The attempts since a mark: each host and port once. */
  since(mark = 0): readonly Attempt[] {
    return [...this.#seen.values()].filter(({ last }) => last >= mark).map(({ attempt }) => attempt);
  }
}
