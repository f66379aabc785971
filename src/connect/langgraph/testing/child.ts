import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import ts from "typescript";

const source = fileURLToPath(new URL("../../..", import.meta.url));
let built: string | undefined;

/** The sources as JavaScript that a child process can run: Node 20 reads no TypeScript. */
function build(): string {
  if (built !== undefined) return built;
  // Inside node_modules, so that the packages the sources need are found.
  built = join(source, "..", "node_modules", ".cache", "openrath-langgraph", String(process.pid));
  const target = built;
  process.once("exit", () => rmSync(target, { recursive: true, force: true }));
  for (const folder of ["session", "store", "interop/langgraph", "interop/langgraph/testing"]) {
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

/**
 * Runs a function of a module of this folder in a process of its own, until it ends or ends itself; answers with the lines
 * that it printed and how it ended.
 */
export async function inChild(
  module: string,
  name: string,
  ...args: readonly (string | number)[]
): Promise<{
  readonly lines: readonly string[];
  readonly signal: string | null;
  readonly code: number | null;
}> {
  const url = pathToFileURL(join(build(), "interop/langgraph/testing", `${module}.js`)).href;
  const program = `import { ${name} } from ${JSON.stringify(url)}; await ${name}(...${JSON.stringify(args)});`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
    timeout: 60_000,
  });
  let text = "";
  child.stdout.on("data", (data) => {
    text += data;
  });
  const [code, signal] = await new Promise<[number | null, string | null]>((done) =>
    child.once("close", (ended, by) => done([ended, by])),
  );
  return { lines: text.split("\n").filter((line) => line !== ""), signal, code };
}
