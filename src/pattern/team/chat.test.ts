import { describe, expect, it } from "vitest";
import { agent } from "../../agent/index.js";
import { scripted } from "../../agent/model/index.js";
import { tool } from "../../agent/tool/index.js";
import { type Module, openRath } from "../../runtime/index.js";
import { storeOf } from "../../runtime/testing/rath.js";
import type { Session } from "../../session/index.js";
import { signal, stateOf, withState, workflow } from "../../workflow/index.js";
import { all, failed, ran } from "../../workflow/testing/ran.js";
import { routeOf } from "../selector/index.js";
import { allOf, anyOf, chat, handedOver, lasted, maxMessages, mentions, tokens } from "./index.js";
import { enteredIn, says, workIn } from "./testing/work.js";

const writer = says("writer", ["Draft.", "Better draft.", "Best draft.", (_prompt, turn) => `draft ${turn}`]);
const critic = says("critic", ["Too short.", "APPROVE", "Once more.", (_prompt, turn) => `remark ${turn}`]);

describe("a chat", () => {
  it("[C1] lets its members speak in turns, in one conversation on one branch", async () => {
    const session = await ran(chat("review", [writer, critic], { until: mentions("APPROVE") }), "Write.");
    expect(workIn(session)).toEqual([
      "main | writer | Draft.",
      "main | critic | Too short.",
      "main | writer | Better draft.",
      "main | critic | APPROVE",
    ]);
    // The outermost module is the run itself; those inside it are in the order in which they spoke.
    expect(enteredIn(session)).toEqual(["writer", "critic", "writer", "critic"]);
    expect(session.lineage.map(({ kind }) => kind)).toEqual(["start"]);
  });

  it("[C2] says on the record why it ended: nobody goes on", async () => {
    const session = await ran(chat("review", [writer, critic], { until: mentions("APPROVE") }));
    expect(all(session, "route-choose")).toMatchObject([
      {
        selector: "review",
        candidates: [{ name: "writer" }, { name: "critic" }],
        chosen: null,
        why: 'critic said "APPROVE"',
        by: "runtime",
      },
    ]);
    expect(routeOf(session, "review")).toBeNull();
  });

  it("[C3] that has used up its turns ends with a budget-stop, and goes on no further", async () => {
    const session = await ran(chat("review", [writer, critic], { maxTurns: 3 }));
    expect(workIn(session)).toHaveLength(3);
    expect(all(session, "budget-stop")).toMatchObject([{ limit: "turns", allowed: 3, spent: 3 }]);
    expect(routeOf(session, "review")).toBeUndefined();
    const long = await ran(chat("review", [writer, critic]));
    expect(workIn(long)).toHaveLength(50);
  });

  it("[C4] ends when a budget leaves somebody speechless, and not at every turn anew", async () => {
    const rath = openRath({ store: "memory:" });
    const review = chat("review", [writer, critic], { maxTurns: 20 });
    const session = await rath.run(review, rath.start("go"), { name: "talk", budget: { steps: 3 } });
    expect(workIn(session)).toHaveLength(3);
    expect(all(session, "budget-stop")).toMatchObject([{ limit: "steps", allowed: 3 }]);
    expect((await rath.replay("talk", review, { mode: "verify" })).id).toBe(session.id);
    await rath.close();
  });

  it("[C5] passes on what a model or a tool does wrong as its members do", async () => {
    const broken = tool({
      name: "look",
      description: "Looks.",
      input: { type: "object" },
      effect: "read",
      run: () => {
        throw new Error("it is dark");
      },
    });
    const looker = says("looker", [{ tool: "look" }, "I cannot see."], { tools: [broken] });
    const seen = await ran(chat("review", [looker, critic], { maxTurns: 2 }));
    expect(all(seen, "tool-failure")).toMatchObject([{ error: { message: "it is dark" } }]);
    expect(workIn(seen)).toEqual([
      "main | looker | look()",
      "main | looker | I cannot see.",
      "main | critic | Too short.",
    ]);
    const down = says("down", [new Error("no such model")], { retry: { attempts: 1 } });
    const { error, session } = await failed(chat("review", [writer, down]));
    expect(error).toMatchObject({ code: "model-failed" });
    expect(workIn(session)).toEqual(["main | writer | Draft."]);
  });

  it("[C6] goes on after a kill where it was, and asks nobody twice", async () => {
    const store = await storeOf();
    let asked = 0;
    const person = signal("person");
    const told = workflow("person", { person }, async (session, parts) => {
      const { session: heard, value } = await parts.person.call(session);
      return heard.say(String(value), { by: "user:ada" });
    });
    const counting = says("writer", [
      (_prompt, turn) => {
        asked += 1;
        return `draft ${turn}`;
      },
    ]);
    const make = () => chat("review", [counting, told], { until: mentions("thanks"), maxTurns: 8 });
    const first = openRath({ store });
    expect((await first.run(make(), first.start("go"), { name: "talk" })).fact.type).toBe("run-suspend");
    await first.signal("talk", "person", "more", "user:ada");
    const second = openRath({ store });
    await second.resume("talk", make());
    await second.signal("talk", "person", "thanks", "user:ada");
    const session = await openRath({ store }).resume("talk", make());
    expect(session.transcript.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "user",
      "assistant",
      "user",
    ]);
    expect(asked).toBe(2);
    expect(all(session, "route-choose")).toMatchObject([{ chosen: null, why: 'user:ada said "thanks"' }]);
    expect((await second.replay("talk", make(), { mode: "verify" })).id).toBe(session.id);
  });

  it("[C7] is a module like others: frozen, described, changed by withState, refused when it makes no sense", async () => {
    const review = chat("review", [writer, critic], { maxTurns: 4 });
    expect(Object.isFrozen(review)).toBe(true);
    expect(() => chat("review", [writer, critic, writer])).toThrow('two of its members are called "writer"');
    expect(stateOf(review)).toMatchObject({ maxTurns: 4, "writer.maxSteps": 50 });
    const shorter = withState(review, { maxTurns: 1, "writer.instructions": "Be brief." });
    const session = await ran(shorter);
    expect(workIn(session)).toHaveLength(1);
    expect(all(session, "agent-configure")).toMatchObject([{ instructions: "Be brief." }]);
    const refused = (make: () => unknown) =>
      expect(make).toThrow(expect.objectContaining({ code: "module-refused" }));
    refused(() => chat("", [writer, critic]));
    refused(() => chat("review", [writer]));
    refused(() => chat("review", [writer, {} as Module]));
    refused(() => chat("review", [writer, critic], { maxTurns: 0 }));
    refused(() => chat("review", [writer, critic], { until: "DONE" as never }));
    expect(() => chat("review", [writer, critic], { maxTurn: 3 } as never)).toThrow(
      expect.objectContaining({ hint: 'did you mean "maxTurns"?' }),
    );
  });
});

describe("an ending", () => {
  const talk = (until: Parameters<typeof chat>[2] & object) => chat("review", [writer, critic], until);
  const why = (session: Session) => all(session, "route-choose").at(-1)?.why;

  it("[E1] counts messages that were said in the chat", async () => {
    const session = await ran(talk({ until: maxMessages(3) }));
    expect([workIn(session).length, why(session)]).toEqual([3, "3 messages were said"]);
  });

  it("[E2] looks for words that were said in the chat, and not in what was asked before", async () => {
    const session = await ran(talk({ until: mentions("APPROVE") }), "Say APPROVE when it is good.");
    expect([workIn(session).length, why(session)]).toEqual([4, 'critic said "APPROVE"']);
  });

  it("[E3] counts the tokens of the chat", async () => {
    const frugal = (name: string) => says(name, [() => ({ text: name, usage: { input: 10, output: 5 } })]);
    const rath = openRath({ store: "memory:" });
    const before = await rath.run(frugal("before"), rath.start("go"));
    const two = chat("two", [frugal("a"), frugal("b")], { until: tokens(40) });
    const session = await rath.run(two, before.say("talk"));
    expect(workIn(session)).toHaveLength(4);
    expect(why(session)).toBe("45 tokens were used, of 40");
    await rath.close();
  });

  it("[E4] sees that an agent of the chat handed over to somebody", async () => {
    const person = says("person", ["I see to it."]);
    const clerk = agent({
      name: "clerk",
      model: scripted("Hm.", { tool: "transfer_to_person" }),
      handoffs: [person],
    });
    const session = await ran(chat("desk", [clerk, critic], { until: handedOver("person") }));
    expect(workIn(session).at(-1)).toBe("main | person | I see to it.");
    expect(
      all(session, "route-choose").map(({ selector, chosen, why: reason }) => [selector, chosen, reason]),
    ).toEqual([
      ["clerk", "person", undefined],
      ["desk", null, "it was handed over to person"],
    ]);
  });

  it("[E5] measures time by the record, so that a replay ends at the same turn", async () => {
    let now = Date.parse("2030-01-01T00:00:00Z");
    const rath = openRath({ store: "memory:", clock: () => now });
    const slow = says("slow", [
      (_prompt, turn) => {
        now += 60_000;
        return `minute ${turn}`;
      },
    ]);
    const review = chat("review", [slow, critic], { until: lasted(150_000) });
    const session = await rath.run(review, rath.start("go"), { name: "talk" });
    expect(workIn(session).filter((work) => work.includes("minute"))).toHaveLength(3);
    expect(why(session)).toMatch(/^it lasted \d+ ms, of 150000$/);
    now = Date.parse("2040-01-01T00:00:00Z");
    expect((await rath.replay("talk", review, { mode: "verify" })).id).toBe(session.id);
    await rath.close();
  });

  it("[E6] is put together with others, and what held once still holds", async () => {
    const both = await ran(talk({ until: allOf(mentions("short"), maxMessages(3)) }));
    expect([workIn(both).length, why(both)]).toEqual([3, 'critic said "short" and 3 messages were said']);
    const either = await ran(talk({ until: anyOf(mentions("short"), maxMessages(3)) }));
    expect([workIn(either).length, why(either)]).toEqual([2, 'critic said "short"']);
  });

  it("[E7] may be any function of the session, and an invalid answer is refused and not taken for a yes", async () => {
    const enough = (session: Session): boolean => session.transcript.length >= 3;
    expect(why(await ran(talk({ until: enough })))).toBe("enough");
    expect(why(await ran(talk({ until: (session) => session.usage.calls > 1 })))).toBe("its condition holds");
    expect(why(await ran(talk({ until: anyOf((session) => session.usage.calls > 1 && "two calls") })))).toBe(
      "two calls",
    );
    for (const until of [async () => true, () => 1, anyOf((() => Promise.resolve(true)) as never)]) {
      const { error } = await failed(talk({ until: until as never }));
      expect(error).toMatchObject({ code: "rule-refused" });
    }
    for (const make of [
      () => maxMessages(0),
      () => mentions(""),
      () => tokens(0.5),
      () => lasted(-1),
      () => anyOf(),
      () => allOf(3 as never),
      () => handedOver(""),
    ])
      expect(make).toThrow(expect.objectContaining({ code: "module-refused" }));
  });
});
