import fc from "fast-check";
import { expect } from "vitest";
import type { Json } from "../../../../session/index.js";
import { ImportError, type ImportFormat, type Source } from "../../exchange.js";

import { sourceOf } from "./corpus.js";

/** Reads it, and answers whether it was taken; anything but sessions or an `ImportError` fails. */
export async function survives(format: ImportFormat, source: Source): Promise<boolean> {
  expect(typeof format.fits(source)).toBe("boolean");
  try {
    for (const { name, session, notes } of await format.read(source)) {
      expect(name).not.toBe("");
      expect(session.transcript.length).toBeGreaterThanOrEqual(0);
      expect(Array.isArray(notes)).toBe(true);
    }
    return true;
  } catch (error) {
    if (!(error instanceof ImportError)) throw error;
    expect(error.code).toBe("import-refused");
    expect(error.data).toMatchObject({ format: format.name, source: source.name });
    expect(error.message.length).toBeLessThan(2000);
    return false;
  }
}

/** Files that are no files of the format at all, whatever the format is. */
export const nonsense: readonly (readonly [what: string, content: string | Uint8Array])[] = [
  ["nothing", ""],
  ["blanks", " \n\n \n"],
  ["bytes that are no text", Buffer.from([0xff, 0xfe, 0x00, 0xc3, 0x28])],
  ["the beginning of a zip", Buffer.from("PK\u0003\u0004 and nothing else")],
  ["a zip that ends at once", Buffer.from(`PK\u0005\u0006${"\0".repeat(18)}`, "latin1")],
  ["null", "null"],
  ["a number", "1e400"],
  ["a list", "[]"],
  ["an empty object", "{}"],
  ["deep nesting", `${"[".repeat(100_000)}${"]".repeat(100_000)}`],
  ["deep nesting in an object", `{"a":${"[".repeat(600)}${"]".repeat(600)}}`],
  ["keys of the prototype", '{"__proto__":{"x":1},"constructor":{"prototype":{"x":1}},"toString":1}'],
  ["10 MB of one letter", `"${"x".repeat(10_000_000)}"`],
  ["10 MB of brackets", "[".repeat(10_000_000)],
];

/** A file with one thing changed in it: a value, a key, an order; or the text itself cut, doubled, or with other bytes. */
export function mutated(sources: readonly Source[], lines: boolean): fc.Arbitrary<Source> {
  const texts = sources.map(({ bytes }) => Buffer.from(bytes).toString("utf8"));
  const pieces = texts.map((text) =>
    lines
      ? text
          .split("\n")
          .filter((line) => line !== "")
          .map((line) => JSON.parse(line) as Json)
      : [JSON.parse(text) as Json],
  );
  const spoilt = fc.constantFrom<Json>(
    null,
    true,
    0,
    -1,
    1.5,
    1e308,
    "",
    "x",
    "__proto__",
    "\ud800",
    [],
    {},
    [null],
    [[]],
    { __proto__x: 1 },
    "1970-01-01T00:00:00Z",
    "yesterday",
    { type: "text" },
    [{ type: "text" }],
    "x".repeat(5000),
    JSON.parse('{"__proto__":{"polluted":true}}') as Json,
  );
  const text = fc
    .record({
      which: fc.nat(texts.length - 1),
      from: fc.double({ min: 0, max: 1, noNaN: true }),
      kind: fc.nat(3),
      by: fc.string(),
    })
    .map(({ which, from, kind, by }) => {
      const whole = texts[which] as string;
      const at = Math.floor(from * whole.length);
      if (kind === 0) return whole.slice(0, at);
      if (kind === 1) return whole.slice(0, at) + by + whole.slice(at);
      if (kind === 2) return whole.slice(0, at) + whole.slice(at + 1 + by.length);
      return whole.slice(0, at) + whole.slice(0, at);
    });
  const value = fc
    .record({
      which: fc.nat(texts.length - 1),
      changes: fc.array(fc.record({ place: fc.nat(), to: spoilt, kind: fc.nat(4) }), {
        minLength: 1,
        maxLength: 3,
      }),
    })
    .map(({ which, changes }) => {
      let copy = structuredClone(pieces[which] as Json[]);
      for (const change of changes) copy = spoil(copy, change.place, change.to, change.kind) as Json[];
      return copy.map((piece) => JSON.stringify(piece)).join("\n");
    });
  return fc.oneof(text, value).map((content) => sourceOf("mutated", content));
}

type Place = { readonly holder: { [key: string]: Json }; readonly key: string };

function spoil(whole: Json, place: number, to: Json, kind: number): Json {
  const places: Place[] = [];
  const open: Json[] = [whole];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    if (typeof one !== "object" || one === null) continue;
    for (const [key, part] of Object.entries(one)) {
      places.push({ holder: one as { [key: string]: Json }, key });
      open.push(part as Json);
    }
  }
  const chosen = places[place % Math.max(1, places.length)];
  if (chosen === undefined) return whole;
  const { holder, key } = chosen;
  const old = holder[key] as Json;
  if (kind === 0) holder[key] = to;
  else if (kind === 1 && Array.isArray(holder)) holder.splice(Number(key), 1);
  else if (kind === 1) delete holder[key];
  else if (kind === 2 && Array.isArray(holder)) holder.push(structuredClone(old));
  else if (kind === 2) holder[`${key}_`] = old;
  else if (kind === 3 && Array.isArray(holder)) holder.reverse();
  else holder[key] = [old];
  return Array.isArray(whole) ? whole : [whole];
}
