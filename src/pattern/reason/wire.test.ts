import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { agent } from "../../agent/index.js";
import { compatible } from "../../agent/model/index.js";
import { add, broken } from "../../agent/testing/tools.js";
import { openRath } from "../../runtime/index.js";
import { react } from "./index.js";

type Body = {
  readonly stop?: readonly string[];
  readonly tools?: unknown;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
};

/** An endpoint that answers one text after the other, and what it was asked. */
async function endpoint(
  ...texts: readonly string[]
): Promise<{ readonly url: string; readonly asked: Body[] }> {
  const asked: Body[] = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const content = texts[asked.length] ?? "";
    asked.push(JSON.parse(text) as Body);
    response.writeHead(200, { "content-type": "application/json" });
    const message = { role: "assistant", content };
    const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 };
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    response.end(JSON.stringify({ id: "r1", created: 1, model: "tiny", choices, usage }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, asked };
}

it("[A10] asks a model that writes with plain messages in turns, a word to stop at, and no tools", async () => {
  const { url, asked } = await endpoint(
    "Hello.",
    "Thought 1: I add.\nAction 1: add[1, 2]",
    "Action 2: broken[]\nObservation 2: fine",
    "Thought 3: It is 3.\nAction 3: Finish[3]",
  );
  const rath = openRath({ store: "memory:" });
  onTestFinished(() => rath.close());
  const model = await compatible({ url, model: "tiny" });
  // Somebody else spoke before, and the user goes on.
  const greeted = await rath.run(agent({ name: "host", model }), rath.start("Hi."));
  const clerk = react({ name: "clerk", model, tools: [add, broken], instructions: "Be exact." });
  const session = await rath.run(clerk, greeted.say("1 + 2?"), { name: "s" });
  expect(clerk.output(session)).toBe("3");
  for (const { stop, tools, messages } of asked.slice(1)) {
    expect([stop, tools]).toEqual([["\nObservation"], undefined]);
    expect(messages[0]).toMatchObject({
      role: "system",
      content: expect.stringMatching(/^Be exact\..*- add\[a, b\]/s),
    });
    const roles = messages.slice(1).map(({ role }) => role);
    expect(roles).toEqual(roles.map((_role, place) => (place % 2 === 0 ? "user" : "assistant")));
    expect(messages.every(({ content }) => typeof content === "string" && content !== "")).toBe(true);
  }
  expect(
    asked
      .at(-1)
      ?.messages.slice(-3)
      .map(({ content }) => content),
  ).toEqual(["Observation 1: 3", "Action 2: broken[]", "Observation 2: Error: it is broken"]);
  expect((await rath.replay("s", clerk, { mode: "verify" })).id).toBe(session.id);
  expect(asked.length).toBe(4);
});
