import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import type { Json } from "../../../../session/index.js";

export type Received = {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Json;
};

/** A receiver on this machine that keeps what it gets; `answer` says what becomes of each request, by its number. */
export async function receiver(
  answer: (number: number, response: ServerResponse) => void = (_, response) => void response.end("{}"),
): Promise<{ readonly url: string; readonly got: Received[]; readonly close: () => Promise<void> }> {
  const got: Received[] = [];
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("error", () => {});
    request.on("end", () => {
      const text = Buffer.concat(pieces).toString();
      got.push({
        path: request.url ?? "",
        headers: request.headers,
        body: text === "" ? null : (JSON.parse(text) as Json),
      });
      answer(got.length, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    got,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** Decodes traces by the definitions of the protocol itself. */
export type Decoder = {
  readonly fromObject: (value: object) => object;
  readonly verify: (value: object) => string | null;
  readonly encode: (message: object) => { finish(): Uint8Array };
  readonly decode: (bytes: Uint8Array) => object;
  readonly toObject: (message: object, options: object) => { readonly [field: string]: unknown };
};

/** The code that is generated from the definitions, in a package of the project itself; undefined where it is not installed. */
export function decoder(): Decoder | undefined {
  const require = createRequire(import.meta.url);
  for (const path of ["otlp-receiver/build/src/generated/root.js", process.env.RATH_OTLP_DECODER])
    if (path !== undefined) {
      try {
        const root = require(path) as {
          opentelemetry: { proto: { collector: { trace: { v1: { ExportTraceServiceRequest: Decoder } } } } };
        };
        return root.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;
      } catch {
        // Not here: try the next.
      }
    }
  return undefined;
}
