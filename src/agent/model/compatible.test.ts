import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import {
  callModel,
  compatible,
  failureOf,
  MissingPackageError,
  type ModelConfig,
  renderPrompt,
} from "./index.js";

const config: ModelConfig = {
  agent: "a",
  tools: [{ name: "add", input: { type: "object", properties: {} } }],
};
const prompt = renderPrompt(config, [{ role: "user", content: "1 + 2?" }]);

/** What Ollama and others answer, as far as a chat needs it. */
describe("an OpenAI-compatible endpoint", () => {
  let server: Server;
  let url: string;
  const seen: { headers: { [name: string]: unknown }; body: { [field: string]: unknown } }[] = [];

  beforeAll(async () => {
    server = createServer(async (request, response) => {
      let text = "";
      for await (const chunk of request) text += chunk;
      const body = JSON.parse(text) as { [field: string]: unknown };
      seen.push({ headers: request.headers, body });
      if (body.model === "missing") {
        response.writeHead(404, { "content-type": "application/json", "retry-after": "3" });
        response.end('{"error":{"message":"model not found"}}');
        return;
      }
      const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 };
      const call = { id: "c1", type: "function", function: { name: "add", arguments: '{"a":1}' } };
      const base = { id: "r1", created: 1, model: "tiny" };
      if (body.stream !== true) {
        response.writeHead(200, { "content-type": "application/json", "x-request-id": "req_9" });
        const message = { role: "assistant", content: "Let me see.", tool_calls: [call] };
        response.end(
          JSON.stringify({ ...base, choices: [{ index: 0, message, finish_reason: "tool_calls" }], usage }),
        );
        return;
      }
      response.writeHead(200, { "content-type": "text/event-stream" });
      const send = (delta: object, finish_reason: string | null = null) =>
        response.write(
          `data: ${JSON.stringify({ ...base, choices: [{ index: 0, delta, finish_reason }] })}\n\n`,
        );
      send({ role: "assistant", content: "Let me " });
      send({ content: "see." });
      send({ tool_calls: [{ index: 0, ...call, function: { name: "add", arguments: '{"a"' } }] });
      send({ tool_calls: [{ index: 0, function: { arguments: ":1}" } }] });
      send({}, "tool_calls");
      response.write(`data: ${JSON.stringify({ ...base, choices: [], usage })}\n\n`);
      response.end("data: [DONE]\n\n");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  it("[O1] is asked and answers, streamed or not", async () => {
    const model = await compatible({ url, model: "tiny", key: "k1", name: "ollama" });
    expect(model.modelId).toBe("tiny");
    const whole = await callModel(model, prompt, config);
    expect(whole).toMatchObject({
      content: [
        { type: "text", text: "Let me see." },
        { type: "tool-call", call: "c1", name: "add", input: { a: 1 } },
      ],
      finish: "tool-calls",
      usage: { input: 9, output: 4 },
      model: "tiny",
      response: "r1",
      raw: { headers: { "x-request-id": "req_9" }, body: { id: "r1" } },
    });
    const { content, finish, usage } = await callModel(model, prompt, config, { stream: true });
    expect({ content, finish, usage }).toEqual({
      content: whole.content,
      finish: whole.finish,
      usage: whole.usage,
    });
    expect(seen[0]?.headers.authorization).toBe("Bearer k1");
    expect(seen[0]?.body).toMatchObject({ model: "tiny", messages: [{ role: "user", content: "1 + 2?" }] });
    expect(JSON.stringify(seen[0]?.body)).not.toContain("openrath");
  });

  it("[O1] and its refusals are failures that say why", async () => {
    const model = await compatible({ url, model: "missing" });
    const thrown = await callModel(model, prompt, config).catch((error: unknown) => error);
    expect(failureOf(thrown)).toMatchObject({
      message: "model not found",
      code: "http-404",
      data: { status: 404, retryable: false, retryAfter: 3_000 },
    });
    expect(seen.at(-1)?.headers.authorization).toBe(undefined);
  });

  it("[O2] says what to install when its package is missing", async () => {
    vi.resetModules();
    vi.doMock("@ai-sdk/openai-compatible", () => {
      throw Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" });
    });
    const fresh = await import("./compatible.js");
    const thrown = await fresh.compatible({ url, model: "tiny" }).catch((error: unknown) => error);
    vi.doUnmock("@ai-sdk/openai-compatible");
    expect(thrown).toMatchObject({
      name: MissingPackageError.name,
      code: "package-missing",
      hint: "npm install @ai-sdk/openai-compatible",
    });
  });
});
