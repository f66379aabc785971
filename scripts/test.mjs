// @ts-check
// `npm test`: every check there is, from a fresh clone. The last line is "N passed, N failed", where each test counts
// one and each other step counts one. `npm test -- <vitest arguments>` runs only the tests they select.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build, ensureBuilt } from "./build.mjs";
import { run, say } from "./run.mjs";
import { ensureInstalled } from "./setup.mjs";
import { ensureSystem } from "./system.mjs";

/** @typedef {{ passed: number, failed: number, skipped: number }} Tally */

/** @type {{ name: string, tally: Tally }[]} */
const results = [];
const filters = process.argv.slice(2);

if (filters.length > 0) runSelected();
else runAll();
conclude();

/** All steps run even when an earlier one failed, so that one run shows everything; only what cannot work is skipped. */
function runAll() {
  ensureSystem(["python3", "bubblewrap", "git", "chromium"]);
  const installed = step("install", ensureInstalled);
  step("lint", installed && (() => tool("biome", "check", "--error-on-warnings")));
  step("typecheck", installed && (() => tool("tsc", "--project", "tsconfig.json")));
  step("imports", installed && (() => tool("node", "scripts/check-deps.mjs")));
  step("prose", installed && (() => tool("node", "scripts/check-prose.mjs")));
  step("unused code", installed && (() => tool("knip", "--no-config-hints")));
  const built = step("build", installed && build);
  // Some tests start the built program in processes of their own.
  if (built) test([]);
  else step("tests", false);
  step("public names", built && (() => tool("node", "scripts/api.mjs", "--check")));
  step("package", built && (() => tool("node", "scripts/check-package.mjs")));
}

function runSelected() {
  if (!ensureInstalled()) {
    step("install", false);
    return;
  }
  if (!ensureBuilt()) say("the build failed; tests that start the built program run an old one or fail.");
  test(filters);
}

/**
 * One check. `false` instead of a check means that something it needs has failed: it counts as failed, not as skipped,
 * because nobody knows whether it would have passed.
 *
 * @param {string} name
 * @param {false | (() => boolean)} check
 */
function step(name, check) {
  process.stdout.write(`\n== ${name}\n`);
  if (check === false) process.stdout.write("not run: a step it needs has failed\n");
  const ok = check !== false && check();
  results.push({ name, tally: { passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: 0 } });
  return ok;
}

function tool(/** @type {string} */ command, /** @type {string[]} */ ...args) {
  return run(command, args) === 0;
}

function test(/** @type {readonly string[]} */ args) {
  process.stdout.write("\n== tests\n");
  const folder = mkdtempSync(join(tmpdir(), "openrath-test-"));
  try {
    const report = join(folder, "report.json");
    const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
    const code = run("vitest", ["run", ...reporters, ...args]);
    results.push({ name: "tests", tally: count(report, code) });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @param {string} report
 * @param {number} code
 * @returns {Tally}
 */
function count(report, code) {
  /** @type {{ status: string, assertionResults: { status: string }[] }[]} */
  let files = [];
  try {
    files = JSON.parse(readFileSync(report, "utf8")).testResults;
  } catch {
    // vitest died before it could write: the exit code below counts that.
  }
  const tests = files.flatMap((file) => file.assertionResults);
  const passed = tests.filter((result) => result.status === "passed").length;
  let failed = tests.filter((result) => result.status === "failed").length;
  const skipped = tests.length - passed - failed;
  // A file that cannot be loaded has no tests to fail.
  failed += files.filter((file) => file.status === "failed" && file.assertionResults.length === 0).length;
  // Errors outside of any test (an unhandled rejection, no test found, a crash) only show in the exit code.
  if (code !== 0 && failed === 0) failed = 1;
  return { passed, failed, skipped };
}

function conclude() {
  const sum = (/** @type {keyof Tally} */ key) => results.reduce((total, { tally }) => total + tally[key], 0);
  process.stdout.write("\n== summary\n");
  for (const { name, tally } of results) process.stdout.write(`${name.padEnd(12)} ${line(tally)}\n`);
  process.stdout.write(
    `\n${line({ passed: sum("passed"), failed: sum("failed"), skipped: sum("skipped") })}\n`,
  );
  process.exitCode = sum("failed") > 0 ? 1 : 0;
}

function line(/** @type {Tally} */ { passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}
