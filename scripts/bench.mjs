// @ts-check
// `npm run bench -- <name> [arguments]` runs bench/<name>/main.mjs against the built package.
//
// Benchmarks are .mjs with JSDoc types ("// @ts-check") because Node 20 cannot run .ts, and a loader in between would
// be measured too. They import the package by name, so what is measured is what is published. Everything said here
// goes to stderr: with --json, stdout is exactly the one document the benchmark prints (use `npm run --silent bench`
// to keep npm's own banner away).
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ensureBuilt } from "./build.mjs";
import { root, run, say } from "./run.mjs";
import { ensureInstalled } from "./setup.mjs";

const [name, ...args] = process.argv.slice(2);
const benchmarks = existsSync(join(root, "bench"))
  ? readdirSync(join(root, "bench")).filter((folder) => existsSync(join(root, "bench", folder, "main.mjs")))
  : [];

if (name === undefined || !benchmarks.includes(name)) {
  say(name === undefined ? "which benchmark?" : `there is no benchmark called "${name}".`);
  say(`npm run bench -- <name>, where <name> is one of: ${benchmarks.join(", ") || "(none yet)"}`);
  process.exitCode = 2;
} else if (ensureInstalled() && ensureBuilt()) {
  // Memory is measured too, and a number taken without collecting first is noise.
  process.exitCode = run(process.execPath, ["--expose-gc", join("bench", name, "main.mjs"), ...args]);
} else {
  process.exitCode = 1;
}
