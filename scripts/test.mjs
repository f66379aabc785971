// @ts-check
// `npm test`: every check there is, from a fresh clone. The last line is "N passed, N failed", where each test counts
// one and each other step counts one. `npm test -- <vitest arguments>` runs only the tests they select.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { ensureBuilt } from "./build.mjs";
import { root, say } from "./run.mjs";
import { ensureInstalled } from "./setup.mjs";
import { ensureSystem } from "./system.mjs";

/** @typedef {{ passed: number, failed: number, skipped: number }} Tally */

/** @type {{ name: string, tally: Tally }[]} */
const results = [];
const filters = process.argv.slice(2);

if (filters.length > 0) await runSelected();
else await runAll();
conclude();

/** All steps run even when an earlier one failed, so that one run shows everything; only what cannot work is skipped. */
async function runAll() {
  ensureSystem(["python3", "bubblewrap", "git", "chromium"]);
  const installed = ensureInstalled();
  note("install", installed, "");
  const build = step("build", installed && ["node", "scripts/build.mjs"]);
  // Tests wait for disks and for processes, which leaves room for the other checks beside them.
  const tests = build.then((built) => {
    // Some tests start the built program in processes of their own.
    if (built) return test(["--typecheck.enabled=false"]);
    note("tests", false, NOT_RUN);
    return undefined;
  });
  await step("lint", installed && ["biome", "check", "--error-on-warnings"]);
  // This also checks the promises about types, which are in files of their own (*.test-d.ts).
  await step("typecheck", installed && ["tsc", "--project", "tsconfig.json"]);
  await step("imports", installed && ["node", "scripts/check-deps.mjs"]);
  await step("prose", installed && ["node", "scripts/check-prose.mjs"]);
  await step("unused code", installed && ["knip", "--no-config-hints"]);
  const built = await build;
  await step("public names", built && ["node", "scripts/api.mjs", "--check"]);
  await step("package", built && ["node", "scripts/check-package.mjs"]);
  await tests;
}

async function runSelected() {
  if (!ensureInstalled()) {
    note("install", false, "");
    return;
  }
  if (!ensureBuilt()) say("the build failed; tests that start the built program run an old one or fail.");
  await test(filters);
}

/**
 * One check. `false` instead of a command means that something it needs has failed: it counts as failed, not as skipped,
 * because nobody knows whether it would have passed. Its output is printed when it ends, in one piece.
 *
 * @param {string} name
 * @param {false | readonly [string, ...string[]]} command
 */
async function step(name, command) {
  if (command === false) return note(name, false, NOT_RUN);
  let output = "";
  const code = await started(command, (text) => {
    output += text;
  });
  return note(name, code === 0, output);
}

const NOT_RUN = "not run: a step it needs has failed\n";

/** @param {string} name @param {boolean} ok @param {string} output */
function note(name, ok, output) {
  process.stdout.write(`\n== ${name}\n${output}`);
  results.push({ name, tally: { passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: 0 } });
  return ok;
}

/**
 * Starts a command and tells what it prints; its exit code, or 127 where it cannot be started, as in a shell.
 *
 * @param {readonly [string, ...string[]]} command
 * @param {(text: string) => void} tell
 * @returns {Promise<number>}
 */
function started([command, ...args], tell) {
  const PATH = `${join(root, "node_modules", ".bin")}${delimiter}${process.env.PATH ?? ""}`;
  const colour = process.stdout.isTTY && !process.env.NO_COLOR ? { FORCE_COLOR: "1" } : {};
  const child = spawn(command, args, {
    cwd: root,
    env: { ...process.env, ...colour, PATH },
    stdio: ["ignore", "pipe", "pipe"],
    // The tools in node_modules/.bin are .cmd files on Windows, which only a shell can start.
    shell: process.platform === "win32",
  });
  child.stdout.setEncoding("utf8").on("data", tell);
  child.stderr.setEncoding("utf8").on("data", tell);
  return new Promise((done) => {
    child.once("error", (error) => {
      tell(`${error.message}\n`);
      done(127);
    });
    child.once("close", (code) => done(code ?? 1));
  });
}

/** The tests take longest: each file is told as soon as it ends. */
async function test(/** @type {readonly string[]} */ args) {
  process.stdout.write("\n== tests\n");
  const folder = mkdtempSync(join(tmpdir(), "openrath-test-"));
  try {
    const report = join(folder, "report.json");
    const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
    let rest = "";
    const code = await started(["vitest", "run", ...reporters, ...args], (text) => {
      // Whole lines only: another step may be printed in between.
      const end = text.lastIndexOf("\n") + 1;
      if (end > 0) process.stdout.write(rest + text.slice(0, end));
      rest = end > 0 ? text.slice(end) : rest + text;
    });
    process.stdout.write(rest);
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
