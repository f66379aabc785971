import { describe, expect, it } from "vitest";
import { agent } from "../../agent/index.js";
import { scripted } from "../../agent/model/index.js";
import { openRath } from "../../runtime/index.js";
import type { FactOf, Session } from "../../session/index.js";
import { signal, stateOf, step, withState, workflow } from "../../workflow/index.js";
import { all, failed, ran } from "../../workflow/testing/ran.js";
import { deedsOf, type ReflexionOptions, reflectionsOf, reflexion } from "./index.js";

/** Guesses higher with every lesson that it was shown. */
const guesser = agent({
  name: "guesser",
  model: scripted((prompt) => {
    const lessons = JSON.stringify(prompt).match(/Guess more than (\d+)/g) ?? [];
    return `I guess ${Math.max(0, ...lessons.map((lesson) => Number(lesson.slice(16)))) + 1}`;
  }),
});

const critic = agent({
  name: "critic",
  model: scripted((prompt) => {
    const guesses = JSON.stringify(prompt).match(/I guess (\d+)/g) ?? [];
    return `Guess more than ${guesses.at(-1)?.slice(8)}.`;
  }),
});

function guessOf(session: Session): number {
  return Number(String((session.recent(1)[0] as { content?: unknown }).content).slice(8));
}

const isThree = (session: Session) => ({
  passed: guessOf(session) === 3,
  detail: `${guessOf(session)} is not 3`,
});

function learner(more: Partial<ReflexionOptions> = {}) {
  return reflexion({ name: "learner", attempt: guesser, check: isThree, reflect: critic, ...more });
}

describe("reflexion", () => {
  it("[X1] writes a reflection after a failed check and only then, and names it", async () => {
    const session = await ran(learner());
    const reflections = reflectionsOf(session, "learner");
    expect(reflections.map(({ trial, text }) => [trial, text])).toEqual([
      [1, "Guess more than 1."],
      [2, "Guess more than 2."],
    ]);
    const nodes = new Map([...session.history()].map((node) => [node.id, node]));
    for (const { of, trial, id } of reflections) {
      const report = nodes.get(of) as Session;
      expect(report.fact).toMatchObject({ type: "validation-report", passed: false });
      expect([report.branch, nodes.get(id)?.branch]).toEqual([`trial ${trial}`, `trial ${trial}`]);
      expect(nodes.get(id)?.descendsFrom(report)).toBe(true);
    }
    const failures = all(session, "validation-report").filter(({ passed }) => !passed).length;
    expect([failures, all(session, "validation-report").length]).toEqual([2, 3]);
    const lucky = await ran(learner({ check: () => true }));
    expect([reflectionsOf(lucky), all(lucky, "model-reply").length]).toEqual([[], 1]);
  });

  it("[X2] begins each trial at the start, with what was learned and nothing else", async () => {
    const session = await ran(learner({ shown: 1 }), "Guess my number.");
    const forks = [...session.history()].filter(({ fact }) => fact.type === "branch-fork");
    expect(new Set(forks.map(({ parentIds }) => parentIds[0])).size).toBe(1);
    expect(forks.map(({ branch }) => branch).sort()).toEqual(["trial 1", "trial 2", "trial 3"]);
    // Only the newest was shown, and that is on the record.
    const [first, second] = reflectionsOf(session);
    const offers = [...session.history()].flatMap(({ branch, fact }) =>
      fact.type === "note" && fact.kind === "reflection-offer" ? [[branch, fact.of]] : [],
    );
    expect(offers.sort()).toEqual([
      ["trial 2", [first?.id]],
      ["trial 3", [second?.id]],
    ]);
    const words = session.transcript.map((message) => JSON.stringify(message)).join("\n");
    expect([
      words.includes("Guess more than 2"),
      words.includes("Guess more than 1"),
      words.includes("I guess 2"),
    ]).toEqual([true, false, false]);
    const offer = all(session, "message-say").find(({ content }) => String(content).startsWith("From trial"));
    expect(offer?.by).toBe("agent:critic");
  });

  it("[X3] never changes what was learned", async () => {
    const rath = openRath({ store: "memory:" });
    const two = await rath.run(learner({ trials: 2 }), rath.start("go", { nonce: "same" }));
    const three = await rath.run(learner({ trials: 3 }), rath.start("go", { nonce: "same" }));
    const texts = (session: Session) => reflectionsOf(session).map(({ text }) => text);
    expect(texts(three).slice(0, texts(two).length)).toEqual(texts(two));
    const notes = [...three.history()].flatMap(({ fact }) =>
      fact.type === "note" && fact.kind === "reflection" ? [(fact as FactOf<"note">).trial] : [],
    );
    expect(notes).toEqual([1, 2]);
    await rath.close();
  });

  it("[X4] ends at the first trial that passes, or visibly at the last", async () => {
    const session = await ran(learner());
    expect([guessOf(session), session.branch]).toEqual([3, "trial 3"]);
    expect(all(session, "budget-stop")).toEqual([]);
    const words = deedsOf(session).filter(({ did }) => did.startsWith("replied I guess"));
    expect(words.map(({ branch, by, did }) => [branch, by, did])).toEqual([
      ["trial 1", "agent:guesser", "replied I guess 1"],
      ["trial 2", "agent:guesser", "replied I guess 2"],
      ["trial 3", "agent:guesser", "replied I guess 3"],
    ]);
    const short = await ran(learner({ trials: 2 }));
    expect(all(short, "budget-stop")).toMatchObject([{ limit: "trials", allowed: 2 }]);
    expect([guessOf(short), reflectionsOf(short).length]).toEqual([2, 1]);
  });

  it("[X5] takes an attempt that throws for a failed trial, and no silence for a finding", async () => {
    let left = 1;
    const flaky = step(
      "flaky",
      () => {
        if (left-- > 0) throw new Error("it broke");
        return 1;
      },
      { effect: "read" },
    );
    const session = await ran(learner({ attempt: flaky, check: () => true }));
    expect(all(session, "validation-report")).toMatchObject([
      { passed: true },
      { passed: false, detail: expect.stringContaining("it broke") },
    ]);
    expect(reflectionsOf(session).length).toBe(1);
    const silent = workflow("silent", async (entered) => entered);
    expect((await failed(learner({ check: silent }))).error).toMatchObject({ code: "pattern-answer" });
    expect((await failed(learner({ check: (() => "yes") as never }))).error).toMatchObject({
      code: "rule-refused",
    });
    const tests = workflow("tests", async (entered) =>
      entered
        .append({ type: "validation-report", name: "lint", passed: true })
        .append({ type: "validation-report", name: "unit", passed: guessOf(entered) === 2 }),
    );
    const checked = await ran(learner({ check: tests }));
    expect([guessOf(checked), reflectionsOf(checked).length]).toEqual([2, 1]);
    // A judge answers; that its answer has the right form says nothing about the attempt.
    const schema = {
      type: "object",
      properties: { passed: { type: "boolean" } },
      required: ["passed"],
    } as const;
    const judge = (field: string) =>
      agent({
        name: "judge",
        model: scripted((prompt) =>
          JSON.stringify({ [field]: JSON.stringify(prompt).includes("I guess 2") }),
        ),
        output: field === "passed" ? schema : { type: "object" },
      });
    const judged = await ran(learner({ check: judge("passed") }));
    expect([reflectionsOf(judged).length, judged.branch]).toEqual([1, "trial 2"]);
    expect((await failed(learner({ check: judge("good") }))).error).toMatchObject({ code: "pattern-answer" });
    const rath = openRath({ store: "memory:" });
    const poor = await rath.run(learner(), rath.start("go"), { budget: { steps: 1 } });
    expect([all(poor, "model-reply").length, reflectionsOf(poor)]).toEqual([1, []]);
    expect(all(poor, "budget-stop")).toMatchObject([{ limit: "steps", allowed: 1 }]);
    const unjudged = await rath.run(learner({ check: judge("passed") }), rath.start("go"), {
      budget: { steps: 1 },
    });
    expect([all(unjudged, "budget-stop").length, reflectionsOf(unjudged)]).toEqual([1, []]);
    await rath.close();
    for (const [more, reason] of [
      [{ attempt: 3 }, /attempt/],
      [{ reflect: undefined }, /reflect/],
      [{ check: "tests" }, /check/],
      [{ trials: 0 }, /trials/],
      [{ trial: 3 }, /did you mean|no option/],
    ] as const)
      expect(() => learner(more as never)).toThrow(reason);
    expect(stateOf(withState(learner(), { trials: 9, "reflect.instructions": "Be kind." }))).toMatchObject({
      trials: 9,
      "reflect.instructions": "Be kind.",
    });
  });

  it("[X6] replays, and is resumed by another runtime in the middle of a trial", async () => {
    const store = await openRath({ store: "memory:" }).store();
    const flow = () =>
      learner({
        attempt: workflow("careful", { guesser, ready: signal("ready") }, async (session, parts) => {
          const guessed = await parts.guesser.forward(session);
          const { session: told } = await parts.ready.call(guessed);
          return told;
        }),
      });
    let rath = openRath({ store });
    let session = await rath.run(flow(), rath.start("go"), { name: "s" });
    let resumed = 0;
    while (session.fact.type === "run-suspend") {
      rath = openRath({ store });
      await rath.signal("s", "ready", null, "user:ada");
      session = await rath.resume("s", flow());
      resumed += 1;
    }
    expect([resumed, guessOf(session), reflectionsOf(session).length]).toEqual([3, 3, 2]);
    expect(all(session, "model-reply").length).toBe(5);
    expect((await rath.replay("s", flow(), { mode: "verify" })).id).toBe(session.id);
  });
});
