// The program of the workers in the tests of engines: each effect is counted in a file that no part of openrath writes.
import { appendFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { signal, sleep, step, workflow } from "openrath";

/** @param {string} name @param {number} milliseconds */
const counted = (name, milliseconds = 0) =>
  step(
    name,
    async (_, { key }) => {
      appendFileSync(process.env.RATH_LEDGER ?? "", `${process.pid} ${key}\n`);
      await pause(milliseconds);
      return 1;
    },
    { effect: "idempotent" },
  );

export const quick = workflow("quick", {}, async (session) => counted("quick").forward(session));
export const asks = workflow("asks", {}, async (session) => signal("go").forward(session));
export const naps = workflow("naps", {}, async (session) => sleep(400).forward(session));
export const long = workflow("long", {}, async (session) => {
  let at = session;
  for (let n = 0; n < 6; n++) at = await counted(`long-${n}`, 150).forward(at);
  return at;
});
export const fresh =
  process.env.RATH_FRESH === "yes"
    ? workflow("fresh", { quick }, async (session) => quick.forward(session))
    : workflow("fresh", {}, async (session) => session);
