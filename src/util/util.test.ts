import { describe, expect, it } from "vitest";
import { clip, defined, fitsWildcards, optionNames, unknownOption } from "./index.js";

describe("helpers", () => {
  it("[U1] defined keeps the fields that are not undefined, in the same order", () => {
    const fields = defined({ b: 1, a: undefined, c: null, ["__proto__"]: "own" });
    expect(Object.entries(fields)).toEqual([
      ["b", 1],
      ["c", null],
      ["__proto__", "own"],
    ]);
    expect(Object.getPrototypeOf(fields)).toBe(Object.prototype);
  });

  it("[U2] unknownOption names the first unknown option and the nearest known one", () => {
    const known = ["attempts", "wait"];
    expect(unknownOption({ wait: 1 }, known)).toBeUndefined();
    expect(unknownOption({ atempts: 1 }, known)).toEqual({
      name: "atempts",
      hint: 'did you mean "attempts"?',
    });
    expect(unknownOption({ q: 1 }, known)?.hint).toBe("the options are attempts, wait");
  });

  it("[U3] optionNames compiles only when every option is named", () => {
    type Options = { readonly name: string; readonly wait?: number };
    expect(optionNames<Options>()("name wait")).toEqual(["name", "wait"]);
    expect(optionNames<Options>()("name", "wait")).toEqual(["name", "wait"]);
    // @ts-expect-error an option is missing
    optionNames<Options>()("name");
    // @ts-expect-error an option is misspelt
    optionNames<Options>()("name wate");
  });

  it("[U4] clip never ends in half a character", () => {
    expect(clip("short", 5)).toBe("short");
    expect(clip("longer text", 5)).toBe("long…");
    expect(clip("abc😀def", 5).isWellFormed()).toBe(true);
    expect(clip("abc😀def", 5).length).toBeLessThanOrEqual(5);
  });

  it("[U5] fitsWildcards takes no longer than the product of both lengths", () => {
    const fits = (pattern: string, text: string) =>
      fitsWildcards(
        [...pattern],
        [...text],
        (part) => part === "*",
        (part, character) => part === character,
      );
    expect(fits("a*c", "abbc")).toBe(true);
    expect(fits("a*c", "abb")).toBe(false);
    expect(fits("**", "")).toBe(true);
    expect(fits(`${"*a".repeat(500)}*b`, "a".repeat(5_000))).toBe(false);
  });
});
