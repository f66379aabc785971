import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import type { Json } from "openrath";
import type { Exchange } from "./cassette.js";

/** What arrived at the server. */
export type Arrived = { readonly method: string; readonly path: string; readonly body: Json };

export type Loopback = {
  readonly origin: string;
  readonly arrived: readonly Arrived[];
  close(): Promise<void>;
};

/** What an answer needs: the wire part of an exchange. */
export type Answer = Pick<Exchange, "status" | "headers" | "body">;

/** They describe one connection, and this is another one. */
const HOP = new Set(["connection", "content-encoding", "content-length", "transfer-encoding", "keep-alive"]);

/**
 * A provider that gives recorded answers, one after the other. Streams come event by event or, with `cut`, in pieces of
 * so many bytes, wherever that cuts a character or a line; other bodies come packed when the client takes that.
 */
export async function loopback(
  answers: readonly Answer[],
  { cut }: { readonly cut?: number } = {},
): Promise<Loopback> {
  const arrived: Arrived[] = [];
  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => response.destroy(error as Error));
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const text = Buffer.concat(pieces).toString("utf8");
    const answer = answers[arrived.length];
    arrived.push({
      method: request.method ?? "",
      path: new URL(request.url ?? "/", "http://localhost").pathname,
      body: text === "" ? null : (JSON.parse(text) as Json),
    });
    if (answer === undefined) {
      response.writeHead(410).end("The cassette is at its end.");
      return;
    }
    const headers = Object.fromEntries(answer.headers.filter(([name]) => !HOP.has(name.toLowerCase())));
    if (/event-stream/.test(headers["content-type"] ?? "")) {
      response.writeHead(answer.status, headers);
      for (const piece of cut === undefined ? byEvent(answer.body) : byLength(answer.body, cut)) {
        response.write(piece);
        // Each piece in a packet of its own, as far as that is up to us.
        await new Promise((resolve) => setImmediate(resolve));
      }
      response.end();
    } else if (/gzip/.test(String(request.headers["accept-encoding"]))) {
      response.writeHead(answer.status, { ...headers, "content-encoding": "gzip" });
      response.end(gzipSync(answer.body));
    } else {
      response.writeHead(answer.status, headers).end(answer.body);
    }
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    arrived,
    close: () =>
      new Promise((resolve, reject) => {
        server.closeAllConnections();
        server.close((error) => (error ? reject(error) : resolve()));
      }),
  };
}

function byEvent(body: string): readonly string[] {
  return body.match(/[\s\S]+?(?:\r?\n\r?\n|$)/g) ?? [];
}

function byLength(body: string, length: number): readonly Buffer[] {
  const bytes = Buffer.from(body);
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += length) pieces.push(bytes.subarray(at, at + length));
  return pieces;
}
