import { dedented } from "./lines.js";
import type { Found, TestFailure } from "./report.js";

/** Lines of a message that are kept: what follows is mostly stack. */
const LINES = 15;

/** What vitest prints at the end, with any reporter that prints for people. */
export function readVitest(output: string): Found {
  const lines = output.split("\n");
  const counts = { passed: 0, failed: 0, skipped: 0 };
  let found = false;
  let errors = 0;
  const failures = new Failures();
  for (const line of lines) {
    const summary = /^ *(Tests|Test Files|Errors) {2,}(.*)$/.exec(line);
    const failed = /^ ?FAIL {2}(.*)$/.exec(line)?.[1];
    if (summary !== null) {
      failures.close();
      found = true;
      const [, of, list = ""] = summary;
      if (of === "Tests") tally(list.split(" | "), counts);
      if (of === "Errors") errors += Number(/^(\d+)/.exec(list)?.[1] ?? 0);
    } else if (failed !== undefined) {
      // Several tests that failed in the same way are listed above one message.
      if (failures.hasLines) failures.close();
      failures.open(failed.replace(/ \[ .* \]$/, ""));
    } else if (/^⎯+/.test(line)) failures.close();
    else failures.line(line);
  }
  if (!found) return undefined;
  return settled(counts, failures, errors === 0 ? [] : [`${errors} errors outside of tests`]);
}

/** What jest prints at the end. */
export function readJest(output: string): Found {
  const lines = output.split("\n");
  const counts = { passed: 0, failed: 0, skipped: 0 };
  let found = false;
  let file = "";
  const failures = new Failures();
  for (const line of lines) {
    const tests = /^Tests: +(.*)$/.exec(line)?.[1];
    const path = /^ ?(?:FAIL|PASS) {1,2}(\S.*)$/.exec(line)?.[1];
    const title = /^ {2}● (.*)$/.exec(line)?.[1];
    if (tests !== undefined) {
      found = true;
      tally(tests.split(", "), counts);
    }
    if (tests !== undefined || path !== undefined || title !== undefined || /^Test Suites: /.test(line))
      failures.close();
    if (path !== undefined) file = path.replace(/ \([\d.]+ m?s\)$/, "");
    if (title !== undefined && title !== "Console")
      failures.open(title === "Test suite failed to run" ? file : title);
    else failures.line(line);
  }
  return found ? settled(counts, failures) : undefined;
}

/** What mocha prints at the end, with any reporter that prints for people. */
export function readMocha(output: string): Found {
  const lines = output.split("\n");
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const at = lines.findLastIndex((line) => /^ *\d+ passing\b/.test(line));
  if (at < 0) return undefined;
  const failures = new Failures();
  let name: string[] | undefined;
  let message: string[] | undefined;
  const keep = (): void => {
    if (name !== undefined) failures.add(name.join(" > "), message ?? []);
    name = undefined;
    message = undefined;
  };
  for (const line of lines.slice(at)) {
    const [, count, word] = /^ *(\d+) (passing|pending|failing)\b/.exec(line) ?? [];
    if (word === "passing") counts.passed += Number(count);
    else if (word === "pending") counts.skipped += Number(count);
    else if (word === "failing") counts.failed += Number(count);
    const first = /^ {2}\d+\) (.*)$/.exec(line)?.[1];
    if (first !== undefined) {
      keep();
      if (first.endsWith(":")) message = [];
      name = [first.replace(/:$/, "")];
    } else if (message !== undefined) message.push(line);
    else if (name !== undefined && line.trim() !== "") {
      // The name goes on, one line per level, up to a colon.
      name.push(line.trim().replace(/:$/, ""));
      if (line.trimEnd().endsWith(":")) message = [];
    }
  }
  keep();
  return settled(counts, failures);
}

/** What node:test prints for people. */
export function readNode(output: string): Found {
  const lines = output.split("\n");
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const fields: { readonly [word: string]: keyof typeof counts } = {
    pass: "passed",
    fail: "failed",
    cancelled: "failed",
    skipped: "skipped",
    todo: "skipped",
  };
  const failures = new Failures();
  let found = false;
  let listing = false;
  for (const line of lines) {
    const [, word = "", count] = /^ℹ (tests|pass|fail|cancelled|skipped|todo) (\d+)$/.exec(line) ?? [];
    if (word === "tests") found = true;
    const field = fields[word];
    if (field !== undefined) counts[field] += Number(count);
    if (/^✖ failing tests:/.test(line)) listing = true;
    else if (listing) {
      const title = /^✖ (.*)$/.exec(line)?.[1];
      if (title !== undefined || line.startsWith("test at ")) failures.close();
      if (title !== undefined) failures.open(title.replace(/ \([\d.]+ms\)$/, ""));
      else failures.line(line);
    }
  }
  return found ? settled(counts, failures) : undefined;
}

/** Failures by name, each once: runners that print a summary name them twice. */
class Failures {
  readonly #found = new Map<string, TestFailure>();
  #names: string[] = [];
  #lines: string[] = [];

  /** The lines that follow belong to this failure, and to others that were opened right before it. */
  open(name: string): void {
    this.#names.push(name);
  }

  get hasLines(): boolean {
    return this.#lines.length > 0;
  }

  line(line: string): void {
    if (this.#names.length > 0) this.#lines.push(line);
  }

  close(): void {
    for (const name of this.#names) this.add(name, this.#lines);
    this.#names = [];
    this.#lines = [];
  }

  add(name: string, lines: readonly string[]): void {
    if (this.#found.has(name)) return;
    // Stack and source excerpt come behind the first empty line after the words, or where they begin.
    const words = dedented(lines);
    const end = words.findIndex((line) => /^\s*(at\s|❯ |> ?\d+ \||\d+\|)/.test(line));
    this.#found.set(name, {
      name,
      message: dedented(words.slice(0, end < 0 ? LINES : Math.min(end, LINES))).join("\n"),
    });
  }

  get all(): readonly TestFailure[] {
    return [...this.#found.values()];
  }
}

function settled(
  counts: { readonly passed: number; readonly failed: number; readonly skipped: number },
  failures: Failures,
  notes: readonly string[] = [],
): Found {
  failures.close();
  // A file that could not be run is no failed test for its runner. It is one for us: its tests did not pass.
  return { ...counts, failed: Math.max(counts.failed, failures.all.length), failures: failures.all, notes };
}

/** Adds "2 failed", "1 skipped" and the like. */
function tally(parts: readonly string[], counts: { passed: number; failed: number; skipped: number }): void {
  for (const part of parts) {
    const [, count, word] = /^\s*(\d+) (\w+)/.exec(part) ?? [];
    if (word === "passed") counts.passed += Number(count);
    else if (word === "failed") counts.failed += Number(count);
    else if (word === "skipped" || word === "todo" || word === "pending") counts.skipped += Number(count);
  }
}
