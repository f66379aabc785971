// @ts-check
// Run as a process of its own by store.mjs: opens a long session, shows its last 50 messages, appends to it.
import { openStore } from "openrath/store";
import { timeAsync } from "../measure.mjs";

const ms = await timeAsync(async () => {
  const store = await openStore(`sqlite:${process.argv[2]}`);
  const session = await store.load("long", { horizon: 5_000 });
  if (session.recent(50).length !== 50) throw new Error("50 messages were expected");
  await store.save(session.say("one more"), { name: "opened", force: true });
  await store.close();
});
process.send?.({ ms, rss: process.resourceUsage().maxRSS / 1024 });
