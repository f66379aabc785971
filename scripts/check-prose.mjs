// @ts-check
// Counts the forms of English that CONTRIBUTING.md bans, and fails where a group of texts has more of them than
// prose-baseline.json allows. Figures there only go down: `--update` lowers them, and never raises one.
// `--list` prints each form with its file and line, `--json` everything as JSON. Arguments that are paths (files or
// folders) restrict the list to them.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { formsIn } from "./prose.mjs";
import { root, say } from "./run.mjs";

/** @typedef {"docs" | "generated" | "texts" | "recorded" | "comments" | "promises"} Group */
/** @typedef {{ group: Group, form: string, file: string, line: number, text: string }} Finding */
/** @typedef {{ group: Group, file: string, text: string, lineAt: (offset: number) => number }} Passage */

/**
 * The groups: hand-written pages; pages that tests generate; strings of src, which users see as errors, hints and help;
 * strings of src that runs record; comments of src; SPEC files and titles of tests.
 *
 * @type {readonly Group[]}
 */
const groups = ["docs", "generated", "texts", "recorded", "comments", "promises"];

/**
 * Texts that a run records or puts to a model: descriptions of tools, prompts, reasons of merges; and one list of words. A
 * run of an earlier version replays only while they stay, byte for byte.
 */
const recorded = [
  "src/agent/compress/summary.ts",
  "src/agent/tool/ask-person.ts",
  "src/agent/tool/error.ts",
  "src/agent/tool/module-tool.ts",
  "src/agent/tool/sandbox/",
  "src/connect/format/openai-agents/read.ts",
  "src/connect/mcp/instance.ts",
  "src/memory/files/files.ts",
  "src/memory/search/tokens.ts",
  "src/memory/tier/",
  "src/memory/tools.ts",
  "src/pattern/reason/",
  "src/pattern/selector/model.ts",
  "src/pattern/team/",
];

/** Generated pages repeat texts and comments of src. docs/api is left out: its comments are counted at their source. */
const generated = ["docs/cli.md", "docs/format.md"];

const options = process.argv.slice(2).filter((argument) => argument.startsWith("--"));
const places = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const baselineFile = join(root, "scripts", "prose-baseline.json");
/** @type {Record<Group, number>} */
const baseline = JSON.parse(readFileSync(baselineFile, "utf8"));
const findings = passages().flatMap(findIn);
report();

function report() {
  const counts = /** @type {Record<Group, number>} */ (
    Object.fromEntries(
      groups.map((group) => [group, findings.filter((found) => found.group === group).length]),
    )
  );
  const shown = findings.filter(
    ({ file }) => places.length === 0 || places.some((place) => file.startsWith(place)),
  );
  if (options.includes("--json"))
    process.stdout.write(`${JSON.stringify({ counts, allowed: baseline, findings: shown }, null, 2)}\n`);
  else {
    if (options.includes("--list"))
      for (const { file, line, form, text, group } of shown)
        process.stdout.write(`${file}:${line}: ${group}: ${form}: ${text}\n`);
    for (const group of groups) say(`${group}: ${counts[group]} banned forms, ${baseline[group]} allowed`);
  }
  if (options.includes("--update")) update(counts);
  else judge(counts);
}

function judge(/** @type {Record<Group, number>} */ counts) {
  const over = groups.filter((group) => counts[group] > baseline[group]);
  const under = groups.filter((group) => counts[group] < baseline[group]);
  if (under.length > 0)
    say(`fewer than allowed: ${under.join(", ")}. Keep it: npm run check:prose -- --update`);
  if (over.length === 0) return;
  say(`more banned forms than allowed: ${over.join(", ")}. To see them: npm run check:prose -- --list`);
  process.exitCode = 1;
}

function update(/** @type {Record<Group, number>} */ counts) {
  const lower = Object.fromEntries(groups.map((group) => [group, Math.min(counts[group], baseline[group])]));
  writeFileSync(baselineFile, `${JSON.stringify(lower, null, 2)}\n`);
  judge(counts);
}

/** @returns {Finding[]} */
function findIn(/** @type {Passage} */ { group, file, text, lineAt }) {
  return formsIn(text).map(({ form, offset }) => ({
    group,
    form,
    file,
    line: lineAt(offset),
    text: text
      .slice(Math.max(0, offset - 40), offset + 60)
      .replaceAll(/\s+/g, " ")
      .trim(),
  }));
}

/** @returns {Passage[]} */
function passages() {
  const pages = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "GLOSSARY.md",
    "CHANGELOG.md",
    ...files("docs", ".md"),
    ...files("skills", ".md"),
  ];
  const specs = [...files("src", "SPEC.md"), ...files("test", "SPEC.md")];
  const sources = [...files("src", ".ts"), ...files("test", ".ts")].filter(
    (file) => !/\/generated\//.test(file),
  );
  return [
    ...pages
      .filter((file) => !file.startsWith("docs/api/"))
      .map((file) => page(generated.includes(file) ? "generated" : "docs", file)),
    ...specs.map((file) => page("promises", file)),
    ...sources.flatMap((file) =>
      /\.test(-d)?\.ts$/.test(file)
        ? titlesOf(file)
        : isShipped(file)
          ? [...textsOf(file), ...commentsOf(file)]
          : [],
    ),
  ];
}

function isShipped(/** @type {string} */ file) {
  return file.startsWith("src/") && !file.includes("/testing/");
}

/**
 * @param {string} folder
 * @param {string} ending
 */
function files(folder, ending) {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length).replaceAll("\\", "/"))
    .sort();
}

/**
 * A page without its headings, its `code` and the ids of promises. Blocks of code stay: their comments are read too.
 *
 * @param {Group} group
 * @param {string} file
 * @returns {Passage}
 */
function page(group, file) {
  const whole = readFileSync(join(root, file), "utf8");
  const text = whole
    .replaceAll(/^#+ .*$/gm, blank)
    .replaceAll(/`[^`\n]+`/g, (code) => "`".repeat(code.length))
    .replaceAll(/^- \*\*\w+\*\*/gm, (id) => `- ${" ".repeat(id.length - 2)}`);
  return { group, file, text, lineAt: (offset) => whole.slice(0, offset).split("\n").length };
}

function parse(/** @type {string} */ file) {
  return ts.createSourceFile(file, readFileSync(join(root, file), "utf8"), ts.ScriptTarget.Latest, true);
}

/**
 * The strings and templates of a file, with "…" for what a template fills in. Import paths are not for people.
 *
 * @returns {Passage[]}
 */
function textsOf(/** @type {string} */ file) {
  const source = parse(file);
  /** @type {Passage[]} */
  const texts = [];
  visit(source);
  return texts;

  function visit(/** @type {ts.Node} */ node) {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return;
    if (ts.isStringLiteralLike(node)) keep(node, node.text);
    if (ts.isTemplateExpression(node))
      keep(node, [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join("…"));
    ts.forEachChild(node, visit);
  }

  function keep(/** @type {ts.Node} */ node, /** @type {string} */ text) {
    const group = recorded.some((place) => file.startsWith(place)) ? "recorded" : "texts";
    if (text.includes(" ")) texts.push({ group, file, text, lineAt: () => lineOf(source, node.getStart()) });
  }
}

/**
 * The comments of a file. Comments of one line that follow each other are one passage: sentences go on.
 *
 * @returns {Passage[]}
 */
function commentsOf(/** @type {string} */ file) {
  const source = parse(file);
  let code = source.text;
  hideLiterals(source);
  const comments = code.matchAll(/\/\*[\s\S]*?\*\/|\/\/[^\n]*(?:\n[ \t]*\/\/[^\n]*)*/g);
  return [...comments].map((match) => ({
    group: "comments",
    file,
    text: match[0]
      .replaceAll(/^\s*(?:\/\*\*?|\*\/|\*|\/\/)/gm, blank)
      .replaceAll(/\*\/$/g, "  ")
      .trimStart(),
    lineAt: (offset) => lineOf(source, match.index + offset),
  }));

  function hideLiterals(/** @type {ts.Node} */ node) {
    const literal =
      ts.isStringLiteralLike(node) || ts.isTemplateExpression(node) || ts.isRegularExpressionLiteral(node);
    if (literal) code = code.slice(0, node.getStart()) + blank(node.getText()) + code.slice(node.getEnd());
    else ts.forEachChild(node, hideLiterals);
  }
}

/** @returns {Passage[]} */
function titlesOf(/** @type {string} */ file) {
  const source = parse(file);
  /** @type {Passage[]} */
  const titles = [];
  visit(source);
  return titles;

  function visit(/** @type {ts.Node} */ node) {
    if (ts.isCallExpression(node) && /^(?:it|test)\b/.test(node.expression.getText(source))) {
      const [title] = node.arguments;
      if (title !== undefined && ts.isStringLiteralLike(title))
        titles.push({
          group: "promises",
          file,
          // A title starts in lower case, and is a sentence all the same.
          text: title.text.replace(/^\[[\w, ]+\] /, "").replace(/^w/, "W"),
          lineAt: () => lineOf(source, title.getStart()),
        });
    }
    ts.forEachChild(node, visit);
  }
}

/**
 * @param {ts.SourceFile} source
 * @param {number} offset
 */
function lineOf(source, offset) {
  return source.getLineAndCharacterOfPosition(offset).line + 1;
}

function blank(/** @type {string} */ text) {
  return text.replaceAll(/[^\n]/g, " ");
}
