import type { Sandbox } from "../../../sandbox/index.js";
import { jsonProblem } from "./syntax-json.js";
import { checkModules, checkPython, checkShell } from "./syntax-program.js";
import { checkScript, checkYaml } from "./syntax-thread.js";
import { shortened } from "./text.js";

/** Something in a file that its language does not allow. */
export type SyntaxProblem = { readonly line: number; readonly column?: number; readonly message: string };

/** What became of a check: the problems that a change brings and those that were there, or why nobody looked. */
export type SyntaxFinding =
  | {
      readonly checked: true;
      readonly fresh: readonly SyntaxProblem[];
      readonly old: readonly SyntaxProblem[];
    }
  | { readonly checked: false; readonly why: string };

/** A change of a file, by its lines: from `line`, `removed` lines became `added`. Sorted, none overlapping. */
export type LineChange = { readonly line: number; readonly removed: number; readonly added: number };

/** Longer files are not checked. */
const LARGEST = 2_000_000;

/** Says what a language does not allow in a text; undefined when nobody can tell here. */
type Check = (text: string, path: string, sandbox: Sandbox) => Promise<readonly SyntaxProblem[] | undefined>;
/** `finds` is "first" where a checker stops at the first problem that it meets. */
type Checker = { readonly check: Check; readonly finds: "all" | "first" };
type Language = { readonly names: RegExp; readonly checkers: readonly Checker[] };

const json = (loose: boolean): Checker => ({
  finds: "first",
  check: async (text) => {
    const problem = jsonProblem(text, loose);
    return problem === undefined ? [] : [problem];
  },
});
const script: Checker = { check: checkScript, finds: "all" };

const LANGUAGES: readonly Language[] = [
  {
    names:
      /(\.jsonc|\.code-workspace|(^|\/)(ts|js)config[^/]*\.json|(^|\/)\.vscode\/[^/]+\.json|(^|\/)\.(eslint|babel)rc(\.json)?|(^|\/)biome\.json)$/,
    checkers: [json(true)],
  },
  { names: /\.(json|webmanifest|geojson|ipynb)$/, checkers: [json(false)] },
  { names: /\.(ts|tsx|mts|cts)$/, checkers: [script] },
  { names: /\.(js|jsx|mjs|cjs)$/, checkers: [script, { check: checkModules, finds: "first" }] },
  { names: /\.(py|pyi)$/, checkers: [{ check: checkPython, finds: "first" }] },
  { names: /\.(yaml|yml)$/, checkers: [{ check: checkYaml, finds: "all" }] },
  { names: /\.(sh|bash)$/, checkers: [{ check: checkShell, finds: "first" }] },
];

/**
 * Checks a change before it is kept. Only what it breaks counts: problems that were there before stay where they are or
 * move with their lines.
 */
export async function checkChange(
  path: string,
  before: string,
  after: string,
  changes: readonly LineChange[],
  sandbox: Sandbox,
): Promise<SyntaxFinding> {
  const language = LANGUAGES.find(({ names }) => names.test(path)) ?? scriptOf(after);
  if (language === undefined) return { checked: false, why: "there is no checker for this kind of file" };
  if (after.length > LARGEST || before.length > LARGEST)
    return { checked: false, why: "the file is too long for it" };
  for (const { check, finds } of language.checkers) {
    const found = await check(after, path, sandbox);
    if (found === undefined) continue;
    if (found.length === 0) return { checked: true, fresh: [], old: [] };
    const known = (await check(before, path, sandbox)) ?? [];
    return { checked: true, ...sorted(known, found, changes, finds) };
  }
  return { checked: false, why: "no checker for this kind of file can be run here" };
}

export function shownProblem({ line, column, message }: SyntaxProblem): string {
  return `line ${line}${column === undefined ? "" : `, column ${column}`}: ${shortened(message, 300)}`;
}

/** A script without a name that tells says it in its first line. */
function scriptOf(text: string): Language | undefined {
  const [line = ""] = text.slice(0, 200).split("\n", 1);
  if (!line.startsWith("#!")) return undefined;
  if (/\bpython3?\b/.test(line)) return LANGUAGES.find(({ names }) => names.test("a.py"));
  if (/\b(ba|da|a)?sh\b/.test(line)) return LANGUAGES.find(({ names }) => names.test("a.sh"));
  return undefined;
}

function sorted(
  known: readonly SyntaxProblem[],
  found: readonly SyntaxProblem[],
  changes: readonly LineChange[],
  finds: Checker["finds"],
): { readonly fresh: readonly SyntaxProblem[]; readonly old: readonly SyntaxProblem[] } {
  const before = known.map((one) => ({ words: wordsOf(one), line: lineAfter(one.line, changes) }));
  const fresh: SyntaxProblem[] = [];
  const old: SyntaxProblem[] = [];
  for (const one of found) {
    const same = before.findIndex((other) => other.words === wordsOf(one) && other.line === one.line);
    if (same >= 0) before.splice(same, 1);
    // Behind a problem that is gone, one that it hid comes to light: unless it stands in what was changed.
    const hidden =
      finds === "first" && before.some(({ line }) => line <= one.line) && !isChanged(one.line, changes);
    (same >= 0 || hidden ? old : fresh).push(one);
  }
  return { fresh, old };
}

/** Messages name lines and columns too, which move. */
function wordsOf({ message }: SyntaxProblem): string {
  return message.replace(/\d+/g, "#");
}

/** Where a line that was not changed is found after the changes. */
function lineAfter(line: number, changes: readonly LineChange[]): number {
  let moved = line;
  for (const change of changes)
    if (change.line + change.removed <= line) moved += change.added - change.removed;
  return moved;
}

function isChanged(line: number, changes: readonly LineChange[]): boolean {
  let moved = 0;
  for (const change of changes) {
    const from = change.line + moved;
    if (line >= from && line < from + Math.max(1, change.added)) return true;
    moved += change.added - change.removed;
  }
  return false;
}
