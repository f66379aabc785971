// @ts-check
// `npm test`: every check there is, from a fresh clone. The last line is "N passed, N failed", where each test counts
// one and each other step counts one; every step says how long it took. `npm test -- <vitest arguments>` runs only the
// tests they select.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { pathToFileURL } from "node:url";
import { ensurePeer } from "../bench/peer.mjs";
import { ensureBuilt } from "./build.mjs";
import { root, say } from "./run.mjs";
import { ensureInstalled } from "./setup.mjs";

/** @typedef {{ passed: number, failed: number, skipped: number }} Tally */

/** @type {{ name: string, tally: Tally, seconds: number }[]} */
const results = [];
const begun = Date.now();
/** The native compiler checks in a third of the time. Scripts that need the API of the compiler use version 6. */
const TSC = join("node_modules", "typescript7", "bin", "tsc");
const filters = process.argv.slice(2);

if (filters.length > 0) await runSelected();
else await runAll();
conclude();

/** All steps run even when an earlier one failed, so that one run shows everything; only what cannot work is skipped. */
async function runAll() {
  // Only the tests need the system's tools, and these folders packages of their own: installed at the same time.
  const system = started([process.execPath, "scripts/system.mjs"], (text) => process.stderr.write(text));
  const install = (/** @type {string} */ folder) =>
    ensurePeer(pathToFileURL(`${join(root, folder)}/`), `the packages of ${folder}`);
  const peers = ["studio", "docs-site"].map(install);
  const engines = Promise.all(["restate", "dbos", "temporal"].map((engine) => install(`engines/${engine}`)));
  const installed = ensureInstalled();
  // What could not be installed here is tried again, and told, by the step that needs it.
  await Promise.all(peers);
  note("install", installed, "", begun);
  const build = step("build", installed && ["node", "scripts/build.mjs"]);
  // Tests wait for disks and for processes, which leaves room for the other checks beside them.
  const tests = Promise.all([build, system, engines]).then(([built]) => {
    // Some tests start the built program in processes of their own.
    if (built) return test(["--typecheck.enabled=false"]);
    note("tests", false, NOT_RUN);
    return undefined;
  });
  await step("lint", installed && ["biome", "check", "--error-on-warnings"]);
  // This also checks the promises about types, which are in files of their own (*.test-d.ts).
  await step("typecheck", installed && ["node", TSC, "--project", "tsconfig.json"]);
  await step("imports", installed && ["node", "scripts/check-deps.mjs"]);
  await step("prose", installed && ["node", "scripts/check-prose.mjs"]);
  await step("unused code", installed && ["knip", "--no-config-hints"]);
  const built = await build;
  // Its packages are installed by the build.
  await step("studio types", built && ["node", TSC, "--project", "studio/tsconfig.json"]);
  await step("public names", built && ["node", "scripts/api.mjs", "--check"]);
  await step("package", built && ["node", "scripts/check-package.mjs"]);
  // Builds the site and follows each of its links.
  await step("docs", installed && ["node", "scripts/docs.mjs", "--fast"]);
  await tests;
}

async function runSelected() {
  if (!ensureInstalled()) {
    note("install", false, "", begun);
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
  const start = Date.now();
  let output = "";
  const code = await started(command, (text) => {
    output += text;
  });
  return note(name, code === 0, output, start);
}

const NOT_RUN = "not run: a step it needs has failed\n";

/** @param {string} name @param {boolean} ok @param {string} output @param {number} [start] */
function note(name, ok, output, start = Date.now()) {
  process.stdout.write(`\n== ${name}\n${output}`);
  results.push({
    name,
    tally: { passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: 0 },
    seconds: since(start),
  });
  return ok;
}

function since(/** @type {number} */ start) {
  return Math.round((Date.now() - start) / 1000);
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
  const start = Date.now();
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
    results.push({ name: "tests", tally: count(report, code), seconds: since(start) });
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
  for (const { name, tally, seconds } of results)
    process.stdout.write(`${name.padEnd(12)} ${`${seconds} s`.padStart(6)}  ${line(tally)}\n`);
  process.stdout.write(`${"all".padEnd(12)} ${`${since(begun)} s`.padStart(6)}\n`);
  process.stdout.write(
    `\n${line({ passed: sum("passed"), failed: sum("failed"), skipped: sum("skipped") })}\n`,
  );
  process.exitCode = sum("failed") > 0 ? 1 : 0;
}

function line(/** @type {Tally} */ { passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}
