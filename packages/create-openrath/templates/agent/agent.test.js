// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { openRath } from "openrath";
import { clerk } from "./agent.js";

test("the clerk looks up the stock and answers", async () => {
  const rath = openRath({ store: "memory:" });
  const session = await rath.turn(clerk, "stock", "How many pencils are left?");
  assert.equal(session.text, "There are 12 pencils left.");
  assert.match(JSON.stringify(session.transcript), /"left":12/);
  await rath.close();
});

test("the run replays to the same id, without a model or a tool", async () => {
  const rath = openRath({ store: "memory:" });
  const session = await rath.turn(clerk, "stock", "How many pencils are left?");
  const again = await rath.replay("stock", clerk, { mode: "verify" });
  assert.equal(again.id, session.id);
  await rath.close();
});
