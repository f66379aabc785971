import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { folder } from "./space.js";

const ENOUGH = 1_000;
const LONGEST_MS = 25_000;

/** What must never be seen inside, nor changed outside. */
export const SECRET = "SECRET-that-is-outside";

export type Race = {
  readonly outside: string;
  /** Whether there were enough attempts on both sides, or enough time was spent on them. */
  readonly isOver: (attempts: number) => boolean;
};

/**
 * Something outside of a workspace, and a process that swaps directories of the workspace for links to it, and back, as
 * fast as it can, until the test ends.
 */
export async function racer(directories: readonly string[]): Promise<Race> {
  const outside = folder();
  writeFileSync(join(outside, "secret.txt"), SECRET);
  writeFileSync(join(outside, "file.txt"), SECRET);
  mkdirSync(join(outside, "inner"));
  writeFileSync(join(outside, "inner", "file.txt"), SECRET);
  const child = spawn(process.execPath, ["-e", PROGRAM, outside, ...directories], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let swaps = 0;
  child.stdout.on("data", (chunk: Buffer) => {
    swaps += 100 * chunk.length;
  });
  child.on("error", () => undefined);
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
  });
  await new Promise((resolve) => child.stdout.once("data", resolve));
  const until = performance.now() + LONGEST_MS;
  return {
    outside,
    isOver: (attempts) => (attempts >= ENOUGH && swaps >= ENOUGH) || performance.now() > until,
  };
}

/** Whether everything outside is as it was made: names, bytes, modes. */
export function isUntouched(outside: string): boolean {
  const names = readdirSync(outside, { recursive: true }).map(String).sort();
  return (
    JSON.stringify(names) === JSON.stringify(["file.txt", "inner", "inner/file.txt", "secret.txt"]) &&
    names
      .filter((name) => name !== "inner")
      .every(
        (name) =>
          readFileSync(join(outside, name), "utf8") === SECRET &&
          (statSync(join(outside, name)).mode & 0o777) === 0o644,
      ) &&
    (statSync(join(outside, "inner")).mode & 0o777) === 0o755
  );
}

const PROGRAM = `
const fs = require("node:fs");
const [outside, ...directories] = process.argv.slice(1);
const attempt = (work) => { try { work(); } catch {} };
for (let count = 1; ; count++) {
  for (const directory of directories) {
    attempt(() => fs.renameSync(directory, directory + ".aside"));
    attempt(() => fs.symlinkSync(outside, directory));
    attempt(() => fs.unlinkSync(directory));
    attempt(() => fs.renameSync(directory + ".aside", directory));
    attempt(() => fs.mkdirSync(directory));
    // A file for a link to a file outside, too.
    attempt(() => fs.symlinkSync(outside + "/file.txt", directory + "/planted"));
    attempt(() => fs.renameSync(directory + "/planted", directory + "/file.txt"));
    attempt(() => fs.unlinkSync(directory + "/file.txt"));
    attempt(() => fs.writeFileSync(directory + "/file.txt", "inside", { flag: "wx" }));
  }
  if (count % 100 === 0) fs.writeSync(1, ".");
}
`;
