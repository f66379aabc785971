import { createServer, type Server as HttpServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { ServedMcp } from "../index.js";
import { kept } from "./world.js";

/** Serves by HTTP on this machine. */
export async function listening(
  server: Pick<ServedMcp, "fetch">,
  port = 0,
): Promise<{ url: string; http: HttpServer }> {
  const http = createServer((request, response) => {
    void (async () => {
      try {
        const controller = new AbortController();
        response.once("close", () => controller.abort());
        const answer = await server.fetch(await requestOf(request, controller.signal));
        response.writeHead(answer.status, Object.fromEntries(answer.headers));
        if (answer.body !== null) for await (const piece of answer.body) response.write(piece);
      } catch {
        response.destroy();
      }
      response.end();
    })();
  });
  await new Promise<void>((resolve) => http.listen(port, "127.0.0.1", resolve));
  kept({
    close: async () => {
      http.closeAllConnections();
      http.close();
    },
  });
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`, http };
}

async function requestOf(request: IncomingMessage, signal: AbortSignal): Promise<Request> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return new Request(`http://${request.headers.host}${request.url}`, {
    method: request.method ?? "GET",
    headers: request.headers as { [name: string]: string },
    signal,
    ...(pieces.length > 0 && { body: Buffer.concat(pieces) }),
  });
}
