// @ts-check
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import { isMain, root, run, say } from "./run.mjs";
import { ensureInstalled } from "./setup.mjs";

const dist = join(root, "dist");
// Outside dist, so that it is not published.
const stamp = join(root, "node_modules", ".openrath-build");

/** Builds dist when the sources have changed since the last build; returns false when the compiler refused. */
export function ensureBuilt() {
  const isFresh = existsSync(dist) && existsSync(stamp) && readFileSync(stamp, "utf8") === fingerprint();
  return isFresh || build();
}

/** Compiles src into dist. What was there before stays until the new build is complete. */
export function build() {
  say("building dist ...");
  const wanted = fingerprint();
  // A folder of its own per process: `npm test` and `npm run bench` may build at the same time.
  const next = join(root, `dist-${process.pid}`);
  try {
    const code = run("tsc", ["--project", "tsconfig.build.json", "--outDir", next], { output: "stderr" });
    if (code !== 0) return false;
    for (const path of data()) copyFileSync(join(root, path), join(next, relative("src", path)));
    const command = join(next, "cli", "rath.js");
    if (existsSync(command)) chmodSync(command, 0o755);
    rmSync(dist, { recursive: true, force: true });
    renameSync(next, dist);
    writeFileSync(stamp, wanted);
    return true;
  } finally {
    rmSync(next, { recursive: true, force: true });
  }
}

/** Content, not dates: a copied or checked out tree has dates that say nothing about what was built. */
function fingerprint() {
  const hash = createHash("sha256");
  for (const path of ["package-lock.json", "tsconfig.json", "tsconfig.build.json", ...shipped(), ...data()]) {
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(root, path)))
      .update("\0");
  }
  return hash.digest("hex");
}

function shipped() {
  return sources().filter((path) => /\.m?ts$/.test(path) && !/\.test(-d)?\.ts$/.test(path));
}

/** What stands beside the code and is read by it. */
function data() {
  return sources().filter((path) => /\.bin$/.test(path));
}

function sources() {
  return readdirSync(join(root, "src"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort();
}

if (isMain(import.meta.url)) process.exitCode = ensureInstalled() && build() ? 0 : 1;
