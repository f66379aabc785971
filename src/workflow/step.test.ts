import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, expectTypeOf, it } from "vitest";
import { openRath } from "../runtime/index.js";
import type { FactOf } from "../session/index.js";
import { now, random, StepError, type StepOptions, step, uuid, workflow } from "./index.js";
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

  it("[E1] give their value as the record has it", async () => {
    const sparse: (number | undefined)[] = [1];
    sparse[2] = 3;
    const shared = { on: new Date(1) };
    const given = {
      when: new Date(0),
      at: new URL("http://a.b/c"),
      sum: { toJSON: (key: string) => `${key} 1.50` },
      left: undefined,
      list: [
        new Date(Number.NaN),
        { toJSON: () => undefined },
        { deep: { toJSON: () => ({ on: new Date(2) }) } },
      ],
      sparse,
      twice: [shared, shared],
      ["__proto__"]: new Date(3),
    };
    const before = { ...given };
    const rich = step("rich", () => given, { effect: "write" });
    const seen: unknown[] = [];
    const module = workflow("w", { rich }, async (session) => {
      const { session: next, value } = await rich.call(session);
      seen.push(value);
      return next;
    });
    const session = await ran(module);
    // As JSON.stringify has it, live and in the replay.
    const expected = JSON.parse(JSON.stringify(given));
    expect(seen).toEqual([expected, expected]);
    expect(all(session, "step-result")[0]?.value).toEqual(expected);
    expect(given).toEqual(before);
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

  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  class Endless {
    toJSON(): object {
      return { one: new Endless(), other: new Endless() };
    }
  }
  it.each<[string, unknown, string]>([
    ["a BigInt", { total: 1n }, "value.total: a BigInt"],
    ["a Map", [new Map()], "value[0]: a Map"],
    ["NaN", { list: [Number.NaN] }, "value.list[0]: NaN"],
    ["a function", { a: () => 1 }, "value.a: a function"],
    ["a cycle", cycle, "contains itself"],
    ["bytes", Buffer.from("x"), "value: a Buffer"],
    ["an instance", new (class Receipt {})(), "value: a Receipt"],
    ["named items of a list", Object.assign([new Date(0)], { name: 1 }), "value[0]: a Date"],
    ["a toJSON without end", new Endless(), "nested too deep"],
    [
      "a toJSON that throws",
      {
        a: {
          toJSON() {
            throw new Error("boo");
          },
        },
      },
      "value.a: its toJSON failed: boo",
    ],
  ])("[E3] that wrote and gave %s have done it, once", async (_what, value, reason) => {
    let done = 0;
    const pay = step(
      "pay",
      () => {
        done += 1;
        return value;
      },
      { effect: "write", retry: { attempts: 3, wait: 1, when: () => true } },
    );
    const { error, session } = await failed(workflow("w", { pay }, (given) => pay.forward(given)));
    expect(done).toBe(1);
    const [failure] = all(session, "step-failure");
    expect(failure?.error).toMatchObject({
      code: "content-refused",
      message: expect.stringContaining("it happened, and only its value is lost"),
      data: { done: true },
    });
    expect(failure?.error.message).toContain(reason);
    expect((error as StepError).message).toMatch(/^Step "pay" was done: it happened/);
    expect((error as StepError).hint).toContain("do not do it again");
    expect((error as StepError).hint).not.toContain("retry");
  });

  it("[E3] that were found out after a crash are done, too", async () => {
    const keeper = openRath({ store: "memory:" });
    const store = await keeper.store();
    let begin = (): void => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const pay = step(
      "pay",
      () => {
        begin();
        return new Promise(() => {});
      },
      { effect: "write", reconcile: async () => ({ value: { a: new Endless() } }) },
    );
    const first = openRath({ store });
    const lost = first.run(pay, first.start("go"), { name: "pay" }).catch((error: unknown) => error);
    await begun;
    await first.close();
    await lost;
    const second = openRath({ store });
    await expect(second.resume("pay", pay)).rejects.toMatchObject({
      cause: { code: "step-failed", data: { failure: { data: { done: true } } } },
    });
    await second.close();
    await keeper.close();
  });

  it("[E9] that take an input and got none say so", async () => {
    const total = step("total", ({ sum }: { sum: number }) => sum, { effect: "read" });
    const { error } = await failed(total as never);
    expect((error as StepError).hint).toBe(
      "it was given no input: await total.call(session, input), in a workflow",
    );
    const seen: unknown[] = [];
    const pen = step("pen", (item = "pen") => seen.push(item), { effect: "pure" });
    await ran(pen);
    await ran(workflow("w", { pen }, (session) => pen.forward(session, "pencil")));
    expect(seen).toEqual(["pen", "pencil"]);
  });

  const boo = (): never => {
    throw new Error("boo");
  };
  const broken = (): never => {
    throw Object.assign(new Error("broken"), { code: "ECONNRESET" });
  };
  const when = "retry: { attempts: 3, when: (error) => … }";
  it.each<[string, () => never, StepOptions<unknown>, RegExp, string]>([
    ["a failure", boo, { effect: "read" }, /^catch StepError/, when],
    ["what may pass", broken, { effect: "read" }, /^catch StepError/, "retry: { attempts: 3 }"],
    [
      "no chance",
      boo,
      { effect: "read", retry: { attempts: 3 } },
      /^not tried again: it does not look/,
      when,
    ],
    [
      "a no",
      broken,
      { effect: "read", retry: { when: () => false } },
      /`when` of its retry said no/,
      "go on",
    ],
    [
      "all of it",
      broken,
      { effect: "read", retry: { attempts: 2, wait: 1 } },
      /^it failed 2 times/,
      "more attempts",
    ],
    ["a write", boo, { effect: "write" }, /did not happen/, when],
    ["a write with a retry", boo, { effect: "write", retry: { attempts: 3 } }, /^not tried again/, when],
  ])("[E10] advise what helps: %s", async (_what, act, options, hint, also) => {
    const { error } = await failed(step("s", act, options));
    expect((error as StepError).hint).toMatch(hint);
    expect((error as StepError).hint).toContain(also);
    if (options.effect === "write") expect((error as StepError).hint).not.toContain("attempts: 3 }");
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
    const actions: string[] = [];
    const pay = step(
      "pay",
      (input: { to: string }) => {
        actions.push(input.to);
        return "paid";
      },
      { effect: "write", approval: ({ to }) => to !== "me" },
    );
    const module = workflow("payments", { pay }, async (session) => {
      const free = await pay.call(session, { to: "me" });
      return (await pay.call(free.session, { to: "you" })).session;
    });
    for (const decide of ["approve", "reject"] as const) {
      actions.length = 0;
      const rath = openRath({ store: "memory:" });
      const waits = await rath.run(module, rath.start("go"), { name: "pay" });
      expect(waits.fact.type).toBe("run-suspend");
      expect(actions).toEqual(["me"]);
      expect((await rath.pending("pay")).find(({ shown }) => shown !== undefined)?.shown).toEqual({
        step: "pay",
        input: { to: "you" },
      });
      await rath[decide]("pay", { by: "user:ada", why: "because" });
      const end = await rath.resume("pay", module).catch((error: { session: unknown }) => error.session);
      expect(actions).toEqual(decide === "approve" ? ["me", "you"] : ["me"]);
      expect((end as { fact: FactOf<"run-end"> }).fact.error?.code).toBe(
        decide === "approve" ? undefined : "step-failed",
      );
      await rath.close();
    }
  });
});
