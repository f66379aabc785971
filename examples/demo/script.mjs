// @ts-check
// What the scripted model says for each agent. It is not a model and says so; what comes of its words (files, commands,
// tests) is real, and where it judges, it follows the test results that it is shown.

/** Puts the remainder onto the last share: the visible tests pass. */
const FIRST = `  const all = cents(total);
  const share = Math.round(all / people);
  const shares = Array.from({ length: people }, () => share);
  shares[people - 1] += all - share * people;
  return shares.map(amount);`;

/** Hands single cents to the first people; forgets that a refund is a negative bill. */
const SMALL = `  const all = cents(total);
  const share = Math.trunc(all / people);
  const rest = all - share * people;
  return Array.from({ length: people }, (_, place) => amount(share + (place < rest ? 1 : 0)));`;

/** Each share is what the running total grows by, so the shares always add up. */
const BOLD = `  const all = cents(total);
  const upTo = (place) => Math.floor((all * place) / people);
  return Array.from({ length: people }, (_, place) => amount(upTo(place + 1) - upTo(place)));`;

const BUGGY = `  const share = Math.round(cents(total) / people);
  return Array.from({ length: people }, () => amount(share));`;

const REGRESSION = `import assert from "node:assert/strict";
import { test } from "node:test";
import { cents } from "../src/money.js";
import { split } from "../src/split.js";

test("nobody pays more than a cent more than anybody else (issue 41)", () => {
  for (const [total, people] of [["0.05", 10], ["20.00", 7], ["-10.00", 3]]) {
    const shares = split(total, people).map(cents);
    assert.equal(shares.reduce((sum, share) => sum + share, 0), cents(total));
    assert.ok(Math.max(...shares) - Math.min(...shares) <= 1, total + " among " + people);
  }
});
`;

/** @type {(old: string, text: string) => import("openrath/model").ScriptedReply} */
const edit = (old, text) => ({ tool: "edit", input: { path: "src/split.js", old, new: text } });

/** @type {{ readonly [agent: string]: readonly import("openrath/model").ScriptedReply[] }} */
export const SCRIPTS = {
  research: [
    {
      text: "I read the issue, and ask what is known about amounts and splitting.",
      tools: [
        { tool: "view", input: { path: "ISSUE.md" } },
        {
          tool: "memory_recall",
          input: { query: "How are amounts of money kept and rounded when a bill is split?" },
        },
      ],
    },
    { tool: "view", input: { path: "src/split.js" } },
    "Every share is rounded by itself, so the shares need not add up: 3 times 3.33 is 9.99. Amounts are whole cents inside, and refunds are negative bills, say the notes. The remedy belongs into split().",
  ],
  coder: [
    edit(BUGGY, FIRST),
    { tool: "test", input: { command: "node --test" } },
    "The last share now takes what is left over, so the shares add up. All tests of the repository pass.",
  ],
  small: [edit(FIRST, SMALL), "What is left over is handed out cent by cent, to the first ones."],
  bold: [
    edit(FIRST, BOLD),
    "Each share is now what the running total grows by, so the shares add up and differ by a cent at most, with any sign.",
  ],
  tester: [
    { tool: "write", input: { path: "test/fair.test.js", text: REGRESSION } },
    "The fault has a test of its own now, in test/fair.test.js.",
  ],
  validator: [judge],
};

/**
 * Reads the file first; then judges by the last report.
 *
 * @param {readonly unknown[]} prompt
 * @returns {import("openrath/model").ScriptedReply}
 */
function judge(prompt) {
  if (Object(prompt.at(-1)).role !== "tool") return { tool: "view", input: { path: "src/split.js" } };
  const reports = [
    ...JSON.stringify(prompt).matchAll(/(\d+) of (\d+) tests passed\.(.*?)\[end of the report\]/gs),
  ];
  const [, passed = "0", total = "0", rest = ""] = reports.at(-1) ?? [];
  if (passed === total && total !== "0")
    return JSON.stringify({
      accept: true,
      reason: `all ${total} tests pass, those that were held out too`,
      lesson: "",
    });
  // The report is JSON inside JSON: the line ends that it quotes are escaped twice.
  const failed = [...rest.matchAll(/=> (.+?)(?=\\+n|$)/g)].map(([, why = ""]) => why);
  const worst = failed.find((why) => why.includes(" -")) ?? failed[0] ?? "see the report";
  return JSON.stringify({
    accept: false,
    reason: `${passed} of ${total} tests pass. It is not fair: ${worst}. What is left over must be spread, not put onto one share.`,
    lesson:
      "When a total is split, a test that only adds the shares up is not enough: putting all that is left over onto one share passes it, and one person pays several cents more or less. Hand it out cent by cent, and test that no two shares differ by more than a cent, also for refunds.",
  });
}
