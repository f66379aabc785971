import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { Json, Session } from "../../../session/index.js";
import { openStore } from "../../../store/index.js";
import { ImportError, type Imported } from "../exchange.js";

import { attack } from "../testing/attack.js";
import { dataFiles, dataSource } from "../testing/data.js";
import { expectAllHeld, heldIn, sourceOf } from "../testing/leaves.js";
import { cassette } from "./read.js";

const files = dataFiles("provider-cassettes", ".yaml");
const ZSTD =
  "KLUv/STWjQQAcgofGIBPB+ygKETsCbuBInL0JsqBOQ8tHYLmjllmLHytUZQGIs+rEGylowSnSL0l2SNsfn4hO52Uh9++5i27sM85zDqggaZVpNbxfK/2wl7X/Jjd8xrB6VheHces0tuQv5TZdwzJsy4PPsvbjWIoAiPo6DwfKQOltxPT88w7FgYAOouHsOYG8lwKYuWCdAMVBbZb828=";
const CHAT = "https://api.openai.com/v1/chat/completions";
const usage = { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 4 } };
const tool_calls = [
  { id: "c1", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } },
];
const asking = [
  { role: "system", content: "Be kind." },
  { role: "user", content: "How warm?" },
];

function exchange(
  uri: string,
  sent: Json,
  got: Json,
  more: { readonly status?: number; readonly headers?: Json } = {},
): Json {
  const { status = 200, headers = {} } = more;
  const body = typeof got === "string" ? { body: { string: got } } : { parsed_body: got };
  return {
    request: { method: "POST", uri, headers, parsed_body: sent },
    response: {
      status: { code: status, message: "OK" },
      headers: { "content-type": ["application/json"] },
      ...body,
    },
  };
}

function reply(message: Json, finish_reason = "stop"): Json {
  return { id: "r1", model: "gpt-5-2025", choices: [{ index: 0, message, finish_reason }], usage };
}

async function read(...interactions: readonly Json[]): Promise<Imported> {
  const [only] = await cassette.read(sourceOf("tape.json", { interactions, version: 1 } as Json));
  return only as Imported;
}

function types(session: Session): readonly string[] {
  return [...session.history()].map(({ fact }) => fact.type).filter((type) => type !== "note");
}

const stream = (events: readonly Json[]) =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");

describe("recorded traffic", () => {
  it("[V1] requests and answers become one conversation, each thing said once", async () => {
    const made = await read(
      exchange(
        CHAT,
        { model: "gpt-5", messages: asking, temperature: 0.5 },
        reply({ role: "assistant", content: null, tool_calls }, "tool_calls"),
      ),
      exchange(
        CHAT,
        {
          model: "gpt-5",
          messages: [
            ...asking,
            { role: "assistant", tool_calls },
            { role: "tool", tool_call_id: "c1", content: "21" },
          ],
        },
        reply({ role: "assistant", content: "It is 21." }),
      ),
    );
    expect(made.name).toBe("tape");
    expect(made.session.transcript).toMatchObject([
      { role: "system", content: "Be kind." },
      { role: "user", content: "How warm?" },
      {
        role: "assistant",
        content: [{ type: "tool-call", call: "c1", name: "weather", input: { city: "Rome" } }],
      },
      { role: "tool", call: "c1", name: "weather", output: "21" },
      { role: "assistant", content: "It is 21." },
    ]);
    expect(made.session.usage).toMatchObject({ calls: 2, input: 20, output: 10, cached: 8 });
    const replies = [...made.session.history()].flatMap(({ fact }) =>
      fact.type === "model-reply" ? [fact] : [],
    );
    expect(replies[0]).toMatchObject({
      finish: "tool_calls",
      response: "r1",
      model: "gpt-5-2025",
      raw: { status: 200 },
    });
  });

  it("[V2] all four ways of asking are read, whole and as streams", async () => {
    const anthropic = "https://api.anthropic.com/v1/messages?beta=true";
    const google = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent";
    const responses = "https://api.openai.com/v1/responses";
    const output = [
      { type: "reasoning", summary: [{ type: "summary_text", text: "Hm." }] },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "Hello." }] },
      { type: "function_call", call_id: "c1", name: "weather", arguments: "{}" },
    ];
    const whole = {
      id: "r",
      model: "m",
      status: "completed",
      output,
      usage: { input_tokens: 3, output_tokens: 2 },
    };
    const blocks = [
      { type: "thinking", thinking: "Hm." },
      { type: "text", text: "Hello." },
      { type: "tool_use", id: "c1", name: "weather", input: {} },
    ];
    const message = {
      id: "r",
      model: "m",
      stop_reason: "tool_use",
      content: blocks,
      usage: { input_tokens: 1, cache_read_input_tokens: 2, output_tokens: 2 },
    };
    const parts = [
      { text: "Hm.", thought: true },
      { text: "Hello." },
      { functionCall: { name: "weather", args: {} } },
    ];
    const candidate = {
      candidates: [{ content: { parts, role: "model" }, finishReason: "STOP" }],
      usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2 },
      responseId: "r",
      modelVersion: "m",
    };
    const chat = {
      role: "assistant",
      content: "Hello.",
      reasoning_content: "Hm.",
      tool_calls: [{ id: "c1", function: { name: "weather", arguments: "{}" } }],
    };
    const streams: readonly (readonly [string, Json, Json])[] = [
      [
        CHAT,
        { model: "m", messages: [{ role: "user", content: "Hi" }] },
        { ...(reply(chat) as object), usage: { prompt_tokens: 3, completion_tokens: 2 } },
      ],
      [
        CHAT,
        { model: "m", messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }] },
        `${stream([
          { id: "r", model: "m", choices: [{ delta: { reasoning_content: "Hm." } }] },
          { choices: [{ delta: { content: "Hel" } }] },
          {
            choices: [
              {
                delta: {
                  content: "lo.",
                  tool_calls: [{ index: 0, id: "c1", function: { name: "weather", arguments: "{" } }],
                },
              },
            ],
          },
          {
            choices: [
              { delta: { tool_calls: [{ index: 0, function: { arguments: "}" } }] }, finish_reason: "stop" },
            ],
          },
          { choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } },
        ])}data: [DONE]\n\n`,
      ],
      [responses, { model: "m", input: "Hi" }, whole],
      [
        responses,
        { model: "m", input: [{ role: "user", content: "Hi" }] },
        stream([
          { type: "response.created", response: { output: [] } },
          { type: "response.completed", response: whole },
        ]),
      ],
      [anthropic, { model: "m", system: "Be.", messages: [{ role: "user", content: "Hi" }] }, message],
      [
        anthropic,
        { model: "m", messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }] },
        stream([
          {
            type: "message_start",
            message: {
              id: "r",
              model: "m",
              content: [],
              usage: { input_tokens: 1, cache_read_input_tokens: 2, output_tokens: 0 },
            },
          },
          { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "" } },
          { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Hm." } },
          { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
          { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "Hello." } },
          {
            type: "content_block_start",
            index: 2,
            content_block: { type: "tool_use", id: "c1", name: "weather", input: {} },
          },
          { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: "{}" } },
          { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 2 } },
        ]),
      ],
      [google, { contents: [{ role: "user", parts: [{ text: "Hi" }] }] }, candidate],
      [
        google.replace("generateContent", "streamGenerateContent"),
        { contents: [{ role: "user", parts: [{ text: "Hi" }] }] },
        stream([
          { candidates: [{ content: { parts: [{ text: "Hm.", thought: true }, { text: "Hel" }] } }] },
          {
            candidates: [
              {
                content: { parts: [{ text: "lo." }, { functionCall: { name: "weather", args: {} } }] },
                finishReason: "STOP",
              },
            ],
            usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2 },
          },
        ]),
      ],
    ];
    for (const [uri, sent, got] of streams) {
      const { session } = await read(exchange(uri, sent, got));
      const said = session.transcript.map((one) => (one.role === "tool" ? one.name : one.content));
      expect([uri, said[0]]).toEqual([uri, "Hi"]);
      const content = [
        ...(said[1] as readonly { readonly type: string; readonly text?: string; readonly name?: string }[]),
      ];
      expect(content.map(({ type, text, name }) => `${type} ${text ?? name}`)).toEqual([
        "reasoning Hm.",
        "text Hello.",
        "tool-call weather",
      ]);
      expect(session.usage).toMatchObject({ input: 3, output: 2 });
    }
  });

  it("[V3] errors are failures, and what asks no model is a step", async () => {
    const { session } = await read(
      exchange(
        CHAT,
        { model: "gpt-9", messages: asking },
        { error: { message: "no such model", type: "invalid" } },
        { status: 404 },
      ),
      exchange("https://api.openai.com/v1/files", { purpose: "x" }, { id: "file-1" }),
      exchange("https://api.openai.com/v1/embeddings", {}, "oops", { status: 500 }),
      exchange(CHAT, { model: "gpt-5", messages: asking }, "half an ans"),
    );
    expect(types(session).slice(-8)).toEqual([
      "model-call",
      "model-failure",
      "step-call",
      "step-result",
      "step-call",
      "step-failure",
      "model-call",
      "model-reply",
    ]);
    const failure = [...session.history()].find(({ fact }) => fact.type === "model-failure")?.fact;
    expect(failure).toMatchObject({
      error: { message: "no such model", code: "404", data: { status: 404 } },
    });
    expect(session.pending).toEqual([]);
  });

  it("[V4] secrets of headers and addresses are not recorded, and that is told", async () => {
    const headers = {
      authorization: ["Bearer hunter2"],
      "x-goog-api-key": ["hunter2"],
      cookie: ["a=hunter2"],
      accept: ["*/*"],
    };
    const { session, notes } = await read(
      exchange(`${CHAT}?key=hunter2&alt=sse`, { model: "m", messages: asking }, reply({ content: "Hi" }), {
        headers,
      }),
    );
    const held = [...heldIn([session])].join("\n");
    expect(held).not.toContain("hunter2");
    expect(held).toContain("*/*");
    expect(held).toContain("alt=sse");
    expect(notes.join()).toMatch(/may be secrets are not recorded/);
  });

  it("[V7] compressed bodies are the answers that they hold, whichever way they are kept", async () => {
    const words = "Twelve, twelve, twelve and twelve again.";
    const answer = {
      id: "r1",
      model: "gpt-5-2025",
      choices: [{ index: 0, message: { role: "assistant", content: words }, finish_reason: "stop" }],
      usage: { prompt_tokens: 10, completion_tokens: 5 },
    };
    const text = JSON.stringify(answer);
    // The same text, compressed with the zstd program: Node 20 has no encoder for it.
    const zstd = Buffer.from(ZSTD, "base64");
    const sse = stream([{ choices: [{ delta: { content: words }, finish_reason: "stop" }] }]);
    for (const [bytes, encoding] of [
      [gzipSync(text), "gzip"],
      [gzipSync(text), "X-GZip"],
      [gzipSync(text), undefined],
      [gzipSync(sse), "gzip"],
      [deflateSync(text), "deflate"],
      [deflateRawSync(text), "deflate"],
      [brotliCompressSync(text), "br"],
      [zstd, "zstd"],
      [zstd, undefined],
      [brotliCompressSync(gzipSync(text)), "gzip, br"],
      [Buffer.from(text), "gzip"],
      [Buffer.from(text), undefined],
    ] as const) {
      const base64 = bytes.toString("base64");
      const headers = encoding === undefined ? "{}" : `{ Content-Encoding: ["${encoding}"] }`;
      const yaml = (tag: string) => `interactions:
- request: { method: POST, uri: "${CHAT}", body: '{"model":"gpt-5","messages":[{"role":"user","content":"Four times?"}]}' }
  response: { status: { code: 200 }, headers: ${headers}, body: { string: ${tag} "${base64}" } }
version: 1
`;
      const kept = { encoding: "ASCII-8BIT", base64_string: base64 };
      const sent = { model: "gpt-5", messages: [{ role: "user", content: "Four times?" }] };
      const json = {
        interactions: [
          {
            request: { method: "POST", uri: CHAT, parsed_body: sent },
            response: {
              status: { code: 200 },
              headers: encoding === undefined ? {} : { "content-encoding": encoding },
              body: kept,
            },
          },
        ],
      };
      for (const source of [
        sourceOf("tape.yaml", yaml("!!binary")),
        sourceOf("tape.yaml", yaml("!binary")),
        sourceOf("tape.json", json),
      ]) {
        const [made] = await cassette.read(source);
        expect(made?.warnings).toBeUndefined();
        expect(made?.session.transcript).toMatchObject([
          { role: "user", content: "Four times?" },
          { role: "assistant", content: words },
        ]);
        expect(types(made?.session as Session)).not.toContain("model-failure");
      }
    }
    const ruby = exchange(CHAT, { model: "m", messages: asking }, { encoding: "UTF-8", string: text }) as {
      response: { parsed_body?: Json; body?: Json };
    };
    ruby.response.body = ruby.response.parsed_body as Json;
    delete ruby.response.parsed_body;
    expect((await read(ruby as Json)).session.transcript.at(-1)).toMatchObject({ content: words });
  });

  it("[V8] an answer that cannot be read is a reply that says so, with its bytes, and is reported", async () => {
    const bytes = gzipSync("x".repeat(1_000));
    const sent = { model: "m", messages: asking };
    for (const [body, encoding, reason] of [
      [bytes.subarray(0, 20), "gzip", /cannot be decoded as gzip/],
      [Buffer.from(ZSTD, "base64").subarray(0, 40), "zstd", /cannot be decoded as zstd/],
      [Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd]), bytes]), "zstd", /cannot be decoded as zstd/],
      [bytes, "snappy", /the encoding "snappy" is not supported/],
      [Buffer.from([0xff, 0xfe, 0xfd]), undefined, /not UTF-8 text/],
      [Buffer.from("<html>"), undefined, /not a complete answer/],
    ] as const) {
      const base64 = body.toString("base64");
      const made = await read({
        request: { method: "POST", uri: CHAT, parsed_body: sent },
        response: {
          status: { code: 200 },
          headers: encoding === undefined ? {} : { "content-encoding": [encoding] },
          body: { string: { base64 } },
        },
      });
      expect(made.warnings).toEqual([expect.stringMatching(reason)]);
      expect(made.warnings?.[0]).toMatch(/^interactions\[0\]\.response: .* unreadable: /);
      const reply = [...made.session.history()].flatMap(({ fact }) =>
        fact.type === "model-reply" || fact.type === "model-failure" ? [fact] : [],
      );
      expect(reply).toMatchObject([
        {
          type: "model-reply",
          finish: "unreadable",
          content: [{ type: "other", value: { unreadable: expect.stringMatching(reason) } }],
        },
      ]);
      if (!/html/.test(body.toString())) expect(heldIn([made.session])).toContain(base64);
    }
    const failed = await read(exchange(CHAT, sent, "no", { status: 500 }));
    expect(types(failed.session)).toContain("model-failure");
    expect(failed.warnings).toBeUndefined();
  });

  it.skipIf(files.length === 0)(
    "[V5] all supplied cassettes import whole, and to the same session",
    async () => {
      expect(files.length).toBe(60);
      const store = await openStore("memory:");
      let exchanges = 0;
      let unread = 0;
      for (const path of files) {
        const source = dataSource(path);
        expect(cassette.fits(source)).toBe(true);
        const [only] = await cassette.read(source);
        const { session } = only as Imported;
        const value = parse(Buffer.from(source.bytes).toString()) as {
          readonly interactions: readonly Json[];
        };
        exchanges += value.interactions.length;
        const secret = /\.headers\.[^.]*(auth|cookie|token|secret|key|session)/i;
        expectAllHeld(
          value.interactions as Json,
          [session],
          (at, leaf) => secret.test(at) || leaf === null || isMethod(leaf),
        );
        unread += only?.warnings?.length ?? 0;
        expect((await cassette.read(source))[0]?.session.id).toBe(session.id);
        expect(
          session.transcript.length + types(session).filter((type) => type === "step-call").length,
        ).toBeGreaterThan(0);
        await store.save(session, { name: path });
      }
      expect([exchanges, unread]).toEqual([109, 0]);
      expect((await store.check()).findings).toEqual([]);
      await store.close();
    },
  );

  it("[V6] a file that is not a cassette is refused; damaged ones are a session or an ImportError", async () => {
    for (const [text, where] of [
      ["{}", ""],
      ['{"interactions":[]}', ""],
      ['{"interactions":[7]}', "interactions[0]"],
      ['{"interactions":[{"request":{}}]}', "interactions[0].response"],
      ['{"interactions":[{"request":{},"response":{}}]}', "interactions[0].request.uri"],
      ['{"interactions":[{"request":{"uri":"x"},"response":{}}]}', "interactions[0].response.status.code"],
      ["interactions:\n- request: [", ""],
      [
        `a: &a [x,x,x,x,x,x,x,x,x]\n${"bcdefghij"
          .split("")
          .map((name, index) => `${name}: &${name} [${Array(9).fill(`*${"abcdefghi"[index]}`).join(",")}]`)
          .join("\n")}`,
        "",
      ],
    ] as const) {
      const error: unknown = await cassette.read(sourceOf("x.yaml", text)).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(ImportError);
      expect((error as ImportError).data.where).toBe(where);
    }
    expect(cassette.fits(sourceOf("x", `interactions:${"\n".repeat(100_000)}`))).toBe(false);
    const tape = {
      interactions: [
        exchange(
          CHAT,
          { model: "m", messages: asking },
          reply({ role: "assistant", content: "Hi", tool_calls }),
        ),
        exchange(
          "https://x/v1/messages",
          { messages: [{ role: "user", content: [] }] },
          { content: [{ type: "tool_use" }] },
        ),
      ],
    } as Json;
    await attack(cassette, [sourceOf("a.json", tape), ...files.slice(0, 6).map(dataSource)], 60);
    await attack(
      cassette,
      [
        sourceOf("a.json", tape),
        ...files
          .slice(0, 30)
          .map((path) => sourceOf("b.json", parse(Buffer.from(dataSource(path).bytes).toString()) as Json)),
      ],
      200,
      (source) => JSON.parse(Buffer.from(source.bytes).toString()) as Json,
    );
  });
});

/** Said by the fact: which way it was asked. */
function isMethod(leaf: Json): boolean {
  return leaf === "POST" || leaf === "GET" || leaf === "DELETE";
}
