// A process that pays in a workflow and stops itself where its payment has been announced and not been made, for tests.
// Its argument says where, as JSON. What it does to the world is in a ledger.
import { appendFileSync, writeSync } from "node:fs";

const { dist, url, ledger, me, lease } = JSON.parse(process.argv[2]);
const { openRath, step, workflow } = await import(`${dist}/index.js`);
const { openStore } = await import(`${dist}/entry/store.js`);
const tell = (what) => writeSync(1, `${JSON.stringify(what)}\n`);

const pay = step(
  "pay",
  () => {
    appendFileSync(ledger, `paid by ${me}\n`);
    return "ok";
  },
  { effect: "write", reconcile: async () => "again" },
);
const flow = workflow("flow", { pay }, async (session) => (await pay.call(session)).session);
const store = await openStore(url);
const [save, take] = [store.save.bind(store), store.lease.bind(store)];
store.lease = (name) => take(name, { milliseconds: lease });
store.save = async (session, options) => {
  const saved = await save(session, options);
  if (me === "first" && session.fact.type === "effect-start") {
    tell({ stops: true });
    process.kill(process.pid, "SIGSTOP");
  }
  return saved;
};
const rath = openRath({ store });
const run = me === "first" ? rath.run(flow, rath.start("Pay."), { name: "z" }) : rath.resume("z", flow);
tell(
  await run.then(
    (session) => ({ ended: session.fact.type }),
    (error) => ({ failed: error.code }),
  ),
);
process.exit(0);
