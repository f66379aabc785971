import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { describe, expect, it } from "vitest";
import { openRath } from "../../runtime/index.js";
import type { Session } from "../../session/index.js";
import { describeFact } from "../../session/index.js";
import { all } from "../../workflow/testing/ran.js";
import { agent } from "../index.js";
import { renderedPrompt, scripted } from "../model/index.js";
import { fromAiSdk, providerTool } from "./index.js";

type Body = { readonly [field: string]: unknown };

/** Answers requests one by one, and keeps them. The providers' own clients speak over it. */
function served(...answers: readonly object[]): { readonly fetch: typeof fetch; readonly bodies: Body[] } {
  const bodies: Body[] = [];
  return {
    bodies,
    fetch: async (_url, init) => {
      bodies.push(JSON.parse(String(init?.body)) as Body);
      return Response.json(answers[bodies.length - 1]);
    },
  };
}

const usage = { input_tokens: 5, output_tokens: 3 };
const response = (...output: readonly object[]) => ({
  id: "resp_1",
  object: "response",
  created_at: 1,
  status: "completed",
  model: "gpt-5",
  output,
  usage,
});
const words = (text: string) => ({
  type: "message",
  id: `msg_${text.length}`,
  role: "assistant",
  content: [{ type: "output_text", text, annotations: [] }],
});
const search = {
  type: "web_search_call",
  id: "ws_1",
  status: "completed",
  action: { type: "search", query: "bees" },
};
const message = (stop_reason: string, ...content: readonly object[]) => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude",
  content,
  stop_reason,
  usage,
});

function saidOf(session: Session): readonly string[] {
  return [...session.history()].map((node) => describeFact(node.fact));
}

describe("a tool that the provider runs", () => {
  it("[PT1] is passed to the model, and its call and result stay in the reply and in later prompts", async () => {
    const openai = createOpenAI({ apiKey: "x" });
    for (const one of [
      providerTool({ id: "openai.web_search", args: { searchContextSize: "low" } }),
      openai.tools.webSearch({ searchContextSize: "low" }),
      ...fromAiSdk({ web_search: openai.tools.webSearch({ searchContextSize: "low" }) }, { effect: "read" }),
    ]) {
      const { fetch, bodies } = served(response(search, words("Bees fly.")), response(words("They do.")));
      const scout = agent({
        name: "scout",
        model: createOpenAI({ apiKey: "x", fetch }).responses("gpt-5"),
        tools: [one],
      });
      const rath = openRath({ store: "memory:" });
      await rath.turn(scout, "n", "What do bees do?");
      const session = await rath.turn(scout, "n", "Are you sure?");
      expect(bodies[0]?.tools).toEqual([{ type: "web_search", search_context_size: "low" }]);
      expect(JSON.stringify(bodies[1]?.input)).toContain("ws_1");
      const [reply] = all(session, "model-reply");
      expect(reply?.content).toMatchObject([
        { type: "tool-call", call: "ws_1", name: "web_search", provider: true },
        { type: "tool-result", call: "ws_1", output: { action: { query: "bees" } } },
        { type: "text", text: "Bees fly." },
      ]);
      expect(renderedPrompt(session).text).toContain("ws_1");
      expect(session.text).toBe("They do.");
      expect((await rath.replay("n", scout, { mode: "verify" })).id).toBe(session.id);
      await rath.close();
    }
  });

  it("[PT2] leaves no tool call of ours, and the words of the record say who ran it", async () => {
    const { fetch } = served(response(search, words("Bees fly.")));
    const model = createOpenAI({ apiKey: "x", fetch }).responses("gpt-5");
    const rath = openRath({ store: "memory:" });
    const session = await rath.run(
      agent({ name: "scout", model, tools: [providerTool({ id: "openai.web_search" })] }),
      rath.start("Bees?"),
    );
    expect(all(session, "tool-call")).toEqual([]);
    const said = saidOf(session).join("\n");
    expect(said).toContain("[the provider ran web_search");
    expect(said).not.toContain("[calls web_search");
    await rath.close();
  });

  it("[PT3] a turn that the provider pauses goes on", async () => {
    const call = { type: "server_tool_use", id: "srv_1", name: "web_search", input: { query: "bees" } };
    const { fetch, bodies } = served(
      message("pause_turn", call),
      message("end_turn", { type: "text", text: "Bees fly." }),
    );
    const model = createAnthropic({ apiKey: "x", fetch })("claude");
    const tools = [providerTool({ id: "anthropic.web_search_20250305" })];
    const rath = openRath({ store: "memory:" });
    const session = await rath.run(agent({ name: "scout", model, tools }), rath.start("Bees?"));
    expect(bodies).toHaveLength(2);
    expect(session.text).toBe("Bees fly.");
    await rath.close();
  });

  it("[PT4] a tool that a provider defines and leaves to the caller is done by its `execute`, or by a client", async () => {
    const use = (name: string, input: object) => ({ type: "tool_use", id: "toolu_1", name, input });
    const end = message("end_turn", { type: "text", text: "Done." });
    const { tools } = createAnthropic({ apiKey: "x" });
    const bash = served(message("tool_use", use("bash", { command: "ls" })), end);
    const commands: string[] = [];
    const execute = async ({ command }: { command: string }) => {
      commands.push(command);
      return "a.txt";
    };
    const worker = agent({
      name: "worker",
      model: createAnthropic({ apiKey: "x", fetch: bash.fetch })("claude"),
      tools: fromAiSdk({ bash: tools.bash_20250124({ execute }) as never }, { effect: "write" }),
    });
    const rath = openRath({ store: "memory:" });
    const session = await rath.run(worker, rath.start("List."));
    expect(bash.bodies[0]?.tools).toEqual([{ name: "bash", type: "bash_20250124" }]);
    expect(commands).toEqual(["ls"]);
    expect(all(session, "tool-result")).toMatchObject([{ output: "a.txt", by: "tool:bash" }]);

    const screen = served(message("tool_use", use("computer", { action: "screenshot" })), end);
    const user = agent({
      name: "user",
      model: createAnthropic({ apiKey: "x", fetch: screen.fetch })("claude"),
      tools: [tools.computer_20250124({ displayWidthPx: 800, displayHeightPx: 600 })],
    });
    await rath.run(user, rath.start("Look."), { name: "n" });
    expect(screen.bodies[0]?.tools).toMatchObject([{ name: "computer", display_width_px: 800 }]);
    expect(await rath.pending("n")).toMatchObject([
      { call: "toolu_1", shown: { tool: "computer", input: { action: "screenshot" } }, answer: {} },
    ]);
    await rath.answer("n", "toolu_1", "A desktop.", "service:browser");
    expect((await rath.resume("n", user)).text).toBe("Done.");
    await rath.close();
  });

  it("[PT5] an id of another kind is refused, and so is an `execute` without its effect", () => {
    const model = scripted("never");
    const { tools } = createAnthropic({ apiKey: "x" });
    for (const id of ["web_search", "", 7, undefined])
      expect(() => providerTool({ id: id as string })).toThrow("provider");
    expect(() => providerTool({ id: "openai.web_search", args: 7 as never })).toThrow("provider");
    expect(() => providerTool({ id: "openai.web_search", arg: {} } as never)).toThrow("arg");
    const bash = tools.bash_20250124({ execute: async () => "" });
    expect(() => agent({ name: "a", model, tools: [bash] })).toThrow("effect");
  });
});
