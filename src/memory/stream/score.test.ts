import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Memory } from "../state.js";
import { insightsIn, questionsIn, ratingIn } from "./asking.js";
import { PROFILES } from "./options.js";
import { best, type Candidate } from "./score.js";

const HOUR = 3_600_000;

function candidate(
  id: string,
  more: { importance?: number; meaning?: number; hours?: number; step?: number },
): Candidate {
  const { importance, meaning = 0, hours = 0, step = 0 } = more;
  return {
    memory: { id, ...(importance !== undefined && { importance }) } as Memory,
    meaning,
    accessed: { at: hours * HOUR, step },
  };
}

const ids = (scored: readonly Candidate[]) => scored.map(({ memory }) => memory.id);

describe("scores", () => {
  it("[G1] are the weighted sum of what is spread from 0 to 1, as a plain computation says", () => {
    const one = fc.record({
      importance: fc.option(fc.integer({ min: 1, max: 10 }), { nil: undefined }),
      meaning: fc.double({ min: -1, max: 1, noNaN: true }),
      hours: fc.integer({ min: 0, max: 500 }),
    });
    const weights = fc.record({ recency: fc.nat(3), relevance: fc.nat(3), importance: fc.nat(3) });
    fc.assert(
      fc.property(
        fc.array(one, { minLength: 1, maxLength: 12 }),
        weights,
        fc.integer({ min: 1, max: 12 }),
        (all, by, limit) => {
          const candidates = all.map((given, place) =>
            candidate(String(place), given as { meaning: number }),
          );
          const found = best(candidates, { ...PROFILES.paper, weights: by, limit }, 600 * HOUR);
          const minmax = (values: number[]) => {
            const [low, high] = [Math.min(...values), Math.max(...values)];
            return values.map((value) => (high === low ? 0.5 : (value - low) / (high - low)));
          };
          const rated = all.flatMap(({ importance }) => importance ?? []);
          const recency = minmax(all.map(({ hours }) => 0.995 ** (600 - hours)));
          const relevance = minmax(all.map(({ meaning }) => meaning));
          const important = minmax(
            all.map(({ importance }) => importance ?? (rated.length > 0 ? Math.min(...rated) : 0)),
          );
          const totals = all.map((_, place) => ({
            place,
            total:
              by.recency * (recency[place] as number) +
              by.relevance * (relevance[place] as number) +
              by.importance * (important[place] as number),
          }));
          const expected = totals.sort((a, b) => b.total - a.total || a.place - b.place).slice(0, limit);
          expect(found.map(({ memory, score }) => [memory.id, score])).toEqual(
            expected.map(({ place, total }) => [String(place), total]),
          );
        },
      ),
    );
    const same = [candidate("a", {}), candidate("b", {})];
    expect(best(same, PROFILES.paper, 0).map(({ score, recency }) => [score, recency])).toEqual([
      [1.5, 0.5],
      [1.5, 0.5],
    ]);
    expect(best([], PROFILES.paper, 0)).toEqual([]);
  });

  it("[G2] order a stream as the profile says", () => {
    const stream = [
      candidate("old", { hours: 1, step: 1, importance: 5, meaning: 0.5 }),
      candidate("middle", { hours: 50, step: 2, importance: 5, meaning: 0.5 }),
      candidate("new", { hours: 99, step: 3, importance: 5, meaning: 0.5 }),
    ];
    const only = { recency: 1, relevance: 0, importance: 0 };
    const by = (name: keyof typeof PROFILES, order: "score" | "written" = "score") =>
      ids(best(stream, { ...PROFILES[name], weights: only, order }, 100 * HOUR));
    expect(by("paper")).toEqual(["new", "middle", "old"]);
    expect(by("genagents")).toEqual(["new", "middle", "old"]);
    // The published code counts ranks from the oldest, which makes the oldest the most recent.
    expect(by("reference")).toEqual(["old", "middle", "new"]);
    expect(by("genagents", "written")).toEqual(["old", "middle", "new"]);
    const halves = best(stream, { ...PROFILES.paper, decay: 0.5, weights: only }, 100 * HOUR);
    expect(halves[1]?.recency).toBeCloseTo(0, 10);
    expect(PROFILES).toMatchObject({
      paper: {
        decay: 0.995,
        clock: "hours",
        weights: { recency: 1, relevance: 1, importance: 1 },
        threshold: 150,
      },
      reference: {
        decay: 0.99,
        clock: "rank",
        weights: { recency: 0.5, relevance: 3, importance: 2 },
        limit: 30,
        threshold: 150,
      },
      genagents: {
        decay: 0.99,
        clock: "steps",
        weights: { recency: 0, relevance: 1, importance: 0.5 },
        order: "written",
        touch: false,
      },
    });
    const [top] = best(
      [candidate("near", { meaning: 1, importance: 1 }), candidate("grave", { meaning: 0, importance: 10 })],
      PROFILES.reference,
      0,
    );
    expect([top?.memory.id, top?.score]).toEqual(["near", 0.5 + 3]);
  });
});

describe("answers", () => {
  it("[G7] are read as lists or lines, and thoughts without evidence are counted out", () => {
    const text =
      "Here are some:\n1. She works a lot (because of 1, 3)\n2) She is kind (Because of 2.)\n- No evidence\n3. It is far (because of 9)\n4. Both (because of 1 and 12)";
    expect(insightsIn(text, 3, 5)).toEqual({
      kept: [
        { text: "She works a lot", because: [1, 3] },
        { text: "She is kind", because: [2] },
      ],
      dropped: 3,
    });
    const list = [
      { text: "one", because: [1, 1, 2] },
      { text: "none", because: [] },
      { text: "far", because: [0] },
      { text: "half", because: [1.5] },
      { text: "", because: [1] },
      { text: "word", because: ["1"] },
      "no thought",
    ];
    const one = { kept: [{ text: "one", because: [1, 2] }], dropped: 6 };
    expect(insightsIn(list, 3, 9)).toEqual(one);
    expect(insightsIn({ insights: list }, 3, 9)).toEqual(one);
    expect(insightsIn(`\`\`\`json\n${JSON.stringify({ insights: list })}\n\`\`\``, 3, 9)).toEqual(one);
    // More than were asked for are not kept.
    expect(
      insightsIn(
        ["a", "b"].map((word) => ({ text: word, because: [1] })),
        1,
        1,
      ),
    ).toMatchObject({
      kept: [{ text: "a" }],
      dropped: 1,
    });
    for (const nothing of [null, "", "I have no idea.", 3, {}])
      expect(insightsIn(nothing, 3, 5).kept).toEqual([]);
    expect(questionsIn("Sure:\n1. What does she do?\n2. Why\nWho else？", 3)).toEqual([
      "What does she do?",
      "Why",
      "Who else？",
    ]);
    expect(questionsIn({ questions: ["a", " a ", 3, ""] }, 3)).toEqual(["a"]);
    expect(questionsIn('["x","y","z","w"]', 3)).toEqual(["x", "y", "z"]);
  });

  it("[G5] have a number on the scale, or none", () => {
    const on = (answer: Parameters<typeof ratingIn>[0]) => ratingIn(answer, [1, 10]);
    expect([on(3), on("I say 7."), on({ importance: 4 }), on('{"importance": 2.5}')]).toEqual([3, 7, 4, 2.5]);
    expect(
      [on(0), on("11"), on("-3"), on(true), on(null), on("many"), on([])].every((one) => one === undefined),
    ).toBe(true);
  });
});
