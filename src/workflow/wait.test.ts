import { describe, expect, it } from "vitest";
import { canonical, openRath, RunFailedError } from "../runtime/index.js";
import { digestOf } from "../session/index.js";
import { approve, ModuleError, RejectedError, signal, sleep, workflow } from "./index.js";
import { says } from "./testing/modules.js";
import { all, ran, saidIn, typesOf } from "./testing/ran.js";

describe("waiting", () => {
  it("[T1] sleeps, for a moment in memory and for long in a suspension", async () => {
    expect(typesOf(await ran(sleep(1)))).toContain("timer-fire");
    let clock = Date.parse("2030-01-01T00:00:00.000Z");
    const rath = openRath({ store: "memory:", clock: () => clock });
    const nap = workflow("nap", async (session) =>
      (await sleep({ until: "2030-01-02T00:00:00.000Z" }).forward(session)).say("awake", { by: "agent" }),
    );
    const asleep = await rath.run(nap, rath.start("go"), { name: "nap" });
    expect(asleep.fact.type).toBe("run-suspend");
    expect(asleep.pending).toMatchObject([{ type: "timer-set", what: "2030-01-02T00:00:00.000Z" }]);
    clock += 3_600_000;
    expect((await rath.resume("nap", nap)).fact.type).toBe("run-suspend");
    clock += 24 * 3_600_000;
    const awake = await rath.resume("nap", nap);
    expect(saidIn(awake)).toEqual(["go", "awake"]);
    expect((await rath.replay("nap", nap, { mode: "verify" })).id).toBe(awake.id);
    await rath.close();
    expect(() => sleep(-1)).toThrow(ModuleError);
    expect(() => sleep({ until: "soon" })).toThrow(ModuleError);
  });

  it("[T4] on terms: several people, with other words than were shown, whatever policy there is", async () => {
    const strict = {
      name: "strict",
      version: "0".repeat(64),
      covers: () => true,
      decide: () => ({ verdict: "deny" as const, rules: [] }),
    };
    const rath = openRath({ store: "memory:", policy: strict });
    const consent = approve("consent", { pay: 130 }, { from: ["user:ada", "user:bob", "user:cy"], need: 2 });
    const pay = workflow("pay", { consent }, async (session) => {
      const { session: told, approved, why, edit } = await consent.call(session);
      return told.say(JSON.stringify({ approved, why, edit }), { by: "agent" });
    });
    await rath.run(pay, rath.start("go"), { name: "yes" });
    await rath.approve("yes", { by: "user:ada" });
    await rath.approve("yes", { by: "user:cy", edit: { pay: 100 } });
    await rath.resume("yes", pay);
    expect((await rath.pending("yes")).map(({ to, shown }) => [to, shown])).toEqual([
      [["user:ada"], { pay: 100 }],
      [["user:bob"], { pay: 100 }],
    ]);
    await rath.approve("yes", { by: "user:bob" });
    const yes = await rath.resume("yes", pay);
    expect(saidIn(yes)).toEqual(["go", '{"approved":false,"edit":{"pay":100}}']);
    expect((await rath.replay("yes", pay, { mode: "verify" })).id).toBe(yes.id);
    await rath.run(pay, rath.start("go"), { name: "no" });
    for (const by of ["user:ada", "user:bob"] as const)
      await rath.reject("no", { by, why: `no, says ${by}` });
    expect(saidIn(await rath.resume("no", pay))).toEqual([
      "go",
      '{"approved":false,"why":"no, says user:bob"}',
    ]);
    await rath.close();
    expect(() => approve("consent", 1, { need: 2 })).toThrow(ModuleError);
  });

  it.each([undefined, { from: "user:ada" }] as const)(
    "[T3] where something else was agreed to, forward throws (%j)",
    async (terms) => {
      const rath = openRath({ store: "memory:" });
      const gate = approve("consent", { pay: 130 }, terms);
      await rath.run(gate, rath.start("go"), { name: "n" });
      expect(await rath.pending("n")).toMatchObject([{ what: "consent", shown: { pay: 130 } }]);
      await rath.approve("n", { by: "user:ada", edit: { pay: 1 } });
      await expect(rath.resume("n", gate)).rejects.toThrow('agreed to {"pay":1} in its place');
      await rath.close();
    },
  );

  it("[T2] takes what a signal says", async () => {
    const rath = openRath({ store: "memory:" });
    const color = signal("color", { ask: "Which color?" });
    const paint = workflow("paint", { color }, async (session) => {
      const { session: told, value } = await color.call(session);
      return told.say(`painted ${value}`, { by: "agent" });
    });
    const waits = await rath.run(paint, rath.start("go"), { name: "paint" });
    expect(waits.fact.type).toBe("run-suspend");
    expect(await rath.pending("paint")).toMatchObject([{ what: "color", shown: { ask: "Which color?" } }]);
    await rath.signal("paint", "color", "red", "user:ada");
    const done = await rath.resume("paint", paint);
    expect(saidIn(done)).toEqual(["go", "painted red"]);
    expect(all(done, "signal-give")[0]?.by).toBe("user:ada");
    expect((await rath.replay("paint", paint, { mode: "verify" })).id).toBe(done.id);
    await rath.close();
  });

  it.each(["approve", "reject"] as const)("[T3] asks a person, who may %s", async (decide) => {
    const rath = openRath({ store: "memory:" });
    const what = { deploy: "v2", to: ["b", "a"] };
    const gate = approve("gate", () => what);
    const strict = workflow("strict", { gate, deploy: says("deployed") }, async (session, parts) =>
      parts.deploy.forward(await parts.gate.forward(session)),
    );
    const lenient = workflow("lenient", { gate }, async (session) => {
      const verdict = await gate.call(session);
      return verdict.session.say(`${verdict.approved} ${verdict.why}`, { by: "agent" });
    });
    for (const module of [strict, lenient]) {
      await rath.run(module, rath.start("go"), { name: module.name });
      const [asked] = await rath.pending(module.name);
      expect(asked).toMatchObject({ shown: what, digest: digestOf(canonical(what)) });
      await rath[decide](module.name, { by: "user:ada", why: "I looked" });
    }
    const said = await rath.resume("lenient", lenient);
    expect(saidIn(said)).toEqual(["go", `${decide === "approve"} I looked`]);
    expect((await rath.replay("lenient", lenient, { mode: "verify" })).id).toBe(said.id);
    if (decide === "approve") expect(saidIn(await rath.resume("strict", strict))).toEqual(["go", "deployed"]);
    else {
      const error: unknown = await rath.resume("strict", strict).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(RunFailedError);
      expect((error as RunFailedError).cause).toBeInstanceOf(RejectedError);
      expect((error as RunFailedError).message).toContain("I looked");
    }
    await rath.close();
  });

  it("[T3] takes no answer that covers something else, even if it is in the record", async () => {
    const rath = openRath({ store: "memory:" });
    const gate = approve("gate", { deploy: "v2" });
    await rath.run(gate, rath.start("go"), { name: "gate" });
    const [asked] = await rath.pending("gate");
    const store = await rath.store();
    const request = await store.load(asked?.id as string);
    const forged = request.append({
      type: "approval-give",
      of: request.id,
      decision: "approve",
      digest: digestOf(canonical({ deploy: "v1" })),
      by: "user:eve",
    });
    await store.save(forged, { name: `answer/${request.fact.run}/${request.id}` });
    const error: unknown = await rath.resume("gate", gate).catch((thrown: unknown) => thrown);
    expect((error as RunFailedError).cause).toBeInstanceOf(RejectedError);
    await rath.close();
  });
});
