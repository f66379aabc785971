import { describe, expect, it } from "vitest";
import { anthropicFaults } from "./testing/validators/anthropic.js";
import type { Body } from "./testing/validators/body.js";
import { geminiFaults } from "./testing/validators/gemini.js";
import { openaiChatFaults } from "./testing/validators/openai-chat.js";
import { openaiResponsesFaults } from "./testing/validators/openai-responses.js";

/** A change to a good request, and a word of the fault that must be found. */
type Bad = readonly [change: (body: Record<string, never[]>) => void, fault: RegExp];

function proves(faults: (body: Body) => readonly string[], good: Body, bad: readonly Bad[]): void {
  expect(faults(good)).toEqual([]);
  for (const [change, fault] of bad) {
    const body = structuredClone(good);
    change(body as Record<string, never[]>);
    expect(faults(body).join("\n"), String(change)).toMatch(fault);
  }
}

describe("the validators", () => {
  it("[W1] of OpenAI chat", () => {
    const call = (id: string) => ({ id, type: "function", function: { name: "add", arguments: "{}" } });
    const good = {
      messages: [
        { role: "system", content: "s" },
        { role: "user", content: "u" },
        { role: "assistant", content: null, tool_calls: [call("a"), call("b")] },
        { role: "tool", tool_call_id: "b", content: "B" },
        { role: "tool", tool_call_id: "a", content: "A" },
        { role: "user", content: [{ type: "text", text: "u" }] },
      ],
    };
    proves(openaiChatFaults, good, [
      [({ messages = [] }) => messages.splice(0), /no messages/],
      [({ messages = [] }) => messages.splice(3, 1), /before results of b/],
      [({ messages = [] }) => messages.splice(3), /no results of a, b/],
      [({ messages = [] }) => messages.splice(5, 0, messages[4] as never), /a, which is not open/],
      [({ messages = [] }) => messages.splice(2, 1), /not open/],
      [({ messages = [] }) => messages.splice(3, 0, messages[1] as never), /before results/],
      [({ messages = [] }) => edit(messages[3], { content: "" }), /empty/],
      [({ messages = [] }) => edit(messages[1], { content: " " }), /empty/],
      [({ messages = [] }) => edit(messages[1], { content: "\ud800" }), /surrogate/],
      [({ messages = [] }) => edit(messages[2], { tool_calls: [] }), /empty/],
      [({ messages = [] }) => edit(messages[2], { tool_calls: [call("a"), call("a")] }), /again/],
      [({ messages = [] }) => edit(messages[2], { tool_calls: [call("x".repeat(41))] }), /with the id/],
      [
        ({ messages = [] }) =>
          edit(messages[2], { tool_calls: [{ id: "a", function: { name: "a b", arguments: "{" } }] }),
        /calls "a b"[\s\S]*no JSON/,
      ],
      [({ messages = [] }) => edit(messages[5], { content: [{ type: "text", text: "" }] }), /empty text/],
      [({ messages = [] }) => edit(messages[5], { role: "owner" }), /unknown role/],
    ]);
  });

  it("[W1] of OpenAI responses", () => {
    const good = {
      input: [
        { role: "user", content: [{ type: "input_text", text: "u" }] },
        { type: "reasoning", id: "rs", summary: [] },
        { type: "function_call", call_id: "a", name: "add", arguments: "{}" },
        { type: "function_call_output", call_id: "a", output: "A" },
        { role: "assistant", id: "m1", content: [{ type: "output_text", text: "t" }] },
      ],
    };
    proves(openaiResponsesFaults, good, [
      [({ input = [] }) => input.splice(0), /no input/],
      [({ input = [] }) => input.splice(3, 1), /no output of a/],
      [({ input = [] }) => input.splice(2, 1), /not open/],
      [({ input = [] }) => input.push(input[3] as never), /not open/],
      [({ input = [] }) => input.push(input[2] as never), /again/],
      [({ input = [] }) => input.push(input[4] as never), /m1 again/],
      [({ input = [] }) => edit(input[3], { output: "" }), /empty/],
      [({ input = [] }) => edit(input[2], { arguments: "[]" }), /no object/],
      [({ input = [] }) => edit(input[2], { name: "" }), /calls/],
      [({ input = [] }) => edit(input[0], { content: [] }), /empty/],
      [({ input = [] }) => edit(input[4], { content: [{ type: "output_text", text: "" }] }), /empty text/],
      [({ input = [] }) => input.splice(2, 3), /not followed/],
    ]);
  });

  it("[W1] of Anthropic", () => {
    const use = (id: string) => ({ type: "tool_use", id, name: "add", input: {} });
    const text = { type: "text", text: "t" };
    const good = {
      system: [text],
      messages: [
        { role: "user", content: [text] },
        {
          role: "assistant",
          content: [{ type: "thinking", thinking: "h", signature: "s" }, text, use("a"), use("b")],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "a", content: "A" },
            { type: "tool_result", tool_use_id: "b", content: [text] },
            text,
          ],
        },
      ],
    };
    proves(anthropicFaults, good, [
      [({ messages = [] }) => messages.shift(), /first message/],
      [({ messages = [] }) => messages.pop(), /last message/],
      [({ messages = [] }) => messages.splice(1, 1), /same role/],
      [({ messages = [] }) => edit(messages[2], { content: [] }), /empty/],
      [({ messages = [] }) => edit(messages[2], { content: [text] }), /where \[a,b\] are open/],
      [({ messages = [] }) => contentOf(messages[2]).reverse(), /before its results/],
      [
        ({ messages = [] }) => contentOf(messages[2]).push(...contentOf(messages[2]).slice(0, 1)),
        /answers \[a,b,a\]/,
      ],
      [({ messages = [] }) => edit(contentOf(messages[2])[0], { content: "" }), /empty result/],
      [({ messages = [] }) => edit(contentOf(messages[1])[2], { id: "a b" }), /has the id/],
      [({ messages = [] }) => edit(contentOf(messages[1])[2], { id: "b" }), /again/],
      [({ messages = [] }) => edit(contentOf(messages[1])[2], { input: [] }), /no object/],
      [({ messages = [] }) => edit(contentOf(messages[1])[2], { name: "a.b" }), /calls/],
      [({ messages = [] }) => edit(contentOf(messages[1])[1], { text: " \n" }), /blank/],
      [({ messages = [] }) => contentOf(messages[1]).reverse(), /thinking/],
      [
        ({ messages = [] }) => contentOf(messages[1]).push({ type: "server_tool_use", id: "w" }),
        /server's results/,
      ],
    ]);
  });

  it("[W1] of Gemini", () => {
    const call = { functionCall: { name: "add", args: {} } };
    const response = { functionResponse: { name: "add", response: {} } };
    const good = {
      systemInstruction: { parts: [{ text: "s" }] },
      contents: [
        { role: "user", parts: [{ text: "u" }] },
        { role: "model", parts: [{ text: "t" }, call, call] },
        { role: "user", parts: [response, response] },
      ],
    };
    proves(geminiFaults, good, [
      [({ contents = [] }) => contents.shift(), /first content/],
      [({ contents = [] }) => contents.pop(), /last content|no responses/],
      [({ contents = [] }) => edit(contents[2], { parts: [response] }), /\[add\] where \[add,add\]/],
      [({ contents = [] }) => edit(contents[2], { parts: [] }), /empty/],
      [({ contents = [] }) => edit(contents[0], { parts: [{ text: "" }] }), /empty text/],
      [({ contents = [] }) => contents.splice(1, 1), /where \[\] were called/],
      [
        ({ contents = [] }) => contents.splice(1, 0, { role: "model", parts: [{ text: "x" }] } as never),
        /same role/,
      ],
      [({ contents = [] }) => contents.splice(2, 0, contents[0] as never), /where \[add,add\] were called/],
      [
        ({ contents = [] }) => edit(contents[1], { parts: [{ functionCall: { name: "1", args: [] } }] }),
        /calls 1[\s\S]*no object/,
      ],
      [({ contents = [] }) => edit(contents[0], { parts: [call] }), /function call/],
    ]);
  });
});

function edit(item: unknown, change: object): void {
  Object.assign(item as object, change);
}

function contentOf(message: unknown): object[] {
  return (message as { content: object[] }).content;
}
