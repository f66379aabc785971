import { type Sandbox, SandboxLostError } from "../../../sandbox/index.js";
import { parseJson } from "../../../util/index.js";
import { jsonProblem } from "./syntax-json.js";
import { checkScript, checkYaml } from "./syntax-thread.js";
import { bufferOf, shortened } from "./text.js";

export type SyntaxProblem = { readonly line: number; readonly column?: number; readonly message: string };

/** The result of a check: new problems and old ones, or why nothing was checked. */
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

/** Checks a change before it is kept. Problems that were there before do not count. */
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

/** Milliseconds that a check may take: it parses one file. */
const PATIENCE = 20_000;

/** Parses what it reads and says where that fails. Isolated: a module of the workspace must not stand in for one of Python's. */
const PYTHON = `
import ast, json, sys, warnings
warnings.simplefilter("ignore")
found = []
try:
    compile(sys.stdin.buffer.read(), sys.argv[1], "exec", ast.PyCF_ONLY_AST, True)
except SyntaxError as error:
    found.append({"line": error.lineno or 1, "column": error.offset or None, "message": type(error).__name__ + ": " + str(error.msg)})
except ValueError as error:
    found.append({"line": 1, "column": None, "message": str(error)})
print(json.dumps(found))
`;

async function checkPython(...[text, path, sandbox]: Parameters<Check>): ReturnType<Check> {
  const result = await probe(sandbox, ["python3", "-I", "-c", PYTHON, path], text);
  const list = result?.code === 0 ? parseJson(result.stdout) : undefined;
  if (!Array.isArray(list)) return undefined;
  return list.map((one: { readonly [field: string]: unknown } | null) => ({
    line: Number(one?.line) || 1,
    ...(Number(one?.column) > 0 && { column: Number(one?.column) }),
    message: String(one?.message).split("\n", 1)[0] ?? "",
  }));
}

/** Plain JavaScript, with the Node of the sandbox: as a script, as a module, or as whichever of them it is. */
export async function checkModules(...[text, path, sandbox]: Parameters<Check>): ReturnType<Check> {
  if (path.endsWith(".jsx")) return undefined;
  const kinds = ["commonjs", "module"].filter(
    (kind) => path.endsWith(".mjs") === (kind === "module") || path.endsWith(".js"),
  );
  let furthest: SyntaxProblem | undefined;
  for (const kind of kinds) {
    const result = await probe(sandbox, ["node", `--input-type=${kind}`, "--check", "-"], text);
    if (result === undefined) return undefined;
    if (result.code === 0) return [];
    const line = Number(/^\[stdin\]:(\d+)$/m.exec(result.stderr)?.[1]);
    const message = /^SyntaxError: (.*)$/m.exec(result.stderr)?.[1];
    // Something else went wrong: nothing is known about the text.
    if (!(line > 0) || message === undefined) return undefined;
    if (furthest === undefined || line > furthest.line) furthest = { line, message };
  }
  return furthest === undefined ? undefined : [furthest];
}

/** Shell scripts, with the shell they ask for. */
async function checkShell(...[text, path, sandbox]: Parameters<Check>): ReturnType<Check> {
  const [first = ""] = text.slice(0, 200).split("\n", 1);
  const shell = path.endsWith(".bash") || /^#!.*\bbash\b/.test(first) ? "bash" : "sh";
  const result = await probe(sandbox, [shell, "-n"], text);
  if (result === undefined) return undefined;
  if (result.code === 0) return [];
  const problems = result.stderr
    .split("\n")
    .map((line) => /(?:line )?(\d+): (.*)$/.exec(line))
    .filter((match) => match !== null)
    .map(([, line, message = ""]) => ({ line: Number(line), message }));
  // A shell that cannot check says something else.
  return problems.length === 0 ? undefined : problems.slice(0, 1);
}

type Probe = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

async function probe(
  sandbox: Sandbox,
  command: readonly string[],
  stdin: string,
): Promise<Probe | undefined> {
  const { code, outcome, stdout, stderr, why } = await sandbox.exec(command, {
    stdin,
    wall: PATIENCE,
    output: 1_000_000,
  }).result;
  if (outcome === "lost") throw new SandboxLostError(sandbox.ref.id, why ?? "while a file was checked");
  if ((outcome !== "ok" && outcome !== "error") || code === 127 || code === 126) return undefined;
  return { code, stdout: bufferOf(stdout).toString("utf8"), stderr: bufferOf(stderr).toString("utf8") };
}
