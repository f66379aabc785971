import { LINES, linesUntil, scanned, Tally } from "./tally.js";

export function readPytest(output: string): Tally | undefined {
  const tally = new Tally();
  let found = false;
  const said = new Map<string, string[]>();
  let section: string[] | undefined;
  for (const line of output.split("\n")) {
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
      tally.countAll(summary.split(", "));
      continue;
    }
    const short = /^(?:FAILED|ERROR) (\S.*)$/.exec(line)?.[1];
    if (short === undefined || section !== undefined) continue;
    const dash = short.indexOf(" - ");
    const name = dash < 0 ? short : short.slice(0, dash);
    // The section is headed by the name without its file, with dots.
    const [file = name, ...rest] = name.split("::");
    const words = said.get(rest.length === 0 ? file : rest.join(".")) ?? [];
    const message = words.slice(0, LINES).join("\n") || (dash < 0 ? "" : short.slice(dash + 3));
    tally.failures.push({ name, message });
  }
  return found ? tally.settle() : undefined;
}

export function readUnittest(output: string): Tally | undefined {
  const lines = output.split("\n");
  const total = lines.findLast((line) => /^Ran \d+ tests? in /.test(line));
  const verdict = lines.findLast((line) => /^(OK|FAILED|NO TESTS RAN)( \(|$)/.test(line));
  if (total === undefined || verdict === undefined) return undefined;
  const tally = new Tally();
  for (const [, word = "", count] of verdict.matchAll(/([a-z ]+)=(\d+)/g))
    if (/^(failures|errors|unexpected successes)$/.test(word.trim())) tally.failed += Number(count);
    else if (/^(skipped|expected failures)$/.test(word.trim())) tally.skipped += Number(count);
  tally.passed = Math.max(0, Number(/\d+/.exec(total)?.[0] ?? 0) - tally.failed - tally.skipped);
  lines.forEach((line, at) => {
    const name = /^(?:FAIL|ERROR): (.*)$/.exec(line)?.[1];
    if (name === undefined || !/^-{20,}$/.test(lines[at + 1] ?? "")) return;
    const words = linesUntil(lines.slice(at + 2), /^[=-]{20,}$/);
    // The exception stands after the last trace, at the margin.
    const trace = words.findLastIndex((one) => one.startsWith("Traceback "));
    const raised = words.findIndex((one, place) => place > trace && /^\S/.test(one));
    const message = words.slice(Math.max(0, raised), raised + LINES).join("\n");
    tally.failures.push({ name, message });
  });
  return tally;
}

export function readCargo(output: string): Tally | undefined {
  if (!/^test result: /m.test(output)) return undefined;
  return scanned(output, {
    counts: (line) =>
      /^test result: \w+\. (\d+ passed; \d+ failed; \d+ ignored)/.exec(line)?.[1]?.split("; "),
    title: (line) => /^---- (.*) stdout ----$/.exec(line)?.[1],
    ends: /^(stack backtrace:|note: |----|failures:)/,
  });
}
