import { stripVTControlCharacters } from "node:util";
import { readCargo } from "./report-cargo.js";
import { readJson } from "./report-json.js";
import { readJunit } from "./report-junit.js";
import { readPytest, readUnittest } from "./report-python.js";
import { readJest, readMocha, readNode, readVitest } from "./report-script.js";
import { readTap } from "./report-tap.js";

/** What prints test results: a format that many runners write, or a runner's own words. */
export type TestKind = keyof typeof READERS;

/** One test that failed, or a file of tests that could not be run. */
export type TestFailure = { readonly name: string; readonly message: string };

/** What a run of tests came to. */
export type TestReport = {
  /** How it was read; "exit-code" when nothing in the output could be. */
  readonly kind: TestKind | "exit-code";
  /** Whether all is well: tests ran, none failed, and the command says so too. */
  readonly passed: boolean;
  /** Missing when only the exit code is known. */
  readonly counts?: TestCounts;
  readonly failures: readonly TestFailure[];
  /** What keeps it from being passed although no test failed, or from being read. */
  readonly notes: readonly string[];
};
export type TestCounts = {
  readonly passed: number;
  readonly failed: number;
  /** Skipped, still to be written, or expected to fail. */
  readonly skipped: number;
  readonly total: number;
};

/** What a reader finds; undefined when the output is not of its kind. */
export type Found =
  | {
      readonly passed: number;
      readonly failed: number;
      readonly skipped: number;
      readonly failures: readonly TestFailure[];
      readonly notes?: readonly string[];
    }
  | undefined;

const READERS = {
  junit: readJunit,
  tap: readTap,
  vitest: readVitest,
  jest: readJest,
  node: readNode,
  mocha: readMocha,
  cargo: readCargo,
  pytest: readPytest,
  unittest: readUnittest,
  json: readJson,
} satisfies { readonly [kind: string]: (output: string) => Found };

export const TEST_KINDS = Object.keys(READERS) as readonly TestKind[];

/**
 * What the output of a run of tests says, colours or not. The exit code has the last word against a run, never for it:
 * tests that print success and exit with a failure did not pass, and what cannot be read is judged by the code alone.
 */
export function parseTests(
  output: string,
  { kind, code }: { readonly kind?: TestKind; readonly code: number | null },
): TestReport {
  const text = stripVTControlCharacters(output).replaceAll("\r\n", "\n");
  for (const one of kind === undefined ? TEST_KINDS : [kind]) {
    const found = READERS[one](text);
    if (found !== undefined) return judged(one, found, code);
  }
  const ended = code === null ? "it did not end by itself" : `exit code ${code}`;
  const note = `the results could not be read${kind === undefined ? "" : ` as ${kind}`}: judged by how the command ended (${ended})`;
  return { kind: "exit-code", passed: code === 0, failures: [], notes: [note] };
}

function judged(kind: TestKind, found: NonNullable<Found>, code: number | null): TestReport {
  const { passed, failed, skipped, failures, notes: said = [] } = found;
  const total = passed + failed + skipped;
  const notes = [...said];
  if (total === 0) notes.push("no test was run");
  else if (passed + failed === 0) notes.push("every test was skipped");
  if (failed === 0 && code !== 0)
    notes.push(
      code === null
        ? "no test failed, but the command did not end by itself"
        : `no test failed, but the command ended with code ${code}`,
    );
  return {
    kind,
    passed: failed === 0 && notes.length === 0,
    counts: { passed, failed, skipped, total },
    failures,
    notes,
  };
}
