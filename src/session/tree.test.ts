import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Digest,
  digestOf,
  EMPTY_TREE,
  RecordError,
  readTree,
  Session,
  type Tree,
  type TreeEntry,
  treesOf,
  writeTree,
} from "./index.js";
import { campaign } from "./testing/campaign.js";
import { sampleFacts } from "./testing/facts.js";

const A: Digest = "a".repeat(64);
const file = (name: string): TreeEntry => ({ kind: "file", name, mode: 0o644, size: 3, digest: A });

describe("the text of a tree", () => {
  it("[TR1] is one list per entry, in the order of their names, and nothing else", () => {
    const tree: Tree = {
      exclude: ["node_modules", "*.log"],
      entries: [
        { kind: "tree", name: "src", mode: 0o755, digest: A },
        { kind: "parts", name: "long.bin", mode: 0o600, size: 9e9, digest: A },
        { kind: "link", name: "latest", target: "../elsewhere" },
        { kind: "file", name: "README.md", mode: 0o644, size: 0, digest: A },
      ],
    };
    const text = `{"tree":1,"exclude":["node_modules","*.log"],"entries":[["README.md","file","644",0,"${A}"],["latest","link","../elsewhere"],["long.bin","parts","600",9000000000,"${A}"],["src","tree","755","${A}"]]}`;
    expect(writeTree(tree)).toBe(text);
    expect(readTree(text).entries.map(({ name }) => name)).toEqual([
      "README.md",
      "latest",
      "long.bin",
      "src",
    ]);
    expect(tree.entries[0]?.name).toBe("src");
  });

  it("[TR2] comes back as it was, whatever the names and in whatever order they were given", () => {
    const name = fc
      .string({ unit: "binary", minLength: 1 })
      .filter((text) => text !== "." && text !== ".." && !/[/\0]/.test(text));
    const mode = fc.nat(0o777);
    const digest = fc.string({ minLength: 1 }).map((text) => digestOf(text));
    const size = fc.nat(Number.MAX_SAFE_INTEGER);
    const entry: fc.Arbitrary<TreeEntry> = fc.oneof(
      fc.record({ kind: fc.constantFrom("file" as const, "parts" as const), name, mode, size, digest }),
      fc.record({ kind: fc.constant("link" as const), name, target: name }),
      fc.record({ kind: fc.constant("tree" as const), name, mode, digest }),
    );
    const trees = fc.record(
      {
        entries: fc.uniqueArray(entry, { selector: (one) => one.name }),
        exclude: fc.array(fc.string({ unit: "binary" })),
      },
      { requiredKeys: ["entries"] },
    );
    fc.assert(
      fc.property(trees, fc.nat(), (tree, turn) => {
        const text = writeTree(tree);
        const again = readTree(text);
        const sorted = [...tree.entries].sort((one, other) => (one.name < other.name ? -1 : 1));
        expect(again).toEqual({ ...tree, entries: sorted });
        expect(writeTree(again)).toBe(text);
        // As it lies in a blob: lone surrogates survive UTF-8 as escapes.
        expect(Buffer.from(text).toString()).toBe(text);
        const turned = [...tree.entries.slice(turn % 7), ...tree.entries.slice(0, turn % 7)];
        expect(writeTree({ ...tree, entries: turned })).toBe(text);
      }),
      { numRuns: campaign(1_000) },
    );
  });

  it("[TR3] with a name that leads out of its directory is refused", () => {
    for (const name of ["", ".", "..", "/", "a/b", "/etc/passwd", "../x", "a/..", "\0", "a\0b"])
      expect(() => readTree(writeTree({ entries: [file(name)] })), JSON.stringify(name)).toThrow(RecordError);
    for (const name of ["...", "..a", " ", "\\", "a\\..\\b", "C:", "\u2028", "\ud800", "__proto__", "-rf"])
      expect(readTree(writeTree({ entries: [file(name)] })).entries).toEqual([file(name)]);
  });

  it("[TR3] with names twice or out of order is refused", () => {
    const row = (name: string): string => `["${name}","file","644",3,"${A}"]`;
    const text = (...names: string[]): string => `{"tree":1,"entries":[${names.map(row).join()}]}`;
    expect(readTree(text("a", "b")).entries.length).toBe(2);
    for (const names of [
      ["a", "a"],
      ["b", "a"],
      ["a", "c", "b"],
      ["a", "Z"],
    ])
      expect(() => readTree(text(...names)), names.join()).toThrow("in order, each once");
    // By UTF-16 code units, as JavaScript compares: a pair of surrogates stands before U+FFFF.
    expect(readTree(text("\u{1f600}", "\uffff")).entries.length).toBe(2);
    expect(() => readTree(text("\uffff", "\u{1f600}"))).toThrow("in order, each once");
  });

  it("[TR3] in any other spelling than its one normal form is refused", () => {
    const good = `{"tree":1,"exclude":["x"],"entries":[["a","file","644",3,"${A}"]]}`;
    expect(readTree(good).exclude).toEqual(["x"]);
    for (const [from, to] of [
      ['{"tree":1,', '{"tree": 1,'],
      ['"tree":1,', ""],
      ['"tree":1', '"tree":2'],
      ['"tree":1', '"tree":"1"'],
      ['{"tree":1,"exclude":["x"],', '{"exclude":["x"],"tree":1,'],
      ['"exclude":["x"]', '"exclude":[1]'],
      ['"exclude":["x"]', '"exclude":"x"'],
      ['"exclude":["x"]', '"exclude":null'],
      ['"exclude":["x"]', '"exclude":["x"],"more":1'],
      ['"exclude":["x"]', '"exclude":["y"],"exclude":["x"]'],
      ['"a"', '"\\u0061"'],
      ['"a"', "1"],
      ['"644"', '"0644"'],
      ['"644"', '"044"'],
      ['"644"', '"1777"'],
      ['"644"', '"888"'],
      ['"644"', "420"],
      ["3", "-3"],
      ["3", "-0"],
      ["3", "3.0"],
      ["3", "3.5"],
      ["3", "1e300"],
      ["3", '"3"'],
      ["3", "null"],
      [A, A.toUpperCase()],
      [A, A.slice(1)],
      [`"${A}"`, "null"],
      [`"${A}"]`, `"${A}",1]`],
      [`3,"${A}"]`, `"${A}"]`],
      ['"file"', '"link"'],
      ['"file"', '"tree"'],
      ['"file"', '"device"'],
      [`["a","file","644",3,"${A}"]`, '["a","link",""]'],
      [`["a","file","644",3,"${A}"]`, '["a","link","x\\u0000"]'],
      [`["a","file","644",3,"${A}"]`, '["a","link","x","y"]'],
      [`["a","file","644",3,"${A}"]`, '{"0":"a"}'],
      [`["a","file","644",3,"${A}"]`, "null"],
      ["]]}", "]]} "],
      ["]]}", "]]"],
    ] as const) {
      const bad = good.replace(from, to);
      expect(bad).not.toBe(good);
      expect(() => readTree(bad), bad).toThrow(RecordError);
    }
    for (const bad of ["", "null", "[]", "1", '"tree"', '{"tree":1}', '{"tree":1,"entries":{}}'])
      expect(() => readTree(bad), bad).toThrow(RecordError);
  });

  it("[TR3] that is garbage is refused, and with nothing but a RecordError", () => {
    const parts = [
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      '"tree"',
      '"entries"',
      "1",
      '"a"',
      '"file"',
      '"644"',
      `"${A}"`,
    ];
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(fc.constantFrom(...parts)).map((all) => all.join("")),
          fc.json(),
        ),
        (text) => {
          try {
            expect(writeTree(readTree(text))).toBe(text);
          } catch (error) {
            expect(error).toBeInstanceOf(RecordError);
          }
        },
      ),
      { numRuns: campaign(2000) },
    );
  });

  it("[TR4] of the empty directory has the id that the format documents", () => {
    expect(EMPTY_TREE).toBe(digestOf('{"tree":1,"entries":[]}'));
    expect(EMPTY_TREE).toBe("8b66dab86762bab10dbd58dcc06854550f95437e7eabe3a58b500b4b04d3fac1");
    expect(readTree('{"tree":1,"entries":[]}')).toEqual({ entries: [] });
    expect(digestOf(writeTree({ exclude: [], entries: [] }))).not.toBe(EMPTY_TREE);
  });
});

describe("the trees of a fact", () => {
  it("[TR5] are all that it names, whatever type it has", () => {
    const ids = new Map(
      ["before", "after", "base", "ours", "theirs", "tree"].map((name) => [name, digestOf(name)]),
    );
    for (const sample of Object.values(sampleFacts("words", A))) {
      const fields = sample as unknown as { readonly [field: string]: unknown };
      // Only workspaces and sandboxes have trees; other facts call other things so.
      const has = fields.type === "sandbox-open" || String(fields.type).startsWith("workspace-");
      const named = has ? Object.keys(fields).filter((field) => ids.has(field)) : [];
      const fact = { ...fields, ...Object.fromEntries(named.map((field) => [field, ids.get(field)])) };
      expect(treesOf(Session.start("hi").append(fact as never).fact), String(fields.type)).toEqual(
        expect.arrayContaining(named.map((field) => ids.get(field))),
      );
      expect(treesOf(fact as never).length, String(fields.type)).toBe(named.length);
    }
    const detached = Session.start("hi")
      .append({ type: "workspace-import", source: "x", after: A, files: 1, bytes: 1 })
      .detach();
    expect(treesOf(detached.fact)).toEqual([A]);
    expect(treesOf(Session.start("hi").detach().fact)).toEqual([]);
    const none = { type: "workspace-change", before: null, after: A, paths: [] } as const;
    expect(treesOf(Session.start("hi").append(none).fact)).toEqual([A]);
  });
});
