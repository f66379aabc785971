import { describe, expect, it } from "vitest";
import { agent } from "../../agent/index.js";
import { scripted } from "../../agent/model/index.js";
import { tool } from "../../agent/tool/index.js";
import { openRath } from "../../runtime/index.js";
import { graph, type Session } from "../../session/index.js";
import { stateOf, withState, workflow } from "../../workflow/index.js";
import { all, failed, ran } from "../../workflow/testing/ran.js";
import { type InlineToolsOptions, inlineTools } from "./index.js";
import { rendered, textIn } from "./inline.js";

const calculator = tool({
  name: "calc",
  description: "Divides.",
  input: {
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"],
  },
  effect: "pure",
  run: ({ a, b }) => Math.round(((a as number) / (b as number)) * 100) / 100,
});
const city = tool({
  name: "city",
  description: "Where something is.",
  input: { type: "object", properties: { of: { type: "string" } }, required: ["of"] },
  effect: "read",
  run: ({ of }) => {
    if (of === "nowhere") throw new Error("no such place");
    return "Paris";
  },
});

const TEXT = "Of 1400 people [calc(400, 1400)] came. It is in [city(the Louvre)] France.";

/** Numbers help, cities do not. */
const score = (text: string): number => (text.includes("→ 0.29") ? 0.9 : 0.5);

function writer(more: Partial<InlineToolsOptions> = {}, text = TEXT) {
  return inlineTools({ name: "writer", model: scripted(text), tools: [calculator, city], score, ...more });
}

/** What each branch of a session was found to be worth. */
function scoresIn(session: Session): readonly (readonly [string, number | undefined, boolean])[] {
  return [...session.history()].flatMap((node) =>
    node.fact.type === "validation-report" ? [[node.branch, node.fact.score, node.fact.passed] as const] : [],
  );
}

describe("inline tools", () => {
  it("[I1] make each call and measure the text three ways, each on its branch", async () => {
    const session = await ran(writer());
    expect(all(session, "tool-call")).toMatchObject([
      { name: "calc", input: { a: 400, b: 1400 }, effect: "pure", by: "agent:writer" },
      { name: "city", input: { of: "the Louvre" }, effect: "read" },
    ]);
    expect(scoresIn(session)).toEqual([
      ["call 1: with result", 0.9, true],
      ["call 1: call only", 0.5, false],
      ["call 1: without", 0.5, false],
      ["call 2: with result", 0.9, false],
      ["call 2: call only", 0.9, false],
      ["call 2: without", 0.9, true],
    ]);
    const said = [...session.history()].flatMap(({ branch, fact }) =>
      branch.startsWith("call 2") && fact.type === "message-say" ? [fact.content] : [],
    );
    expect(said).toEqual([
      expect.stringContaining("[calc(400, 1400) → 0.29] came. It is in [city(the Louvre) → Paris] France."),
      expect.stringContaining("[city(the Louvre)] France."),
      expect.stringContaining("It is in France."),
    ]);
  });

  it("[I2] keep a call whose result makes the text better, and only that", async () => {
    const session = await ran(writer());
    const final = "Of 1400 people [calc(400, 1400) → 0.29] came. It is in France.";
    expect(session.recent(1)).toMatchObject([{ role: "assistant", content: final }]);
    const strict = await ran(writer({ threshold: 0.5 }));
    expect(session.recent(1)).not.toEqual(strict.recent(1));
    expect(strict.recent(1)).toMatchObject([
      { role: "assistant", content: "Of 1400 people came. It is in France." },
    ]);
    const plain = await ran(writer({ threshold: 0.4, splice: (_call, result) => `→ ${result}` }));
    expect(plain.recent(1)).toMatchObject([
      { role: "assistant", content: "Of 1400 people → 0.29 came. It is in France." },
    ]);
  });

  it("[I3] leave rejected variants as branches, with the choice and why", async () => {
    const session = await ran(writer());
    expect(all(session, "route-choose")).toMatchObject([
      {
        selector: "writer",
        candidates: [
          { name: "with result", score: 0.9 },
          { name: "call only", score: 0.5 },
          { name: "without", score: 0.5 },
        ],
        chosen: "with result",
        why: "[calc(400, 1400)] is kept: 0.9 with its result, 0.5 without",
      },
      { chosen: "without", why: expect.stringContaining("is rejected: 0.9 with its result, 0.9 without") },
    ]);
    const forks = graph(session).nodes.filter(({ kind }) => kind === "fork");
    expect(forks.length).toBe(6);
    expect(session.lineage.filter(({ kind }) => kind === "merge").map(({ why }) => why)).toEqual([
      expect.stringContaining("is kept"),
      expect.stringContaining("is rejected"),
    ]);
  });

  it("[I4] reject calls that fail, take no others for calls, and stop at the limit", async () => {
    const text = 'In [city(nowhere)] and [see(page 3)], [calc({"a": 1})] [city(x)] and [city(y) -> Rome].';
    const session = await ran(writer({ maxCalls: 3 }, text));
    expect(all(session, "tool-call").map(({ name }) => name)).toEqual(["city", "calc", "city"]);
    expect(all(session, "tool-failure").map(({ error }) => error.message)).toEqual([
      "no such place",
      expect.stringContaining("b"),
    ]);
    expect(all(session, "route-choose").map(({ chosen }) => chosen)).toEqual([
      "without",
      "without",
      "without",
    ]);
    expect(all(session, "validation-report").length).toBe(3);
    expect(all(session, "budget-stop")).toMatchObject([{ limit: "calls", allowed: 3, asked: 1 }]);
    expect(session.recent(1)).toMatchObject([{ role: "assistant", content: "In and [see(page 3)], and." }]);
    const poor = await ran(writer({ budget: { tokens: 1 } }));
    expect([all(poor, "budget-stop").length, all(poor, "message-say")]).toEqual([1, []]);
    const none = await ran(writer({}, "Nothing to look up."));
    expect([all(none, "tool-call"), none.recent(1)[0]]).toMatchObject([
      [],
      { content: "Nothing to look up." },
    ]);
    expect(rendered(textIn("a [city(x)] b", [{ name: "city", input: {} }]), () => "")).toBe("a b");
  });

  it("[I5] are refused what changes the world, and what makes no sense", () => {
    for (const effect of ["write", "idempotent"] as const) {
      const pay = tool({
        name: "pay",
        description: "Pays.",
        input: { type: "object" },
        effect,
        run: () => "",
      });
      expect(() => writer({ tools: [pay] })).toThrow(/changes the world/);
    }
    for (const [more, reason] of [
      [{ tools: [] }, /no tools/],
      [{ score: 7 }, /score/],
      [{ threshold: -1 }, /threshold/],
      [{ threshold: Number.NaN }, /threshold/],
      [{ maxCalls: 0 }, /maxCalls/],
      [{ maxCall: 3 }, /no option "maxCall"/],
    ] as const)
      expect(() => writer(more as never)).toThrow(reason);
    const other = withState(writer(), { threshold: 0.5, "writer.instructions": "Write." });
    expect(stateOf(other)).toMatchObject({ threshold: 0.5, "writer.instructions": "Write." });
    expect(() => withState(writer(), { threshold: "much" })).toThrow(/threshold/);
  });

  it("[I6] are measured by a function or a module, and by nothing that gives no number", async () => {
    const words = workflow("words", async (session) => {
      const length = String((session.recent(1)[0] as { content?: unknown }).content).length;
      return session.append({ type: "validation-report", name: "length", passed: true, score: length });
    });
    const session = await ran(writer({ score: words }));
    expect(session.recent(1)).toMatchObject([{ content: expect.stringMatching(/→ 0.29.*→ Paris/) }]);
    expect(scoresIn(session).filter(([branch]) => branch === "call 1: without").length).toBe(2);
    const judge = agent({
      name: "judge",
      model: scripted(() => JSON.stringify({ score: 3 })),
      output: { type: "object", properties: { score: { type: "number" } }, required: ["score"] },
    });
    const judged = await ran(writer({ score: judge }));
    expect(all(judged, "route-choose").map(({ chosen }) => chosen)).toEqual(["without", "without"]);
    const silent = workflow("silent", async (entered) => entered);
    expect((await failed(writer({ score: silent }))).error).toMatchObject({ code: "pattern-answer" });
    expect((await failed(writer({ score: () => Number.NaN }))).error).toMatchObject({ code: "step-failed" });
    const throws = () => {
      throw new Error("no ruler");
    };
    expect((await failed(writer({ score: throws }))).error).toMatchObject({
      message: expect.stringContaining("no ruler"),
    });
  });

  it("[I7] replay, and go on in another runtime where a crash cut them off", async () => {
    const store = await openRath({ store: "memory:" }).store();
    let scored = 0;
    let crash = true;
    const first = openRath({ store });
    const flaky = writer({
      score: async (text) => {
        scored += 1;
        if (crash && scored === 4) {
          // The process ends here: nothing of this call comes back.
          await first.close();
        }
        return score(text);
      },
    });
    await expect(first.run(flaky, first.start("go"), { name: "s" })).rejects.toThrow();
    crash = false;
    const second = openRath({ store });
    const session = await second.resume("s", flaky);
    expect(session.recent(1)).toMatchObject([{ content: expect.stringContaining("→ 0.29") }]);
    const counted = scored;
    expect((await second.replay("s", flaky, { mode: "verify" })).id).toBe(session.id);
    expect(scored).toBe(counted);
    expect(all(session, "tool-call").length).toBe(2);
  });
});
