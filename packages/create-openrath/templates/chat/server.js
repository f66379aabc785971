// @ts-check
// `npm start`, then open http://127.0.0.1:3000. Refunds over 100 wait for a colleague:
// npx rath pending, npx rath approve NAME --by user:colleague
import { readFile } from "node:fs/promises";
import { openRath } from "openrath";
import { serve, uiStream } from "openrath/ui";
import { desk } from "./desk.js";

const rath = openRath(); // saves everything in .rath/rath.db
// Only this machine can connect. Before others can, find out who sends a request: each person then has chats of their own.
const chat = uiStream(rath, desk, { principal: () => "user:customer", name: (id) => `chat-${id}` });
const { url, close } = await serve(
  async (request) => {
    if (new URL(request.url).pathname !== "/") return chat(request);
    const page = await readFile(new URL("page.html", import.meta.url));
    return new Response(page, { headers: { "content-type": "text/html; charset=utf-8" } });
  },
  { port: Number(process.env.PORT ?? 3000) },
);
console.log(url);
// What a crash cut off, or a colleague approved while no server ran, goes on without another message.
for (const { name, module } of await rath.unfinished())
  if (module === desk.name) rath.turn(desk, name).catch(console.error);

for (const signal of ["SIGINT", "SIGTERM"])
  process.once(signal, async () => {
    await close();
    await rath.close(); // what is under way is kept, and resumed when the server starts again
  });
