import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";

export type Asked = {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Buffer;
  /** Whether the body came to its end. */
  readonly complete: boolean;
};
type Answer = {
  readonly status?: number;
  readonly json?: unknown;
  readonly bytes?: Uint8Array;
  readonly headers?: Record<string, string>;
};
/** What is done about a request: an answer, or something with the connection itself. */
export type Handler = (
  asked: Asked,
  response: ServerResponse,
) => Answer | undefined | Promise<Answer | undefined>;
export type UpgradeHandler = (asked: Asked, socket: Duplex) => void;

/**
 * A server on a socket of this machine that answers like a container engine as far as it is told to: for what a real one
 * does not do on request, such as to answer late, half, or with nonsense.
 */
export class FakeEngine {
  readonly socket: string;
  readonly asked: Asked[] = [];
  readonly #folder: string;
  readonly #server: Server;
  readonly #handlers: { readonly pattern: RegExp; readonly handler: Handler }[] = [];
  readonly #upgrades: { readonly pattern: RegExp; readonly handler: UpgradeHandler }[] = [];
  readonly #sockets = new Set<Duplex>();

  private constructor() {
    this.#folder = mkdtempSync(join(tmpdir(), "openrath-engine-"));
    this.socket = join(this.#folder, "engine.sock");
    this.#server = createServer((request, response) => void this.#answer(request, response));
    this.#server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => this.#sockets.delete(socket));
    });
    this.#server.on("upgrade", (request, socket) => void this.#upgrade(request, socket));
  }

  static async start(): Promise<FakeEngine> {
    const engine = new FakeEngine();
    await new Promise<void>((resolve) => engine.#server.listen(engine.socket, resolve));
    engine.on("GET /version", () => ({ json: { Version: "1", ApiVersion: "1.41", MinAPIVersion: "1.12" } }));
    engine.on("GET /info", () => ({ json: { OSType: "linux", MemoryLimit: true, PidsLimit: true } }));
    engine.on("GET /networks", () => ({ json: [{ Name: "bridge" }] }));
    engine.on("GET /containers/json", () => ({ json: [] }));
    return engine;
  }

  /** Later handlers come before earlier ones. The place is a method and a path, as the beginning of a pattern. */
  on(place: string, handler: Handler): this {
    this.#handlers.unshift({ pattern: new RegExp(`^${place}$`), handler });
    return this;
  }

  onUpgrade(place: string, handler: UpgradeHandler): this {
    this.#upgrades.unshift({ pattern: new RegExp(`^${place}$`), handler });
    return this;
  }

  /** A container that is there and runs. */
  withContainer(state: () => object = () => ({ Status: "running" }), id = "box"): this {
    const json = (name: string) => ({
      Id: "c1",
      Name: name,
      State: state(),
      Config: { User: "0:0", Labels: { "openrath.id": id, "openrath.incarnation": "1" } },
      Mounts: [{ Destination: "/workspace", Name: "volume" }],
    });
    return this.on("POST /containers/create", () => ({ status: 201, json: { Id: "c1" } }))
      .on("GET /containers/[^/]+/json", ({ path }) => ({ json: json(path) }))
      .on("POST /containers/[^/]+/(start|pause|unpause|restart)", () => ({ status: 204 }))
      .on("DELETE /containers/[^/]+", () => ({ status: 204 }))
      .on("POST /containers/[^/]+/exec", () => ({ status: 201, json: { Id: "e1" } }))
      .on("GET /exec/e1/json", () => ({ json: { Running: true, ExitCode: null } }));
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #read(request: IncomingMessage): Promise<Asked> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      // Cut off by the other side.
    }
    const url = new URL(request.url ?? "", "http://engine");
    const asked = {
      method: request.method ?? "",
      path: url.pathname.replace(/^\/v[\d.]+/, ""),
      query: url.searchParams,
      body: Buffer.concat(chunks),
      complete: request.complete,
    };
    this.asked.push(asked);
    return asked;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on("error", () => {});
    const asked = await this.#read(request);
    const name = `${asked.method} ${asked.path}`;
    const handler = this.#handlers.find(({ pattern }) => pattern.test(name))?.handler;
    if (handler === undefined) {
      response.writeHead(404, { "content-type": "application/json" });
      response.end(JSON.stringify({ message: `page not found: ${name}` }));
      return;
    }
    const answer = await handler(asked, response);
    if (answer === undefined) return;
    const { status = 200, json, bytes, headers = {} } = answer;
    response.writeHead(status, headers);
    response.end(bytes ?? (json === undefined ? undefined : JSON.stringify(json)));
  }

  async #upgrade(request: IncomingMessage, socket: Duplex): Promise<void> {
    socket.on("error", () => {});
    const url = new URL(request.url ?? "", "http://engine");
    const name = `POST ${url.pathname.replace(/^\/v[\d.]+/, "")}`;
    const handler = this.#upgrades.find(({ pattern }) => pattern.test(name))?.handler;
    const asked = {
      method: "POST",
      path: url.pathname,
      query: url.searchParams,
      body: Buffer.alloc(0),
      complete: true,
    };
    this.asked.push(asked);
    if (handler === undefined) {
      socket.end("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
      return;
    }
    handler(asked, socket);
  }
}

export const UPGRADED = "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n";

/** A frame as the engine sends output. */
export function frame(kind: 1 | 2, text: string): Buffer {
  const bytes = Buffer.from(text);
  const header = Buffer.alloc(8);
  header[0] = kind;
  header.writeUInt32BE(bytes.length, 4);
  return Buffer.concat([header, bytes]);
}
