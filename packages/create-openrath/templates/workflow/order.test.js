// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { openRath, statusOf } from "openrath";
import { ledger, order } from "./order.js";

test("nothing is charged before a person approves, and then once", async () => {
  const rath = openRath({ store: "memory:" });
  const waiting = await rath.turn(order, "order-7", "Ship it.", { once: true });
  assert.equal(statusOf(waiting), "waiting");
  assert.equal(ledger.size, 0);

  await rath.approve("order-7", { by: "user:ada", why: "cheap" });
  const done = await rath.turn(order, "order-7", "Ship it.", { once: true });
  assert.equal(statusOf(done), "finished");
  assert.equal(done.text, "130 charged");

  // Started again, as after a restart: the record gives the result, and the step does not run.
  await rath.turn(order, "order-7", "Ship it.", { once: true });
  assert.equal(ledger.size, 1);
  await rath.close();
});

test("a rejection ends the order, and nothing is charged", async () => {
  ledger.clear();
  const rath = openRath({ store: "memory:" });
  await rath.turn(order, "order-8", "Ship it.", { once: true });
  await rath.reject("order-8", { by: "user:ada", why: "too expensive" });
  await assert.rejects(rath.resume("order-8", order), /too expensive/);
  assert.equal(ledger.size, 0);
  await rath.close();
});
