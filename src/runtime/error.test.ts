import { describe, expect, it } from "vitest";
import { type Json, RathError, Session } from "../session/index.js";
import { failureOf, RunFailedError } from "./error.js";
import { type Module, perform } from "./index.js";
import { moduleOf } from "./testing/module.js";
import { rathOf } from "./testing/rath.js";
import { World } from "./testing/world.js";

const RETRY = "rath.retry(error.session.id, module)";
const ours = (
  hint: string,
  code = "odd-thing",
  more: { data?: { [key: string]: Json }; cause?: unknown } = {},
) => new RathError(code, "It did not go.", { hint, ...more });

async function failing(thrown: unknown): Promise<RunFailedError> {
  const rath = rathOf();
  const module = moduleOf("m", async () => {
    throw thrown;
  });
  return (await rath.run(module, rath.start("go")).catch((error: unknown) => error)) as RunFailedError;
}

describe("the hint of a run that failed", () => {
  it("[H10] is that of its cause, and how to go on", async () => {
    const error = await failing(ours("turn it round"));
    expect(error).toBeInstanceOf(RunFailedError);
    expect(error.message).toBe(`m failed: It did not go.\n  hint: ${error.hint}`);
    expect(error.hint).toMatch(/^turn it round \(/);
    expect(error.hint).toContain(RETRY);
    expect(error.hint).toContain("error.session");
  });

  it("[H10] is that of the nearest cause that has one", async () => {
    const deep = new Error("outer", { cause: new Error("inner", { cause: ours("turn it round") }) });
    expect((await failing(deep)).hint).toMatch(/^turn it round \(/);
    expect((await failing(ours("first", "odd-thing", { cause: ours("second") }))).hint).toMatch(/^first \(/);
    // What stood in the way of a place is what there is to do something about.
    expect((await failing(ours("first", "odd", { cause: ours("move", "not-placed") }))).hint).toMatch(
      /^move \(/,
    );
    const circle = new Error("a");
    circle.cause = new Error("b", { cause: circle });
    for (const plain of [new Error("x"), circle, "text", null, { hint: "not ours" }])
      expect((await failing(plain)).hint).toMatch(/^error\.session has the whole record.*rath\.retry/);
  });

  it("[H10] of a run inside the effect of another is the hint of its cause, once", async () => {
    const error = await failing(await failing(ours("turn it round")));
    expect(error.hint).toMatch(/^turn it round \(/);
    expect(error.hint.split(RETRY)).toHaveLength(2);
  });

  it("[H10] is what the record has of it where an effect failed, and is not said twice", async () => {
    const rath = rathOf();
    const module = moduleOf("m", async (session) => {
      const done = await perform(session, new World().step("use", { give: (attempt) => attempt.sandbox() }));
      if (done.fact.type !== "step-failure") return done;
      const { error } = done.fact;
      throw new RathError("step-failed", `It failed: ${error.message}`, {
        hint: "catch it",
        data: { failure: error as unknown as Json },
      });
    });
    const error = (await rath
      .run(module, rath.start("go"), { name: "n" })
      .catch((thrown: unknown) => thrown)) as RunFailedError;
    expect(error.hint).toMatch(/^say where side effects happen: session\.to\("local"\)/);
    expect(error.message.split("say where side effects happen")).toHaveLength(2);
    // A model reads the message alone.
    expect(error.data.error).toMatchObject({
      message: expect.stringContaining("(say where side effects happen"),
    });
    const again = (await rath.resume("n", module).catch((thrown: unknown) => thrown)) as RunFailedError;
    expect([again.hint, again.message]).toEqual([error.hint, error.message]);
    expect((await rath.replay("n", module, { mode: "verify" })).id).toBe(error.session.id);
  });

  it("[H10] does not speak of going on where nothing is kept", async () => {
    const module: Module = moduleOf("m", async () => {
      throw ours("turn it round");
    });
    const error = (await module
      .forward(Session.start("go"))
      .catch((thrown: unknown) => thrown)) as RunFailedError;
    expect(error.hint).toMatch(/^turn it round \(error\.session/);
    expect(error.hint).not.toContain("retry");
  });

  it("[H7] an error that throws when it is looked at ends a run like any other", async () => {
    class Odd extends RathError {
      override get cause(): unknown {
        throw new Error("do not look");
      }
    }
    const error = await failing(new Odd("odd", "Odd.", { hint: "leave it" }));
    expect(error).toBeInstanceOf(RunFailedError);
    expect(error.hint).toMatch(/^leave it \(/);
    const bare = Object.assign(ours("leave it"), { data: null });
    expect((await failing(bare)).hint).toMatch(/^leave it \(/);
  });

  it("[H10] the record of a failure about a place has the next thing to type, for models and for programs", () => {
    expect(failureOf(ours("move it", "place-unknown", { data: { name: "x" } }))).toEqual({
      name: "RathError",
      message: "It did not go. (move it)",
      code: "place-unknown",
      data: { name: "x", hint: "move it" },
    });
    expect(failureOf(ours("turn it"))).toEqual({
      name: "RathError",
      message: "It did not go.",
      code: "odd-thing",
      data: {},
    });
  });
});
