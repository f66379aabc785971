import { createServer, type ServerResponse } from "node:http";
import { closed, listening } from "./server.js";

/** What a server can do instead of answering. */
export const EVIL: { readonly [behaviour: string]: (response: ServerResponse, key: string) => void } = {
  hangs: () => {},
  "hangs after its head": (response) => void response.writeHead(200).flushHeaders(),
  drips: (response) => {
    response.writeHead(200);
    const timer = setInterval(() => response.write(" "), 20);
    response.on("close", () => clearInterval(timer));
  },
  drops: (response) => void response.destroy(),
  "half an answer": (response) => {
    response.writeHead(200, { "content-length": "1000" });
    response.write('{"status":"ok","result":');
    setTimeout(() => response.destroy(), 20);
  },
  "100 MB": (response) => flood(response, {}),
  "100 MB announced": (response) => flood(response, { "content-length": "100000000" }),
  "no JSON": (response) => void response.end("<html>welcome</html>"),
  "no text": (response) => void response.end(Buffer.from([0xff, 0xfe, 0x00, 0x80])),
  "an empty answer": (response) => void response.end(),
  "a list": (response) => void response.end("[1,2,3]"),
  "no envelope": (response) => void response.end('{"files":[]}'),
  "no result": (response) => void response.end('{"status":"ok"}'),
  "a deep result": (response) => void response.end(`{"status":"ok","result":${"[".repeat(200_000)}`),
  "another result": (response) => void response.end('{"status":"ok","result":{"memories":7,"session_id":9}}'),
  "an error without words": (response) => void response.writeHead(400).end('{"status":"error","error":{}}'),
  "500": (response) => void response.writeHead(500).end("Internal Server Error"),
  "503": (response) => void response.writeHead(503).end("later"),
  "says the key": (response, key) =>
    void response.writeHead(403).end(
      JSON.stringify({
        status: "error",
        error: { code: "PERMISSION_DENIED", message: `the key ${key} is not good ${"x".repeat(5_000)}` },
      }),
    ),
};

function flood(response: ServerResponse, headers: { readonly [name: string]: string }): void {
  response.writeHead(200, headers);
  const piece = Buffer.alloc(1_000_000, " ");
  let left = 100;
  const more = (): void => {
    while (left > 0 && !response.destroyed) {
      left -= 1;
      if (!response.write(piece)) return void response.once("drain", more);
    }
    if (!response.destroyed) response.end();
  };
  more();
}

/** A server that always does this; or that points to another one. */
export async function evilViking(
  behaviour: string | { readonly to: string },
): Promise<{ readonly url: string; readonly asked: () => number; close(): Promise<void> }> {
  let asked = 0;
  const server = createServer((request, response) => {
    asked += 1;
    request.on("error", () => {});
    response.on("error", () => {});
    request.resume();
    if (typeof behaviour === "object")
      response.writeHead(307, { location: `${behaviour.to}${request.url}` }).end();
    else EVIL[behaviour]?.(response, String(request.headers["x-api-key"]));
  });
  server.on("clientError", () => {});
  return { url: await listening(server), asked: () => asked, close: () => closed(server) };
}
