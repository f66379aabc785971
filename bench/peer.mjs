// @ts-check
// Installs the peers of a benchmark when it first asks for them. Nothing else in the project needs them.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const TIMEOUT_MINUTES = 15;

/**
 * Makes node_modules in a folder match its lock file. Where that cannot be done the benchmark goes on without the
 * peer, so the reason is an answer and not an error.
 *
 * @param {URL} folder with a slash at its end
 * @param {string} what
 * @param {readonly string[]} [native] packages whose install script must run: they are compiled here
 * @returns {Promise<{ ok: true } | { ok: false, reason: string }>}
 */
export async function ensurePeer(folder, what, native = []) {
  const stamp = new URL("node_modules/.openrath-lock", folder);
  // A compiled module is good for one Node ABI and one machine type.
  const lock = readFileSync(new URL("package-lock.json", folder));
  const wanted = `${createHash("sha256").update(lock).digest("hex")} ${process.versions.modules} ${process.platform}-${process.arch}\n`;
  if (read(stamp) === wanted) return { ok: true };

  say(`installing ${what}, for this task only (npm ci) ...`);
  const steps = [
    ["ci", "--ignore-scripts=true"],
    ...native.map((name) => ["rebuild", name, "--ignore-scripts=false"]),
  ];
  for (const args of steps) {
    if (args[0] === "rebuild")
      say(`building ${args[1]}; without a prebuilt binary this takes some minutes ...`);
    const failure = await npm(fileURLToPath(folder), [...args, "--loglevel=error"]);
    if (failure !== undefined) return { ok: false, reason: `npm ${args.join(" ")} ${failure}` };
  }
  writeFileSync(stamp, wanted);
  return { ok: true };
}

/**
 * Runs npm in a folder; returns what went wrong, if anything did.
 *
 * @param {string} cwd
 * @param {readonly string[]} args
 * @returns {Promise<string | undefined>}
 */
function npm(cwd, args) {
  return new Promise((resolve) => {
    const child = spawn("npm", args, {
      cwd,
      stdio: ["ignore", 2, 2],
      timeout: TIMEOUT_MINUTES * 60_000,
      // npm is a .cmd file on Windows, which only a shell can start.
      shell: process.platform === "win32",
    });
    child.once("error", (error) => resolve(`could not be started: ${error.message}`));
    child.once("exit", (code, signal) => {
      if (code === 0) resolve(undefined);
      else if (signal !== null) resolve(`was ended by ${signal} (it gets ${TIMEOUT_MINUTES} minutes)`);
      else resolve(`failed with exit code ${code}`);
    });
  });
}

function read(/** @type {URL} */ file) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

function say(/** @type {string} */ line) {
  process.stderr.write(`bench: ${line}\n`);
}
