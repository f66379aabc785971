import type { Found, TestFailure } from "./report.js";

const LINES = 15;

/** What pytest prints at the end, however quiet it is asked to be. */
export function readPytest(output: string): Found {
  const lines = output.split("\n");
  const counts = { passed: 0, failed: 0, skipped: 0 };
  let found = false;
  const said = new Map<string, string[]>();
  let section: string[] | undefined;
  const failures: TestFailure[] = [];
  for (const line of lines) {
    const heading = /^_{3,} (.*?) _{3,}$/.exec(line)?.[1];
    if (heading !== undefined) {
      section = [];
      said.set(heading.replace(/^ERROR (at \w+ of|collecting) /, ""), section);
    } else if (/^={3,} /.test(line)) section = undefined;
    else if (section !== undefined && /^E {3}/.test(line)) section.push(line.slice(4).trimEnd());
    const summary = /^(?:=+ )?((?:\d+ [a-z]+(?:, )?)+|no tests ran) in [\d.]+s(?: \([\d:]+\))?(?: =+)?$/.exec(
      line,
    )?.[1];
    if (summary !== undefined) {
      found = true;
      tally(summary, counts);
      continue;
    }
    const short = /^(?:FAILED|ERROR) (\S.*)$/.exec(line)?.[1];
    if (short === undefined || section !== undefined) continue;
    const dash = short.indexOf(" - ");
    const name = dash < 0 ? short : short.slice(0, dash);
    // The section is headed by the name without its file, with dots.
    const [file = name, ...rest] = name.split("::");
    const words = said
      .get(rest.length === 0 ? file : rest.join("."))
      ?.slice(0, LINES)
      .join("\n");
    failures.push({ name, message: words || (dash < 0 ? "" : short.slice(dash + 3)) });
  }
  return found ? { ...counts, failed: Math.max(counts.failed, failures.length), failures } : undefined;
}

function tally(summary: string, counts: { passed: number; failed: number; skipped: number }): void {
  for (const part of summary.split(", ")) {
    const [count = "0", word = ""] = part.split(" ");
    if (/^(passed|xpassed)$/.test(word)) counts.passed += Number(count);
    else if (/^(failed|errors?)$/.test(word)) counts.failed += Number(count);
    else if (/^(skipped|xfailed)$/.test(word)) counts.skipped += Number(count);
  }
}

/** What Python's own unittest prints at the end. */
export function readUnittest(output: string): Found {
  const lines = output.split("\n");
  const total = lines.findLast((line) => /^Ran \d+ tests? in /.test(line));
  const verdict = lines.findLast((line) => /^(OK|FAILED|NO TESTS RAN)( \(|$)/.test(line));
  if (total === undefined || verdict === undefined) return undefined;
  const counts = new Map(
    [...verdict.matchAll(/([a-z ]+)=(\d+)/g)].map(([, word = "", count]) => [word.trim(), Number(count)]),
  );
  const sum = (...words: string[]): number => words.reduce((all, word) => all + (counts.get(word) ?? 0), 0);
  const failed = sum("failures", "errors", "unexpected successes");
  const skipped = sum("skipped", "expected failures");
  const failures: TestFailure[] = [];
  lines.forEach((line, at) => {
    const name = /^(?:FAIL|ERROR): (.*)$/.exec(line)?.[1];
    if (name === undefined || !/^-{20,}$/.test(lines[at + 1] ?? "")) return;
    const rest = lines.slice(at + 2);
    const end = rest.findIndex((one) => /^[=-]{20,}$/.test(one));
    const words = rest.slice(0, end < 0 ? undefined : end).filter((one) => one.trim() !== "");
    // What was raised stands behind the last trace, at the margin.
    const trace = words.findLastIndex((one) => one.startsWith("Traceback "));
    const raised = words.findIndex((one, place) => place > trace && /^\S/.test(one));
    failures.push({ name, message: words.slice(Math.max(0, raised), raised + LINES).join("\n") });
  });
  return {
    passed: Math.max(0, Number(/\d+/.exec(total)?.[0] ?? 0) - failed - skipped),
    failed,
    skipped,
    failures,
  };
}
