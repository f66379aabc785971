// @ts-check
// `npm start` begins the order, or goes on with it. It waits for an approval, in any process:
// npm start -- approve    (or: npx rath approve order-1 --by user:me)
import { openRath, statusOf } from "openrath";
import { order } from "./order.js";

const rath = openRath(); // saves everything in .rath/rath.db
const isAsked = (await rath.unfinished()).some(({ name, waiting }) => name === "order-1" && waiting);
if (process.argv[2] === "approve" && isAsked) await rath.approve("order-1", { by: "user:me", why: "cheap" });

const session = await rath.turn(order, "order-1", "Ship the order.", { once: true });
const status = statusOf(session);
console.log(`order-1: ${status}${status === "finished" ? `, ${session.text}` : ""}`);
for (const { what, shown } of await rath.pending("order-1"))
  console.log(`It waits for "${what}" of ${JSON.stringify(shown)}. Approve it: npm start -- approve`);
await rath.close();
