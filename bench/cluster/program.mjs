// @ts-check
// The program of the benchmark: steps that do nothing, so that what is measured is the record, the leases and the queue.
import { setTimeout as pause } from "node:timers/promises";
import { step, workflow } from "openrath";

export const STEPS = 20;

export const quick = workflow("quick", {}, async (session) => {
  let at = session;
  for (let n = 0; n < STEPS; n++) at = await step(`s${n}`, () => n, { effect: "idempotent" }).forward(at);
  return at;
});

/** The same with one step: the rest is what a session costs whatever it does. */
export const once = workflow("once", {}, (session) =>
  step("s", () => 1, { effect: "idempotent" }).forward(session),
);

export const MANY = 100;
export const result = "x".repeat(1_000);

/** One long session, with results as large as those of the engines that it is compared with. */
export const many = workflow("many", {}, async (session) => {
  let at = session;
  for (let n = 0; n < MANY; n++) at = await step(`s${n}`, () => result, { effect: "idempotent" }).forward(at);
  return at;
});

/** Says in the record that it has begun, and takes its time. */
export const slow = workflow("slow", {}, async (session) => {
  const begun = await step("begin", () => 1, { effect: "pure" }).forward(session);
  return step("slow", () => pause(6_000).then(() => 1), { effect: "idempotent" }).forward(begun);
});
