import { connect } from "node:net";

export type Answer = { readonly status: number; readonly head: string; readonly body: string };

/** Sends the bytes of a request as they are, and reads what comes back until the connection ends. */
export function raw(url: string, text: string | Uint8Array, wait = 5_000): Promise<Answer> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    let answer = "";
    const socket = connect(Number(port), hostname, () => socket.write(text));
    const timer = setTimeout(() => socket.destroy(), wait);
    socket.on("data", (piece: Buffer) => {
      answer += piece.toString("latin1");
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      clearTimeout(timer);
      const [head = "", ...rest] = answer.split("\r\n\r\n");
      resolve({
        status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1] ?? 0),
        head,
        body: rest.join("\r\n\r\n"),
      });
    });
  });
}

/** The text of a request that ends its connection. */
export function requestText(
  method: string,
  target: string,
  headers: { readonly [name: string]: string } = {},
  body = "",
): string {
  const lines = Object.entries({
    connection: "close",
    ...(body !== "" && { "content-length": String(Buffer.byteLength(body)) }),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${target} HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}
