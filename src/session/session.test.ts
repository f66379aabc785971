import { inspect } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import {
  diff,
  FactError,
  type FactInput,
  graph,
  keepingView,
  lineageView,
  pendingView,
  placementView,
  RathError,
  type Role,
  Session,
  transcriptView,
} from "./index.js";
import { sampleFacts } from "./testing/facts.js";
import { reply } from "./testing/program.js";
import { answers, rebuilt } from "./testing/record.js";

const trunk = Session.start("task").append(reply(100)).to("local", { workspace: "." });

/** A value and every object that can be reached from it. */
function reachable(value: unknown, found = new Set<object>()): Set<object> {
  if (typeof value !== "object" || value === null || found.has(value)) return found;
  found.add(value);
  for (const part of Object.values(value)) reachable(part, found);
  return found;
}

describe("the value", () => {
  it("[V1] append, say, fork, merge, to and detach leave the original alone", () => {
    const before = answers(trunk);
    trunk.say("more").fork("a").to("cube").merge(trunk.fork("b"), { adopt: "ours" }).detach();
    expect(answers(trunk)).toEqual(before);
  });

  it("[V2] a session, its fact and every answer are frozen all the way down", () => {
    const session = trunk
      .say([{ type: "text", text: "hi" }])
      .append({ type: "tool-call", name: "t", input: { a: [{}] } })
      .fork("x");
    for (const one of [session, session.merge(trunk.fork("y")), session.detach(), rebuilt(session)]) {
      expect(Object.isFrozen(one)).toBe(true);
      const { fact, transcript, usage, placement, pending, lineage } = one;
      const states = [
        one.view(transcriptView).open,
        one.view(placementView),
        one.view(keepingView),
        one.recent(2),
        one.recent(0),
        one.parentIds,
        graph(one),
      ];
      const lists = [
        one.parents,
        ...Object.values(diff(one, trunk)),
        diff(one, trunk),
        one.view(lineageView),
      ];
      for (const list of lists) expect(Object.isFrozen(list)).toBe(true);
      expect(one.lineage).toBe(one.lineage);
      for (const answer of [fact, transcript, usage, placement, pending, lineage, ...states]) {
        for (const part of reachable(answer)) expect(Object.isFrozen(part)).toBe(true);
      }
      expect(() => Object.assign(one, { depth: 0 })).toThrow(TypeError);
      expect(() => Object.assign(one, { line: "" })).toThrow(TypeError);
    }
  });

  it("[V2] what views loaded from a snapshot hold is frozen as well", () => {
    const session = trunk.fork("a").append({ type: "tool-call", name: "t", input: null });
    const saved = JSON.parse(JSON.stringify(transcriptView.save?.(session.view(transcriptView), session)));
    const loaded = transcriptView.load?.(saved);
    for (const entry of [...(loaded?.settled ?? []), ...(loaded?.open ?? [])])
      for (const part of reachable(entry)) expect(Object.isFrozen(part)).toBe(true);
    expect(Object.isFrozen(placementView.load?.({ sandbox: "local" }))).toBe(true);
    expect(Object.isFrozen(pendingView.load?.([{ id: "i", type: "note", what: "w" }]).log.at(0))).toBe(true);
  });

  it("[V3] changing what was passed in changes nothing", () => {
    const input = { deep: { list: [1, { two: 2 }] } };
    const fact = { type: "tool-call", name: "t", input } as {
      type: "tool-call";
      name: string;
      input: typeof input;
    };
    const content = [{ type: "text" as const, text: "a" }];
    const session = trunk.append(fact).say(content);
    fact.name = "changed";
    input.deep.list.push(3);
    (content[0] as { text: string }).text = "changed";
    expect(session.parents[0]?.fact).toMatchObject({ name: "t", input: { deep: { list: [1, { two: 2 }] } } });
    expect(session.fact).toMatchObject({ content: [{ type: "text", text: "a" }] });
  });

  it("[V3] what is checked is what is kept: each field is read once, and only own fields count", () => {
    let reads = 0;
    // biome-ignore format: one thought
    const shifty = { type: "message-say", role: "user", get content() { return reads++ === 0 ? "text" : 7; } };
    expect(trunk.append(shifty as unknown as FactInput).fact).toMatchObject({ content: "text" });
    expect(reads).toBe(1);
    const inherited = Object.assign(Object.create({ content: "from the prototype" }), {
      type: "message-say",
      role: "user",
    });
    expect(() => trunk.append(inherited)).toThrow(FactError);
  });

  it("[V5] the host rides along, is inherited, and is no part of the record", () => {
    const host = { name: "runtime" };
    const options = { nonce: "n", at: "2026-01-01T00:00:00Z", secret: new Uint8Array(32) };
    const hosted = Session.start("hi", { ...options, host });
    expect(hosted.fork("a").say("b").merge(hosted.fork("c")).detach().host).toBe(host);
    expect(hosted.id).toBe(Session.start("hi", options).id);
    expect(Session.start("hi").host).toBeUndefined();
    expect(hosted.merge(Session.start("erasable", { inline: 0 })).host).toBe(host);
  });

  it("[V6] every fact says when and by whom", () => {
    const { fact } = Session.start("hi").say("x");
    expect(fact.by).toBe("user");
    expect(new Date(fact.at).toISOString()).toBe(fact.at);
    const at = "2026-02-03T04:05:06Z";
    for (const one of [
      trunk.say("x", { by: "agent:a", at }),
      trunk.fork("f", { by: "agent:a", at }),
      trunk.to("local", {}, { by: "agent:a", at }),
      trunk.detach({ by: "agent:a", at }),
    ]) {
      expect(one.fact).toMatchObject({ by: "agent:a", at });
      expect(JSON.parse(one.line).fact).toMatchObject({ by: "agent:a", at });
    }
  });

  it.each(Object.entries(sampleFacts("words", "a".repeat(64))))(
    "[V7] a %s is kept with every field",
    (_, fact) => {
      const session = trunk.append(fact);
      expect(session.fact).toMatchObject(fact);
      expect(rebuilt(session).fact).toEqual(session.fact);
    },
  );

  it("[V8] no registry holds sessions: what nobody holds is collected", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    let session: Session | undefined = Session.start("gone").say("soon");
    void [session.transcript, session.usage, session.lineage, session.id];
    const gone = new WeakRef(session);
    session = undefined;
    for (let tries = 0; tries < 20 && gone.deref() !== undefined; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      collect();
    }
    expect(gone.deref()).toBeUndefined();
  });

  it("[V9] only start, detach and merge say what parents a session has", () => {
    const erasable = Session.start("x", { inline: 0 });
    for (const fact of [
      { type: "session-start", nonce: "n" },
      { type: "session-detach", nonce: "n", from: trunk.id, messages: [] },
      { type: "branch-merge", adopt: "ours" },
    ]) {
      expect(() => erasable.append(fact as FactInput)).toThrow(FactError);
    }
    expect(erasable.view(keepingView).inline).toBe(0);
  });

  it("[E1] a fact that is not of the union is refused with what is wrong and what to do", () => {
    // biome-ignore format: a table
    const bad: unknown[] = [
      null, "text", undefined, [], {}, { type: "toString" }, { type: "__proto__" }, { type: "tool-cal", name: "x" }, { type: 5 },
      { type: "message-say", role: "user" }, { type: "message-say", role: "user", content: 5 }, { type: "message-say", role: "user", content: "", extra: 1 },
      { type: "tool-result", of: "short", output: 1 }, { type: "memory-write", space: "s", text: "t", scope: "u", source: "s", because: [] },
      { type: "memory-write", space: "s", text: "t", scope: "u", source: "s", because: ["x"] },
      { type: "note", by: "nobody" }, { type: "note", by: "user:" }, { type: "note", at: "yesterday" }, { type: "note", at: "1" }, { type: "note", seq: 0.5 }, { type: "note", run: 1 },
      { type: "model-reply", of: "a".repeat(64), content: "", finish: "stop", usage: {} }, { type: "model-reply", of: "a".repeat(64), content: "", finish: "stop", usage: null },
    ];
    for (const fact of bad) {
      const refusal = caught(() => trunk.append(fact as FactInput));
      expect(refusal).toBeInstanceOf(FactError);
      expect(refusal).toMatchObject({
        code: "fact-refused",
        hint: expect.stringMatching(/\w/),
        message: expect.stringContaining("hint:"),
      });
    }
    expect(trunk.say("still usable").transcript.at(-1)).toMatchObject({ content: "still usable" });
  });

  it("[E3] words that the union does not know, and parts that are none, are refused", () => {
    const id = "a".repeat(64);
    const reply = {
      type: "model-reply",
      of: id,
      content: "",
      finish: "any word",
      usage: { input: 0, output: 0 },
    };
    const by = "user:ada";
    trunk.append(reply as FactInput);
    // biome-ignore format: a table
    const bad: unknown[] = [
      { type: "message-say", role: "admin", content: "" }, { type: "message-say", role: "toString", content: "" }, { type: "message-say", role: "user", content: [5] },
      { type: "message-say", role: "user", content: [{ type: "video" }] }, { type: "message-say", role: "user", content: [{ type: "text" }] }, { type: "message-say", role: "user", content: [{ type: "tool-call", call: "c", name: "n" }] },
      { type: "tool-call", name: "t", input: 1, effect: "boom" }, { type: "approval-give", of: id, decision: "maybe", digest: id, by },
      { type: "workspace-change", before: null, after: id, paths: [{ path: "a", change: "rename" }] }, { type: "workspace-change", before: 5, after: id, paths: [] },
      { type: "tool-failure", of: id, error: "boom" }, { type: "tool-failure", of: id, error: { name: "E" } }, { type: "run-end", of: id, error: [] },
      { type: "budget-set", limits: 5 }, { type: "budget-set", limits: { tokens: "many" } }, { type: "budget-set", limits: [1] },
      { type: "content-erase", digests: ["x"], why: "", by }, { type: "run-suspend", of: id, waiting: ["x"] }, { type: "memory-revoke", of: id, because: [5], why: "" },
      { type: "route-choose", selector: "s", candidates: ["a"], chosen: null }, { type: "route-choose", selector: "s", candidates: [{}], chosen: null }, { type: "route-choose", selector: "s", candidates: [], chosen: 5 },
      { type: "memory-read", space: "s", query: 1, hits: [{ memory: "x", score: 1 }] },
      { ...reply, usage: { input: -1, output: 0 } }, { ...reply, usage: { input: 0, output: 0, cached: -1 } }, { ...reply, usage: [] },
    ];
    for (const fact of bad)
      expect(() => trunk.append(fact as FactInput), JSON.stringify(fact)).toThrow(FactError);
  });

  it("[E4] arguments that are none of ours are typed errors", () => {
    const any = trunk as unknown as { [method: string]: (...values: unknown[]) => unknown };
    const call =
      (method: string, ...values: unknown[]) =>
      () =>
        any[method]?.(...values);
    // biome-ignore format: a table
    const attempts = [
      ...[undefined, null, {}, "x", 5, [null], [trunk.fork("a"), 5], []].map((other) => call("merge", other)), ...[undefined, null, {}, "x"].map((other) => call("descendsFrom", other)),
      ...[undefined, null, {}, 5].map((view) => call("view", view)), ...[undefined, null, 5, "x", () => {}].map((fact) => call("append", fact)),
      call("fork", 5), call("fork", null), call("fork", "a", null), call("fork", "a", 5), call("to", 5), call("to"), call("to", "a", undefined, null), call("say", 5), call("say"), call("say", "a", null), call("detach", null), call("merge", trunk.fork("a"), null),
      call("merge", trunk.fork("a"), { adopt: null }), call("merge", trunk.fork("a"), { adopt: 1n }), call("merge", trunk.fork("a"), { adopt: {} }),
      () => Session.start(5 as never), () => Session.start(null as never), () => Session.start("a", null as never), () => Session.start("a", { nonce: 5 } as never),
      ...[undefined, null, {}, "x", [null]].map((heads) => () => graph(heads as never)), () => diff(trunk, undefined as never), () => diff(null as never, trunk),
    ];
    for (const attempt of attempts) {
      const error = caught(attempt) as RathError;
      expect(error, attempt.toString()).toBeInstanceOf(RathError);
      expect(error.hint).toMatch(/\w/);
    }
    const told = caught(call("merge", { session: trunk, value: 1 })) as RathError;
    expect(told.message).toContain("{ session, value }");
    expect(told.hint).toContain("(await step.call(session)).session");
    for (const nonsense of [undefined, null, 5, {}, { workspace: "./repo" }, [], true]) {
      const error = caught(call("to", nonsense)) as RathError;
      expect(error, String(nonsense)).toMatchObject({
        code: "place-refused",
        hint: expect.stringContaining('session.to("local", { workspace: "./repo" })'),
      });
    }
    const provider = { name: "mine", create: () => {} };
    expect(caught(call("to", provider))).toMatchObject({
      code: "place-refused",
      hint: expect.stringContaining("openRath({ sandboxes: { mine: provider } })"),
    });
  });

  it("[V10] who did it is never left to a guess that would be wrong", () => {
    const expected = {
      user: ["branch-fork", "placement-change", "budget-set", "note", "message-say"],
      agent: [
        "agent-configure",
        "model-call",
        "tool-call",
        "step-call",
        "timer-set",
        "signal-await",
        "memory-read",
        "route-choose",
        "skill-activate",
        "context-compress",
      ],
      service: ["model-reply", "model-failure"],
      tool: [
        "tool-result",
        "tool-failure",
        "step-result",
        "step-failure",
        "command-run",
        "workspace-read",
        "workspace-change",
        "validation-report",
      ],
      workflow: ["gate-check"],
      runtime: [
        "effect-start",
        "effect-fail",
        "effect-doubt",
        "timer-fire",
        "answer-take",
        "wait-cancel",
        "run-start",
        "run-cancel",
        "run-suspend",
        "run-end",
        "module-enter",
        "module-exit",
        "budget-stop",
        "policy-set",
        "policy-decide",
        "approval-ask",
        "approval-use",
        "record-import",
        "sandbox-open",
        "sandbox-suspend",
        "sandbox-resume",
        "sandbox-lose",
        "sandbox-close",
        "workspace-import",
        "workspace-merge",
      ],
    };
    const facts = sampleFacts("words", "a".repeat(64));
    for (const [by, types] of Object.entries(expected))
      for (const type of types)
        expect(trunk.append(facts[type as keyof typeof facts]).fact, type).toMatchObject({ by });
    const decisions = [
      "approval-give",
      "content-erase",
      "head-sign",
      "effect-settle",
      "signal-give",
      "workspace-resolve",
      "memory-space",
      "memory-write",
      "memory-revise",
      "memory-revoke",
      "memory-promote",
      "memory-expire",
      "memory-link",
      "memory-rollback",
    ] as const;
    expect(Object.values(expected).flat().length + decisions.length).toBe(Object.keys(facts).length);
    for (const type of decisions) {
      expect(trunk.append(facts[type]).fact.by).toBe("user:ada");
      const refusal = caught(() => trunk.append({ ...facts[type], by: undefined } as never));
      expect(refusal).toBeInstanceOf(FactError);
      expect(refusal).toMatchObject({ hint: expect.stringContaining("say who") });
    }
    const said = (role: Role): string => trunk.say("x", { role }).fact.by;
    expect([said("user"), said("assistant"), said("system")]).toEqual(["user", "agent", "runtime"]);
    expect([trunk.fact.by, trunk.detach().fact.by, trunk.fork("a").merge(trunk).fact.by]).toEqual([
      "user",
      "user",
      "user",
    ]);
  });

  it("[E2] errors are JSON: a code that never changes, a hint and data", () => {
    const error = caught(() => Session.start("x", { inline: -1 })) as RathError;
    expect(error).toBeInstanceOf(RathError);
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      name: "RathError",
      code: "option-refused",
      message: error.message,
      hint: error.hint,
      data: {},
    });
    expect(inspect(error).match(/hint/g)).toHaveLength(1);
    expect(error).toMatchObject({ hint: expect.stringMatching(/\w/) });
    for (const inline of [0.5, Number.NaN, Number.POSITIVE_INFINITY, "4" as unknown as number])
      expect(() => Session.start("x", { inline })).toThrow(RathError);
  });

  it("[W3] recent gives the end of the conversation", () => {
    const session = Session.start("a").say("b").say("c");
    expect(session.recent(2)).toEqual(session.transcript.slice(1));
    expect(session.recent(0)).toEqual([]);
    expect(session.recent()).toEqual(session.transcript);
  });
});

function caught(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}
