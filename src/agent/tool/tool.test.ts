import { type } from "arktype";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import type { Session } from "../../session/index.js";
import {
  DEFAULT_OUTPUT,
  type JsonSchema,
  MAX_OUTPUT,
  moduleTool,
  specOf,
  type ToolDefinition,
  ToolDefinitionError,
  tool,
} from "./index.js";

const fine = {
  name: "weather",
  description: "Tells the weather.",
  input: z.object({ city: z.string() }),
  effect: "read",
  run: ({ city }: { city: string }) => `sunny in ${city}`,
} as const;

function refusal(change: object): ToolDefinitionError {
  try {
    tool({ ...fine, ...change } as unknown as ToolDefinition<JsonSchema, JsonSchema>);
  } catch (error) {
    expect(error).toBeInstanceOf(ToolDefinitionError);
    return error as ToolDefinitionError;
  }
  throw new Error("it was not refused");
}

describe("a definition", () => {
  it.each(["", "with space", "dötted", "a.b", "a/b", "x".repeat(65), "new\nline", "read_file\n"])(
    "[T1] refuses the name %j with a hint",
    (name) => {
      const error = refusal({ name });
      expect(error.code).toBe("tool-definition-refused");
      expect(error.hint).toContain("a-z");
      expect(error.data.tool).toBe(name);
    },
  );

  it("[T1] takes every name that all providers take", () => {
    for (const name of ["a", "read_file", "Read-File-2", "_", "x".repeat(64), "__proto__"])
      expect(tool({ ...fine, name }).name).toBe(name);
  });

  it("[T2] refuses what is missing or out of range, and says what would do", () => {
    expect(refusal({ effect: undefined }).hint).toContain("pure, read, idempotent, write");
    expect(refusal({ effect: "Write" }).message).toContain('"Write" is not an effect');
    expect(refusal({ effect: "constructor" }).message).toContain("is not an effect");
    expect(refusal({ description: "" }).message).toContain("no description");
    expect(refusal({ run: undefined }).message).toContain("no run");
    for (const retry of [{ attempts: Number.NaN }, { attempts: 0 }, { wait: -1 }, { when: true }, 3, null])
      expect(refusal({ retry }).message).toMatch(/retry|attempts/);
    for (const conflicts of [7, "database", [1]])
      expect(refusal({ conflicts }).message).toContain("`conflicts`");
    for (const approval of ["yes", 1]) expect(refusal({ approval }).message).toContain("`approval`");
    for (const approval of [[], null, { form: "user:ada" }, { from: "ada" }, { need: 2 }, { otherwise: {} }])
      expect(refusal({ approval }).message).toContain("its approval");
    expect(refusal({ approval: { form: "user:ada" } }).hint).toBe('did you mean "from"?');
    expect(refusal({ key: "k" }).message).toContain("`key` must be a function");
    expect(refusal({ reconcile: {} }).message).toContain("`reconcile` must be a function");
    for (const timeout of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31])
      expect(refusal({ timeout }).message).toContain("timeout");
    for (const maxOutput of [0, 199, 0.5, Number.NaN, MAX_OUTPUT + 1])
      expect(refusal({ maxOutput }).message).toContain("maxOutput");
    expect(tool(fine).maxOutput).toBe(DEFAULT_OUTPUT);
    expect(tool({ ...fine, maxOutput: MAX_OUTPUT, timeout: 5 })).toMatchObject({
      maxOutput: MAX_OUTPUT,
      timeout: 5,
    });
  });

  it("[T7] refuses options that there are not", () => {
    expect(refusal({ descripton: "x" })).toMatchObject({
      message: expect.stringContaining('it has no option "descripton"'),
      hint: 'did you mean "description"?',
    });
    expect(refusal({ maxoutput: 200 }).hint).toBe('did you mean "maxOutput"?');
    expect(refusal({ execute: () => 1 }).hint).toContain("name, description, input, output, effect");
    expect(refusal({ retry: { attempt: 3 } }).hint).toContain("attempts");
    for (const none of [undefined, null, 7])
      expect(() => tool(none as never)).toThrow(expect.objectContaining({ code: "tool-definition-refused" }));
    const module = { name: "m", forward: async (session: Session) => session };
    expect(() => moduleTool(module, { description: "d", tell: () => "x" } as never)).toThrow(
      'it has no option "tell"',
    );
  });

  it("[T3] values and functions answer alike", () => {
    const plain = tool(fine);
    expect(plain.conflicts({ city: "Rome" })).toEqual([]);
    expect(plain.approval({ city: "Rome" })).toBe(false);
    expect(plain.key).toBeUndefined();
    const values = tool({ ...fine, conflicts: ["city"], approval: true });
    expect(values.conflicts({ city: "Rome" })).toEqual(["city"]);
    expect(values.approval({ city: "Rome" })).toBe(true);
    const functions = tool({
      ...fine,
      key: ({ city }) => `weather-${city}`,
      conflicts: ({ city }) => [city],
      approval: ({ city }) => city === "Rome",
    });
    expect(functions.key?.({ city: "Rome" })).toBe("weather-Rome");
    expect(functions.conflicts({ city: "Rome" })).toEqual(["Rome"]);
    expect(functions.approval({ city: "Rome" })).toBe(true);
    expect(functions.approval({ city: "Oslo" })).toBe(false);
  });

  it("[T4] the order of keywords makes no difference, and the order of fields stays", () => {
    const one = {
      type: "object",
      required: ["b", "a"],
      properties: { b: { type: "string", minLength: 1 }, a: { enum: [{ z: 1, y: 2 }] } },
    };
    const other = {
      properties: { b: { minLength: 1, type: "string" }, a: { enum: [{ z: 1, y: 2 }] } },
      required: ["b", "a"],
      type: "object",
    };
    const [first, second] = [one, other].map((input) =>
      JSON.stringify(specOf(tool({ ...fine, input, run: () => 1 }))),
    );
    expect(first).toBe(second);
    expect(first).toBe(
      '{"name":"weather","description":"Tells the weather.","input":{"properties":' +
        '{"b":{"minLength":1,"type":"string"},"a":{"enum":[{"z":1,"y":2}]}},"required":["b","a"],"type":"object"}}',
    );
  });

  it("[T4] a field may be called like a keyword", () => {
    const input = {
      type: "object",
      properties: { properties: { type: "string", description: "d" }, enum: { type: "number", default: 1 } },
    };
    expect(JSON.stringify(specOf(tool({ ...fine, input, run: () => 1 })).input)).toBe(
      '{"properties":{"properties":{"description":"d","type":"string"},"enum":{"default":1,"type":"number"}},"type":"object"}',
    );
  });

  it("[T4] libraries that agree give the same bytes, without naming the dialect that everyone assumes", () => {
    const zod = specOf(tool({ ...fine, input: z.object({ city: z.string(), days: z.number() }) }));
    const ark = specOf(tool({ ...fine, input: type({ city: "string", days: "number" }) }));
    expect(JSON.stringify(zod)).toBe(JSON.stringify(ark));
    expect(zod.input).not.toHaveProperty("$schema");
  });

  it("[T5] is frozen and leaves what it was given alone", () => {
    const input = { type: "object", properties: { city: { type: "string" } } };
    const definition = { ...fine, input, run: () => 1 };
    const before = JSON.stringify(definition);
    const made = tool(definition);
    expect(Object.isFrozen(made)).toBe(true);
    expect(Object.isFrozen((specOf(made).input.properties as { city: object }).city)).toBe(true);
    input.properties.city.type = "number";
    expect(specOf(made).input).toEqual({ type: "object", properties: { city: { type: "string" } } });
    input.properties.city.type = "string";
    expect(JSON.stringify(definition)).toBe(before);
  });

  it("[T6] the validator of JSON Schemas is loaded by the first value that it checks", async () => {
    let loads = 0;
    vi.doMock("@cfworker/json-schema", async (original) => {
      loads += 1;
      return await original();
    });
    vi.resetModules();
    const fresh = await import("./index.js");
    const made = fresh.tool({ ...fine, input: { type: "object" }, run: () => 1 });
    await fresh.checkInput(fresh.tool(fine), { city: "Rome" });
    expect(loads).toBe(0);
    expect(await fresh.checkInput(made, {})).toMatchObject({ ok: true });
    expect(await fresh.checkInput(made, 5)).toMatchObject({ ok: false });
    expect(loads).toBe(1);
    vi.doUnmock("@cfworker/json-schema");
  });
});
