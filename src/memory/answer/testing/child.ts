import { type ChildProcess, spawn } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compiled, withSources } from "../../../util/testing/compile.js";

/** Starts a process that runs a module with `openStore`, `withLineage` and `reachOf` at hand; `args` is its `process.argv.slice(2)`. */
export function startChild(body: string, args: readonly string[]): ChildProcess {
  const program = withSources(`
    import { withLineage } from "@/memory/answer/lineage.js";
    import { reachOf } from "@/memory/answer/reach.js";
    import { openStore } from "@/store/open.js";
    ${body}`);
  const file = join(compiled, `child-${process.hrtime.bigint()}.js`);
  writeFileSync(file, program);
  return spawn(process.execPath, [file, ...args], { stdio: ["pipe", "pipe", "inherit"] });
}

/** Takes away what was made for children, when none is left. */
export function clean(): void {
  rmSync(compiled, { recursive: true, force: true });
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
