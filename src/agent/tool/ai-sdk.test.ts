import { toStandardJsonSchema } from "@valibot/to-json-schema";
import * as ai6 from "ai";
import * as ai5 from "ai5";
import * as ai7 from "ai7";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { z as z3 } from "zod/v3";
import type { Effect } from "../../session/index.js";
import {
  type AiSdkTool,
  checkInput,
  fromAiSdk,
  runTool,
  specOf,
  type Tool,
  ToolDefinitionError,
  ToolOutputError,
  ToolReportedError,
  ToolSchemaError,
} from "./index.js";
import { callContext } from "./testing/context.js";

const versions = [
  [5, ai5],
  [6, ai6 as unknown as typeof ai5],
  [7, ai7 as unknown as typeof ai5],
] as const;
const city = z.object({ city: z.string(), days: z.number().default(3) });

function one(given: unknown, options: { effect?: Effect; context?: unknown; sdk?: 5 } = {}): Tool {
  const [made] = fromAiSdk({ weather: given as AiSdkTool }, { effect: "read", ...options });
  return made as Tool;
}

async function inputOf(made: Tool, input: unknown): Promise<unknown> {
  const checked = await checkInput(made, input);
  return checked.ok ? checked.value : checked.failure.code;
}

describe.each(versions)("tools of the AI SDK %i", (version, ai) => {
  const execute = async (input: unknown) => ({ input });

  it("[A1] tool() with zod", async () => {
    const made = one(ai.tool({ description: "Tells the weather.", inputSchema: city, execute }));
    expect(specOf(made)).toMatchObject({
      name: "weather",
      description: "Tells the weather.",
      input: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    });
    expect(await inputOf(made, { city: "Rome" })).toEqual({ city: "Rome", days: 3 });
    expect(await inputOf(made, { city: 5 })).toBe("tool-input-refused");
    expect(await runTool(made, { city: "Rome" }, callContext())).toEqual({ input: { city: "Rome" } });
  });

  it("[A1] schemas of every kind", async () => {
    const json = {
      type: "object" as const,
      properties: { city: { type: "string" as const } },
      required: ["city"],
    };
    const validated = ai.jsonSchema(json, {
      validate: (value) =>
        (value as { city?: unknown }).city === "Rome"
          ? { success: true, value: { city: "ROME" } }
          : { success: false, error: new Error("only Rome") },
    });
    const kinds: [string, unknown, unknown][] = [
      ["jsonSchema()", ai.jsonSchema(json), { city: "Rome" }],
      ["jsonSchema() that validates", validated, { city: "ROME" }],
      ["zodSchema()", ai.zodSchema(city), { city: "Rome", days: 3 }],
      ["zodSchema() of zod 3", ai.zodSchema(z3.object({ city: z3.string() })), { city: "Rome" }],
      ["a lazy schema", () => ai.zodSchema(city), { city: "Rome", days: 3 }],
      ["arktype", type({ city: "string" }), { city: "Rome" }],
      ["valibot", toStandardJsonSchema(v.object({ city: v.string() })), { city: "Rome" }],
    ];
    for (const [kind, inputSchema, value] of kinds) {
      const made = one(ai.dynamicTool({ description: "d", inputSchema: inputSchema as never, execute }));
      expect(specOf(made).input, kind).toMatchObject({ properties: { city: { type: "string" } } });
      expect(await inputOf(made, { city: "Rome" }), kind).toEqual(value);
      expect(await inputOf(made, { city: 5 }), kind).toBe("tool-input-refused");
    }
    const checked = await checkInput(one({ inputSchema: ai.zodSchema(city), execute }), { city: 5 });
    expect(checked).toMatchObject({ failure: { data: { issues: [{ path: "city" }] } } });
    const only = await checkInput(one({ inputSchema: validated, execute }), { city: "Oslo" });
    expect(only).toMatchObject({ failure: { data: { issues: [{ path: "", message: "only Rome" }] } } });
  });

  it("[A2] execute gets what it gets from the AI SDK", async () => {
    const context = callContext();
    let seen: unknown[] = [];
    const made = one(
      ai.tool({
        description: "d",
        inputSchema: city,
        execute: (...given: unknown[]) => {
          seen = given;
          return "done";
        },
      }),
      { context: { user: "ada" } },
    );
    expect(await runTool(made, { city: "Rome", days: 1 }, context)).toBe("done");
    expect(seen).toEqual([
      { city: "Rome", days: 1 },
      {
        toolCallId: context.call,
        messages: [],
        abortSignal: context.signal,
        context: { user: "ada" },
        experimental_context: { user: "ada" },
      },
    ]);
  });

  it("[A3] the last thing that is yielded is the output", async () => {
    const context = callContext();
    const made = one(
      ai.tool({
        description: "d",
        inputSchema: city,
        async *execute() {
          yield { status: "looking" };
          yield { status: "done", degrees: 21 };
        },
      }),
    );
    expect(await runTool(made, {}, context)).toEqual({ status: "done", degrees: 21 });
    expect(context.told).toEqual([{ status: "looking" }, { status: "done", degrees: 21 }]);
  });

  it("[A3] an endless one stops when it is told to", async () => {
    const stop = new AbortController();
    let closed = false;
    const made = one(
      ai.tool({
        description: "d",
        inputSchema: city,
        async *execute() {
          try {
            for (let count = 0; ; count++) {
              if (count === 3) stop.abort(new Error("enough"));
              yield count;
            }
          } finally {
            closed = true;
          }
        },
      }),
    );
    await expect(runTool(made, {}, callContext(stop.signal))).rejects.toThrow("enough");
    expect(closed).toBe(true);
  });

  it("[A6] toModelOutput decides what is recorded", async () => {
    const context = callContext();
    const shows = (output: unknown) => {
      const toModelOutput = (given: unknown) => {
        const raw = { raw: new Date(0) };
        expect(given).toEqual(
          version === 5 ? raw : { toolCallId: context.call, input: { city: "Rome" }, output: raw },
        );
        return output;
      };
      const given = ai.tool({
        description: "d",
        inputSchema: city,
        execute: async () => ({ raw: new Date(0) }),
      });
      const made = one({ ...given, toModelOutput }, version === 5 ? { sdk: 5 } : {});
      return runTool(made, { city: "Rome" }, context);
    };
    expect(await shows({ type: "text", value: "sunny" })).toBe("sunny");
    expect(await shows(Promise.resolve({ type: "json", value: { degrees: 21 } }))).toEqual({ degrees: 21 });
    await expect(shows({ type: "error-text", value: "no atlas" })).rejects.toThrow(ToolReportedError);
    await expect(shows({ type: "error-text", value: "no atlas" })).rejects.toThrow("no atlas");
    await expect(shows({ type: "error-json", value: { code: 5 } })).rejects.toMatchObject({
      code: "tool-reported-failure",
      data: { tool: "weather", report: { code: 5 } },
    });
    await expect(shows({ type: "error-json", value: new Map() })).rejects.toThrow(ToolOutputError);
    await expect(shows({ type: "execution-denied", reason: "too late" })).rejects.toThrow(
      "not allowed: too late",
    );
    const png = { type: "file", media: "image/png", data: "AAAA" };
    const parts: [unknown, unknown][] = [
      [
        { type: "text", text: "look" },
        { type: "text", text: "look" },
      ],
      [{ type: "media", data: "AAAA", mediaType: "image/png" }, png],
      [{ type: "image-data", data: "AAAA", mediaType: "image/png" }, png],
      [
        { type: "file-data", data: "AAAA", mediaType: "image/png", filename: "a.png" },
        { ...png, name: "a.png" },
      ],
      [
        { type: "image-url", url: "https://a.example/b" },
        { type: "file", media: "image/*", data: "https://a.example/b" },
      ],
      [
        { type: "file-url", url: "https://a.example/b" },
        { type: "file", media: "application/octet-stream", data: "https://a.example/b" },
      ],
      [{ type: "file", mediaType: "image/png", data: { type: "data", data: "AAAA" } }, png],
      [{ type: "file", mediaType: "image/png", data: { type: "data", data: new Uint8Array(3) } }, png],
      [{ type: "file", mediaType: "image/png", data: { type: "data", data: new ArrayBuffer(3) } }, png],
      [
        { type: "file", mediaType: "image/png", data: { type: "url", url: new URL("https://a.example/b") } },
        { ...png, data: "https://a.example/b" },
      ],
      [
        { type: "file", mediaType: "text/plain", data: { type: "text", text: "t" } },
        { type: "text", text: "t" },
      ],
      [
        { type: "file-id", fileId: "f1" },
        { type: "text", text: '{"type":"file-id","fileId":"f1"}' },
      ],
      [
        { type: "file", mediaType: "image/png", data: { type: "reference", reference: "r" } },
        {
          type: "text",
          text: '{"type":"file","mediaType":"image/png","data":{"type":"reference","reference":"r"}}',
        },
      ],
    ];
    expect(await shows({ type: "content", value: parts.map(([given]) => given) })).toEqual({
      type: "content",
      value: parts.map(([, part]) => part),
    });
  });

  it("[A7] a tool that nobody here can run or show is refused", () => {
    expect(() => one({ inputSchema: city, execute: "run" })).toThrow(ToolDefinitionError);
    expect(() => one({ inputSchema: z3.object({}), execute })).toThrow("zodSchema(schema)");
    expect(() => one({ inputSchema: v.object({}), execute })).toThrow(ToolSchemaError);
    const later = { jsonSchema: Promise.resolve({ type: "object" }) };
    expect(() => one({ inputSchema: later, execute })).toThrow("jsonSchema(await schema)");
    expect(() =>
      fromAiSdk({ "a b": ai.tool({ inputSchema: city, execute }) as AiSdkTool }, { effect: "read" }),
    ).toThrow(ToolDefinitionError);
  });
});

describe("tools of the AI SDK", () => {
  const given = { inputSchema: city, execute: async () => 1 };

  it("[A1] the description is the tool's, else its title, else its name", () => {
    expect(one(given).description).toBe("weather");
    expect(one({ ...given, title: "Weather" }).description).toBe("Weather");
    const varying = ai7.tool({
      ...given,
      description: ({ context }) => `for ${(context as { user: string }).user}`,
    });
    expect(one(varying, { context: { user: "ada" } }).description).toBe("for ada");
  });

  it("[A1] a schema that says nothing takes any object", async () => {
    const made = one({ inputSchema: ai6.jsonSchema({}), execute: async () => 1 });
    expect(specOf(made).input).toEqual({ type: "object" });
    expect(await inputOf(made, { a: 1 })).toEqual({ a: 1 });
    expect(await inputOf(made, [])).toBe("tool-input-refused");
  });

  it("[A3] values on the way need not be JSON if the last one is", async () => {
    const context = callContext();
    const made = one({
      ...given,
      async *execute() {
        yield new Uint8Array(3);
        yield "done";
      },
    });
    expect(await runTool(made, {}, context)).toBe("done");
    expect(context.told).toEqual(["done"]);
  });

  it("[A4] the effect is said for all or for each", () => {
    const tools = { look: given, send: given };
    expect(fromAiSdk(tools, { effect: "read" }).map(({ effect }) => effect)).toEqual(["read", "read"]);
    const each = fromAiSdk(tools, { effect: { look: "read", send: "write" } });
    expect(each.map(({ name, effect }) => [name, effect])).toEqual([
      ["look", "read"],
      ["send", "write"],
    ]);
    const missing = { look: "read" } as unknown as { look: "read"; send: "write" };
    expect(() => fromAiSdk(tools, { effect: missing })).toThrow('"send": undefined is not an effect');
  });

  it("[A5] needsApproval is asked, and a person where it takes its time", () => {
    const rome = { city: "Rome", days: 1 };
    expect(one(given).approval(rome)).toBe(false);
    expect(one(ai6.tool({ ...given, needsApproval: true })).approval(rome)).toBe(true);
    const asks = one(ai6.tool({ ...given, needsApproval: (input) => input.city === "Rome" }));
    expect(asks.approval(rome)).toBe(true);
    expect(asks.approval({ city: "Oslo" })).toBe(false);
    expect(one(ai7.tool({ ...given, needsApproval: async () => false })).approval(rome)).toBe(true);
    const broken = async () => {
      throw new Error("down");
    };
    expect(one(ai6.tool({ ...given, needsApproval: broken })).approval(rome)).toBe(true);
  });
});
