import * as ai from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { openRath, type Rath } from "../runtime/index.js";
import { policy } from "../runtime/policy/index.js";
import { all } from "../workflow/testing/ran.js";
import { agent } from "./index.js";
import { renderedPrompt, scripted } from "./model/index.js";
import { add, answersOf } from "./testing/tools.js";
import { fromAiSdk, tool } from "./tool/index.js";

const locate = tool({
  name: "locate",
  description: "Where the user is.",
  input: z.object({ precise: z.boolean() }),
  output: z.object({ city: z.string() }),
  effect: "read",
});
const calls = [{ tool: "locate", input: { precise: true }, id: "call-1" }] as const;

function clerkWith(tools: NonNullable<Parameters<typeof agent>[0]["tools"]>, ...more: object[]) {
  return agent({
    name: "clerk",
    model: scripted({ call: [...calls, ...(more as never[])] }, "Done."),
    tools,
  });
}

async function begun(clerk: ReturnType<typeof agent>, options = {}): Promise<Rath> {
  const rath = openRath({ store: "memory:", ...options });
  const session = await rath.run(clerk, rath.start("go", { by: "user:ada" }), { name: "n" });
  expect(session.fact.type).toBe("run-suspend");
  return rath;
}

describe("a tool without `run`", () => {
  it("[CL1] suspends the run until its client gives the result by the id of the call", async () => {
    const clerk = clerkWith([locate]);
    const rath = await begun(clerk);
    const [ask, ...others] = await rath.pending("n");
    expect(others).toEqual([]);
    expect(ask).toMatchObject({
      type: "approval-ask",
      what: "locate",
      call: "call-1",
      shown: { tool: "locate", input: { precise: true } },
      answer: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      answered: false,
    });
    await rath.answer("n", "call-1", { city: "Oslo" }, "user:ada");
    expect((await rath.pending("n"))[0]?.answered).toBe(true);
    const session = await rath.resume("n", clerk);
    const [call] = [...session.history()].filter(({ fact }) => fact.type === "tool-call");
    expect(call?.id).toBe(ask?.of);
    expect(call?.fact).toMatchObject({ name: "locate", input: { precise: true }, by: "agent:clerk" });
    expect(all(session, "tool-result")).toMatchObject([
      { output: { city: "Oslo" }, by: "user:ada", origin: "tool" },
    ]);
    expect(session.text).toBe("Done.");
    expect(answersOf(session)).toBe("whole");
    expect(renderedPrompt(session).text).toContain("Oslo");
    expect((await rath.replay("n", clerk, { mode: "verify" })).id).toBe(session.id);
    await rath.close();
  });

  it("[CL2] a result that does not fit the schema of the output is refused", async () => {
    const clerk = clerkWith([locate]);
    const rath = await begun(clerk);
    const [ask] = await rath.pending("n");
    for (const wrong of [
      () => rath.answer("n", "call-1", { city: 7 }, "user:ada"),
      () => rath.answer("n", "call-1", "Oslo", "user:ada"),
      () => rath.takeOver("n", { by: "user:ada", ask: "call-1", value: { town: "Oslo" } }),
      () => rath.approve("n", { by: "user:ada" }),
      () => rath.answer("n", "call-2", { city: "Oslo" }, "user:ada"),
    ])
      await expect(wrong()).rejects.toMatchObject({ code: "answer-refused" });
    expect((await rath.pending("n"))[0]?.answered).toBe(false);
    await rath.answer("n", ask?.of as string, { city: "Oslo" }, "service:browser");
    const session = await rath.resume("n", clerk);
    expect(all(session, "tool-result")).toMatchObject([{ output: { city: "Oslo" }, by: "service:browser" }]);
    await rath.close();
  });

  it("[CL3] its client can say that it failed, and why", async () => {
    const clerk = clerkWith([locate]);
    const rath = await begun(clerk);
    await rath.reject("n", { by: "user:ada", ask: "call-1", why: "The page has no permission." });
    const session = await rath.resume("n", clerk);
    expect(all(session, "tool-failure")[0]).toMatchObject({
      error: { name: "ClientToolError", message: "The page has no permission.", code: "client-tool-failed" },
      by: "tool:locate",
    });
    expect(renderedPrompt(session).text).toContain("ClientToolError: The page has no permission.");
    expect((await rath.replay("n", clerk, { mode: "verify" })).id).toBe(session.id);
    await rath.close();
  });

  it("[CL1] works beside other calls of the same reply, and each result finds its own call", async () => {
    const clerk = clerkWith(
      [locate, add],
      { tool: "add", input: { a: 1, b: 2 }, id: "call-2" },
      { tool: "locate", input: { precise: false }, id: "call-3" },
    );
    const rath = await begun(clerk);
    const session = await rath.load("n");
    expect(all(session, "tool-result")).toMatchObject([{ output: 3 }]);
    expect((await rath.pending("n")).map(({ call }) => call)).toEqual(["call-1", "call-3"]);
    await rath.answer("n", "call-3", { city: "Rome" }, "user:ada");
    expect((await rath.resume("n", clerk)).fact.type).toBe("run-suspend");
    await rath.answer("n", "call-1", { city: "Oslo" }, "user:ada");
    const ended = await rath.resume("n", clerk);
    expect(answersOf(ended)).toBe("whole");
    const results = renderedPrompt(ended).messages.at(-1)?.content as readonly {
      toolCallId: string;
      output: unknown;
    }[];
    expect(results.map(({ toolCallId, output }) => [toolCallId, output])).toEqual([
      ["call-1", { type: "json", value: { city: "Oslo" } }],
      ["call-2", { type: "json", value: 3 }],
      ["call-3", { type: "json", value: { city: "Rome" } }],
    ]);
    expect((await rath.replay("n", clerk, { mode: "verify" })).id).toBe(ended.id);
    await rath.close();
  });

  it("[CL4] survives a restart: another process gives the result, and a third one resumes", async () => {
    const { mkdtemp, rm } = await import("node:fs/promises");
    const folder = await mkdtemp("/tmp/rath-client-");
    const store = `sqlite:${folder}/rath.db`;
    const clerk = clerkWith([locate]);
    await (await begun(clerk, { store })).close();
    const giving = openRath({ store });
    await giving.answer("n", "call-1", { city: "Oslo" }, "user:ada");
    await giving.close();
    const third = openRath({ store });
    const session = await third.resume("n", clerkWith([locate]));
    expect(session.text).toBe("Done.");
    expect((await third.replay("n", clerk, { mode: "verify" })).id).toBe(session.id);
    await third.close();
    await rm(folder, { recursive: true });
  });

  it("[CL5] with a policy that asks, the client is asked once the approver has agreed", async () => {
    const clerk = clerkWith([locate]);
    const careful = policy("careful", [
      { name: "place", verdict: "ask", tool: "locate", approval: { from: "user:boss" } },
    ]);
    const rath = await begun(clerk, { policy: careful });
    const [first, ...more] = await rath.pending("n");
    expect(more).toEqual([]);
    expect(first).toMatchObject({ to: ["user:boss"], rule: "careful/place", call: "call-1" });
    expect(first?.answer).toBeUndefined();
    await expect(rath.answer("n", "call-1", { city: "Oslo" }, "user:ada")).rejects.toMatchObject({
      code: "answer-refused",
    });
    await rath.approve("n", { by: "user:boss", edit: { precise: false } });
    expect((await rath.resume("n", clerk)).fact.type).toBe("run-suspend");
    // The approver agreed to arguments of their own, and the client is asked with these.
    const asks = (await rath.pending("n")).filter(({ answer }) => answer !== undefined);
    expect(asks).toMatchObject([{ shown: { tool: "locate", input: { precise: false } } }]);
    await rath.answer("n", "call-1", { city: "Oslo" }, "user:ada");
    const session = await rath.resume("n", clerk);
    expect(all(session, "tool-result")).toMatchObject([
      { output: { city: "Oslo" }, edited: { by: "user:boss", input: { precise: false } } },
    ]);
    expect((await rath.replay("n", clerk, { mode: "verify" })).id).toBe(session.id);
    await rath.close();

    const refusing = await begun(clerk, { policy: careful });
    await refusing.reject("n", { by: "user:boss", why: "Not today." });
    const refused = await refusing.resume("n", clerk);
    expect(all(refused, "tool-failure")[0]?.error).toMatchObject({ name: "Rejected", message: "Not today." });
    await refusing.close();

    const denied = openRath({
      store: "memory:",
      policy: policy("strict", [{ name: "no", verdict: "deny", tool: "locate" }]),
    });
    const ended = await denied.run(clerk, denied.start("go"));
    expect(all(ended, "tool-failure")[0]?.error.code).toBe("policy-denied");
    expect(all(ended, "approval-ask")).toEqual([]);
    await denied.close();
  });

  it("[CL6] its `approval` says who gives the result and by when", async () => {
    const now = { at: Date.parse("2026-01-01T00:00:00Z") };
    const clerk = clerkWith([{ ...locate, approval: () => ({ from: "service:phone", within: 1_000 }) }]);
    const rath = await begun(clerk, { clock: () => now.at });
    expect(await rath.pending("n")).toMatchObject([{ to: ["service:phone"] }]);
    await expect(rath.answer("n", "call-1", { city: "Oslo" }, "user:ada")).rejects.toMatchObject({
      code: "answer-refused",
    });
    now.at += 1_000;
    const session = await rath.resume("n", clerk);
    expect(all(session, "tool-failure")[0]?.error.code).toBe("approval-expired");
    await rath.close();
  });

  it("[CL1] a turn with other words withdraws the call, and the model reads it", async () => {
    const clerk = clerkWith([locate]);
    const rath = await begun(clerk);
    const session = await rath
      .turn(clerk, "n", "Never mind.", { by: "user:ada" })
      .catch((error) => error.session);
    expect(all(session, "tool-failure")[0]?.error.message).toContain("Never mind.");
    await rath.close();
  });

  it("[CL7] a tool of the AI SDK without `execute` is such a tool", async () => {
    const sdk = ai.tool({
      description: "Where the user is.",
      inputSchema: z.object({ precise: z.boolean() }),
      outputSchema: z.object({ city: z.string() }),
    });
    const clerk = clerkWith(fromAiSdk({ locate: sdk }, { effect: "read" }));
    const rath = await begun(clerk);
    await expect(rath.answer("n", "call-1", "Oslo", "user:ada")).rejects.toMatchObject({
      code: "answer-refused",
    });
    await rath.answer("n", "call-1", { city: "Oslo" }, "user:ada");
    expect((await rath.resume("n", clerk)).text).toBe("Done.");
    await rath.close();
    const asking = ai.tool({ description: "d", inputSchema: z.object({}), needsApproval: true });
    expect(() => fromAiSdk({ asking }, { effect: "read" })).toThrow("policy");
  });

  it("[CL8] options of what a program does are refused, and a schema without a JSON Schema", () => {
    const plain = { name: "t", description: "d", input: { type: "object" }, effect: "read" } as const;
    for (const option of [{ timeout: 5 }, { key: () => "k" }, { retry: {} }, { conflicts: ["x"] }])
      expect(() => tool({ ...plain, ...option })).toThrow("it has no run");
    expect(() => tool({ ...plain, output: { type: "strin" } })).toThrow("output");
    expect(() => tool({ ...plain, run: undefined as never })).toThrow("it has no run");
  });
});
