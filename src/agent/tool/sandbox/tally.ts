/** One test that failed, or a file of tests that could not be run. */
export type TestFailure = { readonly name: string; readonly message: string };

/** Lines of a message that are kept: the rest is mostly a stack trace. */
export const LINES = 15;

const WORDS = {
  passed: /^(x?passed|pass|passing)$/,
  failed: /^(failed|fail|failing|cancelled|errors?)$/,
  skipped: /^(skipped|xfailed|ignored|todo|pending)$/,
};

/** The results of a run of tests, counted while its output is read. */
export class Tally {
  passed = 0;
  failed = 0;
  skipped = 0;
  readonly failures: TestFailure[] = [];
  readonly notes: string[] = [];
  #names: string[] = [];
  #lines: string[] = [];

  /** Counts by the word of a runner. Other words do not count. */
  count(word: string, count: number | string | undefined = 1): void {
    for (const field of ["passed", "failed", "skipped"] as const)
      if (WORDS[field].test(word)) this[field] += Number(count);
  }

  /** Counts "2 failed", "1 skipped" and the like. */
  countAll(parts: readonly string[]): void {
    for (const part of parts) {
      const [, count = "0", word = ""] = /^\s*(\d+) (\w+)/.exec(part) ?? [];
      this.count(word, count);
    }
  }

  /** Begins a failure: the lines that follow belong to it, and to others that were opened right before it. */
  open(name: string): void {
    if (this.#lines.length > 0) this.close();
    this.#names.push(name);
  }

  line(line: string): void {
    if (this.#names.length > 0) this.#lines.push(line);
  }

  close(): void {
    for (const name of this.#names) this.add(name, this.#lines);
    this.#names = [];
    this.#lines = [];
  }

  /** Adds a failure once: runners that print a summary name it twice. */
  add(name: string, lines: readonly string[]): void {
    if (this.failures.some((one) => one.name === name)) return;
    // Stack and source excerpt come behind the first empty line after the words, or where they begin.
    const words = dedented(lines);
    const end = words.findIndex((line) => /^\s*(at\s|❯ |> ?\d+ \||\d+\|)/.test(line));
    const message = dedented(words.slice(0, end < 0 ? LINES : Math.min(end, LINES))).join("\n");
    this.failures.push({ name, message });
  }

  /** A runner does not count a file that could not be run as a failed test. Here it is one: its tests did not pass. */
  settle(): this {
    this.close();
    this.failed = Math.max(this.failed, this.failures.length);
    return this;
  }
}

/** How a runner prints: counts such as "2 failed", the title of a failure, and lines that end what is said about it. */
export type Printed = {
  counts(line: string): readonly string[] | undefined;
  title(line: string): string | undefined;
  readonly ends: RegExp;
};

/** The results in an output that is printed for people, line by line. */
export function scanned(output: string, { counts, title, ends }: Printed): Tally {
  const tally = new Tally();
  for (const line of output.split("\n")) {
    const [parts, name] = [counts(line), title(line)];
    tally.countAll(parts ?? []);
    if (name !== undefined) tally.open(name);
    else if (parts !== undefined || ends.test(line)) tally.close();
    else tally.line(line);
  }
  tally.close();
  return tally;
}

/** The lines up to one that ends them, without the empty ones. */
export function linesUntil(lines: readonly string[], end: RegExp): readonly string[] {
  const place = lines.findIndex((line) => end.test(line));
  return lines.slice(0, place < 0 ? undefined : place).filter((line) => line.trim() !== "");
}

/** Lines of a text without the empty ones around it, and without the indentation that all of them share. */
export function dedented(lines: readonly string[]): readonly string[] {
  const first = lines.findIndex((line) => line.trim() !== "");
  const last = lines.findLastIndex((line) => line.trim() !== "");
  const inner = first < 0 ? [] : lines.slice(first, last + 1);
  let depth = Number.POSITIVE_INFINITY;
  for (const line of inner) if (line.trim() !== "") depth = Math.min(depth, indentOf(line));
  return inner.map((line) => line.slice(Math.min(depth, line.length)).trimEnd());
}

export function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}
