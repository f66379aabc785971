// @ts-check
// `npm run bench -- <name> [arguments]` runs bench/<name>/main.mjs against the built package.
// `npm run bench -- --check [name ...]` compares ratios to peers and limits with bench/baseline.json and fails when one is more
// than 15 % worse in each of three measurements; `--update [name ...]` writes the medians of three to that file. Use both on a
// quiet machine only.
//
// Benchmarks are .mjs with JSDoc types ("// @ts-check") because Node 20 cannot run .ts, and a loader in between would
// be measured too. They import the package by name, so what is measured is what is published. Messages of this script
// go to stderr: with --json, stdout is exactly the one document the benchmark prints (use `npm run --silent bench`
// to keep npm's own banner away).
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { median } from "../bench/measure.mjs";
import { ensureBuilt } from "./build.mjs";
import { root, run, say } from "./run.mjs";
import { ensureInstalled } from "./setup.mjs";

const WORSE = 1.15;
const ROUNDS = 3;
const baselineFile = join(root, "bench", "baseline.json");
const [name, ...args] = process.argv.slice(2);
const benchmarks = existsSync(join(root, "bench"))
  ? readdirSync(join(root, "bench")).filter((folder) => existsSync(join(root, "bench", folder, "main.mjs")))
  : [];

if (name === "--check" || name === "--update") process.exitCode = await compare(name === "--update", args);
else if (name === undefined || !benchmarks.includes(name)) {
  say(name === undefined ? "which benchmark?" : `there is no benchmark called "${name}".`);
  say(
    `npm run bench -- <name>, where <name> is one of: ${benchmarks.join(", ") || "(none yet)"}; or npm run bench -- --check`,
  );
  process.exitCode = 2;
} else if (ensureInstalled() && ensureBuilt()) {
  // Memory is measured too, and a number taken without collecting first is noise.
  process.exitCode = run(process.execPath, ["--expose-gc", join("bench", name, "main.mjs"), ...args]);
} else {
  process.exitCode = 1;
}

/** Measures and compares, or keeps what was measured. Returns the exit code. */
async function compare(/** @type {boolean} */ update, /** @type {readonly string[]} */ chosen) {
  const { benches } = await import("../bench/ratios.mjs");
  const unknown = chosen.find((one) => !Object.hasOwn(benches, one));
  if (unknown !== undefined) {
    say(`"${unknown}" has no ratios to compare; these have: ${Object.keys(benches).join(", ")}.`);
    return 2;
  }
  if (!ensureInstalled() || !ensureBuilt()) return 1;
  /** @type {{ [bench: string]: { [ratio: string]: number } }} */
  const baseline = existsSync(baselineFile) ? JSON.parse(readFileSync(baselineFile, "utf8")) : {};
  let isWorse = false;
  for (const bench of chosen.length > 0 ? chosen : Object.keys(benches)) {
    const kept = baseline[bench] ?? {};
    const ratios = repeat(bench, benches, kept, update);
    if (ratios === undefined) return 1;
    for (const [ratio, value] of Object.entries(ratios)) {
      const before = kept[ratio];
      const isThisWorse = isSlower(value, before);
      const verdict = before === undefined ? "new" : isThisWorse ? "WORSE" : "ok";
      process.stdout.write(
        `${bench.padEnd(8)} ${ratio.padEnd(44)} ${figure(value)}  ${before === undefined ? "" : `baseline ${figure(before)}  `}${verdict}\n`,
      );
      isWorse ||= isThisWorse;
    }
    baseline[bench] = ratios;
  }
  if (!update) return isWorse ? 1 : 0;
  writeFileSync(baselineFile, `${JSON.stringify(baseline, null, 2)}\n`);
  say("bench/baseline.json holds these ratios now.");
  return 0;
}

/**
 * The medians of all rounds for an update. Else the best of as many rounds as it takes until none is worse than before: a busy
 * moment spoils one round, slower code spoils all. Undefined when a round fails.
 *
 * @typedef {{ [ratio: string]: number }} Ratios
 * @param {string} bench
 * @param {typeof import("../bench/ratios.mjs").benches} benches
 * @param {Ratios} kept
 * @param {boolean} update
 * @returns {Ratios | undefined}
 */
function repeat(bench, benches, kept, update) {
  /** @type {Ratios[]} */
  const rounds = [];
  for (let round = 0; round < ROUNDS; round++) {
    const found = measure(bench, benches);
    if (found === undefined) return undefined;
    rounds.push(found);
    const best = each(rounds, (values) => Math.min(...values));
    if (!update && !Object.entries(best).some(([ratio, value]) => isSlower(value, kept[ratio]))) return best;
  }
  return each(rounds, update ? median : (values) => Math.min(...values));
}

/** @param {readonly Ratios[]} rounds @param {(values: readonly number[]) => number} pick @returns {Ratios} */
function each(rounds, pick) {
  return Object.fromEntries(
    Object.keys(rounds[0] ?? {}).map((ratio) => [ratio, pick(rounds.flatMap((one) => one[ratio] ?? []))]),
  );
}

/** @param {number} value @param {number | undefined} before */
function isSlower(value, before) {
  return before !== undefined && value > before * WORSE;
}

/** The ratios of one benchmark, or undefined when it fails or a peer could not be installed. */
function measure(
  /** @type {string} */ bench,
  /** @type {typeof import("../bench/ratios.mjs").benches} */ benches,
) {
  const { args, ratios } = /** @type {typeof benches[string]} */ (benches[bench]);
  say(`measuring ${bench} ...`);
  const { status, stdout } = spawnSync(
    process.execPath,
    ["--expose-gc", join("bench", bench, "main.mjs"), "--json", ...args],
    { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] },
  );
  if (status !== 0) return undefined;
  const found = ratios(JSON.parse(stdout));
  const missing = Object.keys(found).filter((ratio) => !Number.isFinite(found[ratio]));
  if (missing.length > 0) say(`not measured: ${missing.join(", ")}`);
  return Object.fromEntries(
    Object.entries(found)
      .filter(([ratio]) => !missing.includes(ratio))
      .map(([ratio, value]) => [ratio, Number(value.toPrecision(3))]),
  );
}

function figure(/** @type {number} */ value) {
  return value.toPrecision(3).padStart(7);
}
