import { stripVTControlCharacters } from "node:util";
import { readJson, readJunit } from "./report-file.js";
import { readCargo, readPytest, readUnittest } from "./report-python.js";
import { readJest, readMocha, readNode, readVitest } from "./report-script.js";
import { readTap } from "./report-tap.js";
import type { Tally, TestFailure } from "./tally.js";

/** The printer of test results: a common format, or a runner's own words. */
export type TestKind = keyof typeof READERS;

export type TestReport = {
  /** How it was read; "exit-code" when nothing in the output could be. */
  readonly kind: TestKind | "exit-code";
  /** Whether all is well: tests ran, none failed, and the command says so too. */
  readonly passed: boolean;
  /** Missing when only the exit code is known. */
  readonly counts?: {
    readonly passed: number;
    readonly failed: number;
    /** Skipped, still to be written, or expected to fail. */
    readonly skipped: number;
    readonly total: number;
  };
  readonly failures: readonly TestFailure[];
  /** Reasons why it did not pass although no test failed, or could not be read. */
  readonly notes: readonly string[];
};

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
} satisfies { readonly [kind: string]: (output: string) => Tally | undefined };

export const TEST_KINDS = Object.keys(READERS) as readonly TestKind[];

/**
 * The test results in an output. The exit code can only turn a pass into a failure; it alone decides when the
 * output cannot be read.
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

function judged(kind: TestKind, tally: Tally, code: number | null): TestReport {
  const { passed, failed, skipped, failures, notes } = tally;
  const total = passed + failed + skipped;
  if (total === 0) notes.push("no test was run");
  else if (passed + failed === 0) notes.push("every test was skipped");
  const ended = code === null ? "did not end by itself" : `ended with code ${code}`;
  if (failed === 0 && code !== 0) notes.push(`no test failed, but the command ${ended}`);
  const counts = { passed, failed, skipped, total };
  return { kind, passed: failed === 0 && notes.length === 0, counts, failures, notes };
}
