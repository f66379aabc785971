import { isObject } from "../../util/index.js";
import { type Html, html } from "./html/html.js";
import { card, items, line, type Section, told, when } from "./html/words.js";
import { type ItemOf, shape } from "./item.js";
import { cut, type Listed, rounded, text } from "./words.js";

/** How many tests there were, where a validation says it. */
type Tests = {
  readonly passed: number;
  readonly failed: number;
  readonly skipped?: number;
  readonly total?: number;
  readonly failures: Listed<{ readonly name: string; readonly message?: string }>;
};

/** A test run, or anything else that reported whether a result is good. */
export const VALIDATION = shape("validation-report", "name passed score detail* of", ({ detail }) => {
  const tests = testsIn(detail);
  return tests === undefined ? {} : { tests };
});
/** `command` is the command that was run for it. */
export type Validation = ItemOf<typeof VALIDATION> & { readonly tests?: Tests; readonly command?: string };

const FAILURES = 50;

/** Reads the counts of tests from details in the form of our own tools. */
function testsIn(detail: unknown): Tests | undefined {
  if (!isObject(detail) || typeof detail.passed !== "number" || typeof detail.failed !== "number")
    return undefined;
  const { passed, failed, skipped, total } = detail;
  const failures: readonly unknown[] = Array.isArray(detail.failures) ? detail.failures : [];
  return {
    passed,
    failed,
    ...(typeof skipped === "number" && { skipped }),
    ...(typeof total === "number" && { total }),
    failures: {
      items: failures
        .slice(0, FAILURES)
        .filter(isObject)
        .map(({ name, message }) => ({
          name: cut(text(name), FAILURES * 8),
          ...(message !== undefined && { message: cut(text(message), FAILURES * 40) }),
        })),
      total: failures.length,
    },
  };
}

export const checksSection: Section = {
  id: "checks",
  title: "Tests",
  heading: "Tests and validations",
  total: ({ validations }) => validations.total,
  note: ({ counts }) => `${counts.testsPassed} passed, ${counts.testsFailed} did not`,
  body: ({ validations }, anchors) =>
    items(validations, ({ score, tests, command, of, ...check }) =>
      card(
        html`<h3 dir="auto">${check.name}</h3> <span class="tag ${check.passed ? "good" : "bad"}">${check.passed ? "passed" : "did not pass"}</span>${score !== undefined && html` <span class="soft">score ${rounded(score)}</span>`}${line(tests && counted(tests), check.branch, check.by, when(check.at, "clock"))}`,
        html`${tests && failuresOf(tests)}${told(check.detail, "Detail")}${
          command !== undefined && html`<p class="small">The command that was run: ${anchors.id(command)}</p>`
        }${of !== undefined && html`<p class="small">Of the call ${anchors.id(of)}</p>`}`,
        anchors,
        check.facts,
      ),
    ),
};

function counted({ passed, failed, skipped = 0, total }: Tests): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}${total === undefined ? "" : ` of ${total}`}`;
}

function failuresOf({ failures }: Tests): Html {
  if (failures.total === 0) return html``;
  return html`<p class="label">What failed</p>${items(
    failures,
    ({ name, message }) =>
      html`<div class="said"><b dir="auto">${name}</b>${message !== undefined && html`<pre dir="auto">${message}</pre>`}</div>`,
  )}`;
}
