import { describe, expect, it } from "vitest";
import { openRath, perform, type RathOptions, RunFailedError } from "./index.js";
import { moduleOf } from "./testing/module.js";
import { rathOf } from "./testing/rath.js";
import { World } from "./testing/world.js";

const using = moduleOf("use a place", async (session) => {
  const done = await perform(
    session,
    new World().step("use", { give: async (attempt) => (await attempt.sandbox()).ref.id }),
  );
  if (done.fact.type === "step-failure") throw new Error(JSON.stringify(done.fact.error));
  return done;
});

describe("what a runtime is opened with", () => {
  it("[H11] an option that there is not is refused with the one that was most likely meant", () => {
    for (const [given, meant] of [
      [{ stor: "memory:" }, '"store"'],
      [{ sandbox: {} }, '"sandboxes"'],
      [{ secret: {} }, '"secrets"'],
      [{ store: "memory:", Budget: {} }, '"budget"'],
      [{ store: "memory:", clok: () => 0 }, '"clock"'],
    ] as const) {
      const [option] = Object.keys(given).filter((key) => key !== "store");
      expect(() => openRath(given as unknown as RathOptions), option).toThrow(
        expect.objectContaining({
          code: "run-refused",
          message: expect.stringContaining(`no option "${option}"`),
          hint: `did you mean ${meant}?`,
        }),
      );
    }
    expect(() => openRath({ store: "memory:", whatever: 1 } as RathOptions)).toThrow(
      expect.objectContaining({ hint: expect.stringMatching(/^the options are store, prices, budget, /) }),
    );
  });

  it("[H11] all that there are are taken", async () => {
    const rath = openRath({
      store: "memory:",
      prices: {},
      budget: { steps: 5 },
      sandboxes: {},
      secrets: { TOKEN: "x" },
      clock: Date.now,
      random: Math.random,
      uuid: () => "u",
      patience: 1,
    });
    expect((await rath.store()).url).toBe("memory:");
    await rath.close();
  });

  it.each([
    ["nothing", undefined, "capabilities, create, connect, list, close"],
    ["null", null, "capabilities, create, connect, list, close"],
    ["a text", "local", "capabilities, create, connect, list, close"],
    [
      "half of one",
      { name: "half", create: async () => {}, close: async () => {} },
      "capabilities, connect, list",
    ],
  ])(
    "[H12] %s in place of a provider is refused by name, with what it has not",
    async (_, given, missing) => {
      for (const source of [() => given, async () => given, ...(given === undefined ? [] : [given])]) {
        const rath = rathOf({ sandboxes: { mine: source as never } });
        const error = (await rath
          .run(using, rath.start("go").to("mine"))
          .catch((thrown: unknown) => thrown)) as RunFailedError;
        expect(error).toBeInstanceOf(RunFailedError);
        const failure = JSON.parse((error.cause as Error).message) as object;
        expect(failure).toMatchObject({
          code: "place-unfit",
          message: expect.stringContaining(
            `\`sandboxes\` must map "mine" to a sandbox provider; it lacks ${missing}`,
          ),
          data: {
            name: "mine",
            missing: missing.split(", "),
            hint: expect.stringContaining("virtualSandbox()"),
          },
        });
      }
    },
  );

  it("[H12] names that every object has are not kinds of sandboxes", async () => {
    const rath = rathOf({});
    for (const name of ["constructor", "__proto__", "toString"])
      await expect(rath.run(using, rath.start("go").to(name))).rejects.toThrow("There is no kind of sandbox");
  });

  it("[H12] one that can be made the second time is used then", async () => {
    const { virtualSandbox } = await import("../sandbox/index.js");
    let asked = 0;
    const rath = rathOf({
      sandboxes: {
        mine: () => {
          asked += 1;
          if (asked === 1) throw new Error("not yet");
          return virtualSandbox();
        },
      },
    });
    await expect(rath.run(using, rath.start("go").to("mine"))).rejects.toThrow("not yet");
    expect((await rath.run(using, rath.start("go").to("mine"))).fact.type).toBe("run-end");
    expect(asked).toBe(2);
  });

  it("[H20] a kind of sandbox that there is not is refused before anything is recorded or called", async () => {
    const { virtualSandbox } = await import("../sandbox/index.js");
    const rath = rathOf({ sandboxes: { mine: virtualSandbox } });
    const world = new World();
    const asking = moduleOf("ask", (session) => perform(session, world.step("ask", { give: async () => 1 })));
    const unknown = (name: string, meant: string) => ({
      code: "place-unknown",
      hint: expect.stringMatching(meant),
      data: { name, known: ["local", "virtual", "docker", "host", "mine"] },
    });
    const names = async () => (await (await rath.store()).names()).length;
    for (const [name, meant] of [
      ["cube", "^the kinds are local, virtual, docker, host, mine"],
      ["locl", '^did you mean "local"\\? the kinds are'],
      ["toString", "^the kinds are"],
    ] as const)
      await expect(rath.run(asking, rath.start("go").to(name))).rejects.toMatchObject(unknown(name, meant));
    expect([await names(), world.calls]).toEqual([0, []]);
    const moving = moduleOf("move", (session) => asking.forward(session.to("virtuel")));
    const failed = await rath
      .run(moving, rath.start("go"), { name: "moved" })
      .catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(RunFailedError);
    expect((failed as RunFailedError).cause).toMatchObject(unknown("virtuel", '^did you mean "virtual"'));
    expect(world.calls).toEqual([]);
    expect(((failed as RunFailedError).session as { fact: unknown }).fact).toMatchObject({
      type: "run-end",
      error: { code: "place-unknown" },
    });
    expect((await rath.replay("moved", moving, { mode: "verify" })).id).toBe(
      (failed as RunFailedError).session.id,
    );
    expect((await rath.run(asking, rath.start("go").to("mine"))).fact.type).toBe("run-end");
  });
});
