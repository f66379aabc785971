// @ts-check
// Try, fail, reflect, try again from the start: `npm run example -- patterns/reflexion`.
import assert from "node:assert/strict";
import { agent, openRath, scripted, step, workflow } from "openrath";
import { deedsOf, reflectionsOf, reflexion } from "openrath/pattern";

/** What the coder writes depends on what it was told it did wrong. */
const coder = agent({
  name: "coder",
  model: scripted((prompt) => {
    const lessons = JSON.stringify(prompt);
    if (lessons.includes("February")) return "(year, month) => new Date(year, month, 0).getDate()";
    return lessons.includes("not 31") ? "(year, month) => (month === 4 ? 30 : 31)" : "(year, month) => 31";
  }),
});
const critic = agent({
  name: "critic",
  model: scripted((prompt) =>
    JSON.stringify(prompt).includes("month 4 gave 31")
      ? "April has 30 days, not 31. Look at each month."
      : "February depends on the year. Let the calendar decide.",
  ),
});

let tested = 0;
const run = step(
  "run the tests",
  (/** @type {string} */ source) => {
    tested += 1;
    const daysIn = new Function(`return ${source}`)();
    const wrong = [
      [2023, 1, 31],
      [2023, 4, 30],
      [2024, 2, 29],
    ].find(([year, month, days]) => daysIn(year, month) !== days);
    return wrong === undefined ? null : `month ${wrong[1]} gave ${daysIn(wrong[0], wrong[1])}`;
  },
  { effect: "pure" },
);
const tests = workflow("tests", { run }, async (session) => {
  const [last] = session.recent(1);
  const { session: ran, value } = await run.call(
    session,
    last?.role === "assistant" ? String(last.content) : "",
  );
  return ran.append({
    type: "validation-report",
    name: "tests",
    passed: value === null,
    ...(value !== null && { detail: value }),
  });
});

const learner = reflexion({ name: "days", attempt: coder, check: tests, reflect: critic, trials: 3 });
const rath = openRath({ store: "memory:" });
const session = await rath.run(learner, rath.start("How many days has a month?"), { name: "days" });
for (const { branch, by, did } of deedsOf(session)) console.log(`  ${branch} | ${by} | ${did}`);

const reflections = reflectionsOf(session, "days");
assert.equal(session.branch, "trial 3");
assert.deepEqual(
  reflections.map(({ trial }) => trial),
  [1, 2],
);
// Each reflection names the finding that it is about, and that one did not pass.
const nodes = new Map([...session.history()].map((node) => [node.id, node.fact]));
for (const { of } of reflections) {
  const finding = nodes.get(of);
  assert.ok(finding?.type === "validation-report" && !finding.passed);
}
console.log(`\npassed in trial 3, after ${reflections.length} reflections`);

assert.equal((await rath.replay("days", learner, { mode: "verify" })).id, session.id);
assert.equal(tested, 3);
console.log("replayed without models or tests: same id");
await rath.close();
