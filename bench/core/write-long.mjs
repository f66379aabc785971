// @ts-check
// Run as a process of its own by million.mjs: writes a session of so many facts, as something that runs for days does.
import { Session } from "openrath";
import { openStore } from "openrath/store";
import { words } from "../measure.mjs";

const SAVED_AT_ONCE = 20_000;
const [, , path, count] = process.argv;
const facts = Number(count);
const start = process.cpuUsage();
const store = await openStore(`sqlite:${path}`);
let session = Session.start("long");
for (let number = 1; number < facts; number++) {
  session = session.say(words(200, number), { role: "assistant" });
  if (number % SAVED_AT_ONCE === 0 || number === facts - 1) await store.save(session, { name: "long" });
}
await store.close();
const { user, system } = process.cpuUsage(start);
process.send?.({ cpu_ms: (user + system) / 1000 });
