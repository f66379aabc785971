import fc from "fast-check";
import { expect } from "vitest";
import type { Json } from "../../../session/index.js";
import { campaign } from "../../../session/testing/campaign.js";
import { ImportError, type ImportFormat, type Source } from "../exchange.js";

import { sourceOf } from "./leaves.js";

const hostile: readonly Json[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  "",
  "\ud800",
  "__proto__",
  "x".repeat(10_000),
  [],
  {},
  [[]],
  [null],
  { __proto__: null, type: "text" },
  JSON.parse('{"__proto__":{"polluted":1},"constructor":{},"toString":1}') as Json,
  JSON.parse(`${"[".repeat(900)}${"]".repeat(900)}`) as Json,
];

/** A long campaign: RATH_ATTACKS=50. */
const TIMES = Number(process.env.RATH_ATTACKS ?? 1);

const cut = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  length: fc.nat(40),
  put: fc.uint8Array({ maxLength: 8 }),
});
const change = fc.record({
  at: fc.array(fc.nat(1_000), { minLength: 1, maxLength: 14 }),
  value: fc.constantFrom(...hostile),
  remove: fc.boolean(),
});

/**
 * Reads damaged copies of files: bytes that are cut and put in, values that are something else. Each gives sessions
 * whose conversation can be read, or an `ImportError`; `parse` gives the JSON of a file, where it is JSON.
 */
export async function attack(
  format: ImportFormat,
  sources: readonly Source[],
  runs: number,
  parse?: (source: Source) => Json,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(
      fc.nat(sources.length - 1),
      fc.array(cut, { minLength: 1, maxLength: 3 }),
      async (which, cuts) => {
        let { bytes, name } = sources[which] as Source;
        for (const { at, length, put } of cuts) {
          const place = Math.floor(at * bytes.length);
          bytes = Buffer.concat([bytes.subarray(0, place), put, bytes.subarray(place + length)]);
        }
        await expectAnswer(format, sourceOf(name, bytes));
      },
    ),
    { numRuns: campaign(runs) * TIMES },
  );
  if (parse === undefined) return;
  const values = sources.map(parse);
  await fc.assert(
    fc.asyncProperty(
      fc.nat(sources.length - 1),
      fc.array(change, { minLength: 1, maxLength: 4 }),
      async (which, changes) => {
        const value = structuredClone(values[which]) as Json;
        const changed = changes.reduce<Json>(
          (whole, { at, value: put, remove }) =>
            changedAt(whole, at, { value: structuredClone(put) as Json, remove }),
          value,
        );
        await expectAnswer(format, sourceOf((sources[which] as Source).name, JSON.stringify(changed)));
      },
    ),
    { numRuns: campaign(runs) * TIMES },
  );
}

export async function expectAnswer(format: ImportFormat, source: Source): Promise<void> {
  expect(typeof format.fits(source)).toBe("boolean");
  try {
    for (const { name, session, notes } of await format.read(source)) {
      expect(typeof name).toBe("string");
      expect(session.id).toMatch(/^[0-9a-f]{64}$/);
      expect(Array.isArray(session.transcript)).toBe(true);
      expect(notes.every((note) => typeof note === "string")).toBe(true);
    }
  } catch (error) {
    if (!(error instanceof ImportError)) throw error;
    expect(error.code).toBe("import-refused");
    expect(error.data.format).toBe(format.name);
  }
}

/** Goes down by the numbers, and changes what is there. */
function changedAt(
  whole: Json,
  [first, ...others]: readonly number[],
  how: { readonly value: Json; readonly remove: boolean },
): Json {
  if (first === undefined || typeof whole !== "object" || whole === null) return how.value;
  const keys = Object.keys(whole);
  const key = keys[first % Math.max(1, keys.length)];
  if (key === undefined) return how.value;
  const holder = whole as { [key: string]: Json };
  const inner = holder[key] as Json;
  if (others.length === 0 && how.remove) {
    if (Array.isArray(holder)) holder.splice(Number(key), 1);
    else delete holder[key];
  } else
    Object.defineProperty(holder, key, {
      value: changedAt(inner, others, how),
      enumerable: true,
      writable: true,
      configurable: true,
    });
  return whole;
}
