import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { campaign } from "../../../session/testing/campaign.js";
import { parseTests, TEST_KINDS, type TestKind } from "./report.js";

// What the runners really printed: node 20 and 24, tap 21, vitest 4, jest 30, mocha 12, pytest 9, unittest, cargo 1.95.
const printed = (name: string): string =>
  readFileSync(new URL(`testing/fixtures/${name}`, import.meta.url), "utf8");

describe("results of tests", () => {
  it.each<[string, TestKind, [passed: number, failed: number, skipped: number], [string, string][]]>([
    [
      "node-tap.txt",
      "tap",
      [2, 2, 2],
      [
        ["sum > fails # hash", "2 !== 3"],
        ["sum > inner > throws", "boom\nsecond line"],
      ],
    ],
    ["node-tap-lib.txt", "tap", [2, 1, 1], [["sum > fails", "-3\n+2"]]],
    [
      "vitest-tap.txt",
      "tap",
      [2, 3, 2],
      [
        ["vt/a.test.js > sum > fails > odd", "expected { a: 1 } to deeply equal { a: 2 }"],
        ["vt/a.test.js > sum > inner > throws", "boom"],
        ["vt/b.test.js", "Cannot find module './missing.js'"],
      ],
    ],
    [
      "mocha-tap.txt",
      "tap",
      [1, 2, 2],
      [
        ["sum fails", "Expected values to be loosely deep-equal"],
        ["sum inner throws", "TypeError: boom"],
      ],
    ],
    [
      "node-junit.txt",
      "junit",
      [2, 2, 2],
      [
        ["fails # hash", "2 !== 3"],
        ["throws", "TypeError [Error]: boom"],
      ],
    ],
    [
      "vitest-junit.txt",
      "junit",
      [2, 3, 2],
      [
        ["vt/a.test.js > sum > fails > odd", "AssertionError: expected { a: 1 } to deeply equal { a: 2 }"],
        ["vt/a.test.js > sum > inner > throws", "TypeError: boom"],
        ["vt/b.test.js", "Cannot find module './missing.js'"],
      ],
    ],
    [
      "mocha-xunit.txt",
      "junit",
      [1, 2, 2],
      [
        ["sum > fails", '-  "a": 1'],
        ["sum inner > throws", "TypeError: boom"],
      ],
    ],
    [
      "pytest-junit.xml",
      "junit",
      [2, 4, 2],
      [
        ["test_a > test_fails", "AssertionError: assert {'a': 1} == {'a': 2}"],
        ["test_a > test_param[2]", "assert 2 == 1"],
        ["test_a.TestK > test_throws", "TypeError: boom"],
        ["test_a > test_error", "RuntimeError: fixture broke"],
      ],
    ],
    ...(["node-spec.txt", "node24-spec.txt", "node-spec-color.txt"] as const).map(
      (name): [string, TestKind, [number, number, number], [string, string][]] => [
        name,
        "node",
        [2, 2, 2],
        [
          ["fails # hash", "2 !== 3"],
          ["throws", "boom\nsecond line"],
        ],
      ],
    ),
    ...(["vitest.txt", "vitest-color.txt"] as const).map(
      (name): [string, TestKind, [number, number, number], [string, string][]] => [
        name,
        "vitest",
        [2, 3, 2],
        [
          ["vt/b.test.js", "Error: Cannot find module './missing.js' imported from /project/vt/b.test.js"],
          ["vt/a.test.js > sum > fails > odd", "AssertionError: expected { a: 1 } to deeply equal { a: 2 }"],
          ["vt/a.test.js > sum > inner > throws", "TypeError: boom"],
        ],
      ],
    ),
    ...(["jest.txt", "jest-color.txt", "jest-json.txt"] as const).map(
      (name): [string, TestKind, [number, number, number], [string, string][]] => [
        name,
        "jest",
        [1, 3, 2],
        [
          ["sum › fails", "expect(received).toEqual(expected) // deep equality"],
          ["sum › inner › throws", "TypeError: boom"],
          ["jt/b.test.js", "Cannot find module './missing.js' from 'jt/b.test.js'"],
        ],
      ],
    ),
    [
      "vitest-json.txt",
      "json",
      [2, 3, 2],
      [
        ["sum fails > odd", "AssertionError: expected { a: 1 } to deeply equal { a: 2 }"],
        ["sum inner throws", "TypeError: boom"],
        ["/project/vt/b.test.js", "Cannot find module './missing.js'"],
      ],
    ],
    ...(["mocha.txt", "mocha-color.txt"] as const).map(
      (name): [string, TestKind, [number, number, number], [string, string][]] => [
        name,
        "mocha",
        [1, 2, 2],
        [
          ["sum > fails", "should loosely deep-equal"],
          ["sum > inner > throws", "TypeError: boom"],
        ],
      ],
    ),
    ...(["pytest.txt", "pytest-q-color.txt"] as const).map(
      (name): [string, TestKind, [number, number, number], [string, string][]] => [
        name,
        "pytest",
        [2, 4, 2],
        [
          ["test_a.py::test_fails", "Differing items:"],
          ["test_a.py::test_param[2]", "assert 2 == 1"],
          ["test_a.py::TestK::test_throws", "TypeError: boom"],
          ["test_a.py::test_error", "RuntimeError: fixture broke"],
        ],
      ],
    ),
    [
      "pytest-collect.txt",
      "pytest",
      [0, 1, 0],
      [["test_b.py", "ModuleNotFoundError: No module named 'nope'"]],
    ],
    [
      "unittest.txt",
      "unittest",
      [2, 2, 2],
      [
        ["test_throws (test_unit.Sums.test_throws)", "TypeError: boom"],
        ["test_fails (test_unit.Sums.test_fails)", "AssertionError: {'a': 1} != {'a': 2}"],
      ],
    ],
    ["cargo.txt", "cargo", [2, 1, 1], [["tests::fails", "odd sum"]]],
  ])("[P1] %s is read as %s: %j", (name, kind, [passed, failed, skipped], failures) => {
    const report = parseTests(printed(name), { code: 1 });
    expect(report).toMatchObject({
      kind,
      passed: false,
      counts: { passed, failed, skipped, total: passed + failed + skipped },
    });
    expect(report.failures.map((one) => one.name)).toEqual(failures.map(([title]) => title));
    for (const [place, [, words]] of failures.entries()) {
      expect(report.failures[place]?.message).toContain(words);
      expect(report.failures[place]?.message).not.toContain("\u001b");
    }
  });

  it.each<[string, TestKind, number]>([
    ["node-ok.txt", "node", 2],
    ["node-tap-ok.txt", "tap", 2],
    ["vitest-ok.txt", "vitest", 2],
    ["jest-ok.txt", "jest", 2],
    ["mocha-ok.txt", "mocha", 2],
    ["pytest-ok.txt", "pytest", 2],
    ["unittest-ok.txt", "unittest", 1],
  ])("[P2] %s passed, and with another exit code it did not", (name, kind, passed) => {
    const counts = { passed, failed: 0, skipped: 0, total: passed };
    expect(parseTests(printed(name), { code: 0 })).toEqual({
      kind,
      passed: true,
      counts,
      failures: [],
      notes: [],
    });
    for (const code of [1, 101, null]) {
      const report = parseTests(printed(name), { code });
      expect(report).toMatchObject({ kind, passed: false, counts });
      expect(report.notes).toHaveLength(1);
    }
  });

  it("[P3] an unreadable output is judged by its exit code, and says so", () => {
    for (const [output, code] of [
      ["", 0],
      ["all good\nok\n", 0],
      ["kaputt", 3],
      ["", null],
    ] as const) {
      const report = parseTests(output, { code });
      expect(report).toMatchObject({ kind: "exit-code", passed: code === 0, failures: [] });
      expect(report.counts).toBeUndefined();
      expect(report.notes).toEqual([expect.stringContaining("could not be read")]);
    }
    expect(parseTests(printed("pytest.txt"), { kind: "cargo", code: 1 })).toMatchObject({
      kind: "exit-code",
      passed: false,
    });
  });

  it("[P4] a run without tests, with only skipped ones, cut off or bailed out did not pass", () => {
    const notPassed = (output: string, note: string): void => {
      const report = parseTests(output, { code: 0 });
      expect(report.passed, output).toBe(false);
      expect(report.notes.join(), output).toContain(note);
    };
    notPassed(printed("pytest-none.txt"), "no test was run");
    notPassed("TAP version 13\n1..0\n", "no test was run");
    notPassed("TAP version 13\n1..1\nok 1 - later # SKIP\n", "every test was skipped");
    notPassed("TAP version 13\n1..3\nok 1 - a\nok 2 - b\n", "3 results were promised, 2 came");
    notPassed("TAP version 13\nok 1 - a\n", "cut off");
    notPassed("TAP version 13\n1..1\nok 1 - a\nBail out! no database\n", "bailed out");
    notPassed('<testsuite name="a"><testcase name="b"/>', "cut off");
    notPassed(`${printed("vitest-ok.txt")}\n     Errors  1 error\n`, "errors outside of tests");
  });

  it("[P5] a whole that fails beside its parts is a failure of its own, an expected one does not count", () => {
    const output =
      "TAP version 13\n    ok 1 - part\n    1..1\nnot ok 1 - whole\nnot ok 2 - known # TODO\n1..2\n";
    expect(parseTests(output, { code: 1 })).toMatchObject({
      counts: { passed: 1, failed: 1, skipped: 1 },
      failures: [{ name: "whole" }],
    });
  });

  it("[P6] no output crashes a reader or holds it up, whatever kind it is called", () => {
    const pieces = [
      "TAP version 13\n",
      "1..3\n",
      "ok 1 - a",
      "not ok",
      " # SKIP",
      "---\n",
      "...\n",
      "<testsuite>",
      "<testcase name='",
      "<failure ",
      "<![CDATA[",
      "<!--",
      "&#x110000;",
      "Tests  2 failed",
      "Tests: 1 passed",
      " FAIL  x",
      "  ● y",
      "ℹ tests 3",
      "✖ failing tests:",
      "  1) z:",
      "3 passing",
      "test result: ok. 1 passed; 0 failed; 0 ignored",
      "---- a stdout ----",
      "=== 1 passed in 1s ===",
      "1 failed in 0.1s",
      "____ a ____",
      "E   x",
      "Ran 2 tests in",
      "OK (skipped=1)",
      '{"numTotalTests":1,"testResults":[null]}',
      "\n",
      " ",
      "    ",
      "}",
      "{",
      "\u001b[31m",
      "\r\n",
    ];
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...pieces), { maxLength: 60 }),
        fc.constantFrom(undefined, ...TEST_KINDS),
        (parts, kind) => {
          const report = parseTests(parts.join(""), { code: 0, ...(kind !== undefined && { kind }) });
          if (report.counts === undefined) return;
          const { passed, failed, skipped, total } = report.counts;
          expect(total).toBe(passed + failed + skipped);
          expect(report.passed && failed > 0).toBe(false);
        },
      ),
      { numRuns: campaign(2000) },
    );
    for (const piece of pieces)
      for (const kind of TEST_KINDS) parseTests(piece.repeat(50_000), { kind, code: 0 });
  });
});
