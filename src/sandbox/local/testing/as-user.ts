import { spawn, spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { folder } from "./folder.js";

const NOBODY = 65534;
const source = fileURLToPath(new URL("../../..", import.meta.url));

/** Why nothing can be run as an ordinary user here; undefined where it can. */
export function obstacle(): string | undefined {
  if (process.getuid?.() !== 0)
    return "only root can become somebody else; as a user the other tests say the same";
  const tried = spawnSync("true", { uid: NOBODY, gid: NOBODY });
  return tried.status === 0 ? undefined : "no process can be started as another user";
}

/** A directory that the ordinary user owns. */
export function theirs(): string {
  const path = folder();
  chownSync(path, NOBODY, NOBODY);
  return path;
}

/**
 * Runs a program as an ordinary user and gives what it tells as JSON. `"@/…"` in an import means the sources: they are
 * turned into JavaScript first, because Node 20 reads no TypeScript.
 */
export async function asUser<Told>(program: string, words: readonly string[]): Promise<Told> {
  const at = folder();
  chmodSync(at, 0o755);
  for (const part of ["util", "session", "store", "sandbox"])
    for (const name of readdirSync(join(source, part), { recursive: true, encoding: "utf8" })) {
      if (!/(?<!\.test|\.test-d)\.ts$/.test(name) || /^(docker|virtual|job)\b|testing\//.test(name)) continue;
      const { outputText } = ts.transpileModule(readFileSync(join(source, part, name), "utf8"), {
        compilerOptions: {
          module: ts.ModuleKind.ESNext,
          target: ts.ScriptTarget.ES2022,
          verbatimModuleSyntax: true,
        },
      });
      const file = join(at, part, name.replace(/ts$/, "js"));
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, outputText);
    }
  writeFileSync(join(at, "package.json"), '{"type":"module"}');
  writeFileSync(join(at, "main.js"), program.replaceAll('"@/', '"./'));
  const child = spawn(process.execPath, [join(at, "main.js"), ...words], {
    uid: NOBODY,
    gid: NOBODY,
    stdio: ["ignore", "pipe", "inherit"],
    env: { PATH: process.env.PATH, HOME: theirs() },
  });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (part: string) => {
    text += part;
  });
  const code = await new Promise((resolve) => child.once("close", resolve));
  if (code !== 0) throw new Error(`the program of the user ended with ${code}: ${text}`);
  return JSON.parse(text) as Told;
}
