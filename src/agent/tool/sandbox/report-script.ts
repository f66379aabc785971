import { Tally } from "./tally.js";

/** The end of the output of vitest, with any reporter that prints for people. */
export function readVitest(output: string): Tally | undefined {
  const tally = new Tally();
  let found = false;
  let errors = 0;
  for (const line of output.split("\n")) {
    const [, of, list = ""] = /^ *(Tests|Test Files|Errors) {2,}(.*)$/.exec(line) ?? [];
    const failed = /^ ?FAIL {2}(.*)$/.exec(line)?.[1];
    if (of !== undefined) {
      tally.close();
      found = true;
      if (of === "Tests") tally.countAll(list.split(" | "));
      if (of === "Errors") errors += Number(/^(\d+)/.exec(list)?.[1] ?? 0);
    } else if (failed !== undefined) {
      // Several tests that failed in the same way are listed above one message.
      if (tally.hasLines) tally.close();
      tally.open(failed.replace(/ \[ .* \]$/, ""));
    } else if (/^⎯+/.test(line)) tally.close();
    else tally.line(line);
  }
  if (errors > 0) tally.notes.push(`${errors} errors outside of tests`);
  return found ? tally.settle() : undefined;
}

export function readJest(output: string): Tally | undefined {
  const tally = new Tally();
  let found = false;
  let file = "";
  for (const line of output.split("\n")) {
    const tests = /^Tests: +(.*)$/.exec(line)?.[1];
    const path = /^ ?(?:FAIL|PASS) {1,2}(\S.*)$/.exec(line)?.[1];
    const title = /^ {2}● (.*)$/.exec(line)?.[1];
    if (tests !== undefined) {
      found = true;
      tally.countAll(tests.split(", "));
    }
    if (tests !== undefined || path !== undefined || title !== undefined || /^Test Suites: /.test(line))
      tally.close();
    if (path !== undefined) file = path.replace(/ \([\d.]+ m?s\)$/, "");
    if (title !== undefined && title !== "Console")
      tally.open(title === "Test suite failed to run" ? file : title);
    else tally.line(line);
  }
  return found ? tally.settle() : undefined;
}

/** The end of the output of mocha, with any reporter that prints for people. */
export function readMocha(output: string): Tally | undefined {
  const lines = output.split("\n");
  const at = lines.findLastIndex((line) => /^ *\d+ passing\b/.test(line));
  if (at < 0) return undefined;
  const tally = new Tally();
  let name: string[] | undefined;
  let message: string[] | undefined;
  for (const line of [...lines.slice(at), "  0) "]) {
    const [, count, word = ""] = /^ *(\d+) (passing|pending|failing)\b/.exec(line) ?? [];
    tally.count(word, count);
    const first = /^ {2}\d+\) (.*)$/.exec(line)?.[1];
    if (first !== undefined) {
      if (name !== undefined) tally.add(name.join(" > "), message ?? []);
      message = first.endsWith(":") ? [] : undefined;
      name = [first.replace(/:$/, "")];
    } else if (message !== undefined) message.push(line);
    else if (name !== undefined && line.trim() !== "") {
      // The name goes on, one line per level, up to a colon.
      name.push(line.trim().replace(/:$/, ""));
      if (line.trimEnd().endsWith(":")) message = [];
    }
  }
  return tally.settle();
}

export function readNode(output: string): Tally | undefined {
  const tally = new Tally();
  let found = false;
  let listing = false;
  for (const line of output.split("\n")) {
    const [, word = "", count] = /^ℹ (tests|pass|fail|cancelled|skipped|todo) (\d+)$/.exec(line) ?? [];
    if (word === "tests") found = true;
    tally.count(word, count);
    if (/^✖ failing tests:/.test(line)) listing = true;
    else if (listing) {
      const title = /^✖ (.*)$/.exec(line)?.[1];
      if (title !== undefined || line.startsWith("test at ")) tally.close();
      if (title !== undefined) tally.open(title.replace(/ \([\d.]+ms\)$/, ""));
      else tally.line(line);
    }
  }
  return found ? tally.settle() : undefined;
}
