import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FactOf, Failure } from "../session/index.js";
import { unreadable } from "../session/testing/thrown.js";
import { type Module, perform, RunFailedError } from "./index.js";
import { policy } from "./policy/index.js";
import { moduleOf } from "./testing/module.js";
import { rathOf } from "./testing/rath.js";
import { all } from "./testing/record.js";
import { World } from "./testing/world.js";

const RETRY = { attempts: 2, wait: 0, most: 0 };

/** Runs a module that fails, and holds that the run has ended, left nothing open and replays to the same id. */
async function failsWell(module: Module): Promise<RunFailedError> {
  const rath = rathOf();
  const error = await rath.run(module, rath.start("go"), { name: "n" }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(RunFailedError);
  expect((await rath.load("n")).fact.type).toBe("run-end");
  expect(await rath.pending("n")).toEqual([]);
  expect(await rath.unfinished()).toEqual([]);
  const again = await rath.replay("n", module, { mode: "verify" });
  expect(again.id).toBe((error as RunFailedError).session.id);
  await rath.close();
  return error as RunFailedError;
}

describe("an error that cannot be inspected", () => {
  it("[H14] ends a run like any other, thrown by a body or by a module in it", async () => {
    await fc.assert(
      fc.asyncProperty(unreadable(), fc.boolean(), async (make, deep) => {
        const inner = moduleOf("inner", async () => {
          throw make();
        });
        await failsWell(deep ? moduleOf("outer", (session) => inner.forward(session)) : inner);
      }),
      { numRuns: 60 },
    );
  });

  it("[H14] is told in words where its name or its message is not a text", async () => {
    for (const wrong of [undefined, null, 5, { status: 500 }, Symbol("s"), 5n]) {
      for (const field of ["name", "message"]) {
        const error = Object.defineProperty(new Error("no"), field, { value: wrong });
        const failed = await failsWell(
          moduleOf("m", async () => {
            throw error;
          }),
        );
        const { name, message } = (failed.session.fact as FactOf<"run-end">).error as Failure;
        expect([typeof name, typeof message]).toEqual(["string", "string"]);
      }
    }
  });

  it("[H14] is the failure of an effect, tried again as often as failures are, and leaves no doubt", async () => {
    const effect = fc.constantFrom("pure", "read", "idempotent", "write" as const);
    await fc.assert(
      fc.asyncProperty(unreadable(), effect, fc.boolean(), async (make, kind, retried) => {
        const world = new World();
        const give = (): never => {
          throw make();
        };
        const request = world.step("pay", { effect: kind, give, ...(retried && { retry: RETRY }) });
        const module = moduleOf("m", async (session) => {
          const paid = await perform(session, request);
          expect(all(paid, "step-failure")).toHaveLength(1);
          throw new Error("over");
        });
        await failsWell(module);
      }),
      { numRuns: 80 },
    );
  });

  it("[H14] that an observer or a policy throws changes nothing but what it must", async () => {
    await fc.assert(
      fc.asyncProperty(unreadable(), async (make) => {
        const world = new World();
        const rath = rathOf({
          policy: policy("odd", [
            {
              name: "asked",
              verdict: "allow",
              when: () => {
                throw make();
              },
            },
          ]),
        });
        rath.observe(() => {
          throw make();
        });
        const module = moduleOf("m", async (session) =>
          perform(session, world.step("a", { effect: "write" })),
        );
        const ended = await rath.run(module, rath.start("go"));
        expect(ended.fact.type).toBe("run-end");
        // A rule that cannot tell lets nothing pass.
        expect(world.calls).toEqual([]);
        await rath.close();
      }),
      { numRuns: 40 },
    );
  });

  it("[H14] a write that failed so is a failure, not a doubt, and its run ends", async () => {
    const world = new World();
    const no = Object.defineProperty(new Error("no"), "cause", {
      get() {
        throw new RangeError("looked at");
      },
    });
    const give = (): never => {
      throw no;
    };
    const module = moduleOf("m", async (session) => {
      await perform(session, world.step("pay", { effect: "write", give, retry: RETRY }));
      throw no;
    });
    const { data } = await failsWell(module);
    expect(data.error).toMatchObject({ name: "Error", message: "no" });
    expect(world.calls).toEqual(["pay"]);
  });
});
