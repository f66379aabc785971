// @ts-check
// Run as a process of its own by million.mjs: two steps on a long session, of which only the newest part is held.
import { openRath, step, workflow } from "openrath";
import { heap } from "../measure.mjs";

const one = step("one", async () => 1, { effect: "read" });
const two = step("two", async () => 2, { effect: "read" });
const steps = workflow("two-steps", async (session) => two.forward(await one.forward(session)));
const before = heap();
const start = process.cpuUsage();
const rath = openRath({ store: `sqlite:${process.argv[2]}` });
const session = await rath.run(steps, await rath.load("long"), { name: `run-${process.pid}` });
const { user, system } = process.cpuUsage(start);
const held = process.memoryUsage().heapUsed - before;
if (session.fact.type !== "run-end") throw new Error(`the run ended with ${session.fact.type}`);
await rath.close();
process.send?.({ cpu_ms: (user + system) / 1000, heap_mb: held / 1e6 });
