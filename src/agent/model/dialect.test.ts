import { describe, expect, it } from "vitest";
import type { Json, Message, Part } from "../../session/index.js";
import { callModel, type LanguageModel, type ModelConfig, renderPrompt } from "./index.js";
import { type Ending, providers } from "./testing/providers.js";
import type { Body } from "./testing/validators/body.js";

const config: ModelConfig = { agent: "a" };
const PNG = "iVBORw0KGgo=";
const MP4 = "AAAAIGZ0eXBpc29t";
const PDF = "JVBERi0xLjQK";
const picture = { type: "file", media: "image/png", data: PNG };
const video = { type: "file", media: "video/mp4", data: MP4, name: "a.mp4" };

/** Two tools are asked side by side; the first one gives files. */
function looked(files: readonly Json[], ...after: readonly Message[]): readonly Message[] {
  return [
    { role: "user", content: "go" },
    {
      role: "assistant",
      content: ["a", "b"].map((call) => ({ type: "tool-call", call, name: "look", input: {} })),
    },
    { role: "tool", call: "a", name: "look", output: [{ type: "text", text: "see" }, ...files] },
    { role: "tool", call: "b", name: "look", output: "B" },
    ...after,
  ];
}

async function sentTo({ model, sent, faults }: Ending, transcript: readonly Message[]): Promise<Body> {
  await callModel(model, renderPrompt(config, transcript), config);
  expect(faults(sent())).toEqual([]);
  return sent();
}

/** The messages that a model of a version and a provider is given. */
async function toldTo(
  specificationVersion: LanguageModel["specificationVersion"],
  provider: string,
  transcript: readonly Message[],
): Promise<readonly object[]> {
  let told: readonly object[] = [];
  const model: LanguageModel = {
    specificationVersion,
    provider,
    modelId: "m",
    doGenerate: async ({ prompt }) => {
      told = prompt;
      return { content: [], finishReason: "stop", usage: {} };
    },
    doStream: () => Promise.reject(new Error("nobody streams")),
  };
  await callModel(model, renderPrompt(config, transcript), config);
  return told;
}

/** What stands where a request has its results: the results, and beside them what came with them. */
const image = { type: "image_url", image_url: { url: `data:image/png;base64,${PNG}` } };
const response = (content: string) => ({ name: "look", response: { name: "look", content } });
const inlineData = { mimeType: "image/png", data: PNG };
const places: { readonly [name: string]: (body: Body) => readonly [unknown, unknown] } = {
  "openai chat": ({ messages }) => [(messages as unknown[]).slice(2), afterResults],
  "openai-compatible": ({ messages }) => [(messages as unknown[]).slice(2), afterResults],
  "openai responses": ({ input }) => [
    (input as unknown[]).slice(3, -1),
    [
      {
        type: "function_call_output",
        call_id: "a",
        output: [
          { type: "input_text", text: "see" },
          { type: "input_image", image_url: `data:image/png;base64,${PNG}` },
        ],
      },
      { type: "function_call_output", call_id: "b", output: "B" },
    ],
  ],
  anthropic: ({ messages }) => [
    (messages as { content: unknown[] }[])[2]?.content.slice(0, 2),
    [
      {
        type: "tool_result",
        tool_use_id: "a",
        content: [
          { type: "text", text: "see" },
          { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } },
        ],
      },
      { type: "tool_result", tool_use_id: "b", content: "B" },
    ],
  ],
  "gemini 2.5": ({ contents }) => [
    (contents as { parts: unknown[] }[])[2]?.parts,
    [
      { functionResponse: { id: "a", ...response("see") } },
      { inlineData },
      { text: "Tool executed successfully and returned this image as a response" },
      { functionResponse: { id: "b", ...response("B") } },
    ],
  ],
  "gemini 3": ({ contents }) => [
    (contents as { parts: unknown[] }[])[2]?.parts,
    [
      { functionResponse: { id: "a", ...response("see"), parts: [{ inlineData }] } },
      { functionResponse: { id: "b", ...response("B") } },
    ],
  ],
};
const afterResults = [
  { role: "tool", tool_call_id: "a", content: "see" },
  { role: "tool", tool_call_id: "b", content: "B" },
  {
    role: "user",
    content: [{ type: "text", text: "[From the tool look, call a:]" }, image, { type: "text", text: "and?" }],
  },
];

describe("files, in the words of each provider", () => {
  it.each(providers())("[R14] $name gets a picture of a tool as a picture", async (provider) => {
    const body = await sentTo(provider, looked([picture], { role: "user", content: "and?" }));
    const [found, expected] = places[provider.name]?.(body) ?? [];
    expect(found).toEqual(expected);
  });

  it("[R14] after all results also where nobody speaks next, or the model did", async () => {
    const [chat] = providers() as [Ending];
    const last = await sentTo(chat, looked([picture]));
    expect((last.messages as Body[]).map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "tool",
      "user",
    ]);
    const said = await sentTo(
      chat,
      looked([picture], { role: "assistant", content: "A cat." }, { role: "user", content: "Sure?" }),
    );
    expect((said.messages as Body[]).slice(4)).toEqual([
      { role: "user", content: afterResults[2]?.content?.slice(0, 2) },
      { role: "assistant", content: "A cat." },
      { role: "user", content: "Sure?" },
    ]);
  });

  it.each(providers().filter(({ name }) => !name.startsWith("gemini")))(
    "[R15] $name is told the name of a file that it does not take",
    async (provider) => {
      const given = await sentTo(provider, looked([video, picture]));
      expect(JSON.stringify(given)).toContain("see\\n[file a.mp4 (video/mp4)]");
      expect(JSON.stringify(given)).not.toContain(MP4);
      expect(JSON.stringify(given)).toContain(PNG);
      const content = [video as Part, picture as Part];
      const asked = JSON.stringify(await sentTo(provider, [{ role: "user", content }]));
      expect(asked).toContain("[file a.mp4 (video/mp4)]");
      expect(asked).not.toContain(MP4);
      expect(asked).toContain(PNG);
    },
  );

  it.each(providers())("[R15] $name gets what it takes", async ({ name, ...provider }) => {
    const document = { type: "file", media: "application/pdf", data: PDF };
    const sound = { type: "file", media: "audio/mpeg", data: "SUQzBAAAAAAA" };
    const cloud = { type: "file", media: "image/png", data: "gs://bucket/a.png" };
    const gets = async (part: object, held: string) => {
      const content = [part as Part];
      const body = await sentTo({ name, ...provider }, [{ role: "user", content }]);
      return JSON.stringify(body).includes(held);
    };
    const google = name.startsWith("gemini");
    expect(await gets(document, PDF)).toBe(true);
    expect(await gets(sound, sound.data)).toBe(/chat|compatible/.test(name) || google);
    expect(await gets(cloud, `[file (image/png) at ${cloud.data}]`)).toBe(!google);
    const toolGives = JSON.stringify(await sentTo({ name, ...provider }, looked([document])));
    expect(toolGives.includes(PDF)).toBe(name !== "openai-compatible");
  });

  it("[R15] the oldest version names what a tool found elsewhere, in the one text of the result", async () => {
    const url = { type: "image-url", url: "https://example.com/a.png" };
    expect(await toldTo("v2", "google.generative-ai", looked([url]))).toMatchObject([
      {},
      {},
      {
        content: [
          {
            output: {
              value: [{ type: "text", text: "see\n[file (image/*) at https://example.com/a.png]" }],
            },
          },
          { output: { type: "text", value: "B" } },
        ],
      },
    ]);
  });

  it("[R15] Mistral, where no user may speak after a tool, is told the name", async () => {
    const [, , results, ...rest] = await toldTo("v3", "mistral.chat", looked([picture]));
    expect(results).toMatchObject({ content: [{ output: { value: "see\n[file (image/png)]" } }, {}] });
    expect(rest).toEqual([]);
  });

  it("[R14] Google's clients are called like those of the chat API, and take files in results", async () => {
    const [, , results, ...rest] = await toldTo("v3", "google.vertex.chat", looked([picture]));
    expect(results).toMatchObject({
      content: [{ output: { value: [{ text: "see" }, { type: "image-data", data: PNG }] } }, {}],
    });
    expect(rest).toEqual([]);
  });

  it("[R14] the prompt and its digest are the same for all of them", async () => {
    const prompt = renderPrompt(config, looked([picture, video]));
    const before = prompt.text;
    for (const { model } of providers()) await callModel(model, prompt, config);
    expect(renderPrompt(config, looked([picture, video])).digest).toBe(prompt.digest);
    expect(prompt.text).toBe(before);
  });
});
