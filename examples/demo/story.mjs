// @ts-check
// Tells a run while it goes on.

/**
 * @typedef {import("openrath").Fact} Fact
 * @typedef {import("openrath").FactId} FactId
 *
 * A fact of the run, from the process that is killed or from the one that continues.
 *
 * @typedef {{ readonly id: FactId, readonly branch: string, readonly fact: Fact }} Seen
 */

/** These facts are told as the log tells them. */
const TOLD_AS_IN_THE_LOG = new Set([
  "workspace-import",
  "workspace-change",
  "workspace-merge",
  "command-run",
  "branch-fork",
  "branch-merge",
  "budget-stop",
  "model-failure",
  "tool-failure",
  "step-failure",
]);

/** A line for each fact that a person who watches wants to know. */
export class Story {
  /** @type {import("./demo.mjs").Shell} */ #shell;
  /** @type {import("./demo.mjs").Words} */ #words;
  /** The callers, by the id of the request: what a tool does is told of its caller. @type {Map<FactId, string>} */
  #callers = new Map();
  /** @type {Map<FactId, string>} */ #steps = new Map();
  /** The first rejection of the validator. @type {FactId | undefined} */
  rejection;
  facts = 0;

  /** @param {import("./demo.mjs").Surroundings} surroundings */
  constructor({ shell, words }) {
    this.#shell = shell;
    this.#words = words;
  }

  see(/** @type {Seen} */ { id, branch, fact }) {
    this.facts += 1;
    if (fact.type === "step-call") this.#steps.set(id, fact.name);
    if (fact.type === "tool-call") this.#callers.set(id, nameOf(fact.by));
    if (fact.type === "validation-report" && fact.name === "review" && !fact.passed) this.rejection ??= id;
    const text = this.#describe(fact);
    if (text === undefined) return;
    const where = branch === "main" ? "" : this.#shell.cyan(`[${this.#words.oneLine(branch, 20)}] `);
    this.#shell.say(`  ${this.#shell.dim(this.#actor(fact).padEnd(10))} ${where}${text}`);
  }

  #actor(/** @type {Fact} */ fact) {
    if (fact.type === "branch-fork" || fact.type === "branch-merge" || fact.type === "workspace-merge")
      return "workflow";
    if (this.#remembers(fact)) return "validator";
    const of = "of" in fact && typeof fact.of === "string" ? fact.of : "";
    return this.#words.oneLine(this.#callers.get(of) ?? nameOf(fact.by), 10);
  }

  #remembers(/** @type {Fact} */ fact) {
    return fact.type === "step-result" && this.#steps.get(fact.of)?.startsWith("remember in") === true;
  }

  /**
   * @param {Fact} fact
   * @returns {string | undefined}
   */
  #describe(fact) {
    const { brief, count, describeFact, toneOf } = this.#words;
    const room = Math.max(40, this.#shell.columns - 24);
    if (this.#remembers(fact)) return "remembered what the failure taught";
    if (fact.type === "tool-call")
      return fact.name === "view" ? `read ${brief(Object(fact.input).path, 60)}` : undefined;
    if (fact.type === "memory-read")
      return `recalled ${count(fact.hits.length, "note")}${fact.hits.map(({ text, score }) => `${INDENT}${score.toFixed(2)} ${brief(text, room)}`).join("")}`;
    if (fact.type === "validation-report") return describeReport(fact, this.#shell, brief, room);
    if (fact.type === "sandbox-lose")
      return this.#shell.red(
        "lost the sandbox with the process; another one is opened from the recorded files",
      );
    if (!TOLD_AS_IN_THE_LOG.has(fact.type)) return undefined;
    const text = describeFact(fact, { most: room, each: room });
    return toneOf(fact) === "bad" ? this.#shell.red(text) : text;
  }
}

/** Below the words of a fact. */
const INDENT = `\n${" ".repeat(15)}`;

/**
 * The result of the tests or of a review, in words.
 *
 * @param {import("openrath").FactOf<"validation-report">} report
 * @param {import("./demo.mjs").Shell} shell
 * @param {import("./demo.mjs").Words["brief"]} brief
 * @param {number} room
 * @param {number} failures how many failed tests are named
 */
export function describeReport({ name, passed, detail }, shell, brief, room, failures = 2) {
  const { passed: good = "?", total = "?", failures: all = [], reason } = Object(detail);
  if (name === "review")
    return passed
      ? `${shell.green("accepted it")}: ${brief(reason, room)}`
      : `${shell.red("rejected it")}: ${brief(reason, room * 2)}`;
  if (name !== "tests") return undefined;
  const numbers = `${good} of ${total} tests pass`;
  const failed = all
    .slice(0, failures)
    .map((/** @type {{ name: string }} */ test) => `${INDENT}${shell.red("✗")} ${brief(test.name, room)}`);
  return `${passed ? shell.green(numbers) : shell.red(numbers)}${failed.join("")}`;
}

function nameOf(/** @type {string} */ by) {
  return by.replace(/^(agent|tool|service|user|runtime):/, "");
}
