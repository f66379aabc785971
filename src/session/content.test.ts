import { runInNewContext } from "node:vm";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ContentError, checkLine, type Json, MAX_DEPTH, Session } from "./index.js";
import { campaign } from "./testing/campaign.js";
import { MapBlobs, rebuilt } from "./testing/record.js";

const start = Session.start("go", { nonce: "n" });
const keep = (value: unknown, session = start): Session =>
  session.append({ type: "tool-call", name: "t", input: value as Json });
const input = (session: Session): unknown => (session.fact as unknown as { input: unknown }).input;

/** Kept exactly: in memory, in the line in its one normal form, and read back by itself. */
function kept(value: unknown, session = start): void {
  const next = keep(value, session);
  expect(input(next)).toEqual(value);
  expect(JSON.stringify(JSON.parse(next.line))).toBe(next.line);
  checkLine(next.line);
  expect(Buffer.from(next.line, "utf8").toString("utf8")).toBe(next.line);
  expect(next.line).not.toContain("\n");
  const back = input(rebuilt(next));
  expect(back).toEqual(value);
  expect(JSON.stringify(back)).toBe(JSON.stringify(value));
}

function nested(depth: number): unknown {
  let value: unknown = "core";
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

const binary = fc.string({ unit: "binary", maxLength: 200 });
/** Any string of UTF-16 units, lone surrogates and all. */
const anyText = fc.oneof(
  binary,
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 50 })
    .map((units) => String.fromCharCode(...units)),
);
const anyJson = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constant(null),
    fc.boolean(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (number === 0 ? 0 : number)),
    anyText,
    fc.array(tie("value"), { maxLength: 5 }),
    fc.dictionary(
      fc.oneof(anyText, fc.constantFrom("__proto__", "constructor", "toJSON", "0", "")),
      tie("value"),
      { maxKeys: 5, noNullPrototype: true },
    ),
  ),
})).value;

describe("content", () => {
  // biome-ignore format: a table
  it.each([
    ["line separators", "a\u2028b\u2029c\u0085d"], ["a lone high surrogate", "x\ud800y"], ["a lone low surrogate", "\udc00"], ["a cut pair", "😀".slice(0, 1)],
    ["NUL", "\0 and \0"], ["controls", "\u0001\b\t\n\f\r\u001f\u007f"], ["a byte order mark", "\ufeffx"], ["pairs", "😀👩‍👩‍👧"], ["nothing", ""],
    ["keys with all of these", { "\u2028": 1, "\ud800": 2, "\0": 3, "": 4, "\n": 5 }],
    ["__proto__", JSON.parse('{"__proto__":{"admin":true},"x":{"__proto__":null}}')], ["constructor", { constructor: 1, toString: "x", hasOwnProperty: null }],
    ["whole-number keys", { b: 1, 2: 2, 1: 1 }], ["numbers", [0, 1e21, 1e-7, 5e-324, Number.MAX_VALUE, 2 ** 53, 0.1]], ["empty things", [[], {}, "", 0, false, null]],
  ])("[C1] %s is kept exactly", (_, value) => {
    kept(value);
    kept({ nested: [value] }, Session.start("x", { inline: 0 }));
    kept(value, Session.start("x", { inline: 1 }));
  });

  it("[C1] any JSON value and any string is kept exactly, at any threshold", () => {
    fc.assert(
      fc.property(anyJson, anyText, fc.constantFrom(4096, 0, 1, 30), (value, text, inline) => {
        const session = Session.start(text, { inline }).say(text);
        expect(rebuilt(session).transcript).toEqual([
          { role: "user", content: text },
          { role: "user", content: text },
        ]);
        kept(value, session);
      }),
      { numRuns: campaign(600) },
    );
  });

  it("[C2] a field of a note may be called anything", () => {
    const note = JSON.parse(
      '{"type":"note","__proto__":{"admin":true},"constructor":"c","0":"zero","parents":[],"\\ud800":1}',
    );
    for (const inline of [4096, 0]) {
      const session = Session.start("x", { inline }).append(note);
      for (const { fact } of [session, rebuilt(session)]) {
        expect(Object.hasOwn(fact, "__proto__")).toBe(true);
        expect(Object.getPrototypeOf(fact)).toBe(Object.prototype);
        expect((fact as { admin?: boolean }).admin).toBeUndefined();
        expect(fact).toMatchObject(note);
      }
      checkLine(session.line);
    }
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
  });

  it("[C3] text of 10 MB is kept exactly, in a blob", () => {
    for (const text of ["x".repeat(10_000_000), "\u2028é😀\ud800".repeat(2_000_000)]) {
      const session = start.say(text);
      expect(session.line.length).toBeLessThan(1000);
      expect(rebuilt(session).transcript.at(-1)).toEqual({ role: "user", content: text });
    }
  });

  it("[C4] nesting is kept to a depth that every reader can follow, and refused beyond", () => {
    kept(nested(MAX_DEPTH - 1));
    for (const depth of [MAX_DEPTH, 10_000, 1_000_000])
      expect(() => keep(nested(depth))).toThrow(ContentError);
    const cycle: { self?: unknown } = {};
    cycle.self = [cycle];
    expect(() => keep(cycle)).toThrow(/contains itself/);
  });

  class Money {
    amount = 1;
  }
  const sparse = [1, 2, 3];
  delete sparse[1];
  const throwing = {
    get boom(): string {
      throw new Error("no");
    },
  };
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  let doubled: unknown = "x";
  for (let level = 0; level < 60; level++) doubled = [doubled, doubled];
  // biome-ignore format: a table
  it.each<[string, unknown, string, RegExp]>([
    ["NaN", { a: [Number.NaN] }, "tool-call.input.a[0]", /null or a string/], ["Infinity", -Infinity, "tool-call.input", /null or a string/],
    ["a BigInt", { big: 1n }, "tool-call.input.big", /String\(value\)/], ["undefined", { "a b": undefined }, 'tool-call.input["a b"]', /leave the field out/],
    ["undefined in a list", [undefined], "tool-call.input[0]", /leave the field out/], ["a function", { f() {} }, "tool-call.input.f", /plain data/],
    ["a symbol", Symbol("s"), "tool-call.input", /plain data/], ["a symbol key", { [Symbol("s")]: 1 }, "tool-call.input", /string key/],
    ["a Date", new Date(0), "tool-call.input", /toISOString/], ["a Map", new Map(), "tool-call.input", /spread/], ["a Set", new Set(), "tool-call.input", /spread/],
    ["bytes", new Uint8Array(1), "tool-call.input", /putBlob|digest/], ["an ArrayBuffer", new ArrayBuffer(1), "tool-call.input", /digest/], ["an Error", new Error("x"), "tool-call.input", /message/],
    ["a class instance", { money: new Money() }, "tool-call.input.money", /plain object/], ["a RegExp", /x/, "tool-call.input", /plain object/], ["a boxed string", Object("x"), "tool-call.input", /plain object/],
    ["an object with inherited fields", Object.create(Object.assign(Object.create(null), { lost: 1 })), "tool-call.input", /plain object/],
    ["holes", sparse, "tool-call.input[1]", /leave the field out/], ["a huge array of holes", new Array(2 ** 32 - 1), "tool-call.input", /digest/],
    ["a list with a name", Object.assign([1], { name: "x" }), "tool-call.input", /object/], ["a match", "abc".match(/b/), "tool-call.input", /./], ["a list with a symbol", Object.assign([1], { [Symbol("s")]: 1 }), "tool-call.input", /object/],
    ["a getter that throws", throwing, "tool-call.input.boom", /plain data/], ["a revoked proxy", { proxy }, "tool-call.input.proxy", /plain data/],
    ["a proxy that throws", new Proxy({}, { ownKeys() { throw new Error("no"); } }), "tool-call.input", /plain data/],
    ["a proxy that lies about its length", new Proxy([1], { get: (list, key) => (key === "length" ? -1 : Reflect.get(list, key)) }), "tool-call.input", /./],
    ["a graph that unfolds without end", doubled, "tool-call.input", /digest/], ["60 million characters", ["x".repeat(30_000_000), "x".repeat(30_000_001)], "tool-call.input[1]", /digest/],
    ["a key of that length", { ["x".repeat(60_000_001)]: 1 }, "tool-call.input", /digest/], ["millions of numbers", { list: new Array(6_000_000).fill(0) }, "tool-call.input.list", /digest/],
  ])("[C5] %s is refused with its place and a hint, and the session stays usable", (_, value, path, hint) => {
    let refusal: unknown;
    try {
      keep(value);
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toBeInstanceOf(ContentError);
    const { code, data, hint: given, message } = refusal as ContentError;
    expect(code).toBe("content-refused");
    expect((data.path as string).startsWith(path)).toBe(true);
    expect(given).toMatch(hint);
    expect(message.length).toBeLessThan(500);
    kept("still usable");
  });

  // biome-ignore format: a table
  it("[C5] the fact itself is read as carefully as what is in it", () => {
    const bad = [proxy, { type: "note", get x() { throw new Error("no"); } }, { get type() { throw new Error("no"); } }, { type: "note", [Symbol("s")]: 1 }, { type: "note", x: undefined }];
    for (const fact of bad) expect(() => start.append(fact as never)).toThrow(ContentError);
    expect(() => start.say(5n as never)).toThrow(ContentError);
    expect(() => Session.start([{ type: "text", text: undefined }] as never)).toThrow(ContentError);
    kept("still usable");
  });

  it("[C6] plain data is plain data wherever it comes from", () => {
    expect(input(keep(runInNewContext("({ a: [1, { b: 2 }] })")))).toEqual({ a: [1, { b: 2 }] });
    expect(input(keep(Object.assign(Object.create(null), { a: 1 })))).toEqual({ a: 1 });
    expect(input(keep(new Proxy({ a: [1] }, {})))).toEqual({ a: [1] });
    // biome-ignore format: one value
    expect(input(keep(Object.freeze({ get a() { return 1; } })))).toEqual({ a: 1 });
    const shared = { x: 1 };
    expect(input(keep([shared, shared]))).toEqual([{ x: 1 }, { x: 1 }]);
  });

  it("[C7] negative zero is kept as the zero that JSON can say", () => {
    expect(Object.is(input(keep(-0)), 0)).toBe(true);
    expect(Object.is(input(rebuilt(keep(-0))), 0)).toBe(true);
  });

  it("[C8] names and reasons hold any string too", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const session = start
          .fork(text, { why: text, by: `user:${text}x` })
          .to(text, { text })
          .append({ type: "note", kind: text, [text]: text });
        const again = rebuilt(session, MapBlobs.of(session));
        expect(again.branch).toBe(text);
        expect(again.placement).toEqual({ sandbox: text, spec: { text } });
        expect(again.lineage.at(-1)?.why).toBe(text);
        for (const { line } of session.history()) checkLine(line);
      }),
    );
  });
});
