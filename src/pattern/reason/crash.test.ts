import { describe, expect, it } from "vitest";
import { agent } from "../../agent/index.js";
import { type ScriptedReply, scripted } from "../../agent/model/index.js";
import { add } from "../../agent/testing/tools.js";
import { type Module, openRath } from "../../runtime/index.js";
import type { Session } from "../../session/index.js";
import { debate, inlineTools, mapReduce, PLAN, planExecute, react, reflexion } from "./index.js";

type Reply = (told: string, turn: number) => ScriptedReply;
/** A model that says what it is told to, once the world has let it. */
type Speaking = (reply: Reply) => ReturnType<typeof scripted>;

const plans = (told: string) =>
  JSON.stringify({ steps: told.includes("failed") ? ["mend"] : ["dig", "break", "pour"] });

/** Each pattern with everything that can happen in it: text that cannot be read, calls, failures, other plans. */
const patterns: { readonly [name: string]: (speaks: Speaking) => Module } = {
  react: (speaks) =>
    react({
      name: "clerk",
      tools: [add],
      model: speaks(
        (_told, turn) =>
          ["Hm.", "Action 1: add[1, 2]", "Action 2: add[x]", "Action 3: Finish[3]"][turn] as string,
      ),
    }),
  inlineTools: (speaks) =>
    inlineTools({
      name: "writer",
      tools: [add],
      model: speaks(() => "It is [add(1, 2)], not [add(2, 2)]."),
      score: agent({
        name: "judge",
        model: speaks((told) => JSON.stringify({ score: told.split("→ 3").length })),
        output: { type: "object", properties: { score: { type: "number" } }, required: ["score"] },
      }),
    }),
  planExecute: (speaks) =>
    planExecute({
      name: "build",
      planner: agent({ name: "planner", model: speaks(plans), output: PLAN }),
      executor: agent({
        name: "worker",
        model: speaks((told) => (/: break"/.test(told.slice(-60)) ? new Error("broken") : "Done.")),
        retry: { attempts: 1 },
      }),
    }),
  mapReduce: (speaks) =>
    mapReduce({
      name: "read",
      split: () => ["one", "bad", "three"],
      map: agent({
        name: "reader",
        model: speaks((told) => (told.includes("bad") ? new Error("torn") : "read")),
        retry: { attempts: 1 },
      }),
      reduce: agent({ name: "editor", model: speaks(() => "All of it.") }),
      concurrency: 2,
    }),
  debate: (speaks) =>
    debate({
      name: "argue",
      sides: {
        one: agent({ name: "ada", model: speaks((_told, turn) => `ada ${turn}`) }),
        two: agent({ name: "bob", model: speaks((_told, turn) => `bob ${turn}`) }),
      },
      judge: speaks(() => JSON.stringify({ winner: "two", why: "louder" })),
    }),
  reflexion: (speaks) =>
    reflexion({
      name: "learn",
      attempt: agent({ name: "coder", model: speaks((told) => `try ${told.split("think").length}`) }),
      check: (session) => JSON.stringify(session.recent(1)).includes("try 3"),
      reflect: agent({ name: "critic", model: speaks(() => "think") }),
    }),
};

/** Models that count how often they are asked, and do something at one of those times. */
function speaking(then: (asked: number) => Promise<void>): {
  readonly speaks: Speaking;
  readonly asked: () => number;
} {
  let asked = 0;
  const speaks: Speaking = (reply) =>
    scripted(async (prompt, turn) => {
      asked += 1;
      await then(asked);
      return reply(JSON.stringify(prompt), turn);
    });
  return { speaks, asked: () => asked };
}

function saidIn(session: Session): string {
  // Ids of calls are made from prompts, and those are the same each time.
  return JSON.stringify(session.transcript);
}

describe.each(Object.entries(patterns))("%s", (_name, pattern) => {
  it("[G2] goes on in another runtime wherever it was cut off, and asks nobody twice for what was answered", async () => {
    const whole = speaking(async () => {});
    const calm = openRath({ store: "memory:" });
    const wanted = await calm.run(pattern(whole.speaks), calm.start("go"));
    const calls = whole.asked();
    expect(calls).toBeGreaterThan(3);
    for (let crash = 1; crash <= calls; crash++) {
      const store = await openRath({ store: "memory:" }).store();
      const first = openRath({ store });
      // The process ends in the middle of a call: whatever comes of that is not heard any more.
      const cut = speaking((asked) => (asked === crash ? first.close() : Promise.resolve()));
      await expect(first.run(pattern(cut.speaks), first.start("go"), { name: "s" })).rejects.toThrow();
      const second = openRath({ store });
      const rest = speaking(async () => {});
      const flow = pattern(rest.speaks);
      const begun = (await store.head("s")) !== undefined;
      const session = begun
        ? await second.resume("s", flow)
        : await second.run(flow, second.start("go"), { name: "s" });
      expect([crash, saidIn(session)]).toEqual([crash, saidIn(wanted)]);
      // Others may have been under way beside the one that was cut off.
      expect(rest.asked()).toBeLessThanOrEqual(calls - crash + 3);
      const replayed = speaking(() => Promise.reject(new Error("a replay asks nobody")));
      expect((await second.replay("s", pattern(replayed.speaks), { mode: "verify" })).id).toBe(session.id);
      expect(replayed.asked()).toBe(0);
    }
    await calm.close();
  });
});
