import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod";
import * as mini from "zod/mini";
import { z as z3 } from "zod/v3";
import { checkInput, type InputSchema, runTool, specOf, type Tool, ToolSchemaError, tool } from "./index.js";
import { callContext } from "./testing/context.js";

const schemas = {
  zod: z.object({
    city: z.string(),
    days: z.number().int().min(1).default(3),
    tags: z.array(z.string()).optional(),
  }),
  "zod mini": mini.toJSONSchema(
    mini.object({
      city: mini.string(),
      days: mini._default(mini.number().check(mini.int(), mini.minimum(1)), 3),
      tags: mini.optional(mini.array(mini.string())),
    }),
  ),
  valibot: toStandardJsonSchema(
    v.object({
      city: v.string(),
      days: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1)), 3),
      tags: v.optional(v.array(v.string())),
    }),
  ),
  arktype: type({ city: "string", days: "number.integer >= 1 = 3", "tags?": "string[]" }),
  "JSON Schema": {
    type: "object",
    properties: {
      city: { type: "string" },
      days: { type: "integer", minimum: 1, default: 3 },
      tags: { type: "array", items: { type: "string" } },
    },
    required: ["city"],
  },
};

function withInput(input: unknown): Tool {
  return tool({
    name: "t",
    description: "d",
    input: input as InputSchema,
    effect: "pure",
    run: (value) => value,
  });
}

async function issuesOf(made: Tool, input: unknown): Promise<readonly { path: string; message: string }[]> {
  const checked = await checkInput(made, input);
  expect(checked.ok).toBe(false);
  if (checked.ok) return [];
  expect(checked.failure).toMatchObject({ name: "ToolInputError", code: "tool-input-refused" });
  return (checked.failure.data as { issues: { path: string; message: string }[] }).issues;
}

function refusal(input: unknown): ToolSchemaError {
  try {
    withInput(input);
  } catch (error) {
    expect(error).toBeInstanceOf(ToolSchemaError);
    return error as ToolSchemaError;
  }
  throw new Error("it was not refused");
}

describe.each(Object.entries(schemas))("a schema of %s", (library, schema) => {
  const made = withInput(schema);

  it("[S1] takes what fits, with what the schema makes of it", async () => {
    const input = { city: "Rome", days: 2, tags: ["a"] };
    expect(await checkInput(made, input)).toEqual({ ok: true, value: input });
    // A JSON Schema only describes; the others fill in what is left out.
    const filled = library === "JSON Schema" ? { city: "Rome" } : { city: "Rome", days: 3 };
    expect(await checkInput(made, { city: "Rome" })).toEqual({ ok: true, value: filled });
  });

  it("[S1] says where an input does not fit", async () => {
    expect(await issuesOf(made, { city: 5, days: 1 })).toMatchObject([{ path: "city" }]);
    expect(await issuesOf(made, { city: "Rome", days: 0 })).toMatchObject([{ path: "days" }]);
    const [deep] = await issuesOf(made, { city: "Rome", tags: ["a", 5] });
    expect(deep?.path).toBe("tags[1]");
    const [missing] = await issuesOf(made, { days: 1 });
    expect(`${missing?.path} ${missing?.message}`).toContain("city");
    for (const wrong of [null, "Rome", 5, [], true]) expect(await issuesOf(made, wrong)).not.toEqual([]);
  });

  it("[S1] shows the model an object with its fields", () => {
    expect(specOf(made).input).toMatchObject({ type: "object", properties: { city: { type: "string" } } });
    expect(specOf(made).input.required).toEqual(["city"]);
  });
});

describe("a schema", () => {
  it("[S1] that transforms shows the model what to write and gives run what it means", async () => {
    const made = withInput(z.object({ on: z.string().transform((text) => new Date(text)) }));
    expect(specOf(made).input).toMatchObject({ properties: { on: { type: "string" } } });
    const checked = await checkInput(made, { on: "2026-01-02" });
    expect(checked).toEqual({ ok: true, value: { on: new Date("2026-01-02") } });
  });

  it("[S1] may refer to itself", async () => {
    const node = z.object({
      name: z.string(),
      get children() {
        return z.array(node).optional();
      },
    });
    for (const schema of [
      node,
      {
        type: "object",
        properties: { name: { type: "string" }, children: { type: "array", items: { $ref: "#" } } },
        required: ["name"],
      },
    ]) {
      const made = withInput(schema);
      expect(await checkInput(made, { name: "a", children: [{ name: "b" }] })).toMatchObject({ ok: true });
      const [issue] = await issuesOf(made, { name: "a", children: [{ name: "b", children: [{}] }] });
      expect(`${issue?.path} ${issue?.message}`).toMatch(/^children\[0\]\.children\[0\].*(name|string)/s);
    }
  });

  it("[S1] of JSON says what is wrong, not what contains it", async () => {
    const made = withInput({
      type: "object",
      properties: {
        a: { type: "object", properties: { "odd key/~": { type: "array", items: { enum: ["x", "y"] } } } },
      },
      additionalProperties: false,
    });
    expect(await issuesOf(made, { a: { "odd key/~": ["x", "z"] } })).toEqual([
      { path: 'a["odd key/~"][1]', message: 'Instance does not match any of ["x","y"].' },
    ]);
    expect(await issuesOf(made, { b: 1 })).toEqual([{ path: "b", message: "There must be nothing here." }]);
    const numbers = withInput({ type: "object", additionalProperties: { type: "number" } });
    expect(await issuesOf(numbers, { b: "x", c: 1 })).toEqual([
      { path: "b", message: 'Instance type "string" is invalid. Expected "number".' },
    ]);
  });

  it("[S2] without a JSON Schema is refused with a way out", () => {
    const valibot = refusal(v.object({ city: v.string() }));
    expect(valibot).toMatchObject({ code: "tool-schema-refused", data: { tool: "t", side: "input" } });
    expect(valibot.hint).toContain("toStandardJsonSchema(schema)");
    expect(refusal(z3.object({ city: z3.string() })).hint).toContain("zod 4.2");
    expect(refusal(mini.object({ city: mini.string() })).hint).toContain("z.toJSONSchema(schema)");
    const own = { "~standard": { version: 1, vendor: "own", validate: (value: unknown) => ({ value }) } };
    expect(refusal(own).message).toContain("this own schema");
    expect(refusal(own).hint).toContain("JSON Schema");
  });

  it("[S2] of an output needs none", async () => {
    const made = tool({
      name: "t",
      description: "d",
      input: {},
      output: v.object({ degrees: v.number() }),
      effect: "read",
      run: () => ({ degrees: 21 }),
    });
    expect(await runTool(made, {}, callContext())).toEqual({ degrees: 21 });
  });

  it("[S3] refuses a schema that is invalid or cannot be shown to a model", () => {
    expect(refusal(z.object({ on: z.date() })).message).toContain("it has no JSON Schema");
    for (const none of [undefined, null, "object", 5, [], () => ({})])
      expect(refusal(none).message).toContain("neither a Standard Schema nor a JSON Schema");
    expect(refusal({ type: "object", default: new Date(0) }).message).toContain("at default, a Date");
    expect(refusal({ type: "object", properties: { a: { pattern: "(" } } }).message).toContain('"("');
    expect(refusal({ type: "object", patternProperties: { "[": {} } }).message).toContain('"["');
    expect(refusal({ type: "object", patternProperties: null, pattern: "[" }).message).toContain('"["');
    const cyclic: { [key: string]: unknown } = { type: "object" };
    cyclic.not = cyclic;
    expect(refusal(cyclic).message).toContain("contains itself");
  });

  it("[S3] data that looks like a pattern is data, and a pattern that others check is theirs", async () => {
    const made = withInput(z.object({ a: z.string().regex(/^[\w-.]+$/) }));
    expect(await checkInput(made, { a: "b-c" })).toMatchObject({ ok: true });
    expect(withInput({ type: "object", default: { pattern: "(" } }).name).toBe("t");
    expect(withInput({ type: "object", properties: { pattern: { type: "string" } } }).name).toBe("t");
  });

  it("[S9] that says nothing, or no type, is refused with what was meant", () => {
    expect(refusal({ foo: 1 })).toMatchObject({
      message: expect.stringContaining('only "foo"'),
      hint: expect.stringContaining("properties: {"),
    });
    expect(refusal({ typ: "object" }).hint).toBe('did you mean "type"?');
    expect(refusal({ city: { type: "string" } }).hint).toContain(
      'properties: { "city": { type: "string" } }',
    );
    for (const field of ["title", "description", "id", "type"])
      expect(refusal({ [field]: { type: "string" } }).hint).toContain(`properties: { "${field}": {`);
    expect(refusal({ type: "objekt" })).toMatchObject({
      message: expect.stringContaining('"objekt" is not a type'),
      hint: 'did you mean "object"? The types are string, number, integer, boolean, array, object, null',
    });
    const deep = { a: { items: { anyOf: [{ type: "string" }, { type: ["null", "int"] }] } } };
    expect(refusal({ type: "object", properties: deep }).message).toContain(
      'at properties.a.items.anyOf[1], "int" is not a type',
    );
    expect(refusal({ type: ["object", 5] }).message).toContain("5 is not a type");
    const typed = { type: { type: "string" }, objekt: {} };
    for (const fine of [
      {},
      { properties: { ...typed } },
      { description: "Anything." },
      { $comment: "later" },
      { "x-own": 1 },
      { type: "object", properties: typed, default: { type: "objekt" }, "x-own": { type: "objekt" } },
    ])
      expect(withInput(fine).name).toBe("t");
  });

  it("[S4] describes an object", () => {
    for (const other of [
      z.string(),
      z.array(z.string()),
      z.union([z.object({}), z.string()]),
      { type: "string" },
    ])
      expect(refusal(other).hint).toContain("z.object({ value");
    expect(refusal({ anyOf: [{ type: "object" }] }).message).toContain("wants an object");
    expect(specOf(withInput({})).input).toEqual({ type: "object" });
  });

  it("[S4] that says nothing but its fields still takes objects only", async () => {
    const made = withInput({ properties: { a: { type: "number" } } });
    expect(await checkInput(made, { a: 1 })).toEqual({ ok: true, value: { a: 1 } });
    expect(await issuesOf(made, "a")).toMatchObject([{ path: "" }]);
  });

  it("[S5] is read in its dialect", async () => {
    const pair = { type: "array", items: [{ type: "string" }], additionalItems: false };
    const seven = withInput({
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "object",
      properties: { pair },
    });
    expect(await checkInput(seven, { pair: ["a"] })).toMatchObject({ ok: true });
    expect(await checkInput(seven, { pair: ["a", "b"] })).toMatchObject({ ok: false });
    expect(specOf(seven).input.$schema).toContain("draft-07");
    const newest = withInput({
      type: "object",
      properties: { pair: { type: "array", prefixItems: [{ type: "string" }], items: false } },
    });
    expect(await checkInput(newest, { pair: ["a"] })).toMatchObject({ ok: true });
    expect(await checkInput(newest, { pair: ["a", "b"] })).toMatchObject({ ok: false });
    const four = { $schema: "http://json-schema.org/draft-04/schema#", type: "object" };
    const under = withInput({
      ...four,
      properties: { a: { type: "number", maximum: 5, exclusiveMaximum: true } },
    });
    expect(await checkInput(under, { a: 5 })).toMatchObject({ ok: false });
    expect(await checkInput(under, { a: 4 })).toMatchObject({ ok: true });
  });

  it("[S6] may take its time", async () => {
    const made = withInput(
      z.object({ city: z.string().refine(async (city) => (await Promise.resolve(city)) === "Rome") }),
    );
    expect(await checkInput(made, { city: "Rome" })).toEqual({ ok: true, value: { city: "Rome" } });
    expect(await issuesOf(made, { city: "Oslo" })).toMatchObject([{ path: "city" }]);
  });

  it("[S7] that throws is a failure to read", async () => {
    const throwing = withInput(
      z.object({
        city: z.string().refine(() => {
          throw new Error("no atlas");
        }),
      }),
    );
    const checked = await checkInput(throwing, { city: "Rome" });
    expect(checked).toMatchObject({
      ok: false,
      failure: { code: "tool-schema-refused", name: "ToolSchemaError" },
    });
    expect(JSON.stringify(checked)).toContain("no atlas");
  });

  it("[S7] that fails later is a failure to read too, is asked once, and nothing is left unheard", async () => {
    const unheard = vi.fn();
    process.on("unhandledRejection", unheard);
    onTestFinished(() => void process.off("unhandledRejection", unheard));
    let asked = 0;
    const throwing = withInput(
      z.object({
        city: z.string().refine(async () => {
          asked += 1;
          throw new Error("no atlas");
        }),
      }),
    );
    expect(await checkInput(throwing, { city: "Rome" })).toMatchObject({
      ok: false,
      failure: { code: "tool-schema-refused" },
    });
    for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
    expect(asked).toBe(1);
    expect(unheard).not.toHaveBeenCalled();
  });

  it("[S7] with a reference that leads nowhere is a failure to read", async () => {
    const made = withInput({ type: "object", properties: { a: { $ref: "#/$defs/gone" } } });
    expect(await checkInput(made, { a: 1 })).toMatchObject({
      ok: false,
      failure: { code: "tool-schema-refused" },
    });
  });
});
