import { toStandardJsonSchema } from "@valibot/to-json-schema";
import * as ai6 from "ai";
import * as ai5 from "ai5";
import * as ai7 from "ai7";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";
import type { Effect, Json } from "../../session/index.js";
import {
  content,
  fromAiSdk,
  type JsonObject,
  moduleTool,
  runTool,
  type Tool,
  type ToolContext,
  tool,
} from "./index.js";

const base = { name: "t", description: "d", effect: "read" } as const;
declare const context: ToolContext;

describe("types", () => {
  it("[S8] run knows its input from zod", () => {
    const made = tool({
      ...base,
      input: z.object({
        city: z.string(),
        on: z.string().transform((text) => new Date(text)),
        days: z.number().default(3),
      }),
      key: ({ city }) => city,
      conflicts: ({ city }) => [city],
      approval: ({ days }) => days > 3,
      run: (input, given) => {
        expectTypeOf(input).toEqualTypeOf<{ city: string; on: Date; days: number }>();
        expectTypeOf(given).toEqualTypeOf<ToolContext>();
        return { anything: 1 };
      },
    });
    expectTypeOf(made).toExtend<Tool<{ city: string; on: Date; days: number }>>();
  });

  it("[S8] from arktype, from wrapped valibot and from a JSON Schema", () => {
    tool({
      ...base,
      input: type({ city: "string", "days?": "number" }),
      run: (input) => {
        expectTypeOf(input).toEqualTypeOf<{ city: string; days?: number }>();
        return input.city;
      },
    });
    tool({
      ...base,
      input: toStandardJsonSchema(v.object({ city: v.string() })),
      run: async (input) => {
        expectTypeOf(input).toEqualTypeOf<{ city: string }>();
        return input.city;
      },
    });
    tool({
      ...base,
      input: { type: "object", properties: { city: { type: "string" } } },
      run: (input) => {
        expectTypeOf(input).toEqualTypeOf<JsonObject>();
        expectTypeOf(input).toExtend<Json>();
        return input.city;
      },
    });
    tool({
      ...base,
      input: {},
      run: (input) => {
        expectTypeOf(input).toEqualTypeOf<JsonObject>();
      },
    });
  });

  it("[S8] run must return what the schema of its output takes", () => {
    const input = z.object({});
    tool({ ...base, input, output: z.object({ degrees: z.number() }), run: () => ({ degrees: 21 }) });
    tool({ ...base, input, output: z.object({ degrees: z.number() }), run: async () => ({ degrees: 21 }) });
    tool({ ...base, input, output: v.object({ degrees: v.number() }), run: () => ({ degrees: 21 }) });
    tool({ ...base, input, output: { type: "object" }, run: () => ({ degrees: 21 }) });
    tool({ ...base, input, run: () => content([{ type: "text", text: "x" }]) });
    // @ts-expect-error text is no number
    tool({ ...base, input, output: z.object({ degrees: z.number() }), run: () => ({ degrees: "21" }) });
    // @ts-expect-error a Date is no JSON
    tool({ ...base, input, output: { type: "object" }, run: () => new Date() });
  });

  it("[S8] valibot without a wrapper does not compile, nor does a tool without an effect", () => {
    // @ts-expect-error it has no JSON Schema
    tool({ ...base, input: v.object({ city: v.string() }), run: () => 1 });
    // @ts-expect-error what does it do to the world?
    tool({ name: "t", description: "d", input: {}, run: () => 1 });
    // @ts-expect-error no such effect
    tool({ ...base, effect: "delete", input: {}, run: () => 1 });
    // @ts-expect-error decided by a promise, a replay could not be asked
    tool({ ...base, input: {}, approval: async () => true, run: () => 1 });
  });

  it("[S8] tools of all inputs go into one list", () => {
    const tools: readonly Tool[] = [
      tool({ ...base, input: z.object({ city: z.string() }), run: ({ city }) => city }),
      tool({ ...base, input: {}, effect: "write", run: () => 1, reconcile: async () => "again" }),
      moduleTool({ name: "m", forward: async (session) => session }, { description: "d" }),
    ];
    expectTypeOf(tools[0]?.effect).toEqualTypeOf<Effect | undefined>();
    for (const each of tools) expectTypeOf(runTool(each, {}, context)).resolves.toEqualTypeOf<Json>();
  });

  it("[A4] tools of all versions of the AI SDK fit, and each needs its effect", () => {
    const inputSchema = z.object({ city: z.string() });
    const tools = {
      five: ai5.tool({ description: "d", inputSchema, execute: async ({ city }) => city }),
      six: ai6.tool({ description: "d", inputSchema, execute: async ({ city }) => city }),
      seven: ai7.tool({ description: "d", inputSchema, execute: async ({ city }) => city }),
      dynamic: ai6.dynamicTool({ description: "d", inputSchema: ai6.jsonSchema({}), execute: async () => 1 }),
    };
    expectTypeOf(fromAiSdk(tools, { effect: "read" })).toEqualTypeOf<Tool[]>();
    fromAiSdk(tools, { effect: { five: "read", six: "read", seven: "write", dynamic: "pure" } });
    const set: ai6.ToolSet = { six: tools.six };
    fromAiSdk(set, { effect: { six: "read" } });
    // @ts-expect-error what do they do to the world?
    fromAiSdk(tools, {});
    // @ts-expect-error one is missing
    fromAiSdk(tools, { effect: { five: "read", six: "read", seven: "write" } });
  });
});
