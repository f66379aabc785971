import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { answered } from "./mcp-peer.js";
import type { Input } from "./order.js";
import type { Happening, World } from "./world.js";

/**
 * The one machine that all names lead to: a server of this process on the loopback. It is every web site, the attacker's too,
 * and every MCP server; it keeps for itself which requests really came.
 */
export class Wire {
  readonly #server: Server;
  readonly #worlds = new Map<string, World>();
  readonly #seen = new Map<string, Happening[]>();
  #port = 0;

  constructor() {
    this.#server = createServer((incoming, response) => {
      this.#serve(incoming, response).catch(() => response.destroy());
    });
    this.#server.keepAliveTimeout = 1_000;
  }

  async open(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  join(world: World): void {
    this.#worlds.set(world.id, world);
    this.#seen.set(world.id, []);
  }

  leave(world: World): void {
    this.#worlds.delete(world.id);
    this.#seen.delete(world.id);
  }

  seenFrom(world: string): readonly Happening[] {
    return this.#seen.get(world) ?? [];
  }

  /** Where the MCP server of a world is. */
  mcpUrl(world: string): string {
    return `http://127.0.0.1:${this.#port}/mcp/${world}`;
  }

  /** Asks a host by its name: this machine answers for all of them. */
  request(world: string, name: string, input: Input, call: string, signal: AbortSignal): Promise<string> {
    const { url, body } = input as { readonly url: string; readonly body?: string };
    const { host, pathname, search } = new URL(url);
    return new Promise((resolve, reject) => {
      const asked = request(
        {
          host: "127.0.0.1",
          port: this.#port,
          path: `${pathname}${search}`,
          method: name === "http_post" ? "POST" : "GET",
          headers: { host, "x-world": world, "x-call": call },
          signal,
        },
        (response) => {
          const pieces: Buffer[] = [];
          response.on("data", (piece: Buffer) => pieces.push(piece));
          response.on("end", () => resolve(Buffer.concat(pieces).toString("utf8")));
          response.on("error", reject);
        },
      );
      asked.on("error", reject);
      asked.end(body ?? "");
    });
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(incoming);
    const { url = "/", method, headers } = incoming;
    const [, folder, id = ""] = url.split("/");
    const peer = folder === "mcp" ? this.#worlds.get(id) : undefined;
    if (peer !== undefined) return answered(peer, incoming, body, response);
    const world = String(headers["x-world"]);
    const address = `https://${headers.host}${url}`;
    const name = method === "POST" ? "http_post" : "http_get";
    this.#seen.get(world)?.push({
      tool: name,
      input: { url: address, ...(method === "POST" && { body }) },
      call: String(headers["x-call"]),
    });
    response.end(this.#worlds.get(world)?.read(`${name} ${address}`) ?? "nothing here");
  }
}

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of incoming) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString("utf8");
}
