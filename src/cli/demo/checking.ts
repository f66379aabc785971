import { parseTests } from "../../agent/tool/index.js";
import type { Session } from "../../session/index.js";
import { step } from "../../workflow/index.js";
import { type Judgement, judgementIn, type Validator } from "./cast.js";
import { HELD_OUT, HELD_OUT_PATH } from "./repository.js";

/** What is printed is the same on every Node, not only on this one. */
const COMMAND = "node --test --test-reporter=tap";
/** Failures that are told, and characters of each. */
const TOLD = 12;
const LONGEST = 300;

/**
 * Runs all tests of the repository and those that were held out, in the sandbox of the session. They change nothing that
 * stays, so that a run that was cut off is done again from the same files.
 */
export const tests = step(
  "tests",
  async (_: null, { sandbox, signal }) => {
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
        .slice(0, TOLD)
        .map(({ name, message }) => ({ name: brief(name), message: brief(message) })),
    };
  },
  { effect: "write", reconcile: async () => "again" },
);

/** What the tests said of a session, and the fact that says it. */
export type Checked = {
  readonly session: Session;
  readonly passed: boolean;
  readonly score: number;
  readonly words: string;
};

/** Runs the tests and puts their report on the record. */
export async function check(session: Session): Promise<Checked> {
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
  return { session: reported, passed, score, words: `${counts.passed} of ${counts.total} tests` };
}

/** Shows the report to the validator; its word on the patch goes on the record with its reason. */
export async function review(
  checked: Checked,
  validator: Validator,
): Promise<{ readonly session: Session; readonly judgement: Judgement }> {
  const { session } = checked;
  const { detail } = session.fact as { readonly detail?: { readonly failures?: readonly Failure[] } };
  const report = [
    `The test report: ${checked.words} passed.`,
    ...(detail?.failures ?? []).map(({ name, message }) => `- ${name} => ${message}`),
    "[end of the report]",
    "May the patch be kept?",
  ].join("\n");
  const asked = await validator.forward(session.say(report, { by: "runtime" }));
  const judgement = judgementIn(validator, asked);
  const told = asked.append({
    type: "validation-report",
    name: "review",
    passed: judgement.accept,
    detail: { reason: judgement.reason },
    by: "agent:validator",
  });
  return { session: told, judgement };
}

type Failure = { readonly name: string; readonly message: string };

/** The first line that says something, as far as anybody reads. */
function brief(text: string): string {
  const line = text.split("\n").find((one) => one.trim() !== "") ?? "";
  return line.trim().toWellFormed().slice(0, LONGEST).toWellFormed();
}
