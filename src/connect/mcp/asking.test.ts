import { afterEach, describe, expect, it } from "vitest";
import type { Json } from "../../session/index.js";
import { workflow } from "../../workflow/index.js";
import { clientForm, mcp, mcpServer } from "./index.js";
import { listening } from "./testing/http.js";
import { closeAll, kept, lastOf, memory, using } from "./testing/world.js";

afterEach(closeAll);

/** A run that waits for an answer to a form of a server. */
async function asking(schema: Json) {
  const question = clientForm("age", "How old?", schema);
  const form = workflow("form", { question }, async (session, parts) => {
    const { session: at, value } = await parts.question.call(session);
    return at.append({ type: "message-say", role: "assistant", content: JSON.stringify(value) });
  });
  const { url } = await listening(kept(mcpServer({ rath: memory(), open: true, modules: { form } })));
  const client = kept(mcp({ name: "ours", url }, { elicitation: true }));
  const rath = memory();
  const module = using(await client.tools(), { tool: "ours_form", input: { task: "go" } }, "done");
  await rath.run(module, rath.start("go"), { name: "run" });
  const shown = async (): Promise<{ [field: string]: Json }> =>
    (await rath.pending("run"))[0]?.shown as { [field: string]: Json };
  return {
    shown,
    answer: async (value: Json) => {
      await rath.answer("run", (await rath.pending("run"))[0]?.id ?? "", value, "user:ada");
      const session = await rath.resume("run", module);
      return session.fact.type === "run-suspend" ? undefined : lastOf(session, "tool-result").output;
    },
    verified: async () =>
      (await rath.replay("run", module, { mode: "verify" })).id === (await rath.load("run")).id,
  };
}

const age = { type: "object", properties: { age: { type: "integer" } }, required: ["age"] };

describe("answers to a question of a server", () => {
  it("[C14] a question says how it is answered, and content that fits is an answer", async () => {
    const run = await asking(age);
    const question = await run.shown();
    expect(question).toMatchObject({ message: "How old?", how: expect.stringContaining('action: "accept"') });
    expect(question).not.toHaveProperty("problem");
    expect(await run.answer({ age: 36 })).toContain('{"action":"accept","content":{"age":36}}');
    expect(await run.verified()).toBe(true);
  });

  it.each<[string, Json, RegExp]>([
    ["a yes", true, /answer with \{ action: "accept"/],
    ["a text", "36", /answer with \{ action: "accept"/],
    ["a list", [36], /answer with \{ action: "accept"/],
    ["another field", { old: 36 }, /as content: .*age/],
    ["another value", { age: "old" }, /as content: .*age/],
    ["a field too many", { age: 36, name: "Ada" }, /answer with \{ action: "accept"/],
    ["content that does not fit", { action: "accept", content: { age: "old" } }, /age/],
    ["an action that there is not", { action: "agree", content: { age: 36 } }, /answer with/],
  ])("[C14] %s is asked for again, with the reason", async (_name, value, reason) => {
    const run = await asking(age);
    expect(await run.answer(value)).toBeUndefined();
    expect(await run.shown()).toMatchObject({
      message: "How old?",
      how: expect.any(String),
      problem: expect.stringMatching(reason),
    });
    expect(await run.answer({ action: "decline" })).toContain("decline");
    expect(await run.verified()).toBe(true);
  });

  it("[C14] nothing is no answer, and a word on the form is not content, whatever the form takes", async () => {
    const anything = {
      type: "object",
      properties: { action: { type: "string" }, note: { type: "string", default: "none" } },
    };
    const run = await asking(anything);
    expect(await run.answer({})).toBeUndefined();
    expect(await run.answer({ action: "cancel" })).toContain("cancel");
    const other = await asking(anything);
    expect(await other.answer({ action: "sing" })).toContain(
      '{"action":"accept","content":{"note":"none","action":"sing"}}',
    );
  });
});
