import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { BudgetError, CancelledError, failedAt, openRath, RunFailedError } from "../runtime/index.js";
import type { Json, Session } from "../session/index.js";
import {
  branch,
  LoopError,
  loop,
  type Module,
  map,
  now,
  parallel,
  RaceError,
  RouteError,
  race,
  retry,
  StepError,
  sequence,
  signal,
  sleep,
  step,
  workflow,
} from "./index.js";
import { fails, says, slow } from "./testing/modules.js";
import { all, factsOf, failed, ran, saidIn } from "./testing/ran.js";

describe("sequence", () => {
  it("[C1] keeps the order of its list, whatever the names", async () => {
    const module = sequence("seq", [says("2"), says("1"), says("a"), says("a")]);
    expect(saidIn(await ran(module))).toEqual(["go", "2", "1", "a", "a"]);
    expect(Object.keys(module.parts ?? {}).sort()).toEqual(["1", "2", "a", "a-2"]);
    expect((await ran(sequence([]))).fact.type).toBe("run-end");
  });
});

describe("parallel", () => {
  it("[C2] gives each part a fork and merges them in order", async () => {
    const seen: string[][] = [];
    let saw = (): void => {};
    const other = new Promise<void>((resolve) => {
      saw = resolve;
    });
    const looks = (word: string, wait: Promise<void>): Module => {
      const pause = step("pause", () => wait, { effect: "read" });
      return workflow(word, { pause }, async (session, parts) => {
        const said = (await parts.pause.call(session)).session.say(word, { by: "agent" });
        seen.push([...saidIn(said)]);
        saw();
        return said;
      });
    };
    const parts = { first: looks("late", other), second: looks("early", Promise.resolve()) };
    const session = await ran(parallel("p", parts));
    expect(seen.slice(0, 2)).toEqual([
      ["go", "early"],
      ["go", "late"],
    ]);
    expect(saidIn(session)).toEqual(["go", "late", "early"]);
    expect(all(session, "branch-fork").map(({ name, by }) => `${name} ${by}`)).toEqual([
      "first runtime",
      "second runtime",
    ]);
    const [merge] = all(session, "branch-merge");
    expect(merge).toMatchObject({ adopt: "both", by: "runtime" });
    const one = await ran(parallel("p", { a: says("a"), b: says("b") }, { adopt: "b" }));
    expect(saidIn(one)).toEqual(["go", "b"]);
  });

  it("[C3] cancels the others when a part fails, and keeps everybody's evidence", async () => {
    let stopped = false;
    const long = step(
      "long",
      async (_input, { signal: stop }) => {
        await pause(60_000, undefined, { signal: stop }).catch(() => {
          stopped = true;
        });
        stop.throwIfAborted();
      },
      { effect: "read" },
    );
    let evidence: Session | undefined;
    const caught = workflow("caught", async (session) => {
      try {
        return await parallel("p", { long, fine: says("fine"), bad: fails("bad", 99, 5) }).forward(session);
      } catch (error) {
        expect(error).toBeInstanceOf(StepError);
        evidence = failedAt(error);
        return evidence as Session;
      }
    });
    const session = await ran(caught);
    expect(stopped).toBe(true);
    const facts = factsOf(evidence as Session);
    expect(facts.filter(({ type }) => type === "step-failure")).toHaveLength(2);
    expect(facts.some((fact) => fact.type === "message-say" && fact.content === "fine")).toBe(true);
    expect(
      facts.find((fact) => fact.type === "step-failure" && fact.error.code === "cancelled"),
    ).toBeDefined();
    expect(session.pending).toEqual([]);
    const { error } = await failed(parallel("p", { long, bad: fails("bad", 99) }));
    expect((error as Error).message).toContain("bad failed");
    const early = await failed(
      parallel("p", { bad: fails("bad", 99), never: says("never") }, { concurrency: 1 }),
    );
    expect(all(early.session, "branch-fork").map(({ name }) => name)).toEqual(["bad"]);
  });

  it("[C4] runs no more parts at a time than it may", async () => {
    let busyNow = 0;
    let most = 0;
    const busy = step(
      "busy",
      async () => {
        most = Math.max(most, ++busyNow);
        await pause(2);
        busyNow -= 1;
      },
      { effect: "read" },
    );
    const parts = Object.fromEntries(Array.from({ length: 7 }, (_, place) => [`p${place}`, busy]));
    const session = await ran(parallel("p", parts, { concurrency: 3 }));
    expect(most).toBe(3);
    expect(all(session, "step-result")).toHaveLength(7);
  });

  it("[C13] gives back where each part ended", async () => {
    const both = parallel("p", { a: slow("a", 4), b: says("b") });
    const numbers = map("numbers", says("ok"), { inputs: () => ["1", "2"] as Json[] });
    const one = map("one", says("ok"), { inputs: () => ["1"] as Json[] });
    const none = map("none", says("ok"), { inputs: () => [] as Json[] });
    const outer = workflow("outer", { both }, async (given) => {
      const { session, results } = await both.call(given);
      expect(Object.entries(results).map(([part, end]) => [part, saidIn(end).at(-1)])).toEqual([
        ["a", "a"],
        ["b", "b"],
      ]);
      const mapped = await numbers.call(session);
      expect(mapped.results.map((end) => saidIn(end).slice(-2))).toEqual([
        ["1", "ok"],
        ["2", "ok"],
      ]);
      const single = await one.call(mapped.session);
      expect(single.results.map((end) => saidIn(end).slice(-2))).toEqual([["1", "ok"]]);
      const empty = await none.call(single.session);
      expect(empty.results).toEqual([]);
      return empty.session;
    });
    await ran(outer);
    const rath = openRath({ store: "memory:" });
    const alone = await both.call(rath.start("go"));
    expect(Object.keys(alone.results)).toEqual(["a", "b"]);
    await rath.close();
  });
});

describe("loop", () => {
  it("[C5] stops when it is enough", async () => {
    const turns: number[] = [];
    const module = loop("again", says("more"), {
      max: 10,
      until: (session, turn) => {
        turns.push(turn);
        return session.transcript.length === 4;
      },
    });
    expect(saidIn(await ran(module))).toEqual(["go", "more", "more", "more"]);
    expect(turns.slice(0, 3)).toEqual([1, 2, 3]);
    expect(saidIn(await ran(loop("twice", says("x"), { max: 2 })))).toEqual(["go", "x", "x"]);
  });

  it("[C6] throws when its turns are used up", async () => {
    const { error, session } = await failed(loop("again", says("more"), { max: 3, until: () => false }));
    expect(error).toBeInstanceOf(LoopError);
    expect(saidIn((error as LoopError).session)).toEqual(["go", "more", "more", "more"]);
    expect(all(session, "budget-stop")).toMatchObject([{ limit: "turns", allowed: 3, spent: 3, asked: 1 }]);
    expect(() => loop("never", says("x"), { max: 0 })).toThrow("max");
  });
});

describe("retry", () => {
  it("[C7] starts each attempt from the same input and keeps what failed", async () => {
    const session = await ran(sequence([retry("again", fails("try", 2), { attempts: 3 }), says("after")]));
    expect(saidIn(session)).toEqual(["go", "try?", "try", "after"]);
    expect(all(session, "step-failure")).toHaveLength(2);
    expect(all(session, "branch-fork").map(({ name }) => name)).toEqual([
      "attempt 3",
      "attempt 1",
      "attempt 2",
    ]);
    expect(all(session, "branch-merge")).toHaveLength(1);
    expect(all(await ran(retry("once", says("x"), { attempts: 3 })), "branch-merge")).toHaveLength(0);
  });

  it("[C8] knows when to stop", async () => {
    const { error, session } = await failed(retry("again", fails("try", 9), { attempts: 2 }));
    expect(error).toBeInstanceOf(StepError);
    expect(all(session, "step-failure")).toHaveLength(2);
    expect(session.parents).toHaveLength(1);
    const picky = await failed(retry("again", fails("try", 9), { attempts: 5, when: () => false }));
    expect(all(picky.session, "step-failure")).toHaveLength(1);
    const rath = openRath({ store: "memory:" });
    const controller = new AbortController();
    let attempts = 0;
    const counts = step(
      "count",
      async (_input, { signal: stop }) => {
        attempts += 1;
        controller.abort("enough");
        await pause(60_000, undefined, { signal: stop });
      },
      { effect: "read" },
    );
    const run = rath.run(retry("again", counts, { attempts: 5 }), rath.start("go"), {
      signal: controller.signal,
    });
    const cancelled: unknown = await run.catch((thrown: unknown) => thrown);
    expect(cancelled).toBeInstanceOf(CancelledError);
    expect(all((cancelled as CancelledError).session as Session, "branch-fork")).toHaveLength(1);
    expect(attempts).toBe(1);
    await rath.close();
    const late = workflow("late", async (session) => (await now(session)).session, {
      budget: { milliseconds: 0 },
    });
    const spent = await failed(retry("again", late, { attempts: 5 }));
    expect(spent.error).toBeInstanceOf(BudgetError);
    expect(all(spent.session, "branch-fork")).toHaveLength(1);
  });
});

describe("branch", () => {
  it("[C9] records its choice", async () => {
    const choose = (route: string | null) =>
      branch("route", () => route as "left" | null, { routes: { left: says("l"), right: says("r") } });
    const left = await ran(choose("left"));
    expect(saidIn(left)).toEqual(["go", "l"]);
    expect(all(left, "route-choose")).toMatchObject([
      { selector: "route", candidates: [{ name: "left" }, { name: "right" }], chosen: "left" },
    ]);
    const none = await ran(choose(null));
    expect(saidIn(none)).toEqual(["go"]);
    expect(all(none, "route-choose")[0]?.chosen).toBe(null);
    for (const name of ["lef", "constructor"]) {
      const { error } = await failed(choose(name));
      expect(error).toBeInstanceOf(RouteError);
      expect((error as RouteError).message).toContain('"left", "right"');
    }
  });
});

describe("race", () => {
  it("[C10] adopts the first to finish, cancels the others and keeps their evidence", async () => {
    const session = await ran(
      sequence([
        race("r", { slow: slow("slow", 60_000), bad: fails("bad", 99), quick: slow("quick", 5) }),
        says("after"),
      ]),
    );
    expect(saidIn(session)).toEqual(["go", "quick", "after"]);
    expect(all(session, "branch-merge")).toMatchObject([{ adopt: "ours", why: "r: quick won" }]);
    expect(
      all(session, "step-failure")
        .map(({ error }) => error.code ?? error.message)
        .sort(),
    ).toEqual(["bad failed", "cancelled"]);
    expect(session.pending).toEqual([]);
  });

  it("[C10] cancels those who wait for a person or a time", async () => {
    const session = await ran(
      race("r", { person: signal("anybody"), time: sleep(3_600_000), quick: slow("quick", 5) }),
    );
    expect(saidIn(session)).toEqual(["go", "quick"]);
    expect(all(session, "wait-cancel")).toHaveLength(2);
    expect(session.pending).toEqual([]);
  });

  it("[C11] throws when nobody finishes", async () => {
    const { error, session } = await failed(race("r", [fails("a", 99), fails("b", 99, 3)]));
    expect(error).toBeInstanceOf(RaceError);
    expect((error as RaceError).errors.map((one) => (one as StepError).code)).toEqual([
      "step-failed",
      "step-failed",
    ]);
    expect(all(session, "step-failure")).toHaveLength(2);
    const rath = openRath({ store: "memory:" });
    const controller = new AbortController();
    const run = rath.run(race("r", [slow("a", 60_000), slow("b", 60_000)]), rath.start("go"), {
      signal: controller.signal,
    });
    setTimeout(() => controller.abort("enough"), 10);
    await expect(run).rejects.toBeInstanceOf(CancelledError);
    await rath.close();
  });
});

describe("one error on several branches", () => {
  it("[C11] leaves each of them its own evidence", async () => {
    const shared = new Error("the same for all");
    const throws = (word: string): Module =>
      workflow(word, async (session) => {
        session.say(word, { by: "agent" });
        throw shared;
      });
    const { error, session } = await failed(race("r", [throws("a"), throws("b")]));
    expect((error as RaceError).errors).toEqual([shared, shared]);
    expect(
      all(session, "message-say")
        .map(({ content }) => content)
        .sort(),
    ).toEqual(["a", "b"]);
    expect(all(session, "module-exit")).toHaveLength(2);
  });
});

describe("map", () => {
  it("[C12] does each input on a fork, bounded, and merges in order", async () => {
    let busyNow = 0;
    let most = 0;
    const work = step(
      "work",
      async (input: string) => {
        most = Math.max(most, ++busyNow);
        await pause(Number(input));
        busyNow -= 1;
        return `done ${input}`;
      },
      { effect: "read" },
    );
    const worker = workflow("worker", { work }, async (session) => {
      const { session: next, value } = await work.call(
        session,
        String(session.transcript.at(-1)?.role === "user" ? saidIn(session).at(-1) : ""),
      );
      return next.say(value, { by: "agent" });
    });
    const module = map("m", worker, {
      inputs: (session) => saidIn(session)[0]?.split(" ") ?? [],
      concurrency: 2,
    });
    const session = await ran(module, "9 1 5 2");
    expect(most).toBe(2);
    expect(saidIn(session)).toEqual(["9 1 5 2", "9", "done 9", "1", "done 1", "5", "done 5", "2", "done 2"]);
    const objects = map("o", says("ok"), { inputs: () => [{ a: 1 }], say: (input) => `a is ${input.a}` });
    expect(saidIn(await ran(objects))).toEqual(["go", "a is 1", "ok"]);
    expect(saidIn(await ran(map("o", says("ok"), { inputs: () => [{ a: 1 }] })))).toEqual([
      "go",
      '{"a":1}',
      "ok",
    ]);
  });
});

describe("errors", () => {
  it("[C3] reach the caller of a run as the cause of its failure", async () => {
    const rath = openRath({ store: "memory:" });
    const error: unknown = await parallel("p", [fails("bad", 9)])
      .forward(rath.start("go"))
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RunFailedError);
    expect((error as RunFailedError).cause).toBeInstanceOf(StepError);
    await rath.close();
  });
});
