import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { campaign } from "../../session/testing/campaign.js";
import { bytesOfName, namesOf, textOfName } from "../path.js";

const bytes = fc.uint8Array({ minLength: 1, maxLength: 40 });
/** Bytes that are often nearly UTF-8. */
const nearly = fc
  .array(
    fc.oneof(
      fc.constantFrom([0xc3, 0xa9], [0xe2, 0x82, 0xac], [0xf0, 0x9f, 0x98, 0x80], [0xef, 0xbf, 0xbd]),
      fc.constantFrom([0xc3], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xc0, 0xaf], [0xf5], [0x80], [0xff], [0x61]),
    ),
    { maxLength: 12 },
  )
  .map((parts) => Uint8Array.from(parts.flat()));

describe("names", () => {
  it("[F12] any bytes are a text that gives the same bytes back, and text that is UTF-8 stays what it is", () => {
    fc.assert(
      fc.property(fc.oneof(bytes, nearly), (name) => {
        expect([...bytesOfName(textOfName(name))]).toEqual([...name]);
      }),
      { numRuns: campaign(2_000) },
    );
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        fc.pre(text.isWellFormed());
        expect(textOfName(bytesOfName(text))).toBe(text);
      }),
    );
  });

  it("[F12] different bytes are different texts", () => {
    fc.assert(
      fc.property(nearly, nearly, (one, other) => {
        expect(textOfName(one) === textOfName(other)).toBe(Buffer.from(one).equals(Buffer.from(other)));
      }),
      { numRuns: campaign(2_000) },
    );
  });

  it.each(["\ud800", "a\ud83d", "\udc00", "\udc7f", "\udd00"])(
    "[F12] half of a character (%j) is not a name",
    (name) => {
      expect(() => bytesOfName(name)).toThrow(expect.objectContaining({ code: "path-refused" }));
    },
  );

  it.each(["\udcc3\udca9", "a\udce2\udc82\udcac", "\udcf0\udc9f\udc98\udc80", "x/\udcc3\udca9/y"])(
    "[F12] a character that is spelled in bytes (%j) is not a name: it has another",
    (path) => {
      expect(() => namesOf(path)).toThrow(expect.objectContaining({ code: "path-refused" }));
      const name = path.split("/").find((one) => !one.isWellFormed()) as string;
      expect(namesOf(textOfName(bytesOfName(name))).length).toBe(1);
    },
  );

  it("[F12] no two paths that are taken mean the same bytes", () => {
    const units = fc.constantFrom("a", "\u00e9", "\udcc3", "\udca9", "\udce2", "\udc82", "\udcac", "\udcff");
    fc.assert(
      fc.property(fc.array(units, { minLength: 1, maxLength: 6 }), (parts) => {
        const name = parts.join("");
        const spelled = textOfName(bytesOfName(name));
        if (spelled === name) expect(namesOf(name)).toEqual([name]);
        else expect(() => namesOf(name)).toThrow(expect.objectContaining({ code: "path-refused" }));
      }),
      { numRuns: campaign(2_000) },
    );
  });

  it("[F2] a path is the names on the way, and one that leaves is refused", () => {
    expect(namesOf("a//b/./c/")).toEqual(["a", "b", "c"]);
    expect(namesOf("")).toEqual([]);
    expect(namesOf(".")).toEqual([]);
    expect(namesOf("...")).toEqual(["..."]);
    expect(namesOf("a\\..\\b")).toEqual(["a\\..\\b"]);
    for (const path of [
      "/a",
      "..",
      "a/../b",
      "a/..",
      "a\0b",
      `${"x".repeat(256)}`,
      `a/${"é".repeat(128)}`,
      "a/\ud800",
    ])
      expect(() => namesOf(path), path).toThrow(expect.objectContaining({ code: "path-refused" }));
    expect(namesOf("é".repeat(127))).toHaveLength(1);
    expect(() => namesOf(undefined as unknown as string)).toThrow(
      expect.objectContaining({ code: "path-refused" }),
    );
  });

  it("[F2] whatever the path, no name leads anywhere but down", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom("a", "..", ".", "", "/", "\0", "b/../..", "..."), { maxLength: 8 }),
        (parts) => {
          let names: readonly string[];
          try {
            names = namesOf(parts.join("/"));
          } catch (error) {
            expect(error).toMatchObject({ code: "path-refused" });
            return;
          }
          for (const name of names) {
            expect(name).not.toMatch(/[/\0]/);
            expect(["", ".", ".."]).not.toContain(name);
          }
        },
      ),
    );
  });
});
