import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import ts from "typescript";

const source = fileURLToPath(new URL("../..", import.meta.url));
const root = join(source, "..");

/** A folder for compiled sources, inside node_modules so that the packages that they import are found. */
export const compiled = join(root, "node_modules", ".cache", "openrath-compiled", String(process.pid));

/**
 * Compiles a file of src (its path below src) and everything it imports to JavaScript below a folder, for a child process:
 * Node 20 reads no TypeScript. Returns the path of the result.
 */
export function compile(path: string, target = compiled): string {
  const output = join(target, path.replace(/\.ts$/, ".js"));
  if (existsSync(output)) return output;
  const { outputText } = ts.transpileModule(readFileSync(join(source, path), "utf8"), {
    compilerOptions: {
      module: ts.ModuleKind.ESNext,
      target: ts.ScriptTarget.ES2022,
      verbatimModuleSyntax: true,
    },
  });
  mkdirSync(dirname(output), { recursive: true });
  writeFileSync(output, outputText.replaceAll("OPENRATH_VERSION", JSON.stringify(version())));
  const packageJson = join(target, "package.json");
  if (!existsSync(packageJson)) writeFileSync(packageJson, '{"type":"module"}');
  for (const [, imported] of outputText.matchAll(/(?:from |import\(|import )"(\.[^"]+)\.js"/g))
    compile(relative(source, join(source, dirname(path), `${imported}.ts`)), target);
  return output;
}

/** A program in which each import of `"@/…"` means a file of src. */
export function withSources(program: string, target = compiled): string {
  return program.replaceAll(/"@\/([^"]+)\.js"/g, (_all, path: string) =>
    JSON.stringify(pathToFileURL(compile(`${path}.ts`, target)).href),
  );
}

function version(): string {
  return (JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string }).version;
}
