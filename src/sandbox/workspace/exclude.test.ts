import { describe, expect, it } from "vitest";
import { Exclude } from "./exclude.js";

function isOut(pattern: string, path: string): boolean {
  const names = path.replace(/\/$/, "").split("/");
  return new Exclude([pattern]).has(names.slice(0, -1), names.at(-1) ?? "", path.endsWith("/"));
}

describe("what is left out", () => {
  it.each([
    [
      "node_modules",
      ["node_modules/", "a/b/node_modules/", "node_modules"],
      ["node_modules2/", "a/node_module/"],
    ],
    ["*.log", ["a.log", "x/y/.log", "b.log/"], ["a.logs", "log"]],
    ["dist/", ["dist/", "a/dist/"], ["dist", "a/dist"]],
    ["/dist", ["dist", "dist/"], ["a/dist"]],
    ["src/*.ts", ["src/a.ts", "src/.ts"], ["a.ts", "src/b/a.ts", "x/src/a.ts"]],
    ["src/**/*.ts", ["src/a.ts", "src/b/c/a.ts"], ["a.ts", "src/a.js"]],
    ["**/x", ["x", "a/x", "a/b/x"], ["xx", "x/a"]],
    ["a/**", ["a/b", "a/b/c"], ["b/a"]],
    ["a?c", ["abc", "a😀c", "x/a\udcffc"], ["ac", "abbc"]],
    ["*a*b*", ["ab", "xaxbx", "aab"], ["ba", "a"]],
    ["[a]+(b)", ["[a]+(b)"], ["a", "ab"]],
    ["", [], ["a", "a/"]],
    ["/", [], ["a", "a/b"]],
    ["__proto__", ["__proto__"], ["proto"]],
  ])("[C16] %j", (pattern, out, stays) => {
    for (const path of out) expect(isOut(pattern, path), path).toBe(true);
    for (const path of stays) expect(isOut(pattern, path), path).toBe(false);
  });

  it("[C16] no name takes long to be told from a pattern", () => {
    const name = "a".repeat(255);
    expect(isOut(`${"*a".repeat(100)}*b`, name)).toBe(false);
    const path = Array.from({ length: 250 }, () => name).join("/");
    expect(isOut(`${"**/a*a*a*b/".repeat(20)}x`, path)).toBe(false);
  });
});
