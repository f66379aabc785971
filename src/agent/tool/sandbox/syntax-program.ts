import { type Sandbox, SandboxLostError } from "../../../sandbox/index.js";
import { parseJson } from "../../../util/index.js";
import type { SyntaxProblem } from "./syntax.js";
import { bufferOf } from "./text.js";

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

export async function checkPython(
  text: string,
  path: string,
  sandbox: Sandbox,
): Promise<readonly SyntaxProblem[] | undefined> {
  return reported(await probe(sandbox, ["python3", "-I", "-c", PYTHON, path], text));
}

/** Plain JavaScript, with the Node of the sandbox: as a script, as a module, or as whichever of them it is. */
export async function checkModules(
  text: string,
  path: string,
  sandbox: Sandbox,
): Promise<readonly SyntaxProblem[] | undefined> {
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
export async function checkShell(
  text: string,
  path: string,
  sandbox: Sandbox,
): Promise<readonly SyntaxProblem[] | undefined> {
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

/** Runs a checker; undefined when it is not there or does not come to an end. */
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

/** The list that a checker printed, if it is one. */
function reported(result: Probe | undefined): readonly SyntaxProblem[] | undefined {
  if (result?.code !== 0) return undefined;
  const list = parseJson(result.stdout);
  if (!Array.isArray(list)) return undefined;
  return list.map((one: { readonly [field: string]: unknown } | null) => ({
    line: Number(one?.line) || 1,
    ...(Number(one?.column) > 0 && { column: Number(one?.column) }),
    message: String(one?.message).split("\n", 1)[0] ?? "",
  }));
}
