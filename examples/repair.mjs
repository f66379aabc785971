// @ts-check
// Two agents repair the same small repository on two forks: `npm run example -- repair`.
//
// Each works in a sandbox of its own, without network, and runs the repository's tests there. The one whose tests pass is
// merged; the other's files stay readable. The agents follow a script and say so: what they do, and what comes of it, is real.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { agent, openRath, scripted, workflow } from "openrath";
import { sandboxTools } from "openrath/tool";
import { leaveDossier } from "./fixtures/leave-dossier.mjs";

const repository = fileURLToPath(new URL("./fixtures/duration", import.meta.url));
const ISSUE = `Issue 7: parse("90ms") is ninety minutes, and something that is no duration counts as 0. Repair it; all tests must pass.`;

/** Looks first, changes two places, and tests: a small change. */
const careful = [
  { tool: "test", input: {} },
  { tool: "view", input: { path: "src/parse.js" } },
  {
    tool: "edit",
    input: {
      path: "src/parse.js",
      old: "  for (const [, amount, unit] of text.matchAll(/(\\d+(?:\\.\\d+)?)\\s*(d|h|m|s|ms)/g)) {",
      new: [
        '  const rest = text.replace(PART, "").trim();',
        '  if (rest !== "" || text.trim() === "") throw new TypeError(JSON.stringify(text) + " is no duration");',
        "  for (const [, amount, unit] of text.matchAll(PART)) {",
      ].join("\n"),
    },
  },
  {
    tool: "edit",
    input: {
      path: "src/parse.js",
      old: "/** Milliseconds of a duration",
      new: '// The longer unit first: "m" would take the beginning of "ms".\nconst PART = /(\\d+(?:\\.\\d+)?)\\s*(ms|d|h|m|s)/g;\n\n/** Milliseconds of a duration',
    },
  },
  { tool: "test", input: {} },
  "Repaired: milliseconds are tried before minutes, and what is left over is refused. All tests pass.",
];

/** Writes the file anew, and forgets something. */
const bold = [
  {
    tool: "write",
    input: {
      path: "src/parse.js",
      text: [
        'import { UNITS } from "./units.js";',
        "",
        "export const parse = (text) => text.trim().split(/\\s+/).reduce((total, part) => {",
        "  const [, amount, unit] = /^(\\d+)([a-z]+)$/.exec(part) ?? [];",
        '  if (!(unit in UNITS)) throw new TypeError(part + " is no duration");',
        "  return total + Number(amount) * UNITS[unit];",
        "}, 0);",
        "",
      ].join("\n"),
    },
  },
  { tool: "test", input: {} },
  "I wrote the parser anew; it is shorter now. Some tests still fail.",
];

const tools = sandboxTools();
const instructions = "You repair the repository in the workspace.";
const parts = {
  careful: agent({ name: "careful", instructions, model: scripted(careful), tools }),
  bold: agent({ name: "bold", instructions, model: scripted(bold), tools }),
};

const repair = workflow("repair", parts, async (session, engineers) => {
  // A fork of the session is a fork of its files: neither sees what the other does.
  const branches = await Promise.all([
    engineers.careful.forward(session.fork("careful")),
    engineers.bold.forward(session.fork("bold")),
  ]);
  const [winner, loser] = branches.sort((one, other) => score(other) - score(one));
  return winner.merge(loser, {
    adopt: "ours",
    why: `its tests pass: ${score(winner)} against ${score(loser)}`,
  });
});

/** The share of tests that passed when a branch ran them last. @param {import("openrath").Session} session */
function score(session) {
  let last = 0;
  for (const { fact } of session.history()) if (fact.type === "validation-report") last = fact.score ?? 0;
  return last;
}

const folder = mkdtempSync(join(tmpdir(), "openrath-repair-"));
const rath = openRath({ store: `sqlite:${join(folder, "rath.db")}` });
try {
  const start = rath.start(ISSUE).to("local", { workspace: repository });
  const session = await rath.run(repair, start, { name: "issue-7" });
  await show(session);
  await check(session);
} finally {
  await rath.close();
  rmSync(folder, { recursive: true, force: true });
}

/** @param {import("openrath").Session} session */
async function show(session) {
  for (const { fact } of session.history()) {
    if (fact.type === "branch-fork") console.log(`\nfork ${fact.name}`);
    if (fact.type === "sandbox-open")
      console.log(
        `  ${fact.sandbox}: ${fact.provider} sandbox, isolation ${fact.isolation}, parent ${JSON.stringify(fact.parent ?? null)}`,
      );
    if (fact.type === "workspace-import") console.log(`  took in ${fact.files} files`);
    if (fact.type === "tool-call") console.log(`  ${fact.by} calls ${fact.name}`);
    if (fact.type === "workspace-change")
      console.log(`    changed ${fact.paths.map(({ path, change }) => `${path} (${change})`).join(", ")}`);
    if (fact.type === "validation-report")
      console.log(
        `    tests: ${fact.passed ? "passed" : "failed"}, ${Math.round(100 * (fact.score ?? 0))} %`,
      );
    if (fact.type === "branch-merge") console.log(`\nmerged: ${fact.why}`);
  }
}

/** @param {import("openrath").Session} session */
async function check(session) {
  const files = await rath.filesAt(session);
  const parser = await files.text("src/parse.js");
  assert.match(parser, /ms\|d\|h\|m\|s/, "the careful engineer's parser was merged");

  // The branch that lost is evidence, not rubbish: its files can be read, and compared.
  const merge = [...session.history()].find(({ fact }) => fact.type === "branch-merge");
  assert.ok(merge);
  const [won, lost] = /** @type {[import("openrath").Session, import("openrath").Session]} */ (merge.parents);
  const theirs = await rath.filesAt(lost);
  assert.match(await theirs.text("src/parse.js"), /reduce/);
  console.log(`\nthe other branch's files, as a patch against the merged ones:\n`);
  console.log(indented(await theirs.patchSince(won)));

  // Which call changed this file?
  const [change] = await files.whoChanged("src/parse.js");
  assert.equal(change?.by, "tool:edit");

  // The record alone says the same: nothing is run again, and it ends in the same id.
  const verified = await rath.replay("issue-7", repair, { mode: "verify" });
  assert.equal(verified.id, session.id);
  console.log(
    `verified: the record replays to the same id (${session.id.slice(0, 12)}), with no sandbox and no model.`,
  );
  await leaveDossier(await rath.store(), "issue-7", "repair");
}

function indented(/** @type {string} */ text) {
  return text.replace(/^/gm, "  ");
}
