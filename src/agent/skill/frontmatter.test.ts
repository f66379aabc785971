import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { parse } from "yaml";
import { campaign } from "../../session/testing/campaign.js";
import { readFrontmatter } from "./skill.js";

const file = (frontmatter: string): string => `---\n${frontmatter}\n---\nbody`;

describe("frontmatter", () => {
  it("[F1] reads texts, blocks and maps as YAML does", async () => {
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
    const read = await readFrontmatter(file(text));
    expect(read).toEqual({
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
    expect(parsed(text)).toEqual(read.ok && read.fields);
    expect(await readFrontmatter(`\uFEFF---\r\nname: a\r\n---\r\nline one\r\nline two`)).toEqual({
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
    ["a: !b\n  c: d", 3],
    ["", 2],
    ["# nothing", 2],
    ["a: b\u2028c", 2],
  ])("[F1] refuses %j with its line", async (text, line) => {
    expect(await readFrontmatter(file(text))).toMatchObject({ ok: false, line });
  });

  it("[F1] refuses a file without frontmatter", async () => {
    expect(await readFrontmatter("# Title")).toMatchObject({ ok: false, line: 1 });
    expect(await readFrontmatter("---\nname: a\n")).toMatchObject({ ok: false, line: 1 });
    expect(await readFrontmatter("")).toMatchObject({ ok: false, line: 1 });
  });

  it("[F1] accepts nothing that YAML reads otherwise", async () => {
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
    await fc.assert(
      fc.asyncProperty(
        fc.array(piece, { maxLength: 14 }),
        fc.constantFrom("k: ", "k: |\n  ", "k: >-\n  ", "k:\n  s: ", ""),
        async (pieces, head) => {
          const text = head + pieces.join("");
          if (/^---\s*$/m.test(text)) return;
          const read = await readFrontmatter(file(text));
          if (!read.ok) return;
          accepted += 1;
          expect(parsed(text), JSON.stringify(text)).toEqual(read.fields);
        },
      ),
      { numRuns: campaign(2_000) },
    );
    expect(accepted).toBeGreaterThan(campaign(800));
  });

  it("[F5] says what to install when the package yaml is missing", async () => {
    vi.resetModules();
    vi.doMock("yaml", () => {
      throw Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" });
    });
    const fresh = await import("./skill.js");
    const thrown = await fresh.readFrontmatter(file("name: a")).catch((error: unknown) => error);
    vi.doUnmock("yaml");
    expect(thrown).toMatchObject({ code: "package-missing", hint: "npm install yaml" });
  });

  it("[F4] never throws", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary", maxLength: 60 }), async (text) => {
        await readFrontmatter(text);
        await readFrontmatter(file(text));
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
