import { describe, expect, it } from "vitest";
import { scripted } from "../../agent/model/index.js";
import { DivergenceError, type Module, openRath } from "../../runtime/index.js";
import type { Session } from "../../session/index.js";
import { openStore } from "../../store/index.js";
import { sequence, withState, workflow } from "../../workflow/index.js";
import { says } from "../../workflow/testing/modules.js";
import { all, failed, ran, saidIn } from "../../workflow/testing/ran.js";
import {
  bandit,
  byModel,
  byScore,
  bySimilarity,
  type Chooser,
  firstOf,
  type Rule,
  routeOf,
  routeTable,
  selector,
  type Trial,
  trialsIn,
  trialsOf,
  vote,
} from "./index.js";

const routes = { billing: says("billing"), support: says("support") };

function described(module: Module, description: string): Module {
  return Object.freeze({ ...module, description });
}

/** A module that says whether what was done was good. */
function validates(good: (session: Session) => boolean): Module {
  return workflow("validate", async (session) =>
    session.append({ type: "validation-report", name: "check", passed: good(session) }),
  );
}

describe("a selector", () => {
  it("[R1] runs what a rule chose, and the choice is on the record before it", async () => {
    const desk = selector(
      "desk",
      { billing: described(routes.billing, "Bills."), support: routes.support },
      (session, offered) => (session.transcript.length === 1 ? (offered[0]?.name ?? null) : null),
      { descriptions: { support: "Everything else." } },
    );
    const session = await ran(desk);
    expect(saidIn(session)).toEqual(["go", "billing"]);
    const [choice] = all(session, "route-choose");
    expect(choice).toMatchObject({
      selector: "desk",
      candidates: [
        { name: "billing", description: "Bills." },
        { name: "support", description: "Everything else." },
      ],
      chosen: "billing",
      chooser: "rule",
      table: expect.stringMatching(/^[0-9a-f]{64}$/),
      by: "runtime",
    });
    const types = [...session.history()].map(({ fact }) => fact.type);
    expect(types.indexOf("route-choose")).toBeLessThan(types.lastIndexOf("module-enter"));
    expect(routeOf(session, "desk")).toBe("billing");
    expect(routeOf(session, "other")).toBeUndefined();
  });

  it("[R2] that finds none fit says so, and lets another go on if there is one", async () => {
    const alone = await ran(selector("desk", routes, () => null));
    expect([saidIn(alone), routeOf(alone, "desk")]).toEqual([["go"], null]);
    const other = await ran(selector("desk", routes, () => null, { otherwise: says("person") }));
    expect([saidIn(other), routeOf(other, "desk")]).toEqual([["go", "person"], null]);
  });

  it("[R3] is not asked again by a replay, whatever it would say today", async () => {
    const rath = openRath({ store: "memory:" });
    let asked = 0;
    let answer: string | null = "billing";
    const desk = selector("desk", routes, async () => {
      asked += 1;
      return { chosen: answer, why: `time ${asked}` };
    });
    const session = await rath.run(desk, rath.start("go"), { name: "s" });
    answer = "support";
    expect((await rath.replay("s", desk, { mode: "verify" })).id).toBe(session.id);
    expect(asked).toBe(1);
    await rath.close();
  });

  it("[R4] is forced another way by a what-if, and that is recorded", async () => {
    const rath = openRath({ store: "memory:" });
    const flow = sequence("flow", [selector("desk", routes, () => "billing"), says("end")]);
    await rath.run(flow, rath.start("go"), { name: "s" });
    const other = withState(flow, { "desk.forced": "support" });
    const session = await rath.replay("s", other, { mode: "what-if", name: "w" });
    expect(saidIn(session)).toEqual(["go", "support", "end"]);
    expect(all(session, "route-choose").at(-1)).toMatchObject({ chosen: "support", chooser: "forced" });
    expect(saidIn(await rath.load("s"))).toEqual(["go", "billing", "end"]);
    await rath.close();
    expect(() => withState(flow, { "desk.forced": "suport" })).toThrow(
      expect.objectContaining({ hint: 'did you mean "support"? the routes are "billing", "support"' }),
    );
    const table = selector("desk", routeTable(routes), () => null);
    const gone = await failed(withState(table, { forced: "suport" }));
    expect(gone.error).toMatchObject({
      code: "route-gone",
      hint: 'did you mean "support"? the routes are "billing", "support"',
    });
  });

  it("[R5] refuses an invalid choice, with the routes to choose from", async () => {
    for (const [rule, reason] of [
      [() => "nobody", 'there is no route "nobody"'],
      [() => 7, "it said 7"],
      [() => undefined, "it said undefined"],
      [() => ({ chosen: 3 }), "it chose 3"],
      [() => ({ chosen: "billing", scores: { billing: Number.NaN } }), "the score of"],
      [() => ({ chosen: "billing", scores: { other: 1 } }), "which is not a route"],
      [
        () => {
          throw new Error("broken rule");
        },
        "broken rule",
      ],
    ] as [Rule, string][]) {
      const { error, session } = await failed(selector("desk", routes, rule));
      expect(error).toMatchObject({ code: "choice-failed", message: expect.stringContaining(reason) });
      expect(all(session, "step-failure").length).toBe(1);
    }
    const typo = await failed(selector("desk", routes, () => "suport"));
    expect(typo.error).toMatchObject({
      message: expect.stringContaining('there is no route "suport" among "billing", "support"'),
      hint: 'did you mean "support"? choose one of "billing", "support", or null when none fits',
    });
    expect(() => selector("", routes, () => null)).toThrow("its name is empty");
    expect(() => selector("x", {}, () => null)).toThrow("it has no routes");
    expect(() => selector("x", routes, 5 as never)).toThrow("neither a rule nor somebody who chooses");
    expect(() => selector("x", routes, () => null, { other: 1 } as never)).toThrow('no option "other"');
    expect(() => selector("x", routes, () => null, { descriptions: { y: "" } })).toThrow("unknown route");
    expect(() => byScore(5 as never)).toThrow("not a function");
    expect(() => bandit({ explore: 2 })).toThrow("explore");
    expect(() => vote([], {})).toThrow("nobody to ask");
    expect(() => vote([() => null], { need: 2 })).toThrow("need");
    expect(() => firstOf()).toThrow("nobody to ask");
    expect(() => bySimilarity({ embed: async () => [], threshold: 3 })).toThrow("threshold");
  });
});

describe("a model that chooses", () => {
  const answer = (route: string, why = "it is about money") => JSON.stringify({ route, why });

  it("[R6] answers by the routes and none, on a branch of its own", async () => {
    const model = scripted(answer("billing"));
    const desk = selector(
      "desk",
      { billing: described(routes.billing, "Bills."), support: routes.support },
      byModel(model),
    );
    const session = await ran(desk, "My invoice is wrong.");
    expect(saidIn(session)).toEqual(["My invoice is wrong.", "billing"]);
    expect(all(session, "route-choose")[0]).toMatchObject({
      chosen: "billing",
      why: "it is about money",
      chooser: "router",
      by: "agent:router",
    });
    const [config] = all(session, "agent-configure");
    expect(config?.instructions).toContain("- billing: Bills.");
    expect(
      (config as unknown as { output: { properties: { route: object } } }).output.properties.route,
    ).toMatchObject({
      enum: ["billing", "support", "none"],
    });
    const [call] = all(session, "model-call");
    expect(call?.agent).toBe("router");
  });

  it("[R6] [R11] one whose budget is spent has not chosen, and the next is asked", async () => {
    const spent = byModel({ model: scripted("none"), budget: { steps: 0 } });
    const { error } = await failed(selector("desk", routes, spent));
    expect(error).toMatchObject({ code: "choice-failed" });
    const session = await ran(
      selector(
        "desk",
        routes,
        firstOf(spent, () => "support"),
      ),
    );
    expect(routeOf(session, "desk")).toBe("support");
  });

  it("[R6] is told when its answer is not a route, and may say none", async () => {
    const model = scripted(answer("nobody"), answer("none", "small talk"));
    const session = await ran(selector("desk", routes, byModel({ model, name: "porter" })));
    expect(routeOf(session, "desk")).toBeNull();
    expect(all(session, "model-call").length).toBe(2);
    const { error } = await failed(selector("desk", routes, byModel(scripted("no", "no", "no"))));
    expect(error).toMatchObject({ code: "choice-failed" });
  });

  it("[R13] costs what its calls cost", async () => {
    const model = scripted([answer("support")], { usage: { input: 1_000_000, output: 0 } } as never);
    const session = await ran(selector("desk", routes, vote([byModel(model), () => "support"])), "go", {
      prices: { [model.modelId]: { input: 2, output: 0 } } as never,
    });
    const cost = all(session, "model-reply").reduce((sum, reply) => sum + (reply.cost ?? 0), 0);
    expect(cost).toBeGreaterThan(0);
    expect(all(session, "route-choose")[0]?.cost).toBeCloseTo(cost);
  });
});

describe("scores", () => {
  /** Counts words of a small dictionary: near texts share words. */
  const words = ["invoice", "money", "bill", "password", "login", "broken"];
  const embed = async (texts: readonly string[]) =>
    texts.map((text) => words.map((word) => (text.toLowerCase().includes(word) ? 1 : 0)));

  it("[R7] of similarity choose what is nearest, and none under the threshold", async () => {
    const chooser = bySimilarity({
      embed,
      threshold: 0.5,
      examples: { support: ["I forgot my password", "the login is broken"] },
    });
    const desk = selector("desk", routes, chooser, {
      descriptions: { billing: "bills, invoices: money", support: "help" },
    });
    const bill = await ran(desk, "There is money missing on my invoice");
    expect(routeOf(bill, "desk")).toBe("billing");
    expect(all(bill, "route-choose")[0]?.candidates[0]?.score).toBeGreaterThan(0.7);
    expect(routeOf(await ran(desk, "login broken"), "desk")).toBe("support");
    expect(routeOf(await ran(desk, "hello"), "desk")).toBeNull();
    expect(routeOf(await ran(desk, " "), "desk")).toBeNull();
  });

  it("[R7] take an embedding model of the AI SDK, in calls of its size", async () => {
    const sizes: number[] = [];
    const model = {
      specificationVersion: "v3",
      provider: "test",
      modelId: "words",
      maxEmbeddingsPerCall: 2,
      supportsParallelCalls: false,
      doEmbed: async ({ values }: { values: string[] }) => {
        sizes.push(values.length);
        return { embeddings: await embed(values) };
      },
    };
    const desk = selector("desk", routes, bySimilarity({ embed: model }), {
      descriptions: { billing: "money", support: "login" },
    });
    expect(routeOf(await ran(desk, "my login"), "desk")).toBe("support");
    expect(sizes).toEqual([2, 1]);
    const { error } = await failed(selector("desk", routes, bySimilarity({ embed: async () => [[1]] })));
    expect(error).toMatchObject({ message: expect.stringContaining("no vector of the same length") });
  });

  it("[R8] choose the highest, the first of equals, and none below the threshold", async () => {
    const by = (scores: { [route: string]: number }, threshold?: number): Promise<Session> =>
      ran(
        selector(
          "desk",
          routes,
          byScore((_session, { name }) => scores[name] ?? 0, threshold === undefined ? {} : { threshold }),
        ),
      );
    expect(routeOf(await by({ billing: 1, support: 2 }), "desk")).toBe("support");
    expect(routeOf(await by({ billing: 2, support: 2 }), "desk")).toBe("billing");
    expect(routeOf(await by({ billing: 1, support: 2 }, 3), "desk")).toBeNull();
  });
});

describe("a bandit", () => {
  it("[R9] tries every route, then goes with what validations liked", async () => {
    for (const explore of ["ucb1", "thompson", 0.1] as const) {
      let draw = 0;
      const random = (): number => {
        draw = (draw * 16807 + 11) % 2147483647;
        return draw / 2147483647;
      };
      const desk = selector("desk", routes, bandit({ explore }));
      const check = validates((session) => routeOf(session, "desk") === "support");
      const flow = workflow("flow", { desk, check }, async (session, parts) => {
        let now = session;
        for (let turn = 0; turn < 40; turn++) now = await parts.check.forward(await parts.desk.forward(now));
        return now;
      });
      const session = await ran(flow, "go", {
        random,
      });
      const chosen = all(session, "route-choose").map((fact) => fact.chosen);
      expect(new Set(chosen)).toEqual(new Set(["billing", "support"]));
      expect(chosen.filter((route) => route === "support").length, String(explore)).toBeGreaterThan(25);
      expect(trialsOf(session, "desk").length).toBe(40);
    }
  });

  it("[R9] knows what happened on other sessions, and credits no branch with what another chose", async () => {
    const store = await openStore("memory:");
    const rath = openRath({ store });
    const flow = sequence("flow", [selector("desk", routes, () => "billing"), validates(() => false)]);
    const first = await rath.run(flow, rath.start("go"), { name: "one" });
    await rath.run(flow, rath.start("go"), { name: "two" });
    await rath.save(first.fork("again"), "three");
    const trials = await trialsIn(store, "desk");
    expect(trials.map(({ route, reward }) => [route, reward])).toEqual([
      ["billing", 0],
      ["billing", 0],
    ]);
    const known: Trial[] = [...trials, { route: "support", reward: 1, validation: "f".repeat(64) }];
    const wise = selector("desk", routes, bandit({ explore: 0, trials: () => known }));
    expect(routeOf(await rath.run(wise, rath.start("go")), "desk")).toBe("support");
    const trunk = rath.start("go").append({
      type: "route-choose",
      selector: "desk",
      candidates: [{ name: "billing" }],
      chosen: "billing",
    });
    const good = trunk.fork("a").append({ type: "validation-report", name: "v", passed: true });
    const other = trunk.fork("b").append({
      type: "route-choose",
      selector: "desk",
      candidates: [{ name: "support" }],
      chosen: "support",
    });
    const merged = other.merge(good);
    expect(trialsOf(merged, "desk").map(({ route, reward }) => [route, reward])).toEqual([["billing", 1]]);
    await rath.close();
  });
});

describe("several who choose", () => {
  const says2 = (name: string, chosen: string | null): Chooser => ({ name, decide: () => chosen });

  it("[R10] vote without seeing each other, and all votes are recorded", async () => {
    const answer = (route: string) => JSON.stringify({ route, why: "so" });
    const one = scripted([answer("support")], { id: "one" } as never);
    const two = scripted([answer("billing")], { id: "two" } as never);
    const chooser = vote([
      byModel({ model: one, name: "first" }),
      byModel({ model: two, name: "second" }),
      () => "support",
    ]);
    const session = await ran(selector("desk", routes, chooser));
    expect(saidIn(session)).toEqual(["go", "support"]);
    const [choice] = all(session, "route-choose");
    expect(choice).toMatchObject({ chosen: "support", chooser: "vote", why: "2 of 3 voted for it" });
    expect(
      (choice as unknown as { detail: { chooser: string; chosen: string }[] }).detail.map(
        ({ chooser: who, chosen }) => [who, chosen],
      ),
    ).toEqual([
      ["first", "support"],
      ["second", "billing"],
      ["rule 3", "support"],
    ]);
    const calls = [...session.history()].filter(({ fact }) => fact.type === "model-call");
    expect(calls.length).toBe(2);
    for (const call of calls) expect(JSON.stringify(call.transcript)).not.toContain('"route"');
  });

  it("[R10] without enough votes none fits, and who fails has no vote", async () => {
    const broken: Chooser = {
      name: "broken",
      decide: () => {
        throw new Error("no idea");
      },
    };
    const split = await ran(
      selector("desk", routes, vote([says2("a", "billing"), says2("b", "support")], { need: 1 })),
    );
    expect(routeOf(split, "desk")).toBeNull();
    const won = await ran(
      selector("desk", routes, vote([says2("a", "billing"), broken, says2("c", "billing")])),
    );
    expect(routeOf(won, "desk")).toBe("billing");
    expect(JSON.stringify(all(won, "route-choose")[0]?.detail)).toContain("no idea");
  });

  it("[R11] are asked one after the other until somebody chooses", async () => {
    const asked: string[] = [];
    const note = (name: string, decision: () => string | null): Chooser => ({
      name,
      decide: () => {
        asked.push(name);
        return decision();
      },
    });
    const chooser = firstOf(
      note("shy", () => null),
      note("broken", () => {
        throw new Error("no idea");
      }),
      note("sure", () => "support"),
      note("late", () => "billing"),
    );
    const session = await ran(selector("desk", routes, chooser));
    expect(asked).toEqual(["shy", "broken", "sure"]);
    expect(all(session, "route-choose")[0]).toMatchObject({
      chosen: "support",
      detail: {
        chooser: "sure",
        passed: [{ chooser: "shy" }, { chooser: "broken", why: "it failed: no idea" }],
      },
    });
    const none = await ran(
      selector(
        "desk",
        routes,
        firstOf(
          () => null,
          () => null,
        ),
      ),
    );
    expect(routeOf(none, "desk")).toBeNull();
  });
});

describe("a table of routes", () => {
  it("[R12] can be changed under way: each choice has the version of its moment", async () => {
    const rath = openRath({ store: "memory:" });
    const table = routeTable({ billing: routes.billing });
    const desk = selector("desk", table, (_session, offered) => offered.at(-1)?.name ?? null);
    const first = await rath.run(desk, rath.start("go"), { name: "first" });
    const before = table.version;
    table.set(routes);
    const second = await rath.run(desk, rath.start("go"), { name: "second" });
    expect([saidIn(first), saidIn(second)]).toEqual([
      ["go", "billing"],
      ["go", "support"],
    ]);
    const [[one], [two]] = [all(first, "route-choose"), all(second, "route-choose")];
    expect([one?.table, two?.table]).toEqual([before, table.version]);
    expect(before).not.toBe(table.version);
    expect((await rath.replay("first", desk, { mode: "verify" })).id).toBe(first.id);
    table.set({ billing: routes.billing });
    expect((await rath.replay("second", desk, { mode: "verify" })).id).toBe(second.id);
    // Another process that never knew the route.
    const other = selector("desk", routeTable({ billing: routes.billing }), () => "billing");
    await expect(rath.replay("second", other, { mode: "verify" })).rejects.toBeInstanceOf(DivergenceError);
    await rath.close();
  });
});
