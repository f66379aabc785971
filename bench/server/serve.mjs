// @ts-check
// Run as a process of its own by http.mjs: a server over a store, and a bare route of Hono beside it, until the other process leaves.
import { Hono } from "hono";
import { openRath } from "openrath";
import { server } from "openrath/server";
import { openStore } from "openrath/store";
import { serve } from "openrath/ui";

const store = await openStore(`sqlite:${process.argv[2]}`);
const rath = openRath({ store });
const handler = server(rath, {
  auth: { single: "user:ada" },
  limits: {
    streams: 10_000,
    streamsPerPerson: 10_000,
    requests: { burst: 1e6, perSecond: 1e6 },
  },
});
const answer = { items: [{ id: "0".repeat(64), label: "asked", by: "user:ada" }], next: null };
const app = new Hono().get("/bare", (context) => context.json(answer));
const served = await serve(handler);
const beside = await serve((request) => Promise.resolve(app.fetch(request)));
process.once("disconnect", async () => {
  handler.close();
  await Promise.all([served.close(), beside.close()]);
  await rath.close();
  await store.close();
  process.exit();
});
process.send?.({ url: served.url, token: handler.token, bare: `${beside.url}/bare` });
