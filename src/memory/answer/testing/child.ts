import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import ts from "typescript";

const source = fileURLToPath(new URL("../../..", import.meta.url));
// Inside node_modules, so that the packages the sources need are found.
const target = join(source, "..", "node_modules", ".cache", "openrath-answer", String(process.pid));

/** Makes JavaScript of a source and of everything it imports: Node 20 reads no TypeScript. */
function build(file: string): string {
  const made = join(target, relative(source, file)).replace(/\.ts$/, ".js");
  if (existsSync(made)) return made;
  const { outputText } = ts.transpileModule(readFileSync(file, "utf8"), {
    compilerOptions: {
      module: ts.ModuleKind.ESNext,
      target: ts.ScriptTarget.ES2022,
      verbatimModuleSyntax: true,
    },
  });
  mkdirSync(dirname(made), { recursive: true });
  writeFileSync(made, outputText);
  for (const [, path] of outputText.matchAll(/(?:from |import\(|import )"(\.[^"]+)\.js"/g))
    build(join(dirname(file), `${path}.ts`));
  return made;
}

/** Starts a process that runs a module with `openStore`, `withLineage` and `reachOf` at hand; `args` is its `process.argv.slice(2)`. */
export function startChild(body: string, args: readonly string[]): ChildProcess {
  const url = (path: string): string => JSON.stringify(pathToFileURL(build(join(source, path))).href);
  const program = `import { withLineage } from ${url("memory/answer/lineage.ts")};\nimport { reachOf } from ${url("memory/answer/reach.ts")};\nimport { openStore } from ${url("store/open.ts")};\n${body}`;
  writeFileSync(join(target, "package.json"), '{"type":"module"}');
  const file = join(target, `child-${process.hrtime.bigint()}.js`);
  writeFileSync(file, program);
  return spawn(process.execPath, [file, ...args], { stdio: ["pipe", "pipe", "inherit"] });
}

/** Takes away what was made for children, when none is left. */
export function clean(): void {
  rmSync(target, { recursive: true, force: true });
}

/** Waits for the end of a process and returns all it printed. */
export async function outputOf(child: ChildProcess): Promise<string> {
  let text = "";
  child.stdout?.on("data", (data) => {
    text += data;
  });
  await new Promise((done, failed) => {
    child.once("close", done);
    child.once("error", failed);
  });
  return text;
}
