import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { campaign } from "../../session/testing/campaign.js";
import { partedOf } from "./frontmatter.js";

const file = (frontmatter: string): string => `---\n${frontmatter}\n---\nbody`;

describe("frontmatter", () => {
  it("[F1] reads texts, blocks and maps as YAML does", () => {
    const text = [
      "# a comment",
      "name: pdf-forms   # another",
      'license: "MIT: \\"really\\" \\u00e9"',
      "compatibility: 'it''s fine'",
      "description: >-",
      "  Fills in forms.",
      "  Use it for PDFs.",
      "",
      "  And more.",
      "metadata:",
      "  author: ada",
      '  version: "1.0"',
      "",
      "allowed-tools: Read",
      "  Bash(git:*)",
      "empty:",
    ].join("\n");
    const parted = partedOf(file(text));
    expect(parted).toEqual({
      ok: true,
      body: "body",
      fields: {
        name: "pdf-forms",
        license: 'MIT: "really" é',
        compatibility: "it's fine",
        description: "Fills in forms. Use it for PDFs.\nAnd more.",
        metadata: { author: "ada", version: "1.0" },
        "allowed-tools": "Read Bash(git:*)",
        empty: "",
      },
    });
    expect(parsed(text)).toEqual(parted.ok && parted.fields);
    expect(partedOf(`\uFEFF---\r\nname: a\r\n---\r\nline one\r\nline two`)).toEqual({
      ok: true,
      fields: { name: "a" },
      body: "line one\nline two",
    });
  });

  it.each([
    ["name: a\nname: b", 3],
    ["name: a: b", 2],
    ["name: [a]", 2],
    ["name: *a", 2],
    ["name: &a b", 2],
    ["name: !!str a", 2],
    ["name: 'open", 2],
    ['name: "\\q"', 2],
    ["name: a\n\tb: c", 3],
    ["just words", 2],
    ["- a\n- b", 2],
    ["a:\n  b:\n    c: d", 3],
    ["a: |\n", 2],
    ["a: |2\n  b", 2],
    ["a: >\n  b\n    c", 2],
    ["  a: b", 2],
    ["a: b\u2028c", 2],
  ])("[F1] refuses %j with its line", (text, line) => {
    expect(partedOf(file(text))).toMatchObject({ ok: false, line });
  });

  it("[F1] refuses a file without frontmatter", () => {
    expect(partedOf("# Title")).toMatchObject({ ok: false, line: 1 });
    expect(partedOf("---\nname: a\n")).toMatchObject({ ok: false, line: 1 });
    expect(partedOf("")).toMatchObject({ ok: false, line: 1 });
  });

  it("[F1] accepts nothing that YAML reads otherwise", () => {
    const piece = fc.constantFrom(
      ..."a,b1,name,:,: ,#, #,-,- ,|,>,|-,>+,',\",\\,\\n,[,],{,},&,*,!,%,@,?,...,---,~,null,true,1.0,0x1f,é,😀, ,  ,\t".split(
        ",",
      ),
      ",",
      "\n",
      "\n  ",
      "\n    ",
      "\nkey: ",
      "\n\n",
      "<<: ",
    );
    let accepted = 0;
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 14 }),
        fc.constantFrom("k: ", "k: |\n  ", "k: >-\n  ", "k:\n  s: ", ""),
        (pieces, head) => {
          const text = head + pieces.join("");
          if (/^---\s*$/m.test(text)) return;
          const parted = partedOf(file(text));
          if (!parted.ok) return;
          accepted += 1;
          expect(parsed(text), JSON.stringify(text)).toEqual(parted.fields);
        },
      ),
      { numRuns: campaign(20_000) },
    );
    expect(accepted).toBeGreaterThan(500);
  });

  it("[F4] never throws", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 60 }), (text) => {
        partedOf(text);
        partedOf(file(text));
      }),
      { numRuns: campaign(2_000) },
    );
  });
});

/** What YAML says where every scalar is a text. */
function parsed(text: string): unknown {
  // A value that is left out is null there, whatever the schema.
  return JSON.parse(JSON.stringify(parse(text, { schema: "failsafe" }) ?? {}), (_, value) => value ?? "");
}
