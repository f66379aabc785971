import { describe, expect, it } from "vitest";
import { openRath } from "../runtime/index.js";
import { type Json, RathError, type Session } from "../session/index.js";
import {
  approve,
  branch,
  loop,
  type Module,
  ModuleError,
  map,
  mermaidOf,
  parallel,
  RuleError,
  race,
  retry,
  StateError,
  sequence,
  signal,
  sleep,
  stateOf,
  step,
  Workflow,
  withState,
  workflow,
} from "./index.js";
import { fails, says } from "./testing/modules.js";
import { all, failed, ran, saidIn } from "./testing/ran.js";

const part = says("part");
const act = async () => 1;
const circle: { self?: unknown } = {};
circle.self = circle;
/** What the compiler would refuse. */
const any = <Value>(value: unknown) => value as Value;

describe("what a module is given", () => {
  const names = [undefined, null, "", "  ", 7, Symbol("x"), {}];
  const limits = [undefined, Number.NaN, 0, -1, 1.5, Number.POSITIVE_INFINITY, "2", null];
  const budgets = [
    7,
    "lots",
    null,
    { steps: Number.NaN },
    { tokens: -1 },
    { money: "1" },
    { milliseconds: Number.POSITIVE_INFINITY },
    { token: 5 },
  ];
  const times = [Number.NaN, 0, -1, "5", 2 ** 31, Number.POSITIVE_INFINITY];

  class Named extends Workflow {
    async forward(session: Session): Promise<Session> {
      return session;
    }
  }

  it.each<[string, readonly unknown[], (given: never) => unknown]>([
    ["the name of a workflow", names, (name) => workflow(name, async (session) => session)],
    ["the name of a class", names.slice(1), (name) => new Named(name)],
    // Without a name the first argument is the list.
    ["the name of a sequence", names.slice(0, 4), (name) => sequence(name, [part])],
    ["the name of a parallel", names, (name) => parallel(name, [part])],
    ["the name of a race", names, (name) => race(name, [part])],
    ["the name of a loop", names, (name) => loop(name, part, { max: 1 })],
    ["the name of a retry", names, (name) => retry(name, part, { attempts: 1 })],
    ["the name of a branch", names, (name) => branch(name, () => null, { routes: { part } })],
    ["the name of a map", names, (name) => map(name, part, { inputs: () => [] })],
    ["the name of a step", names, (name) => step(name, act, { effect: "read" })],
    ["the name of a signal", names, (name) => signal(name)],
    ["the name of a question", names, (name) => approve(name, "really?")],
    ["the body of a workflow", [undefined, 7, {}], (body) => workflow("w", { part }, body)],
    ["the options of a workflow", [null, 7], (options) => workflow("w", async (one) => one, options)],
    ["a budget", budgets, (budget) => workflow("w", async (one) => one, { budget })],
    ["the list of a sequence", [undefined, null, 7, [null], [{}]], (list) => sequence("s", list)],
    ["the options of a parallel", [null, 7], (options) => parallel("p", [part], options)],
    ["parts at a time", limits.slice(1), (concurrency) => parallel("p", [part], { concurrency })],
    [
      "who is adopted",
      ["nobody", Number.NaN, -1, 2, {}, null],
      (adopt) => parallel("p", [part, part], { adopt }),
    ],
    ["who is adopted of three", ["theirs"], (adopt) => parallel("p", [part, part, part], { adopt })],
    ["turns", limits, (max) => loop("l", part, { max })],
    ["the options of a loop", [undefined, null, 7], (options) => loop("l", part, options)],
    ["`until`", [7, "x", null], (until) => loop("l", part, { max: 1, until })],
    ["attempts", limits, (attempts) => retry("r", part, { attempts })],
    ["the options of a retry", [undefined, null], (options) => retry("r", part, options)],
    ["`when`", [7, null], (when) => retry("r", part, { attempts: 2, when })],
    ["routes", [undefined, null, {}, { part: 7 }], (routes) => branch("b", () => null, { routes })],
    ["the options of a branch", [undefined, null], (options) => branch("b", () => null, options)],
    ["`choose`", [undefined, "part"], (choose) => branch("b", choose, { routes: { part } })],
    ["`inputs`", [undefined, [1, 2], null], (inputs) => map("m", part, { inputs })],
    ["the options of a map", [undefined, null], (options) => map("m", part, options)],
    ["inputs at a time", limits.slice(1), (concurrency) => map("m", part, { inputs: () => [], concurrency })],
    ["`say`", [7], (say) => map("m", part, { inputs: () => [], say })],
    ["what a step does", [undefined, null, "x"], (does) => step("s", does, { effect: "read" })],
    ["the options of a step", [undefined, null, 7], (options) => step("s", act, options)],
    ["an effect", [undefined, "maybe", null], (effect) => step("s", act, { effect })],
    ["a timeout", times, (timeout) => step("s", act, { effect: "read", timeout })],
    [
      "a patience",
      [7, null, { attempts: Number.NaN }, { wait: -1 }, { most: "x" }, { when: 7 }],
      (retries) => step("s", act, { effect: "read", retry: retries }),
    ],
    ["a key", [7, null], (key) => step("s", act, { effect: "read", key })],
    ["an approval", [7, "yes", null], (approval) => step("s", act, { effect: "read", approval })],
    ["a reconciler", [7], (reconcile) => step("s", act, { effect: "write", reconcile })],
    [
      "a wake-up",
      [undefined, null, Number.NaN, -1, "soon", {}, { until: null }, { until: "soon" }, { until: 7 }],
      (wake) => sleep(wake),
    ],
    ["what a signal asks", [circle, () => 1, Number.NaN], (what) => signal("s", what)],
    ["what a person is shown", [undefined, circle, Number.NaN], (what) => approve("a", what)],
    ["a description", [undefined, null, {}, { name: "x" }], (described) => mermaidOf(described)],
  ])("[W7] is checked at once: %s", (_what, given, make) => {
    for (const one of given) {
      const error = thrownBy(() => make(one as never));
      expect(error).toBeInstanceOf(ModuleError);
      expect(error).toMatchObject({ code: "module-refused", data: { where: expect.any(String) } });
      expect((error as RathError).hint).not.toBe("");
      expect(() => JSON.stringify((error as RathError).data)).not.toThrow();
    }
  });

  it.each<[string, (options: never) => unknown, string]>([
    ["step", (options) => step("s", act, options), '"timeout"'],
    ["workflow", (options) => workflow("w", async (one) => one, options), "budget"],
    ["workflow with parts", (options) => workflow("w", { part }, async (one) => one, options), "budget"],
    ["parallel", (options) => parallel("p", [part], options), "adopt, concurrency"],
    ["retry", (options) => retry("r", part, options), "attempts, when"],
    ["loop", (options) => loop("l", part, options), "until, max"],
    ["branch", (options) => branch("b", () => null, options), "routes"],
    ["map", (options) => map("m", part, options), "inputs, concurrency, say"],
  ])("[W7] has no options that there are not: %s", (_what, make, hint) => {
    const error = thrownBy(() => make({ timeOut: 5 } as never)) as RathError;
    expect(error).toBeInstanceOf(ModuleError);
    expect(error.message).toContain('it has no option "timeOut"');
    expect(error.hint).toContain(hint);
  });

  it("[W7] has no such patience", () => {
    expect(() => step("s", act, { effect: "read", retry: { attempt: 3 } as never })).toThrow(
      /its retry has no option "attempt"[\s\S]*did you mean "attempts"/,
    );
    expect(() => step("s", act, { effect: "read", retries: 3 } as never)).toThrow(/did you mean "retry"/);
  });

  it("[W7] is kept as it was", async () => {
    const what = { pay: 1 };
    const asked = [signal("s", what), approve("a", what)];
    what.pay = 1_000;
    for (const module of asked) expect(stateOf(module)).toEqual({ what: { pay: 1 } });
  });

  it("[W5] names the part that is not a module", () => {
    expect(() => workflow("w", { good: part, odd: any(7) }, async (one) => one)).toThrow(
      'its part "odd" is 7',
    );
  });

  it("[D3] is a module where state is read or changed, and JSON where it is replaced", () => {
    for (const one of [undefined, null, 7, {}, "part"]) {
      expect(() => stateOf(any(one))).toThrow(StateError);
      expect(() => withState(any(one), {})).toThrow(StateError);
    }
    const module = loop("l", part, { max: 2 });
    expect(() => withState(module, any(undefined))).toThrow(StateError);
    for (const max of [circle, Number.NaN, () => 1, undefined])
      expect(() => withState(module, { max: any<Json>(max) })).toThrow(StateError);
    const both = parallel("p", { a: part, b: part }, { adopt: "a" });
    expect(() => withState(both, { adopt: "c" })).toThrow(ModuleError);
  });
});

describe("rules", () => {
  const never = async () => {
    throw new Error("nobody waits for this");
  };
  const done: string[] = [];
  const action = (options: object) =>
    step(
      "action",
      () => {
        done.push("action");
      },
      { effect: "read", ...options },
    );

  it.each<[string, readonly unknown[], (answer: () => never) => Module]>([
    ["until", [Promise.resolve(true), undefined, 1], (until) => loop("l", part, { max: 2, until })],
    [
      "when",
      [Promise.resolve(false), undefined, "no"],
      (when) => retry("r", fails("x", 9), { attempts: 3, when }),
    ],
    [
      "choose",
      [Promise.resolve("part"), undefined, 7, circle],
      (choose) => branch("b", choose, { routes: { part } }),
    ],
    [
      "inputs",
      [Promise.resolve([1]), undefined, "ab", [undefined], [circle], [() => 1]],
      (inputs) => map("m", part, { inputs }),
    ],
    ["approval", [Promise.resolve(true), undefined, "yes", 1], (approval) => action({ approval })],
    ["key", [Promise.resolve("k"), 7, null], (key) => action({ key })],
    ["what", [Promise.resolve(1), undefined, circle], (what) => approve("a", what)],
  ])("[W8] must answer at once, and what was asked: `%s`", async (rule, answers, make) => {
    done.length = 0;
    for (const answer of answers) {
      const { error } = await failed(make(() => answer as never));
      expect(error).toBeInstanceOf(RuleError);
      expect(error).toMatchObject({ code: "rule-refused", data: { rule } });
    }
    // A promise that fails is nobody's: it must not end the process.
    expect((await failed(make(any(never)))).error).toBeInstanceOf(RuleError);
    expect(done).toEqual([]);
  });

  it("[W8] may throw, and then that is the error", async () => {
    const broken = () => {
      throw new Error("I cannot tell");
    };
    const modules = [
      loop("l", part, { max: 2, until: broken }),
      retry("r", fails("x", 9), { attempts: 3, when: broken }),
      branch("b", broken, { routes: { part } }),
      map("m", part, { inputs: broken }),
      action({ approval: broken }),
      action({ key: broken }),
    ];
    for (const module of modules) {
      const { error, session } = await failed(module);
      expect((error as Error).message).toBe("I cannot tell");
      expect(session.fact).toMatchObject({ type: "run-end", error: { message: "I cannot tell" } });
    }
    expect(done).toEqual([]);
  });

  it("[W8] may say yes or no by the input", async () => {
    const pay = step("pay", (sum: number) => sum, { effect: "write", approval: (sum) => sum > 10 });
    const small = workflow("small", { pay }, async (session) => (await pay.call(session, 5)).session);
    expect(all(await ran(small), "approval-ask")).toEqual([]);
    const large = workflow("large", { pay }, async (session) => (await pay.call(session, 50)).session);
    const rath = openRath({ store: "memory:" });
    const waits = await rath.run(large, rath.start("go"));
    expect(waits.fact.type).toBe("run-suspend");
    await rath.close();
  });
});

describe("bodies", () => {
  it("[W4] that return what a call gave are told to take it apart", async () => {
    const five = step("five", () => 5, { effect: "pure" });
    const odd = workflow("odd", { five }, async (session) => any<Session>(await five.call(session)));
    expect((await failed(odd)).error).toMatchObject({
      code: "not-a-session",
      hint: expect.stringContaining("return (await step.call(session)).session"),
    });
  });

  it("[W4] that return no session are refused, and so is the session of another run", async () => {
    let other: Session | undefined;
    await ran(
      workflow("other", async (session) => {
        other = session;
        return session;
      }),
    );
    for (const returned of [undefined, null, 7, {}, "session", [], other]) {
      const odd = workflow("odd", async () => any<Session>(returned));
      for (const module of [odd, sequence([part, odd]), parallel("p", [part, odd]), race("r", [odd])]) {
        const { error, session } = await failed(module);
        expect(error).toBeInstanceOf(RathError);
        expect(session.fact.type).toBe("run-end");
        expect(saidIn(session)[0]).toBe("go");
      }
    }
  });
});

function thrownBy(make: () => unknown): unknown {
  try {
    make();
  } catch (error) {
    return error;
  }
  return expect.fail("it was accepted");
}
