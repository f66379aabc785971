// @ts-check
// The program of `npm run crash -- cluster`: each effect is counted in a file that no part of openrath writes.
import { appendFileSync } from "node:fs";
import { step, workflow } from "openrath";

const ledger = process.env.RATH_LEDGER ?? "";
const STEPS = 8;

export const counted = workflow("counted", {}, async (session) => {
  let at = session;
  for (let n = 0; n < STEPS; n++)
    at = await step(
      `effect-${n}`,
      async (_, { key }) => {
        appendFileSync(ledger, `${key}\n`);
        await new Promise((done) => setTimeout(done, 80));
        return n;
      },
      { effect: "write" },
    ).forward(at);
  return at;
});
export const steps = STEPS;
