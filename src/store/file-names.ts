import { hash } from "node:crypto";
import type { Change } from "./index-names.js";

/** How much of `facts.jsonl` was acknowledged: bytes, facts, and all ids taken together. */
export type Mark = { readonly bytes: number; readonly count: number; readonly xor: string };
/** One line of `names.jsonl`: everything that one sync made durable. No mark while `facts.jsonl` is being replaced. */
export type Entry = { readonly facts: Mark | null; readonly changes: readonly Change[] };

/** How many changes go into one line when the log is written anew. */
const TOGETHER = 500;

/**
 * The line of an entry, and its sum. The sum covers the line before it as well, so a line that was altered,
 * lost, doubled or moved is found: names have no hash of their own as facts do.
 */
export function writeEntry(entry: Entry, before: string): { readonly bytes: Buffer; readonly sum: string } {
  const text = JSON.stringify({ facts: entry.facts, changes: entry.changes }).slice(0, -1);
  const sum = sumOf(text, before);
  return { bytes: Buffer.from(`${text},"sum":"${sum}"}\n`), sum };
}

/** The entry of a line, or undefined when it is not what was written after the line before. */
export function readEntry(bytes: Buffer, before: string): (Entry & { readonly sum: string }) | undefined {
  const line = bytes.toString("utf8");
  const text = line.slice(0, -SUM_LENGTH);
  const sum = sumOf(text, before);
  return line.slice(-SUM_LENGTH) === `,"sum":"${sum}"}`
    ? (JSON.parse(line) as Entry & { sum: string })
    : undefined;
}

/** A whole log with these changes, as short as it gets. */
export function* writeLog(facts: Mark, changes: Iterable<Change>): Generator<Buffer, void> {
  let sum = "";
  let together: Change[] = [];
  const line = (): Buffer => {
    const written = writeEntry({ facts, changes: together }, sum);
    sum = written.sum;
    together = [];
    return written.bytes;
  };
  for (const change of changes) {
    together.push(change);
    if (together.length === TOGETHER) yield line();
  }
  // There is always at least one line: an empty log next to facts is a log that was lost.
  if (together.length > 0 || sum === "") yield line();
}

const SUM_LENGTH = ',"sum":"0123456789abcdef"}'.length;

/** What an entry comes to, after the one before it. */
export function sumOf(text: string, before: string): string {
  return hash("sha256", before + text, "hex").slice(0, 16);
}
