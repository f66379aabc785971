import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type Json, Session } from "../../session/index.js";
import {
  checkInput,
  type InputSchema,
  type OutputSchema,
  reconcileTool,
  runTool,
  type Tool,
  ToolOutputError,
  tool,
  unknownTool,
} from "./index.js";
import { callContext } from "./testing/context.js";

const anything = { type: "object" };
const tree = z.object({
  get next() {
    return tree.optional();
  },
});

function accepting(input: InputSchema): Tool {
  return tool({ name: "t", description: "d", input, effect: "pure", run: () => null });
}

function returning(value: unknown, output?: OutputSchema): Tool {
  return tool({
    name: "t",
    description: "d",
    input: anything,
    ...(output !== undefined && { output }),
    effect: "read",
    run: () => value as Json,
  });
}

async function refusal(made: Tool): Promise<ToolOutputError> {
  const error = await runTool(made, {}, callContext()).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ToolOutputError);
  return error as ToolOutputError;
}

function nested(levels: number): Json {
  let value: Json = {};
  for (let level = 1; level < levels; level++) value = { next: value };
  return value;
}

class Endless {
  toJSON(): object {
    return { next: new Endless() };
  }
}

describe("an input", () => {
  it("[I1] is refused, not stumbled over, whatever it is", async () => {
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    const trap = new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error("boo");
        },
      },
    );
    const getter = {
      get city() {
        throw new Error("boo");
      },
    };
    for (const input of [
      cycle,
      trap,
      getter,
      nested(600),
      { big: 1n },
      { run: () => 1 },
      { at: new Date(0) },
      { not: Number.NaN },
    ]) {
      for (const schema of [anything, z.looseObject({})]) {
        const checked = await checkInput(accepting(schema), input);
        expect(checked).toMatchObject({ ok: false, failure: { code: "tool-input-refused" } });
        expect(JSON.stringify(checked).length).toBeLessThan(5_000);
      }
    }
  });

  it("[I1] may be 63 levels deep, and no deeper, with any validator", async () => {
    const recursive = { type: "object", properties: { next: { $ref: "#" } }, additionalProperties: false };
    const winding = {
      type: "object",
      properties: { next: { allOf: [{ anyOf: [{ type: "string" }, { oneOf: [{ $ref: "#" }] }] }] } },
    };
    for (const schema of [recursive, winding, tree, anything]) {
      expect(await checkInput(accepting(schema), nested(63))).toMatchObject({ ok: true });
      expect(await checkInput(accepting(schema), nested(64))).toMatchObject({ ok: false });
    }
  });

  it("[I1] may be long, wrong in many places, and hold halves of characters", async () => {
    const made = accepting({ type: "object", properties: { text: { type: "string", maxLength: 5 } } });
    expect(await checkInput(made, { text: "x".repeat(5_000_000) })).toMatchObject({ ok: false });
    const numbers = accepting({ type: "object", properties: { list: { items: { type: "number" } } } });
    const checked = await checkInput(numbers, { list: Array.from({ length: 300_000 }, () => "x") });
    expect(checked).toMatchObject({ ok: false, failure: { code: "tool-input-refused" } });
    const halves = accepting({ type: "object", additionalProperties: { type: "number" } });
    expect(await checkInput(halves, { "\ud800": "\udc00" })).toMatchObject({ ok: false });
    expect(await checkInput(accepting(anything), { "\ud800": "\udc00" })).toEqual({
      ok: true,
      value: { "\ufffd": "\ufffd" },
    });
  });

  it("[I1] of any kind gets an answer", async () => {
    const tools = [accepting(anything), accepting(z.object({ a: z.string() })), accepting(tree)];
    await fc.assert(
      fc.asyncProperty(
        fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true }),
        async (input) => {
          for (const made of tools) expect(typeof (await checkInput(made, input)).ok).toBe("boolean");
        },
      ),
    );
  });

  it("[I2] has no fields but its own", async () => {
    const hostile = JSON.parse(
      '{"__proto__": {"admin": true}, "constructor": {"prototype": {"admin": true}}}',
    );
    for (const schema of [anything, z.looseObject({}), z.object({})]) {
      const checked = await checkInput(accepting(schema), hostile);
      expect(checked.ok).toBe(true);
      expect((checked as { value: { admin?: unknown } }).value.admin).toBeUndefined();
      expect(({} as { admin?: unknown }).admin).toBeUndefined();
    }
    expect(await checkInput(accepting({ ...anything, additionalProperties: false }), hostile)).toMatchObject({
      ok: false,
    });
    expect(await checkInput(accepting(z.strictObject({})), hostile)).toMatchObject({ ok: false });
    for (const name of ["constructor", "toString", "__proto__", "hasOwnProperty"])
      expect(await checkInput(accepting({ ...anything, required: [name] }), {})).toMatchObject({ ok: false });
    const typed = accepting({ ...anything, properties: JSON.parse('{"__proto__": {"type": "string"}}') });
    expect(await checkInput(typed, JSON.parse('{"__proto__": 5}'))).toMatchObject({ ok: false });
    expect(await checkInput(typed, JSON.parse('{"__proto__": "a"}'))).toMatchObject({ ok: true });
  });

  it("[I3] that does not fit says so in words a model can use", async () => {
    const made = accepting(z.object({ city: z.string(), days: z.array(z.number()) }));
    const checked = await checkInput(made, { city: 5, days: [1, "two"] });
    expect(checked).toEqual({
      ok: false,
      failure: {
        name: "ToolInputError",
        code: "tool-input-refused",
        message:
          'Cannot call "t": its input does not fit.\n' +
          "- city: Invalid input: expected string, received number\n" +
          "- days[1]: Invalid input: expected number, received string\n" +
          "  hint: call it again with an input that fits its schema",
        data: {
          tool: "t",
          issues: [
            { path: "city", message: "Invalid input: expected string, received number" },
            { path: "days[1]", message: "Invalid input: expected number, received string" },
          ],
        },
      },
    });
  });

  it("[I3] that is wrong in a thousand places is told in a few lines", async () => {
    const keys = Array.from({ length: 1_000 }, (_, place) => [`${"long".repeat(200)}${place}`, "x"]);
    for (const schema of [
      z.record(z.string(), z.number()),
      z.looseObject({}).catchall(z.number()),
      { ...anything, additionalProperties: { type: "number" } },
    ]) {
      // A record of zod has no `properties`, but is an object all the same.
      const checked = await checkInput(accepting(schema), Object.fromEntries(keys));
      expect(checked.ok).toBe(false);
      if (checked.ok) return;
      expect(checked.failure.message).toContain("and 980 more");
      expect(checked.failure.message.split("\n")).toHaveLength(23);
      expect(checked.failure.message.length).toBeLessThan(13_000);
    }
  });

  it("[I4] may be changed afterwards", async () => {
    const input = { list: [1] };
    const checked = await checkInput(accepting(anything), input);
    input.list.push(2);
    expect(checked).toEqual({ ok: true, value: { list: [1] } });
  });
});

describe("an output", () => {
  it.each([
    [undefined, null],
    [null, null],
    ["text", "text"],
    [-0, 0],
    [{ a: undefined, b: [undefined, 1] }, { b: [null, 1] }],
    [Object.create(null), {}],
    [[[[]]], [[[]]]],
    [JSON.parse('{"__proto__": 1}'), JSON.parse('{"__proto__": 1}')],
    [new Date(0), "1970-01-01T00:00:00.000Z"],
    [{ when: [new Date(0)] }, { when: ["1970-01-01T00:00:00.000Z"] }],
    [{ at: new URL("http://a.b/c") }, { at: "http://a.b/c" }],
    [new Date(Number.NaN), null],
    [{ sum: { toJSON: () => "1.50" } }, { sum: "1.50" }],
    [{ a: { toJSON: () => undefined }, b: [{ toJSON: () => undefined }] }, { b: [null] }],
    [{ a: { toJSON: () => ({ when: new Date(0) }) } }, { a: { when: "1970-01-01T00:00:00.000Z" } }],
    [
      { a: { toJSON: (key: string) => key }, b: [{ toJSON: (key: string) => key }] },
      { a: "a", b: ["0"] },
    ],
  ])("[O1] %j is recorded as %j", async (value, expected) => {
    expect(await runTool(returning(value), {}, callContext())).toEqual(expected);
  });

  it.each([
    ["a Map", { a: { b: new Map() } }, "a.b", "Object.fromEntries"],
    ["a Set", new Set(), "", "[...set]"],
    ["a BigInt", { "odd key": 1n }, '["odd key"]', "String(value)"],
    ["bytes", { data: new Uint8Array(3) }, "data", "base64"],
    ["a Buffer", { data: Buffer.from("x") }, "data", "base64"],
    ["NaN of a toJSON", [{ toJSON: () => Number.NaN }], "[0]", "null"],
    ["a toJSON that gives no plain data", { a: { toJSON: () => new Map() } }, "a", "Object.fromEntries"],
    ["a toJSON without end", new Endless(), "next.next", "flatten"],
    [
      "a toJSON that throws",
      {
        a: {
          toJSON() {
            throw new Error("boo");
          },
        },
      },
      "a",
      "plain data",
    ],
    ["an Error", { error: new Error("x") }, "error", "throw it"],
    ["a function", { run: () => 1 }, "run", "plain data"],
    ["NaN", [1, Number.NaN], "[1]", "null"],
    ["an instance", { user: new (class User {})() }, "user", "plain object"],
    [
      "a getter that throws",
      {
        get a(): string {
          throw new Error("boo");
        },
      },
      "a",
      "plain data",
    ],
  ])("[O2] %s is refused with its path", async (_what, value, path, hint) => {
    const error = await refusal(returning(value));
    expect(error.code).toBe("tool-output-refused");
    const [issue] = error.data.issues as { path: string }[];
    if (path === "next.next") expect(issue?.path).toContain(path);
    else expect(issue?.path).toBe(path);
    expect(error.hint).toContain(hint);
  });

  it("[O2] an output that contains itself is refused with the beginning and the end of its path", async () => {
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    const error = await refusal(returning({ a: cycle }));
    expect(error.message).toContain("contains itself");
    expect(error.message).toContain("a.self.self");
    expect(error.message.length).toBeLessThan(500);
  });

  it("[O2] an output that shares its parts without end is refused", async () => {
    let value: unknown = "x";
    for (let level = 0; level < 40; level++) value = [value, value];
    expect((await refusal(returning(value))).message).toContain("too many values");
  });

  it("[O3] is taken by the record and comes back the same", async () => {
    const start = Session.start("hi").append({ type: "tool-call", name: "t", input: {} });
    await fc.assert(
      fc.asyncProperty(
        fc.anything({
          withBigInt: true,
          withDate: true,
          withNullPrototype: true,
          withSparseArray: true,
          stringUnit: "binary",
        }),
        async (value) => {
          const output = await runTool(returning(value), {}, callContext()).catch((error: unknown) => error);
          if (output instanceof Error) {
            expect(output).toBeInstanceOf(ToolOutputError);
            return;
          }
          const session = start.append({ type: "tool-result", of: start.id, output: output as Json });
          const { fact } = session;
          if (fact.type === "tool-result") expect(JSON.stringify(fact.output)).toBe(JSON.stringify(output));
        },
      ),
    );
  });

  it("[O4] must fit its schema, and is what the schema makes of it", async () => {
    const dated = z.object({ when: z.date().transform((date) => date.toISOString()) });
    expect(await runTool(returning({ when: new Date(0), more: 1 }, dated), {}, callContext())).toEqual({
      when: "1970-01-01T00:00:00.000Z",
    });
    const error = await refusal(returning({ when: "now" }, dated));
    expect(error.data).toMatchObject({ tool: "t", issues: [{ path: "when" }] });
    const plain = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
    expect(await runTool(returning({ n: 1 }, plain), {}, callContext())).toEqual({ n: 1 });
    expect((await refusal(returning({ n: "1" }, plain))).data).toMatchObject({ issues: [{ path: "n" }] });
    expect((await refusal(returning({ n: new Map() }, plain))).message).toContain("a Map is not plain data");
    const text = { type: "object", properties: { when: { type: "string" } } };
    expect(await runTool(returning({ when: new Date(0) }, text), {}, callContext())).toEqual({
      when: "1970-01-01T00:00:00.000Z",
    });
  });

  it("[O12] that is lost belongs to work that is done", async () => {
    const broken = z.object({}).refine(() => {
      throw new Error("no atlas");
    });
    for (const made of [
      returning(1n),
      returning({ n: "1" }, z.object({ n: z.number() })),
      returning({}, broken),
    ]) {
      const error = await refusal(made);
      expect(error.message).toMatch(/^The tool "t" did its work; only its output cannot be used/);
      expect(error.hint).toContain("do not repeat it");
      expect(error.data).toMatchObject({ tool: "t", done: true });
    }
  });

  it("[O5] errors of run come out", async () => {
    const thrown = Object.assign(new Error("busy"), { isRetryable: true });
    const made = tool({
      name: "t",
      description: "d",
      input: anything,
      effect: "write",
      run: async () => {
        throw thrown;
      },
    });
    await expect(runTool(made, {}, callContext())).rejects.toBe(thrown);
  });

  it("[O5] run gets the input and the context", async () => {
    const context = callContext();
    const made = tool({
      name: "t",
      description: "d",
      input: z.object({ city: z.string() }),
      effect: "read",
      run: ({ city }, { key, attempt, call, session, signal, emit }) => {
        emit({ looking: city });
        return { key, attempt, same: call === session.id, stopped: signal.aborted };
      },
    });
    expect(await runTool(made, { city: "Rome" }, context)).toEqual({
      key: "k",
      attempt: 1,
      same: true,
      stopped: false,
    });
    expect(context.told).toEqual([{ looking: "Rome" }]);
  });

  it("[O11] that was found afterwards is held to the same rules", async () => {
    const finding = (
      reconcile: () => Promise<{ value: unknown } | { output: unknown } | "again" | "unknown">,
    ) =>
      reconcileTool(
        tool({
          name: "t",
          description: "d",
          input: anything,
          effect: "write",
          run: () => 1,
          reconcile,
          maxOutput: 200,
        }),
        {},
        callContext(),
      );
    expect(await finding(async () => "again")).toBe("again");
    expect(await finding(async () => "unknown")).toBe("unknown");
    expect(await finding(async () => ({ value: null }))).toEqual({ value: null });
    // What tools gave up to version 0.1.
    expect(await finding(async () => ({ output: 7 }))).toEqual({ value: 7 });
    const found = (await finding(async () => ({ value: "x".repeat(1_000) }))) as { value: string };
    expect(found.value).toMatch(/of 1000 characters left out/);
    expect(found.value.length).toBeLessThanOrEqual(200);
    await expect(finding(async () => ({ value: new Map() }))).rejects.toThrow(ToolOutputError);
    for (const wrong of [undefined, null, {}, { value: undefined }, { result: 1 }, "done", true, ["again"]])
      await expect(finding(async () => wrong as never)).rejects.toMatchObject({
        code: "finding-refused",
        hint: expect.stringContaining("{ value }"),
      });
    expect(await reconcileTool(returning(1), {}, callContext())).toBe("unknown");
  });
});

describe("a tool that is not there", () => {
  const known = ["read_file", "write_file", "search", "sql"];

  it.each([
    ["readFile", "read_file"],
    ["read-file", "read_file"],
    ["functions.read_file", "read_file"],
    ["reed_file", "read_file"],
    ["SEARCH", "search"],
    ["serch", "search"],
  ])("[U1] %s: did you mean %s?", (name, meant) => {
    const failure = unknownTool(name, known);
    expect(failure).toMatchObject({
      name: "UnknownToolError",
      code: "tool-unknown",
      data: { tool: name, meant, known },
    });
    expect(failure.message).toBe(`There is no tool "${name}".\n  hint: did you mean "${meant}"?`);
  });

  it("[U1] without a near one those that there are", () => {
    expect(unknownTool("launch_rocket", known).message).toContain(
      "the tools are read_file, write_file, search, sql",
    );
    expect(unknownTool("launch_rocket", known).data).not.toHaveProperty("meant");
    expect(unknownTool("x", []).message).toContain("there are none");
  });

  it("[U2] of any name, among any number", () => {
    const many = Array.from({ length: 1_000 }, (_, place) => `tool_${place}_${"x".repeat(50)}`);
    for (const name of ["", "x".repeat(1_000_000), "\ud800", "__proto__", "\u0000\n", "é".repeat(70)]) {
      const failure = unknownTool(name, many);
      expect(JSON.stringify(failure).length).toBeLessThan(15_000);
      expect(failure.message.isWellFormed()).toBe(true);
    }
  });
});
