// @ts-check
// `npm start`, then open http://127.0.0.1:3000. Refunds over 100 wait for a colleague:
// npx rath pending, npx rath approve NAME --by user:colleague
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { openRath } from "openrath";
import { desk } from "./desk.js";

const rath = openRath(); // saves everything in .rath/rath.db
const server = createServer((request, response) => {
  answer(request, response).catch((error) => {
    console.error(error);
    if (!response.headersSent) response.writeHead(500);
    response.end();
  });
});
// Only this machine can connect. Before others can, find out who sends a request, and give each user their own names.
server.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => {
  const address = server.address();
  console.log(`http://127.0.0.1:${typeof address === "object" ? address?.port : address}`);
});
for (const signal of ["SIGINT", "SIGTERM"])
  process.once(signal, () => {
    server.close();
    server.closeAllConnections();
    rath.close(); // what is under way is kept, and resumed by the next message
  });

/** @param {import("node:http").IncomingMessage} request @param {import("node:http").ServerResponse} response */
async function answer(request, response) {
  if (request.method === "GET" && request.url === "/") {
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
    response.end(await readFile(new URL("page.html", import.meta.url)));
    return;
  }
  const chat = /^\/chat\/([\w-]{1,64})$/.exec(request.url ?? "")?.[1];
  if (request.method !== "POST" || chat === undefined) {
    response.writeHead(404).end();
    return;
  }
  const text = await textOf(request);
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  const send = (/** @type {object} */ event) => response.write(`data: ${JSON.stringify(event)}\n\n`);
  // Without text, the turn goes on with a run that waited or was cut off. Nobody has to listen: a closed page loses nothing.
  const stream = rath.stream.turn(desk, `chat-${chat}`, text || undefined, { by: "user:customer" });
  for await (const event of stream) {
    if (event.type === "text") send({ text: event.text });
    if (event.type === "tool-call") send({ note: `${event.tool} ${JSON.stringify(event.input)}` });
    if (event.type === "suspended") send({ waits: `chat-${chat}` });
  }
  response.end();
}

/** @param {import("node:http").IncomingMessage} request */
async function textOf(request) {
  let text = "";
  for await (const piece of request.setEncoding("utf8")) {
    text += piece;
    if (text.length > 10_000) throw new Error("the message is too long");
  }
  return text.trim();
}
