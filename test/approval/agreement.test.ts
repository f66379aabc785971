import { openStore } from "openrath/store";
import { expect, it } from "vitest";
import { campaign } from "../../src/session/testing/campaign.js";
import { Dice } from "../adversary/dice.js";
import { Round } from "./round.js";

const SEED = Number(process.env.OPENRATH_SEED ?? 1);
const ROUNDS = Number(process.env.OPENRATH_AGREEMENTS ?? campaign(500));

it("[MU3] what is done was agreed to, and what was agreed to is done, whatever people say and whatever happens", {
  timeout: 0,
}, async () => {
  const total = { words: 0, edits: 0, done: 0, interrupted: 0 };
  const wrong: string[] = [];
  for (let seed = SEED; seed < SEED + ROUNDS; seed++) {
    const store = await openStore("memory:");
    const round = new Round(new Dice(seed), store);
    await round.play().catch((error: unknown) => round.faults.push(String((error as Error).stack)));
    const { faults } = round;
    if (faults.length > 0)
      wrong.push(
        [
          `seed ${seed}`,
          ...faults.map((fault) => `  ${fault}`),
          ...round.told.map((one) => `    ${one}`),
        ].join("\n"),
      );
    total.words += round.crowd.words.length;
    total.edits += round.crowd.words.filter(({ edit }) => edit !== undefined).length;
    total.done += round.ledger.done.length;
    total.interrupted += round.interrupted ? 1 : 0;
    await store.close();
  }
  console.log(JSON.stringify(total));
  if (wrong.length > 0) console.log(wrong.join("\n\n"));
  expect(wrong.length, "rounds that went wrong").toBe(0);
  // Nothing is kept by doing nothing.
  expect(total.done).toBeGreaterThan(ROUNDS / 2);
  expect(total.edits).toBeGreaterThan(ROUNDS / 10);
  expect(total.interrupted).toBeGreaterThan(ROUNDS / 20);
});
