import { createAnthropic } from "@ai-sdk/anthropic";
import { describe, expect, it } from "vitest";
import { openRath } from "../../runtime/index.js";
import { all, ran } from "../../workflow/testing/ran.js";
import { agent } from "../index.js";
import { add } from "../testing/tools.js";
import { providerTool } from "../tool/index.js";
import { type CallOptions, renderedPrompt, type ScriptedReply, scripted } from "./index.js";

type Said = { readonly role: string; readonly content: readonly { toolCallId?: string; type: string }[] };

describe("what single providers want", () => {
  it("[D1] Mistral gets ids of nine letters and digits, the same for a call and its result, and a user never after a tool", async () => {
    const asked: CallOptions[] = [];
    const call = (id: string): ScriptedReply => ({ tool: "add", input: { a: 1, b: 2 }, id });
    const script = scripted(call("call_123"), call("abcDEF123"), "It is 3.");
    const model = {
      ...script,
      provider: "mistral.chat",
      doGenerate: (options: CallOptions) => {
        asked.push(options);
        return script.doGenerate(options);
      },
    };
    const clerk = agent({ name: "clerk", model, tools: [add], stop: (_, { step }) => step === 2 });
    const rath = openRath({ store: "memory:" });
    const first = await rath.turn(clerk, "n", "Add.");
    await rath.turn(clerk, "n", "And?");
    await rath.close();
    const said = asked.at(-1)?.prompt as readonly Said[];
    expect(said.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "assistant",
      "tool",
      "assistant",
      "user",
    ]);
    const ids = said.flatMap(({ content }) => content.flatMap(({ toolCallId }) => toolCallId ?? []));
    expect(ids).toHaveLength(4);
    for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9]{9}$/);
    expect([ids[0], ids[2]]).toEqual([ids[1], "abcDEF123"]);
    expect(ids[0]).not.toBe(ids[2]);
    // The record keeps the ids of the model.
    expect(all(first, "tool-call").map(({ call: id }) => id)).toEqual(["call_123", "abcDEF123"]);
  });

  it("[D2] `cache` marks the instructions and the last tool for caching, and is recorded", async () => {
    const bodies: { system?: unknown; tools?: unknown[] }[] = [];
    const fetch = async (_url: unknown, init?: RequestInit): Promise<Response> => {
      bodies.push(JSON.parse(String(init?.body)));
      const content = [{ type: "text", text: "Hi." }];
      const usage = { input_tokens: 1, output_tokens: 1 };
      return Response.json({
        id: "m",
        type: "message",
        role: "assistant",
        model: "c",
        content,
        stop_reason: "end_turn",
        usage,
      });
    };
    const model = createAnthropic({ apiKey: "x", fetch })("claude");
    const search = providerTool({ id: "anthropic.web_search_20250305" });
    const session = await ran(
      agent({
        name: "clerk",
        model,
        instructions: "Add.",
        tools: [add, search],
        parameters: { cache: "1h" },
      }),
    );
    const cache_control = { type: "ephemeral", ttl: "1h" };
    expect(bodies).toHaveLength(1);
    expect(bodies[0]?.system).toEqual([{ type: "text", text: "Add.", cache_control }]);
    expect(bodies[0]?.tools).toMatchObject([{ name: "add", cache_control }, { name: "web_search" }]);
    expect(all(session, "agent-configure")[0]?.parameters).toEqual({ cache: "1h" });
    renderedPrompt(session);
  });
});
