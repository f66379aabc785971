import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, expectTypeOf, it } from "vitest";
import { openRath } from "../runtime/index.js";
import type { FactOf } from "../session/index.js";
import { now, random, StepError, step, uuid, workflow } from "./index.js";
import { all, failed, ran, typesOf } from "./testing/ran.js";

describe("steps", () => {
  it("[E1] are recorded, and their values read back", async () => {
    let calls = 0;
    const double = step(
      "double",
      async (input: { n: number }) => {
        calls += 1;
        return { twice: input.n * 2 };
      },
      { effect: "read" },
    );
    const silent = step("silent", async () => {}, { effect: "pure" });
    const module = workflow("sums", { double, silent }, async (session, parts) => {
      const first = await parts.double.call(session, { n: 21 });
      expectTypeOf(first.value).toEqualTypeOf<{ twice: number }>();
      expect(first.value).toEqual({ twice: 42 });
      const second = await parts.silent.call(first.session);
      expectTypeOf(second.value).toEqualTypeOf<null>();
      expect(second.value).toBe(null);
      return second.session.say(`${first.value.twice}`, { by: "agent" });
    });
    const session = await ran(module);
    expect(calls).toBe(1);
    expect(all(session, "step-call")).toMatchObject([
      { name: "double", input: { n: 21 }, effect: "read" },
      { name: "silent", effect: "pure" },
    ]);
    expect(all(session, "step-result")).toMatchObject([
      { value: { twice: 42 }, by: "tool:double" },
      { value: null },
    ]);
    expect(typesOf(await ran(silent))).toContain("step-result");
  });

  it("[E2] throw a StepError with the session when they fail", async () => {
    const broken = step("broken", () => Promise.reject(new Error("no disk")), { effect: "pure" });
    const { error, session } = await failed(workflow("w", { broken }, (given) => broken.forward(given)));
    expect(error).toBeInstanceOf(StepError);
    const at = (error as StepError).session;
    expect(at.fact).toMatchObject({ type: "step-failure", error: { message: "no disk" } });
    expect(session.descendsFrom(at)).toBe(true);
    const caught = workflow("careful", async (given) => {
      try {
        return (await broken.call(given)).session;
      } catch (thrown) {
        return (thrown as StepError).session.say("went on", { by: "agent" });
      }
    });
    expect(typesOf(await ran(caught)).slice(-3)).toEqual(["step-failure", "message-say", "run-end"]);
  });

  it("[E3] fail when the record cannot hold their value", async () => {
    const odd = step("odd", () => 10n, { effect: "pure" });
    const { error, session } = await failed(workflow("w", { odd }, (given) => odd.forward(given)));
    expect(error).toBeInstanceOf(StepError);
    expect(all(session, "step-failure")[0]?.error).toMatchObject({ code: "content-refused" });
  });

  it("[E4] keep their key over all attempts", async () => {
    const keys: string[] = [];
    const flaky = step(
      "flaky",
      (_input, { key, number }) => {
        keys.push(key);
        if (number < 3) throw new Error(`attempt ${number}`);
        return number;
      },
      { effect: "idempotent", key: "order-1", retry: { attempts: 3, wait: 1, when: () => true } },
    );
    const session = await ran(flaky);
    expect(keys).toEqual(["order-1", "order-1", "order-1"]);
    expect(all(session, "effect-fail").map(({ error }) => error.message)).toEqual(["attempt 1", "attempt 2"]);
    expect(all(session, "step-result")[0]?.value).toBe(3);
  });

  it("[E7] take only so much time", async () => {
    const late = step("late", (_input, { signal }) => pause(60_000, 1, { signal }), {
      effect: "read",
      timeout: 5,
    });
    const { error } = await failed(late);
    expect(error).toMatchObject({ code: "step-failed", data: { failure: { code: "timeout" } } });
  });

  it.each([
    ["happened", { value: "found" }, 1, "found"],
    ["did not happen", "again", 2, "paid"],
  ] as const)("[E8] find out after a crash that a write %s", async (_what, finding, times, value) => {
    const keeper = openRath({ store: "memory:" });
    const store = await keeper.store();
    let paid = 0;
    let begin = (): void => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const pay = step(
      "pay",
      async () => {
        paid += 1;
        begin();
        // The first process never hears how it came out.
        if (paid === 1) await new Promise(() => {});
        return "paid";
      },
      { effect: "write", reconcile: async () => finding },
    );
    const first = openRath({ store });
    const lost = first.run(pay, first.start("go"), { name: "pay" }).catch((error: unknown) => error);
    await begun;
    await first.close();
    await lost;
    const second = openRath({ store });
    const session = await second.resume("pay", pay);
    expect(paid).toBe(times);
    expect(all(session, "step-result")).toMatchObject([{ value }]);
    await second.close();
    await keeper.close();
  });

  it("[E5] ask the host for time, chance and ids", async () => {
    const asks = workflow("asks", async (given) => {
      const time = await now(given);
      const chance = await random(time.session);
      const id = await uuid(chance.session);
      return id.session.say(`${time.value} ${chance.value} ${id.value}`, { by: "agent" });
    });
    const times = [5, 6, 7];
    const session = await ran(asks, "go", {
      clock: () => 1_700_000_000_000 + (times.shift() ?? 8),
      random: () => 0.25,
      uuid: () => "an id",
    });
    const values = all(session, "step-result").map(({ value }) => value);
    expect(values.slice(1)).toEqual([0.25, "an id"]);
    expect(values[0]).toBeGreaterThan(1_700_000_000_000);
  });

  it("[E6] wait for a person where an approval is needed", async () => {
    const deeds: string[] = [];
    const pay = step(
      "pay",
      (input: { to: string }) => {
        deeds.push(input.to);
        return "paid";
      },
      { effect: "write", approval: ({ to }) => to !== "me" },
    );
    const module = workflow("payments", { pay }, async (session) => {
      const free = await pay.call(session, { to: "me" });
      return (await pay.call(free.session, { to: "you" })).session;
    });
    for (const decide of ["approve", "reject"] as const) {
      deeds.length = 0;
      const rath = openRath({ store: "memory:" });
      const waits = await rath.run(module, rath.start("go"), { name: "pay" });
      expect(waits.fact.type).toBe("run-suspend");
      expect(deeds).toEqual(["me"]);
      expect((await rath.pending("pay")).find(({ shown }) => shown !== undefined)?.shown).toEqual({
        step: "pay",
        input: { to: "you" },
      });
      await rath[decide]("pay", { by: "user:ada", why: "because" });
      const end = await rath.resume("pay", module).catch((error: { session: unknown }) => error.session);
      expect(deeds).toEqual(decide === "approve" ? ["me", "you"] : ["me"]);
      expect((end as { fact: FactOf<"run-end"> }).fact.error?.code).toBe(
        decide === "approve" ? undefined : "step-failed",
      );
      await rath.close();
    }
  });
});
