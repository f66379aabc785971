// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { openRath, statusOf } from "openrath";
import { desk } from "./desk.js";

test("a small refund is paid at once, and the answer streams", async () => {
  const rath = openRath({ store: "memory:" });
  let text = "";
  for await (const event of rath.stream.turn(desk, "chat-1", "Please pay back 20."))
    if (event.type === "text") text += event.text;
  assert.match(text, /Anything else/);
  assert.match(JSON.stringify((await rath.load("chat-1")).transcript), /20 paid back/);
  await rath.close();
});

test("a large refund waits for a colleague", async () => {
  const rath = openRath({ store: "memory:" });
  const asked = await rath.turn(desk, "chat-2", "Please pay back 130.", { by: "user:customer" });
  assert.equal(statusOf(asked), "waiting");
  assert.doesNotMatch(JSON.stringify(asked.transcript), /paid back"/);

  await rath.approve("chat-2", { by: "user:colleague", why: "the parcel came back" });
  const done = await rath.turn(desk, "chat-2");
  assert.match(JSON.stringify(done.transcript), /130 paid back/);
  await rath.close();
});

test("a customer who goes on speaking withdraws the request", async () => {
  const rath = openRath({ store: "memory:" });
  await rath.turn(desk, "chat-3", "Please pay back 130.", { by: "user:customer" });
  const next = await rath.turn(desk, "chat-3", "Never mind.", { by: "user:customer" });
  assert.equal(statusOf(next), "finished");
  assert.doesNotMatch(JSON.stringify(next.transcript), /130 paid back/);
  await rath.close();
});
