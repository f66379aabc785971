import { type Printed, scanned, Tally } from "./tally.js";

/** The end of the output of vitest, with any reporter that prints for people. */
export function readVitest(output: string): Tally | undefined {
  if (!/^ *(Tests|Test Files|Errors) {2,}/m.test(output)) return undefined;
  const tally = scanned(output, {
    counts: (line) => /^ *Tests {2,}(.*)$/.exec(line)?.[1]?.split(" | "),
    title: (line) => /^ ?FAIL {2}(.*?)(?: \[ .* \])?$/.exec(line)?.[1],
    ends: /^⎯+|^ *(Test Files|Errors) {2,}/,
  });
  let errors = 0;
  for (const [, count] of output.matchAll(/^ *Errors {2,}(\d+)/gm)) errors += Number(count);
  if (errors > 0) tally.notes.push(`${errors} errors outside of tests`);
  return tally.settle();
}

export function readJest(output: string): Tally | undefined {
  let file = "";
  const title: Printed["title"] = (line) => {
    file = /^ ?(?:FAIL|PASS) {1,2}(\S.*?)(?: \([\d.]+ m?s\))?$/.exec(line)?.[1] ?? file;
    const words = /^ {2}● (?!Console$)(.*)$/.exec(line)?.[1];
    return words === "Test suite failed to run" ? file : words;
  };
  const counts: Printed["counts"] = (line) => /^Tests: +(.*)$/.exec(line)?.[1]?.split(", ");
  const ends = /^( ?(FAIL|PASS) {1,2}\S|Test Suites: | {2}● Console$)/;
  return /^Tests: +/m.test(output) ? scanned(output, { counts, title, ends }).settle() : undefined;
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
  if (!/^ℹ tests \d+$/m.test(output)) return undefined;
  const listing = output.search(/^✖ failing tests:/m);
  const tally =
    listing < 0
      ? new Tally()
      : scanned(output.slice(listing), {
          counts: () => undefined,
          title: (line) => /^✖ (?!failing tests:)(.*?)(?: \([\d.]+ms\))?$/.exec(line)?.[1],
          ends: /^test at /,
        });
  for (const [, word = "", count] of output.matchAll(/^ℹ (\w+) (\d+)$/gm)) tally.count(word, count);
  return tally.settle();
}
