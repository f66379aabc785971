import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { openRath } from "../runtime/index.js";
import type { Message, Session } from "../session/index.js";
import { sequence, workflow } from "../workflow/index.js";
import { all, ran, saidIn } from "../workflow/testing/ran.js";
import { agent } from "./index.js";
import { scripted } from "./model/index.js";
import { add, answersOf, broken } from "./testing/tools.js";
import { moduleTool, tool } from "./tool/index.js";

describe("tools", () => {
  it("[A48] leave evidence in their own name, not in that of a person", async () => {
    const check = tool({
      name: "check",
      description: "Checks.",
      input: z.object({}),
      effect: "read",
      async run(_, context) {
        context.record({ type: "note", kind: "seen" });
        context.record({ type: "note", kind: "told", by: "user:ada" });
        return "checked";
      },
    });
    const ended = await ran(
      agent({ name: "a", model: scripted({ tool: "check", input: {} }, "ok"), tools: [check] }),
    );
    expect(all(ended, "note").map(({ kind, by }) => [kind, by])).toEqual([
      ["seen", "tool:check"],
      ["told", "user:ada"],
    ]);
  });

  it("[T1] run side by side, and one after the other where they conflict", async () => {
    const log: string[] = [];
    const wait = tool({
      name: "wait",
      description: "Waits.",
      input: z.object({ id: z.string(), for: z.number(), on: z.string().optional() }),
      effect: "read",
      conflicts: ({ on }) => (on === undefined ? [] : [on]),
      async run({ id, for: milliseconds }) {
        log.push(`+${id}`);
        await pause(milliseconds);
        log.push(`-${id}`);
        return id;
      },
    });
    const call = (id: string, milliseconds: number, on?: string) => ({
      tool: "wait",
      input: { id, for: milliseconds, ...(on !== undefined && { on }) },
      id,
    });
    const free = await ran(
      agent({
        name: "a",
        model: scripted({ call: [call("slow", 30), call("fast", 1)] }, "ok"),
        tools: [wait],
      }),
    );
    expect(log).toEqual(["+slow", "+fast", "-fast", "-slow"]);
    expect(all(free, "tool-call").map(({ call: id }) => id)).toEqual(["slow", "fast"]);
    expect(all(free, "tool-result").map(({ output }) => output)).toEqual(["fast", "slow"]);
    expect(outcomes(free).map(({ output }) => output)).toEqual(["slow", "fast"]);
    log.length = 0;
    await ran(
      agent({
        name: "a",
        model: scripted(
          { call: [call("slow", 20, "file"), call("fast", 1, "file"), call("other", 1)] },
          "ok",
        ),
        tools: [wait],
      }),
    );
    expect(log.slice(0, 2)).toEqual(["+slow", "+other"]);
    expect(log.indexOf("+fast")).toBeGreaterThan(log.indexOf("-slow"));
  });

  it("[T2] fail in words that the model reads", async () => {
    const late = tool({
      name: "late",
      description: "Takes too long.",
      input: { type: "object" },
      effect: "read",
      timeout: 5,
      run: (_input, { signal }) => pause(60_000, "late", { signal }),
    });
    const odd = tool({
      name: "odd",
      description: "Cannot say what it conflicts with.",
      input: { type: "object" },
      effect: "read",
      conflicts: () => {
        throw new Error("no idea");
      },
      run: () => "never",
    });
    let told: unknown;
    const session = await ran(
      agent({
        name: "a",
        model: scripted(
          {
            call: [
              { tool: "ad", input: {} },
              { tool: "", input: {} },
              { tool: "add", input: { a: "one" } },
              { tool: "broken" },
              { tool: "late" },
              { tool: "odd" },
              { tool: "add", input: { a: 1, b: 2 } },
            ],
          },
          (prompt) => {
            told = prompt.at(-1);
            return "I see.";
          },
        ),
        tools: [add, broken, late, odd],
      }),
    );
    expect(all(session, "tool-failure")).toHaveLength(6);
    expect(outcomes(session).map(({ error, output }) => error?.code ?? error?.message ?? output)).toEqual([
      "tool-unknown",
      "tool-unknown",
      "tool-input-refused",
      "it is broken",
      "timeout",
      "tool-broken",
      3,
    ]);
    expect(JSON.stringify(told)).toMatch(/There is no tool[\s\S]*it is broken[\s\S]*no idea/);
    expect(saidIn(session).at(-1)).toBe("I see.");
    expect(answersOf(session)).toBe("whole");
  });

  it("[T2] are tried again with the same key where they say so", async () => {
    const keys: string[] = [];
    const flaky = tool({
      name: "flaky",
      description: "Works the second time.",
      input: { type: "object" },
      effect: "idempotent",
      key: (input) => `order ${JSON.stringify(input)}`,
      retry: { attempts: 2, wait: 1, when: () => true },
      run: (_input, { key, attempt }) => {
        keys.push(key);
        if (attempt === 1) throw new Error("busy");
        return "done";
      },
    });
    const session = await ran(
      agent({ name: "a", model: scripted({ tool: "flaky", input: { n: 7 } }, "ok"), tools: [flaky] }),
    );
    expect(keys).toEqual(['order {"n":7}', 'order {"n":7}']);
    expect(all(session, "tool-call")[0]?.key).toBe('order {"n":7}');
    expect(all(session, "effect-fail")).toMatchObject([{ attempt: 1, error: { message: "busy" } }]);
    expect(outcomes(session)).toMatchObject([{ output: "done" }]);
  });

  it.each([
    ["happened", { value: "found" }, ["run"], "found"],
    ["did not happen", "again", ["run", "run"], "paid"],
  ] as const)("[T7] find out after a crash that a write %s", async (_what, finding, deeds, output) => {
    const keeper = openRath({ store: "memory:" });
    const store = await keeper.store();
    const log: string[] = [];
    let begin = (): void => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const pay = tool({
      name: "pay",
      description: "Pays.",
      input: { type: "object" },
      effect: "write",
      run: async () => {
        log.push("run");
        begin();
        // The first process never hears how it came out.
        if (log.length === 1) await new Promise(() => {});
        return "paid";
      },
      reconcile: async () => finding,
    });
    const payer = agent({ name: "payer", model: scripted({ tool: "pay" }, "ok"), tools: [pay] });
    const first = openRath({ store });
    const lost = first.run(payer, first.start("Pay."), { name: "pay" }).catch((error: unknown) => error);
    await begun;
    await first.close();
    await lost;
    const second = openRath({ store });
    const session = await second.resume("pay", payer);
    expect(log).toEqual(deeds);
    expect(outcomes(session)).toMatchObject([{ output }]);
    expect((await second.replay("pay", payer, { mode: "verify" })).id).toBe(session.id);
    await second.close();
    await keeper.close();
  });

  it("[T8] that wrote are not called again for their output", async () => {
    let paid = 0;
    const again = { attempts: 3, wait: 1, when: () => true };
    for (const [effect, times] of [
      ["write", 1],
      ["idempotent", 3],
    ] as const) {
      paid = 0;
      const pay = tool({
        name: "pay",
        description: "Pays.",
        input: { type: "object" },
        effect,
        retry: again,
        run: () => ({ paid: BigInt(++paid) }),
      });
      const session = await ran(agent({ name: "a", model: scripted({ tool: "pay" }, "ok"), tools: [pay] }));
      expect(paid).toBe(times);
      expect(all(session, "tool-failure")).toMatchObject([
        {
          error: {
            code: "tool-output-refused",
            message: expect.stringContaining('"pay" did its work; only its output cannot be used'),
            data: { done: true, issues: [{ path: "paid" }] },
          },
        },
      ]);
    }
    const when = tool({
      name: "when",
      description: "Says when.",
      input: { type: "object" },
      effect: "write",
      run: () => ({ at: new Date(0) }),
    });
    const session = await ran(agent({ name: "a", model: scripted({ tool: "when" }, "ok"), tools: [when] }));
    expect(all(session, "tool-result")).toMatchObject([{ output: { at: "1970-01-01T00:00:00.000Z" } }]);
  });

  it("[T2] take a call without input as one with an empty input", async () => {
    const ping = tool({
      name: "ping",
      description: "Pings.",
      input: { type: "object" },
      effect: "pure",
      run: () => "pong",
    });
    const session = await ran(agent({ name: "a", model: scripted({ tool: "ping" }, "ok"), tools: [ping] }));
    expect(outcomes(session)[0]?.output).toBe("pong");
  });

  it.each(["length", "content-filter", "error"])(
    "[T3] are not called by a reply that ended in %s",
    async (finish) => {
      let deeds = 0;
      const deed = tool({
        name: "deed",
        description: "Does it.",
        input: { type: "object" },
        effect: "write",
        run: () => {
          deeds += 1;
          return "done";
        },
      });
      const session = await ran(
        agent({
          name: "a",
          model: scripted(
            { text: "I will", tools: [{ tool: "deed", input: { half: true } }], finish },
            "Well.",
          ),
          tools: [deed],
        }),
      );
      expect(deeds).toBe(0);
      expect(all(session, "tool-failure")).toMatchObject([{ error: { code: "reply-incomplete" } }]);
      expect(all(session, "effect-start")).toEqual([]);
      expect(saidIn(session).at(-1)).toBe("Well.");
      expect(answersOf(session)).toBe("whole");
    },
  );

  it("[T3] are not called with an input that is not JSON", async () => {
    const half = scripted({ tool: "add" }, "Well.");
    const model = {
      ...half,
      async doGenerate(options: Parameters<typeof half.doGenerate>[0]) {
        const generated = await half.doGenerate(options);
        return {
          ...generated,
          content: generated.content.map((part) =>
            part.type === "tool-call" ? { ...part, input: '{"a": 1, "b": ' } : part,
          ),
        };
      },
    };
    const session = await ran(agent({ name: "a", model, tools: [add] }));
    expect(all(session, "tool-failure")).toMatchObject([{ error: { code: "call-broken" } }]);
    expect(saidIn(session).at(-1)).toBe("Well.");
  });

  it.each(["approve", "reject"] as const)("[T4] wait for a person, who may %s", async (decide) => {
    const paid: unknown[] = [];
    const pay = tool({
      name: "pay",
      description: "Pays.",
      input: z.object({ amount: z.number() }),
      effect: "write",
      approval: ({ amount }) => amount > 10,
      run: (input) => {
        paid.push(input);
        return "paid";
      },
    });
    let told: unknown;
    const payer = agent({
      name: "payer",
      model: scripted(
        {
          call: [
            { tool: "pay", input: { amount: 5 } },
            { tool: "pay", input: { amount: 50 } },
          ],
        },
        (prompt) => {
          told = prompt.at(-1);
          return "Very well.";
        },
      ),
      tools: [pay],
    });
    const rath = openRath({ store: "memory:" });
    const waits = await rath.run(payer, rath.start("Pay."), { name: "pay" });
    expect(waits.fact.type).toBe("run-suspend");
    expect(paid).toEqual([{ amount: 5 }]);
    const asked = (await rath.pending("pay")).filter(({ shown }) => shown !== undefined);
    expect(asked.map(({ shown }) => shown)).toEqual([{ tool: "pay", input: { amount: 50 } }]);
    await rath[decide]("pay", { by: "user:ada", why: "too much for a lunch" });
    const session = await rath.resume("pay", payer);
    expect(paid).toEqual(decide === "approve" ? [{ amount: 5 }, { amount: 50 }] : [{ amount: 5 }]);
    expect(JSON.stringify(told).includes("too much for a lunch")).toBe(decide === "reject");
    expect(saidIn(session).at(-1)).toBe("Very well.");
    expect(answersOf(session)).toBe("whole");
    expect((await rath.replay("pay", payer, { mode: "verify" })).id).toBe(session.id);
    await rath.close();
  });

  it("[T6] are answered, whatever happens", async () => {
    const session = await ran(
      agent({
        name: "a",
        model: scripted(
          {
            call: [
              { tool: "add", input: { a: 1, b: 2 }, id: "same" },
              { tool: "broken", id: "same" },
            ],
          },
          {
            call: [
              { tool: "nobody", id: "" },
              { tool: "add", input: null, id: "x" },
            ],
          },
          { text: "cut", tools: [{ tool: "add", id: "x" }], finish: "length" },
          "done",
        ),
        tools: [add, broken],
        maxSteps: 4,
      }),
    );
    expect(answersOf(session)).toBe("whole");
    expect(session.pending).toEqual([]);
  });

  it("[T6] are answered when the time is up before they begin", async () => {
    let clock = Date.parse("2030-01-01");
    let added = 0;
    const slow = agent({
      name: "slow",
      model: scripted(() => {
        clock += 1_000;
        return { call: [{ tool: "count" }, { tool: "nobody" }] };
      }),
      tools: [
        tool({
          name: "count",
          description: "Counts.",
          input: { type: "object" },
          effect: "read",
          run: () => ++added,
        }),
      ],
      budget: { milliseconds: 500 },
    });
    const session = await ran(slow, "go", { clock: () => clock });
    expect(added).toBe(0);
    expect(all(session, "budget-stop")).toMatchObject([{ limit: "milliseconds", allowed: 500 }]);
    expect(all(session, "tool-failure").map(({ error }) => error.code)).toEqual([
      "budget-exceeded",
      "budget-exceeded",
    ]);
    expect(answersOf(session)).toBe("whole");
    expect(session.pending).toEqual([]);
  });
});

describe("agents as tools", () => {
  const seen: unknown[][] = [];
  const expert = (options: { readonly context?: "own" | "all" } = {}) =>
    agent({
      name: "expert",
      description: "Knows numbers.",
      instructions: "Be exact.",
      model: scripted({ tool: "add", input: { a: 20, b: 22 } }, (prompt) => {
        seen.push([...prompt]);
        return "It is 42.";
      }),
      tools: [add],
      ...options,
    });

  it("[T5] work on a fork, see their task, and answer", async () => {
    seen.length = 0;
    const boss = agent({
      name: "boss",
      model: scripted(
        { text: "Let me ask.", tools: [{ tool: "expert", input: { task: "20 + 22?" } }] },
        "He says 42.",
      ),
      tools: [expert()],
    });
    const session = await ran(boss, "A secret, and a question.");
    expect(JSON.stringify(seen[0])).toContain("20 + 22?");
    expect(JSON.stringify(seen[0])).not.toContain("secret");
    expect(outcomes(session)).toMatchObject([{ name: "expert", output: "It is 42." }]);
    expect(saidIn(session)).not.toContain("It is 42.");
    const result = [...session.history()].find(
      ({ fact }) => fact.type === "tool-result" && fact.output === "It is 42.",
    );
    expect(result?.parents).toHaveLength(2);
    expect(result?.parents[1]?.fact.type).toBe("module-exit");
    expect(session.usage.calls).toBe(4);
    expect(
      all(session, "agent-configure").map(({ agent: who, since }) => [who, since !== undefined]),
    ).toEqual([
      ["boss", false],
      ["expert", true],
    ]);
    expect(answersOf(session)).toBe("whole");
  });

  it("[T5] leave those who come after them the whole conversation", async () => {
    let told = "";
    const boss = agent({
      name: "boss",
      model: scripted({ tool: "expert", input: { task: "20 + 22?" } }, "He says 42."),
      tools: [expert()],
    });
    const after = agent({
      name: "after",
      model: scripted((prompt) => {
        told = JSON.stringify(prompt);
        return "ok";
      }),
    });
    await ran(sequence([boss, after]), "A secret, and a question.");
    expect(told).toMatch(/A secret[\s\S]*He says 42/);
  });

  it("[T5] see everything where they ask for it", async () => {
    seen.length = 0;
    await ran(
      agent({
        name: "boss",
        model: scripted({ tool: "expert", input: { task: "20 + 22?" } }, "ok"),
        tools: [expert({ context: "all" })],
      }),
      "A secret, and a question.",
    );
    expect(JSON.stringify(seen[0])).toContain("secret");
  });

  it("[T5] may be workflows, run side by side, and go deeper", async () => {
    seen.length = 0;
    const inner = sequence("inner", [expert(), workflow("sign", async (session) => session)]);
    const middle = agent({
      name: "middle",
      model: scripted({ tool: "inner", input: { task: "a deep question" } }, "Deeply 42."),
      tools: [inner],
    });
    const named = moduleTool(middle, {
      name: "ask_middle",
      description: "Asks.",
      input: z.object({ question: z.string() }),
      say: ({ question }) => `Question: ${question}`,
      answer: (session) => ({ said: saidIn(session).at(-1) ?? null }),
    });
    const session = await ran(
      agent({
        name: "boss",
        model: scripted(
          {
            call: [
              { tool: "ask_middle", input: { question: "one" } },
              { tool: "ask_middle", input: { question: "two" } },
            ],
          },
          "Both.",
        ),
        tools: [named],
      }),
      "Top secret.",
    );
    expect(outcomes(session).map(({ output }) => output)).toEqual([
      { said: "Deeply 42." },
      { said: "Deeply 42." },
    ]);
    for (const prompt of seen) {
      expect(JSON.stringify(prompt)).toContain("a deep question");
      expect(JSON.stringify(prompt)).not.toMatch(/secret|Question: /);
    }
    expect(answersOf(session)).toBe("whole");
  });

  it("[T5] give their structured output, and their failure in words", async () => {
    const typed = agent({
      name: "typed",
      model: scripted('{"n": 42}'),
      output: z.object({ n: z.number() }),
    });
    const failing = agent({ name: "failing", model: scripted(new Error("no connection")) });
    const silent = agent({
      name: "silent",
      model: scripted({ tool: "add", input: {} }),
      tools: [add],
      maxSteps: 1,
    });
    const session = await ran(
      agent({
        name: "boss",
        model: scripted(
          {
            text: "Asking.",
            tools: ["typed", "failing", "silent"].map((name) => ({ tool: name, input: { task: "go" } })),
          },
          "ok",
        ),
        tools: [typed, failing, silent],
      }),
    );
    expect(outcomes(session)).toMatchObject([
      { output: { n: 42 } },
      { error: { code: "model-failed" } },
      {
        output:
          "silent ended without an answer.\n[silent stopped before it was done: its limit of 1 steps is reached.]",
      },
    ]);
    expect(saidIn(session).at(-1)).toBe("ok");
  });
});

describe("limits of agents as tools", () => {
  it("[T5] are told to the caller, who must not take half a thought for an answer", async () => {
    const told: string[] = [];
    const eager = agent({
      name: "eager",
      model: scripted((_prompt, turn) => ({
        text: `Let me look, ${turn}.`,
        tools: [{ tool: "add", input: { a: turn, b: 1 } }],
      })),
      tools: [add],
      budget: { steps: 2 },
    });
    const boss = agent({
      name: "boss",
      model: scripted({ tool: "eager", input: { task: "go" } }, (prompt) => {
        told.push(JSON.stringify(prompt.at(-1)));
        return "ok";
      }),
      tools: [eager],
    });
    await ran(boss);
    expect(told[0]).toContain("Let me look, 1.");
    expect(told[0]).toContain("eager stopped before it was done: its limit of 2 steps is reached.");
  });
});

/** What came of the calls, in the order in which they were made. */
function outcomes(session: Session): readonly (Message & { role: "tool" })[] {
  return session.transcript.filter(
    (message): message is Message & { role: "tool" } => message.role === "tool",
  );
}
