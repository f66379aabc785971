import { spawn, spawnSync } from "node:child_process";
import { chmodSync, chownSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withSources } from "../../../util/testing/compile.js";
import { folder } from "./folder.js";

const NOBODY = 65534;

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
  writeFileSync(join(at, "main.js"), withSources(program, at));
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
