// @ts-check
import { step } from "openrath";
import { parseTests } from "openrath/tool";
import { HELD_OUT, HELD_OUT_PATH } from "./project.mjs";

/** @typedef {{ readonly accept: boolean, readonly reason: string, readonly lesson: string }} Judgement */

/** The same output on every version of Node. */
const COMMAND = "node --test --test-reporter=tap";
/** How many failures are reported, and the characters of each. */
const MAX_FAILURES = 12;
const MAX_CHARACTERS = 300;

/**
 * Runs all tests of the repository and the held-out tests, in the sandbox of the session. No change stays, so a run that
 * was interrupted is repeated on the same files.
 */
const tests = step(
  "tests",
  async (/** @type {null} */ _, { sandbox, signal }) => {
    const box = await sandbox();
    await box.files.write(HELD_OUT_PATH, HELD_OUT);
    const { code, outcome, stdout, stderr } = await box.exec(COMMAND, {
      signal,
      env: { CI: "true", NO_COLOR: "1" },
      wall: 60_000,
    }).result;
    await box.files.remove(HELD_OUT_PATH);
    const output = `${Buffer.from(stdout).toString("utf8")}\n${Buffer.from(stderr).toString("utf8")}`;
    const report = parseTests(output, { code: outcome === "ok" || outcome === "error" ? code : null });
    const { passed = 0, total = 0 } = report.counts ?? {};
    return {
      passed: report.passed && total > 0,
      counts: { passed, total },
      failures: report.failures
        .filter(({ name }) => !name.endsWith(".test.js"))
        .slice(0, MAX_FAILURES)
        .map(({ name, message }) => ({ name: brief(name), message: brief(message) })),
    };
  },
  { effect: "write", reconcile: async () => "again" },
);

/**
 * Runs the tests and records their report.
 *
 * @param {import("openrath").Session} session
 */
export async function check(session) {
  const { session: tested, value } = await tests.call(session);
  const { passed, counts, failures } = value;
  const score = counts.total === 0 ? 0 : counts.passed / counts.total;
  const reported = tested.append({
    type: "validation-report",
    name: "tests",
    passed,
    score,
    detail: { ...counts, failures },
    by: "tool:tests",
  });
  return { session: reported, passed, score, failures, words: `${counts.passed} of ${counts.total} tests` };
}

/** @typedef {Awaited<ReturnType<typeof check>>} Checked */

/**
 * Shows the report to the validator, and records its judgement with the reason.
 *
 * @param {Checked} checked
 * @param {import("./agents.mjs").Validator} validator
 */
export async function review({ session, failures, words }, validator) {
  const report = [
    `The test report: ${words} passed.`,
    ...failures.map(({ name, message }) => `- ${name} => ${message}`),
    "[end of the report]",
    "May the patch be kept?",
  ].join("\n");
  const asked = await validator.forward(session.say(report, { by: "runtime" }));
  const judgement = /** @type {Judgement} */ (
    validator.output(asked) ?? { accept: false, reason: "nothing was said about it", lesson: "" }
  );
  const reviewed = asked.append({
    type: "validation-report",
    name: "review",
    passed: judgement.accept,
    detail: { reason: judgement.reason },
    by: "agent:validator",
  });
  return { session: reviewed, judgement };
}

/** The first line that is not empty, cut to a length. */
function brief(/** @type {string} */ text) {
  const line = text.split("\n").find((one) => one.trim() !== "") ?? "";
  return line.trim().toWellFormed().slice(0, MAX_CHARACTERS).toWellFormed();
}
