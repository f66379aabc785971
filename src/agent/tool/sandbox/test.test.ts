import { describe, expect, it } from "vitest";
import type { FactInput } from "../../../session/index.js";
import { testTool } from "./test.js";
import { lacking, within } from "./testing/workspace.js";

const test = testTool();
const local = await lacking("node", "npm");
const inLocal = it.skipIf(local !== undefined);
const because = local === undefined ? "" : ` (${local})`;

const project = {
  "package.json": '{ "scripts": { "test": "node --test" } }',
  "sum.js": "exports.sum = (a, b) => a - b;\n",
  "sum.test.js":
    'const { test } = require("node:test");\nconst assert = require("node:assert");\nconst { sum } = require("./sum.js");\ntest("adds", () => assert.equal(sum(1, 1), 2));\ntest("knows nothing", () => assert.equal(sum(0, 0), 0));\n',
};

describe("test", () => {
  inLocal(`[T1] runs tests, tells failures, and records what it found${because}`, async () => {
    await within("local", async (workspace) => {
      await workspace.write(project);
      const output = await workspace.say(test, {});
      expect(output).toContain("The tests did not pass: 1 passed, 1 failed, 0 skipped of 2");
      expect(output).toMatch(/^- adds\n {2}.*(0 == 2|0 !== 2|strictly equal|Expected)/ms);
      const found = workspace.recorded[0] as FactInput & { type: "validation-report" };
      expect(found).toMatchObject({
        type: "validation-report",
        name: "tests",
        passed: false,
        score: 0.5,
        detail: {
          command: "npm test",
          code: 1,
          passed: 1,
          failed: 1,
          skipped: 0,
          total: 2,
          failures: [{ name: "adds" }],
        },
      });
      await workspace.write({ "sum.js": "exports.sum = (a, b) => a + b;\n" });
      expect(await workspace.say(test, { command: "node --test", kind: "tap" })).toMatch(
        /^The tests passed: 2 passed, 0 failed, 0 skipped of 2 \(tap\)\. \[exit code 0\]$/,
      );
      expect(workspace.recorded[1]).toMatchObject({
        passed: true,
        score: 1,
        detail: { total: 2, failures: [] },
      });
      expect(workspace.recorded).toHaveLength(2);
    });
  });

  it("[T1] runs where there is a shell and nothing else", async () => {
    await within("virtual", async (workspace) => {
      await workspace.write({ "sub/results.tap": "TAP version 13\nok 1 - a\nok 2 - b # SKIP\n1..2\n" });
      expect(await workspace.say(test, { command: "cat results.tap", directory: "sub" })).toBe(
        "The tests passed: 1 passed, 0 failed, 1 skipped of 2 (tap). [exit code 0]",
      );
      expect(workspace.recorded).toMatchObject([{ passed: true, score: 0.5 }]);
      expect(await workspace.say(test, { command: "cat sub/results.tap; exit 1" })).toContain(
        "The tests did not pass: 1 passed, 0 failed, 1 skipped of 2 (tap). [exit code 1]\n[no test failed, but the command ended with code 1]",
      );
    });
  });

  it("[T2] finds out how tests are run, or says that it cannot", async () => {
    const command = async (files: { readonly [path: string]: string }): Promise<unknown> =>
      within("virtual", async (workspace) => {
        await workspace.write(files);
        try {
          await workspace.call(test, {});
        } catch (error) {
          return (error as Error).message;
        }
        return (workspace.recorded as { readonly detail?: { readonly command: string } }[])[0]?.detail
          ?.command;
      });
    expect(await command(project)).toBe("npm test");
    expect(await command({ "Cargo.toml": "" })).toBe("cargo test");
    expect(await command({ "pyproject.toml": "" })).toBe("python3 -m pytest");
    expect(
      await command({
        "package.json": '{"scripts":{"test":"echo \\"Error: no test specified\\" && exit 1"}}',
        "pytest.ini": "",
      }),
    ).toBe("python3 -m pytest");
    for (const files of [{}, { "package.json": "{" }, { "README.md": "" }])
      expect(await command(files)).toContain("give the command");
  });

  it("[T3] reads a report that the run writes, and no other", async () => {
    await within("virtual", async (workspace) => {
      const report =
        '<testsuite name="s"><testcase name="a"/><testcase name="b"><failure message="why"/></testcase></testsuite>';
      await workspace.write({
        "made.xml": report,
        "stale.xml": '<testsuite name="s"><testcase name="a"/></testsuite>',
      });
      expect(
        await workspace.say(test, { command: "cp made.xml out.xml; echo noise; exit 1", report: "out.xml" }),
      ).toBe("The tests did not pass: 1 passed, 1 failed, 0 skipped of 2 (junit). [exit code 1]\n- b\n  why");
      const stale = await workspace.say(test, { command: "echo fine", report: "stale.xml" });
      expect(stale).toContain("The tests did not pass");
      expect(stale).toContain("stale.xml was not written anew");
      expect(await workspace.say(test, { command: "echo fine", report: "none.xml" })).toContain(
        "none.xml was not written",
      );
      expect(await workspace.say(test, { command: "echo junk > junk.xml", report: "junk.xml" })).toContain(
        "could not be read",
      );
      expect(workspace.recorded.map((fact) => (fact as { readonly passed: boolean }).passed)).toEqual([
        false,
        false,
        false,
        false,
      ]);
    });
  });

  it("[T4] judges a run that takes too long, or that it cannot read, for what it is", async () => {
    await within("virtual", async (workspace) => {
      const late = await workspace.say(test, {
        command: "printf 'TAP version 13\\n1..1\\nok 1\\n'; sleep 60",
        timeout: 0.3,
      });
      expect(late).toContain("The tests did not pass");
      expect(late).toContain("it took too long");
      expect(await workspace.say(test, { command: "echo all good" })).toBe(
        "The tests passed. [exit code 0]\n[the results could not be read: judged by how the command ended (exit code 0)]\nall good\n[exit code 0]",
      );
      expect(await workspace.say(test, { command: "echo bad; exit 2" })).toContain(
        "The tests did not pass. [exit code 2]",
      );
      expect(workspace.recorded).toMatchObject([
        { passed: false, detail: { outcome: "timeout" } },
        { passed: true, detail: { kind: "exit-code", code: 0 } },
        { passed: false, detail: { kind: "exit-code", code: 2 } },
      ]);
      expect(workspace.recorded.slice(1).every((fact) => !("score" in fact))).toBe(true);
    });
  });
});
