import { describe, expect, it } from "vitest";
import type { FactOf, Session } from "../../session/index.js";
import { ModuleError } from "../../workflow/index.js";
import { all, ran } from "../../workflow/testing/ran.js";
import { agent } from "../index.js";
import { type PromptMessage, scripted } from "../model/index.js";
import { callContext } from "../tool/testing/context.js";
import { compress, compressionsOf, dropOutputs, type Page, recallTool, summarise } from "./index.js";
import { pageOf, pages, reader, writer } from "./testing/summaries.js";

const room = () => compress({ budget: 3_000, policies: [dropOutputs(), summarise({ model: writer() })] });

function reading(count: number, name = "a") {
  return agent({ name, model: pages(count), tools: [reader(1_000)], maxSteps: count + 1, compress: room() });
}

const recall = async (session: Session, input: object, options = {}): Promise<Page> =>
  recallTool(options).run(input as never, { ...callContext(), session });

describe("the recall tool", () => {
  it("[T1] lists what was left out, what each covers, and gives it back page by page", async () => {
    const session = await ran(reading(40));
    const list = compressionsOf(session);
    const text = (await recall(session, {}, { characters: 50_000 })).text;
    for (const { id } of list) expect(text).toContain(id.slice(0, 16));
    for (const one of list) {
      const contents = await recall(session, { fact: one.id }, { characters: 50_000 });
      for (const { fact, outcome } of one.covers)
        expect(contents.text).toContain((outcome ?? fact).slice(0, 16));
    }
    const [first] = list[0]?.covers ?? [];
    for (const fact of [first?.fact, first?.outcome, first?.outcome?.slice(0, 16)]) {
      const page = await recall(session, { fact }, { characters: 400 });
      expect(page).toMatchObject({ offset: 0, next: 400, total: pageOf(0, 1_000).length, what: "tool read" });
      const next = await recall(session, { fact, offset: page.next }, { characters: 50_000 });
      expect(page.text + next.text).toBe(pageOf(0, 1_000));
      expect(next.next).toBeUndefined();
    }
    // Messages of the assistant and of the user as well.
    const summed = list.find(({ policy }) => policy === "summarise");
    const reply = summed?.covers.find(({ what }) => what === "assistant");
    expect((await recall(session, { fact: reply?.fact })).text).toContain('calls read({"page":');
    expect((await recall(session, { offset: 1e9 })).text).toBe("");
  });

  it("[T1] never splits a character", async () => {
    const smile = agent({
      name: "a",
      model: scripted((_prompt: readonly PromptMessage[], turn: number) =>
        turn < 9 ? { tool: "read", input: { page: turn } } : "done",
      ),
      tools: [{ ...reader(1), run: () => `x${"\u{1f600}".repeat(300)}` }],
      compress: room(),
    });
    const session = await ran(smile);
    const fact = compressionsOf(session)[0]?.covers[0]?.outcome as string;
    let text = "";
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const page: Page = await recall(session, { fact, offset }, { characters: 100 });
      expect(page.text.isWellFormed()).toBe(true);
      text += page.text;
      offset = page.next;
    }
    expect(text).toBe(`x${"\u{1f600}".repeat(300)}`);
  });

  it("[T2] refuses ids that are invalid, unknown, or of facts that were never left out", async () => {
    const session = await ran(reading(40));
    expect((await recall(session, { fact: "the first page" })).what).toBe("no fact");
    expect((await recall(session, { fact: "f".repeat(64) })).text).toContain("Nothing that was left out");
    // A fact that was never left out of view is none of its business.
    expect((await recall(session, { fact: session.id })).what).toBe("no fact");
    for (const options of [7, { characters: 1 }, { characters: 1e9 }, { context: "some" }, { nme: "x" }])
      expect(() => recallTool(options as never)).toThrow(ModuleError);
    expect((await recall(session.detach(), {})).text).toBe("Nothing was left out of view.");
  });

  it("[T2] an agent that works as a tool sees only what was left out of its own conversation", async () => {
    const asks = scripted({ tool: "recall" }, "inside");
    const inner = agent({ name: "inner", model: asks, tools: [recallTool()] });
    const curious = agent({ name: "curious", model: asks, tools: [recallTool({ context: "all" })] });
    const outer = agent({
      name: "a",
      model: scripted((_prompt: readonly PromptMessage[], turn: number) => {
        if (turn < 20) return { tool: "read", input: { page: turn } };
        return turn === 20
          ? { tool: "inner", input: { task: "x" } }
          : turn === 21
            ? { tool: "curious", input: { task: "x" } }
            : "done";
      }),
      tools: [reader(1_000), inner, curious],
      compress: room(),
    });
    const session = await ran(outer);
    expect(compressionsOf(session).length).toBeGreaterThan(0);
    const pages = all(session, "tool-result").filter(({ by }) => by === "tool:recall");
    expect(pages.map(({ output }) => (output as Page).text.startsWith("Nothing"))).toEqual([true, false]);
  });

  it("[T3] is called by agents and recorded like any tool", async () => {
    const curious = agent({
      name: "a",
      model: scripted((prompt: readonly PromptMessage[], turn: number) => {
        if (turn < 12) return { tool: "read", input: { page: turn } };
        const id = /left out of view: fact ([0-9a-f]{16})/.exec(JSON.stringify(prompt))?.[1] as string;
        return turn === 12 ? { tool: "recall", input: { fact: id } } : "done";
      }),
      tools: [reader(1_000), recallTool()],
      compress: compress({ budget: 3_000, policies: [dropOutputs()] }),
    });
    const session = await ran(curious);
    const result = all(session, "tool-result").at(-1) as FactOf<"tool-result">;
    expect(result.by).toBe("tool:recall");
    expect((result.output as Page).text).toBe(pageOf(0, 1_000));
    expect(all(session, "tool-call").at(-1)).toMatchObject({ name: "recall", effect: "pure" });
  });
});
