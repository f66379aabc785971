import { describe, expect, it } from "vitest";
import {
  BeyondHorizonError,
  diff,
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
});
