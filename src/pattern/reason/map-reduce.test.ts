import { setTimeout as after } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { agent } from "../../agent/index.js";
import { scripted } from "../../agent/model/index.js";
import { openRath } from "../../runtime/index.js";
import type { Session } from "../../session/index.js";
import { stateOf, step, withState, workflow } from "../../workflow/index.js";
import { all, failed, ran } from "../../workflow/testing/ran.js";
import {
  deedsOf,
  type MapReduceOptions,
  mapReduce,
  type PartResult,
  type PartsFailedError,
} from "./index.js";

function lastOf(session: Session): string {
  return String((session.recent(1)[0] as { content?: unknown }).content);
}

/** Answers with the length of what it is told; a part that says so fails. */
const counter = workflow("counter", async (session) => {
  const text = lastOf(session);
  if (text.includes("bad")) throw new Error(`cannot read ${text}`);
  return session.say(`${text} has ${text.length}`, { role: "assistant", by: "agent:counter" });
});

const lines = (session: Session) => lastOf(session).split("\n");

function counting(more: Partial<MapReduceOptions> = {}) {
  return mapReduce({
    name: "count",
    split: lines,
    map: counter,
    reduce: (parts) => parts.map((part) => ("output" in part ? part.output : "?")).join("; "),
    ...more,
  });
}

describe("map and reduce", () => {
  it("[M6] gathers the parts and rejects none", async () => {
    const merges = all(await ran(counting(), "one\nthree"), "branch-merge");
    expect(merges.map(({ adopt, why }) => [adopt, why])).toEqual([
      ["both", "count: all inputs"],
      ["none", "count: what came of the parts"],
    ]);
  });

  it("[M1] divides the work at run time and does each part on its branch", async () => {
    const session = await ran(counting(), "one\nthree\nfive");
    expect(session.recent(1)).toMatchObject([{ content: "one has 3; three has 5; five has 4" }]);
    const words = deedsOf(session).filter(({ by, branch }) => by === "agent:counter" && branch !== "main");
    expect(words.map(({ branch, did }) => [branch, did])).toEqual([
      ["count 1", "said one has 3"],
      ["count 2", "said three has 5"],
      ["count 3", "said five has 4"],
    ]);
    const splitter = agent({
      name: "splitter",
      model: scripted(JSON.stringify({ parts: ["x", { deep: true }] })),
      output: { type: "object", properties: { parts: { type: "array" } }, required: ["parts"] },
    });
    const divided = await ran(counting({ split: splitter }));
    expect(divided.recent(1)).toMatchObject([{ content: 'x has 1; {"deep":true} has 13' }]);
    let [busy, most] = [0, 0];
    const slow = step(
      "slow",
      async () => {
        most = Math.max(most, ++busy);
        await after(5);
        busy -= 1;
      },
      { effect: "read" },
    );
    await ran(counting({ map: slow, concurrency: 2 }), "a\nb\nc\nd\ne");
    expect(most).toBe(2);
    expect((await ran(counting({ split: () => [] }))).recent(1)).toMatchObject([{ content: "" }]);
  });

  it("[M2] takes a part that fails for a result, unless too many do", async () => {
    let seen: readonly PartResult[] = [];
    const reduce = (parts: readonly PartResult[]) => {
      seen = parts;
      return parts.length;
    };
    const session = await ran(counting({ reduce }), "one\nbad two\nthree");
    expect(seen).toMatchObject([
      { part: 1, input: "one", branch: "count 1", output: "one has 3" },
      { part: 2, input: "bad two", branch: "count 2", failure: { message: "cannot read bad two" } },
      { part: 3, input: "three", branch: "count 3", output: "three has 5" },
    ]);
    expect(seen.every((part) => session.descendsFrom(part.session))).toBe(true);
    expect(all(session, "validation-report").map(({ passed }) => passed)).toEqual([true, false, true]);
    const { error, session: ended } = await failed(counting({ need: 2 }), "one\nbad two\nbad");
    expect(error).toMatchObject({ code: "parts-failed", data: { need: 2, parts: 3 } });
    expect((error as PartsFailedError).data.failures).toMatchObject([
      { branch: "count 2" },
      { branch: "count 3" },
    ]);
    expect(all(ended, "validation-report").length).toBe(3);
    const endless = agent({ name: "endless", model: scripted(() => ({ tool: "nothing" })), maxSteps: 1 });
    const stopped = await failed(counting({ map: endless }), "one");
    expect(stopped.error).toMatchObject({
      message: expect.stringContaining("its limit of 1 steps is reached"),
    });
    const silent = agent({ name: "silent", model: scripted(new Error("down")), retry: { attempts: 1 } });
    const down = await failed(counting({ map: silent }), "one\ntwo");
    expect(down.error).toMatchObject({ code: "parts-failed" });
  });

  it("[M3] tells the reduction what came of each part, and not what was said on the way", async () => {
    const prompts: string[] = [];
    const editor = agent({
      name: "editor",
      model: scripted((prompt) => {
        prompts.push(JSON.stringify(prompt));
        return "All counted.";
      }),
    });
    const chatty = agent({
      name: "chatty",
      model: scripted((_prompt, turn) => (turn === 0 ? { tool: "nothing" } : "The answer.")),
    });
    const session = await ran(counting({ map: chatty, reduce: editor }), "one\ntwo");
    expect(session.recent(1)).toMatchObject([{ content: "All counted." }]);
    expect(prompts[0]).toContain('Part 2 (branch \\"count 2\\"): two\\n=> The answer.');
    expect(prompts[0]).not.toContain("nothing");
    expect(session.transcript.filter(({ role }) => role === "tool")).toEqual([]);
    expect(all(session, "tool-failure").length).toBe(2);
  });

  it("[M4] tells what came of the parts as the words of an agent", async () => {
    const session = await ran(counting(), "one\nbad two");
    const told = all(session, "message-say").find(({ content }) =>
      String(content).startsWith("What came of"),
    );
    expect(told).toMatchObject({ role: "user", by: "agent:counter" });
  });

  it("[M5] replays, and goes on in another runtime where a crash cut it off", async () => {
    const store = await openRath({ store: "memory:" }).store();
    const first = openRath({ store });
    let asked = 0;
    let crash = true;
    const read = agent({
      name: "reader",
      model: scripted(async () => {
        asked += 1;
        // The process ends here: what the model says is not heard any more.
        if (crash && asked === 3) await first.close();
        return "read";
      }),
    });
    const flow = counting({ map: read, concurrency: 1, reduce: (parts) => parts.length });
    await expect(first.run(flow, first.start("a\nb\nc\nd"), { name: "s" })).rejects.toThrow();
    crash = false;
    const second = openRath({ store });
    const session = await second.resume("s", flow);
    expect(session.recent(1)).toMatchObject([{ content: "4" }]);
    expect(asked).toBe(5);
    expect((await second.replay("s", flow, { mode: "verify" })).id).toBe(session.id);
    expect(asked).toBe(5);
    for (const [more, reason] of [
      [{ split: 3 }, /split/],
      [{ reduce: "all" }, /reduce/],
      [{ map: undefined }, /map/],
      [{ concurrency: 0 }, /concurrency/],
      [{ concurency: 2 }, /did you mean|no option/],
    ] as const)
      expect(() => counting(more as never)).toThrow(reason);
    expect(stateOf(withState(counting(), { concurrency: 2 }))).toMatchObject({ concurrency: 2, need: 1 });
    expect((await failed(counting({ split: () => "text" as never }))).error).toMatchObject({
      code: "rule-refused",
    });
    const mute = workflow("mute", async (entered) => entered);
    expect((await failed(counting({ split: mute }))).error).toMatchObject({ code: "pattern-answer" });
  });
});
