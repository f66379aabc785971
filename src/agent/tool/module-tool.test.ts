import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Session } from "../../session/index.js";
import { checkInput, moduleTool, runTool, specOf, ToolDefinitionError } from "./index.js";
import { callContext } from "./testing/context.js";

const reviewer = {
  name: "reviewer",
  forward: async (session: Session) => session.say("fine", { role: "assistant" }),
};

describe("a module as a tool", () => {
  it("[M1] holds the module and takes a task", async () => {
    const made = moduleTool(reviewer, { description: "Reviews code." });
    expect(made.module).toBe(reviewer);
    expect(made.effect).toBe("pure");
    expect(specOf(made)).toMatchObject({ name: "reviewer", input: { required: ["task"] } });
    expect(await checkInput(made, { task: "look" })).toEqual({ ok: true, value: { task: "look" } });
    expect(await checkInput(made, { job: "look" })).toMatchObject({ ok: false });
    expect(made.say?.({ task: "look" })).toBe("look");
    await expect(runTool(made, { task: "look" }, callContext())).rejects.toThrow(ToolDefinitionError);
  });

  it("[M1] takes an input of its own", () => {
    const input = z.object({ file: z.string(), task: z.string() });
    const made = moduleTool(reviewer, { description: "d", input });
    expect(made.say?.({ file: "a.ts", task: "look" })).toBe('{"file":"a.ts","task":"look"}');
    const told = moduleTool(reviewer, {
      description: "d",
      input,
      say: ({ file, task }) => `${task} at ${file}`,
      answer: (session) => session.id,
      approval: ({ file }) => file === "secret",
      conflicts: ["review"],
    });
    expect(told.say?.({ file: "a.ts", task: "look" })).toBe("look at a.ts");
    expect(told.approval({ file: "secret", task: "" })).toBe(true);
    expect(told.conflicts({ file: "secret", task: "" })).toEqual(["review"]);
    const { session } = callContext();
    expect(told.answer?.(session)).toBe(session.id);
  });

  it("[M2] may be called something else", () => {
    const odd = { ...reviewer, name: "Review the code" };
    expect(() => moduleTool(odd, { description: "d" })).toThrow(ToolDefinitionError);
    expect(moduleTool(odd, { name: "review", description: "d" })).toMatchObject({
      name: "review",
      module: odd,
    });
  });
});
