import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import ts from "typescript";

const source = fileURLToPath(new URL("../..", import.meta.url));
let built: string | undefined;

/** The sources as JavaScript that a child process can run: Node 20 reads no TypeScript. */
function build(): string {
  if (built !== undefined) return built;
  // Inside node_modules, so that the packages the sources need are found.
  built = join(source, "..", "node_modules", ".cache", "openrath-test", String(process.pid));
  const target = built;
  process.once("exit", () => rmSync(target, { recursive: true, force: true }));
  for (const folder of ["session", "store"]) {
    mkdirSync(join(built, folder), { recursive: true });
    for (const name of readdirSync(join(source, folder))) {
      if (!name.endsWith(".ts") || name.includes(".test")) continue;
      const { outputText } = ts.transpileModule(readFileSync(join(source, folder, name), "utf8"), {
        compilerOptions: {
          module: ts.ModuleKind.ESNext,
          target: ts.ScriptTarget.ES2022,
          verbatimModuleSyntax: true,
        },
      });
      writeFileSync(join(built, folder, name.replace(/\.ts$/, ".js")), outputText);
    }
  }
  writeFileSync(join(built, "package.json"), '{"type":"module"}');
  return built;
}

/** Starts a process that runs a module with `Session` and `FileShelf` at hand; `args` is its `process.argv.slice(2)`. */
export function startChild(body: string, args: readonly string[]): ChildProcess {
  const folder = build();
  const url = (path: string): string => JSON.stringify(pathToFileURL(join(folder, path)).href);
  const program = `import { Session } from ${url("session/index.js")};\nimport { FileShelf } from ${url("store/file.js")};\n${body}`;
  const file = join(folder, `child-${process.hrtime.bigint()}.js`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, program);
  return spawn(process.execPath, [file, ...args], { stdio: ["pipe", "pipe", "inherit"] });
}

/** Waits for the end of a process and returns all it printed. */
export async function outputOf(child: ChildProcess): Promise<string> {
  let text = "";
  child.stdout?.on("data", (data) => {
    text += data;
  });
  await new Promise((done) => child.once("close", done));
  return text;
}
