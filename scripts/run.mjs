// @ts-check
import { spawnSync } from "node:child_process";
import { realpathSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of package.json. Every script works from here, wherever it was called from. */
export const root = fileURLToPath(new URL("..", import.meta.url));

/** The compiler with the API, which emits. `typescript7` checks: two packages have a program called tsc. */
export const tsc = join(root, "node_modules", "typescript", "bin", "tsc");

/** Progress goes to stderr: stdout belongs to the program that is being run. */
export function say(/** @type {string} */ line) {
  process.stderr.write(`openrath: ${line}\n`);
}

/**
 * Runs a command to its end and returns its exit code. A command that cannot be started counts as 127, as in a shell.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ output?: "inherit" | "stderr" | "ignore", env?: Record<string, string>, timeout?: number, cwd?: string }} [options]
 */
export function run(command, args, { output = "inherit", env = {}, timeout, cwd = root } = {}) {
  const stdout = output === "stderr" ? 2 : output;
  const result = spawnSync(command, args, {
    cwd,
    stdio: ["inherit", stdout, output === "ignore" ? "ignore" : "inherit"],
    env: environment(env),
    ...(timeout === undefined ? {} : { timeout }),
    ...shell,
  });
  return result.status ?? (result.error === undefined || result.signal !== null ? 1 : 127);
}

/**
 * Runs a command and returns what it printed, for the tools that answer in JSON. Its complaints still reach stderr.
 *
 * @param {string} command
 * @param {readonly string[]} args
 */
export function capture(command, args) {
  const result = spawnSync(command, args, {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
    env: environment({}),
    encoding: "utf8",
    maxBuffer: 256 * 1024 * 1024,
    ...shell,
  });
  if (result.error) throw result.error;
  return { code: result.status ?? 1, output: result.stdout };
}

/** True when the file was started by `node scripts/x.mjs`, false when another script imports it. */
export function isMain(/** @type {string} */ url) {
  const started = process.argv[1];
  return started !== undefined && realpathSync(started) === realpathSync(fileURLToPath(url));
}

// npm and the tools in node_modules/.bin are .cmd files on Windows, which only a shell can start.
const shell = { shell: process.platform === "win32" };

function environment(/** @type {Record<string, string>} */ extra) {
  const tools = join(root, "node_modules", ".bin");
  return { ...process.env, PATH: `${tools}${delimiter}${process.env.PATH ?? ""}`, ...extra };
}
