import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { agent } from "../agent/index.js";
import { scripted } from "../model/index.js";
import type { Session } from "../session/index.js";
import { tool } from "../tool/index.js";
import { type Module, step, workflow } from "../workflow/index.js";

/** The repair that the demonstration tries on each branch: what the scripted model says and writes. */
const repairs = {
  small: {
    why: "patch the rounding only",
    says: "I round the total at the end.",
    code: "export const total = (prices, discount) =>\n  Math.round(prices.reduce((sum, price) => sum + price, 0) - discount);\n",
  },
  bold: {
    why: "compute in cents everywhere",
    says: "I compute in cents.",
    code: "const cents = (price) => Math.round(price * 100);\nexport const total = (prices, discount) =>\n  (prices.reduce((sum, price) => sum + cents(price), 0) - cents(discount)) / 100;\n",
  },
} as const;

const TEST = `import assert from "node:assert/strict";
import { total } from "./total.mjs";
assert.equal(total([1, 2], 0), 3);
assert.equal(total([0.1, 0.2], 0), 0.3);
assert.equal(total([19.99, 5], 2.5), 22.49);
console.log("3 of 3");
`;

/**
 * The program that the demonstration runs: two agents repair a file on two branches, real tests decide, and the branch
 * that passes is adopted. The agents' model is a script; edits and tests are real, in a folder per branch.
 */
export function repair(workshop: string): Module {
  const parts = {
    small: attempt("small", join(workshop, "small")),
    bold: attempt("bold", join(workshop, "bold")),
  };
  return workflow("repair", parts, async (session, { small, bold }) => {
    const fork = (name: keyof typeof repairs): Session =>
      session.fork(name, { why: repairs[name].why, by: "agent:coder" });
    const sides = await Promise.all([small.forward(fork("small")), bold.forward(fork("bold"))]);
    const place = sides.findIndex(hasPassed);
    if (place === -1)
      return sides[0].merge(sides[1], { why: "neither repair passes the tests", by: "runtime" });
    const [ours, theirs] = sides;
    return ours.merge(theirs, {
      adopt: place,
      why: `only the ${place === 0 ? "small" : "bold"} repair passes the tests`,
      by: "runtime",
    });
  });
}

/** One repair on its branch: an agent edits, then the tests run. */
function attempt(name: keyof typeof repairs, folder: string): Module {
  const edit = tool({
    name: "edit",
    description: "Writes a file of the workspace.",
    input: {
      type: "object",
      properties: { path: { type: "string" }, text: { type: "string" } },
      required: ["path", "text"],
      additionalProperties: false,
    },
    // Written whole: doing it again after a crash leaves the same file.
    effect: "idempotent",
    run: ({ path, text }) => {
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, String(path)), String(text));
      return { changed: String(path) };
    },
  });
  const coder = agent({
    name: "coder",
    instructions: "Repair the shop. Change as little as you can.",
    model: scripted(
      {
        text: repairs[name].says,
        tools: [{ tool: "edit", input: { path: "total.mjs", text: repairs[name].code } }],
      },
      "It is written; the tests can run.",
    ),
    tools: [edit],
  });
  const test = step("npm test", () => runTests(folder), { effect: "read" });
  return workflow(`try ${name}`, { coder, test }, async (session) => {
    const { session: tested, value } = await test.call(await coder.forward(session));
    const { passed, output } = value as { passed: boolean; output: string };
    return tested.append({
      type: "validation-report",
      name: "npm test",
      passed,
      detail: output,
      by: "tool:npm test",
    });
  });
}

function runTests(folder: string): Promise<{ passed: boolean; output: string }> {
  writeFileSync(join(folder, "total.test.mjs"), TEST);
  return new Promise((resolve) => {
    execFile(process.execPath, ["total.test.mjs"], { cwd: folder }, (error, stdout, stderr) => {
      const wrong = /^(\S*AssertionError.*|\+ .*|- .*)$/m.exec(stderr)?.[0] ?? "failed";
      resolve({ passed: error === null, output: error === null ? stdout.trim() : wrong.slice(0, 80) });
    });
  });
}

function hasPassed(session: Session): boolean {
  for (let at: Session | undefined = session; at !== undefined; at = at.parents[0])
    if (at.fact.type === "validation-report") return at.fact.passed;
  return false;
}
