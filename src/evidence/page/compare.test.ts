import { describe, expect, it } from "vitest";
import { Session } from "../../session/index.js";
import { openStore } from "../../store/index.js";
import { repaired } from "../dossier/testing/repaired.js";
import { pages } from "./pages.js";
import { clock, step } from "./testing/steps.js";

describe("comparison", () => {
  it("[C1] begins at the nearest common ancestor, pairs steps and sums both sides", async () => {
    const { store, trunk, small, bold } = await repaired();
    const found = await pages(store).compare(small.id, bold.id);
    expect(found.ancestor).toBe(trunk.id);
    expect(found.common).toBe([...trunk.history()].length);
    expect(found.rows.map(({ kind, a, b, diff }) => [kind, a?.type, b?.type, diff?.split(", ")])).toEqual([
      [
        "message",
        "model-call",
        "model-call",
        ["agent", "outcome.content", "outcome.finish", "outcome.agent"],
      ],
      ["call", "tool-call", "tool-call", ["outcome.output"]],
      ["check", "validation-report", "validation-report", expect.arrayContaining(["passed", "score"])],
      ["message", "model-call", undefined, undefined],
    ]);
    const sums = { passed: [1, 0], failed: [0, 1], calls: [2, 1], tokens: [315, 110], cost: [0.5, 0.25] };
    expect(found.sums).toMatchObject(sums);
    const all = await pages(store).compare(small.id, bold.id, { differences: false, kind: "call" });
    expect(all.rows.map(({ same }) => same)).toEqual([true, false]);
  });

  it("[C2] the same work done twice differs in nothing, whatever ids, times and keys are", async () => {
    const store = await openStore("memory:");
    const at = clock();
    const run = (): Session => {
      let session = Session.start("Do it.", { at: at() });
      for (let round = 0; round < 5; round++) session = step(session, "edit", `ok ${round}`, at);
      return session;
    };
    const [one, other] = [run(), run()];
    await store.save(one, { name: "one" });
    await store.save(step(step(other, "read", "more", at), "edit", "ok", at), { name: "other" });
    const read = pages(store);
    const found = await read.compare("one", "other");
    expect([found.ancestor, found.common]).toEqual([null, 0]);
    expect(found.rows.map(({ a, b }) => [a?.label, b?.label])).toEqual([
      [undefined, "asked the model small-1"],
      [undefined, 'called read with {"file":"a"}'],
      [undefined, "asked the model small-1"],
      [undefined, 'called edit with {"file":"a"}'],
    ]);
    const all = await read.compare("one", "other", { differences: false });
    expect(all.rows.filter(({ same }) => same)).toHaveLength(11);
    expect((await read.compare("one", "one")).rows).toEqual([]);
  });

  it("[C4] pairs long sessions that have little in common by what is equal and in order", async () => {
    const store = await openStore("memory:");
    for (const name of ["one", "other"]) {
      let session = Session.start("Do it.");
      for (let step = 0; step < 590; step++)
        session = session.say(step % 10 === 0 ? `both ${step}` : `${name} ${step}`);
      await store.save(session, { name });
    }
    const { rows } = await pages(store).compare("one", "other", { differences: false, limit: 1000 });
    expect(rows.filter(({ same }) => same)).toHaveLength(60);
    expect(rows.filter(({ a, b }) => a && b)).toHaveLength(591);
  });

  it("[C3] pages are the whole", async () => {
    const { store, small, bold } = await repaired();
    const read = pages(store);
    const whole = await read.compare(small.id, bold.id, { differences: false });
    const first = await read.compare(small.id, bold.id, { differences: false, limit: 2 });
    const rest = await read.compare(small.id, bold.id, { differences: false, after: first.next as string });
    expect([...first.rows, ...rest.rows]).toEqual(whole.rows);
  });
});
