import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import ts from "typescript";
import { onTestFinished } from "vitest";

const source = fileURLToPath(new URL("../../..", import.meta.url));
let built: string | undefined;

/** The sources as JavaScript that a child process can run: Node 20 reads no TypeScript. */
function build(): string {
  if (built !== undefined) return built;
  // Inside node_modules, so that the packages the sources need are found.
  const target = join(source, "..", "node_modules", ".cache", "openrath-workspace-test", String(process.pid));
  built = target;
  process.once("exit", () => rmSync(target, { recursive: true, force: true }));
  for (const folder of ["util", "session", "store", "sandbox", "sandbox/workspace"]) {
    mkdirSync(join(target, folder), { recursive: true });
    for (const name of readdirSync(join(source, folder))) {
      if (!name.endsWith(".ts") || name.includes(".test")) continue;
      const { outputText } = ts.transpileModule(readFileSync(join(source, folder, name), "utf8"), {
        compilerOptions: {
          module: ts.ModuleKind.ESNext,
          target: ts.ScriptTarget.ES2022,
          verbatimModuleSyntax: true,
        },
      });
      writeFileSync(join(target, folder, name.replace(/\.ts$/, ".js")), outputText);
    }
  }
  writeFileSync(join(target, "package.json"), '{"type":"module"}');
  return target;
}

/**
 * Starts a process that runs a module with `checkout`, `frozen`, `StatCache` and `trees` at hand; `args` is its
 * `process.argv.slice(2)`. Its blobs are the files of a folder.
 */
export function startChild(blobs: string, body: string, args: readonly string[]): ChildProcess {
  const folder = build();
  const url = (path: string): string => JSON.stringify(pathToFileURL(join(folder, "sandbox", path)).href);
  const program = `
    import { readFile } from "node:fs/promises";
    import { Trees } from ${url("trees.js")};
    import { checkout } from ${url("workspace/checkout.js")};
    import { frozen } from ${url("workspace/frozen.js")};
    import { StatCache } from ${url("workspace/stat-cache.js")};
    const trees = new Trees({ blob: (digest) => readFile(${JSON.stringify(`${blobs}/`)} + digest) });
    ${body}`;
  const file = join(folder, `child-${process.hrtime.bigint()}.js`);
  writeFileSync(file, program);
  const child = spawn(process.execPath, [file, ...args], { stdio: ["pipe", "pipe", "inherit"] });
  child.on("error", () => undefined);
  child.stdin?.on("error", () => undefined);
  onTestFinished(() => end(child));
  return child;
}

/** Kills a process and waits until it is gone. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await ended;
}

/** The next line that a process prints. */
export function lineOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes("\n")) resolve(text.slice(0, text.indexOf("\n")));
    });
    child.once("exit", (code) => reject(new Error(`the process ended with ${code} before it said anything`)));
  });
}
