import { describe, expect, it } from "vitest";
import {
  BeyondHorizonError,
  diff,
  graph,
  PlacementMismatchError,
  Session,
  seedView,
  transcriptView,
  usageView,
  type View,
} from "./index.js";
import { reply } from "./testing/program.js";

const counting = (): { view: View<number>; steps: () => number } => {
  let steps = 0;
  return {
    view: {
      start: 0,
      step: (count) => {
        steps += 1;
        return count + 1;
      },
    },
    steps: () => steps,
  };
};

describe("views", () => {
  it("[W2] answers are remembered: asking again, or after one more fact, does not fold the past again", () => {
    let session = Session.start("go");
    for (let count = 0; count < 1000; count++) session = session.say("x");
    const { view, steps } = counting();
    expect(session.view(view)).toBe(1001);
    expect(session.view(view)).toBe(1001);
    expect(session.say("y").view(view)).toBe(1002);
    expect(steps()).toBe(1002);
    const fork = session.fork("a").say("b");
    expect(fork.merge(session.fork("c")).view(view)).toBe(1005);
    expect(steps()).toBe(1002 + 4);
  });

  it("[W4] a fact with several parents that is no merge counts each once and goes on from the first", () => {
    const start = Session.start("go");
    const [one, two] = [start.fork("a").append(reply(1)), start.fork("b").append(reply(2))];
    const fact = { type: "run-end", at: "2026-01-01T00:00:00Z", by: "runtime", of: start.id };
    const line = JSON.stringify({ rath: 1, parents: [one.id, two.id], fact });
    const end = Session.restore(line, [one, two], { inline: 4096 });
    expect(end.usage.input).toBe(3);
    expect(end.branch).toBe("a");
    expect(end.transcript).toEqual(one.transcript);
  });

  it("[W5] past the horizon a seeded answer goes on, and what needs the past is a typed error", () => {
    const past = Session.start("go").append(reply(5));
    const head = Session.restore(past.line, undefined, { inline: 4096 }, { depth: past.depth });
    expect(head.id).toBe(past.id);
    expect(head.parentIds).toEqual(past.parentIds);
    expect([head.atHorizon, past.atHorizon]).toEqual([true, false]);
    seedView(head, usageView, past.usage);
    seedView(head, transcriptView, past.view(transcriptView));
    const merged = head
      .fork("a")
      .append(reply(1))
      .merge(head.fork("b").append(reply(2)), { adopt: "ours" });
    expect(merged.usage.input).toBe(8);
    expect(merged.transcript.length).toBe(3);
    expect(merged.descendsFrom(head)).toBe(true);
    expect(diff(head.fork("x"), head.fork("y")).base[0]?.id).toBe(head.id);
    const attempts = [
      () => head.parents,
      () => [...merged.history()],
      () => merged.lineage,
      () => merged.descendsFrom(Session.start("x")),
      () => diff(merged, Session.start("x")),
    ];
    for (const attempt of attempts) expect(attempt).toThrow(BeyondHorizonError);
  });

  it("[W7] views answer on any recorded graph, also of merges that could not be made here", () => {
    const start = Session.start("go").to("local");
    const [one, two] = [start.fork("a").to("cube").say("1"), start.fork("b").to("moon").say("2")];
    expect(() => one.merge(two)).toThrow(PlacementMismatchError);
    for (const [adopt, parents] of [
      ["both", [one, two]],
      [7, [one, two]],
      ["theirs", [one]],
      ["mine", [one, two]],
      ["both", [one]],
    ] as const) {
      const fact = { type: "branch-merge", at: "2026-01-01T00:00:00Z", by: "user", adopt };
      const line = JSON.stringify({ rath: 1, parents: parents.map((parent) => parent.id), fact });
      const merged = Session.restore(line, parents, { inline: 4096 }).say("on");
      expect(merged.placement).toEqual({ sandbox: "cube" });
      expect(merged.transcript.length).toBeGreaterThan(2);
      expect([merged.branch, merged.usage.calls, merged.pending]).toEqual(["a", 0, []]);
      expect(merged.lineage.at(-1)?.kind).toBe("merge");
      expect(graph(merged).nodes.length).toBeGreaterThan(2);
    }
  });

  it("[W8] the transcript is made once, and its end without the rest", () => {
    let session = Session.start("go");
    for (let count = 0; count < 500; count++) session = session.say(`${count}`);
    session = session.append({ type: "tool-call", name: "t", input: null }).say("after");
    expect(session.transcript).toBe(session.transcript);
    for (const count of [0, 1, 2, 3, 7, 502, 503, 504, 2.5, Number.POSITIVE_INFINITY])
      expect(session.recent(count)).toEqual(count === 0 ? [] : session.transcript.slice(-count));
    expect(session.recent(-1)).toEqual([]);
  });
});
