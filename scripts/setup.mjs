// @ts-check
// Installs the development tools when they are missing or belong to another lock file. Uses nothing but Node, because
// it runs before anything is installed.
import { createHash } from "node:crypto";
import { lstatSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isMain, root, run, say } from "./run.mjs";

const modules = join(root, "node_modules");
const lock = join(root, "package-lock.json");
const installed = join(root, "node_modules", ".package-lock.json");
const stamp = join(root, "node_modules", ".openrath-lock");

/** Makes node_modules match package-lock.json; returns false when npm could not do it. */
export function ensureInstalled() {
  // npm would empty the folder that it leads to, which belongs to somebody else.
  if (lstatSync(modules, { throwIfNoEntry: false })?.isSymbolicLink()) {
    say("node_modules is a link: using what is there as it is.");
    return true;
  }
  const wanted = createHash("sha256").update(readFileSync(lock)).digest("hex");
  if (isInstalled(wanted)) return true;

  say("installing the development tools (npm ci) ...");
  const code = run("npm", ["ci", "--loglevel=error"], { output: "stderr" });
  if (code !== 0) {
    say(
      `npm ci failed with exit code ${code}. Check the network and the registry npm is set to, then try again.`,
    );
    return false;
  }
  writeFileSync(stamp, wanted);
  return true;
}

function isInstalled(/** @type {string} */ wanted) {
  const written = modified(installed);
  if (written === undefined) return false;
  // The stamp survives a `git checkout` that only touches the lock file's date. Without one, somebody ran npm by
  // hand, and then npm's own record is younger than the lock file.
  return read(stamp) === wanted || written >= (modified(lock) ?? 0);
}

function modified(/** @type {string} */ path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs;
}

function read(/** @type {string} */ path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

if (isMain(import.meta.url)) process.exitCode = ensureInstalled() ? 0 : 1;
