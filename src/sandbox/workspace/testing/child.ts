import { type ChildProcess, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { compiled, withSources } from "../../../util/testing/compile.js";

/**
 * Starts a process that runs a module with `checkout`, `frozen`, `StatCache` and `trees` at hand; `args` is its
 * `process.argv.slice(2)`. Its blobs are the files of a folder.
 */
export function startChild(blobs: string, body: string, args: readonly string[]): ChildProcess {
  const program = withSources(`
    import { readFile } from "node:fs/promises";
    import { Trees } from "@/sandbox/trees.js";
    import { checkout } from "@/sandbox/workspace/checkout.js";
    import { frozen } from "@/sandbox/workspace/frozen.js";
    import { StatCache } from "@/sandbox/workspace/stat-cache.js";
    const trees = new Trees({ blob: (digest) => readFile(${JSON.stringify(`${blobs}/`)} + digest) });
    ${body}`);
  const file = join(compiled, `child-${process.hrtime.bigint()}.js`);
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
