import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { checkLine, type Digest, type FactId } from "../session/index.js";
import { BlobFolder } from "./file-blobs.js";
import { type ScannedLine, scanFacts } from "./file-lines.js";
import { type Mark, readEntry, sumOf } from "./file-names.js";
import type { Change } from "./index-names.js";
import type { Salvage } from "./recover.js";
import type { Erasure } from "./shelf.js";

/** Reads what can be read of a damaged folder: each line and each blob on its own, and where the names went. */
export function salvageFolder(path: string): Salvage {
  const blobs = new BlobFolder(join(path, "blobs"));
  const log = readLog(join(path, "names.jsonl"));
  return {
    async *lines() {
      for (const number of log.unread)
        yield { place: `names.jsonl:${number}`, problem: "it is not the line that was written" };
      if (!existsSync(join(path, "facts.jsonl")))
        return yield { place: "facts.jsonl", problem: "it is missing" };
      for (const { scanned, sure } of confirmed(scanFacts(path), log.marks)) {
        const { place, line, problem } = scanned;
        // A line may be sound by itself where the one it comes from is not: that is for the reader to judge.
        yield problem === undefined || isRecord(line) ? { place, line, sure } : { place, problem };
      }
    },
    blob: (digest: Digest) => blobs.read(digest),
    erased: (digest) => log.erased.get(digest),
    async *names() {
      for (const [name, ids] of log.heads) yield { name, ids };
    },
    close() {},
  };
}

/** The log says after each commit what all ids come to, so the lines between two of its marks can be told altered. */
function* confirmed(
  lines: Iterable<ScannedLine>,
  marks: readonly Mark[],
): Generator<{ scanned: ScannedLine; sure: boolean }> {
  let before: bigint = 0n;
  let sum = 0n;
  let bytes = 0;
  let next = 0;
  let waiting: ScannedLine[] = [];
  const met = new Set<FactId>();
  for (const scanned of lines) {
    waiting.push(scanned);
    bytes += Buffer.byteLength(scanned.line) + 1;
    if (!met.has(scanned.id)) sum ^= BigInt(`0x${scanned.id.slice(0, 16)}`);
    met.add(scanned.id);
    while (next < marks.length && (marks[next] as Mark).bytes < bytes) next += 1;
    const mark = marks[next];
    if (mark?.bytes !== bytes) continue;
    const written = BigInt(`0x${mark.xor}`);
    const sure = sum === (before ^ written);
    for (const one of waiting) yield { scanned: one, sure };
    waiting = [];
    before = written;
    sum = 0n;
  }
  for (const one of waiting) yield { scanned: one, sure: false };
}

function isRecord(line: string): boolean {
  try {
    checkLine(line);
    return true;
  } catch {
    return false;
  }
}

type Log = {
  readonly marks: Mark[];
  /** Where each name stood, the newest first. */
  readonly heads: Map<string, FactId[]>;
  readonly erased: Map<Digest, Erasure>;
  /** Numbers of lines that tell nothing; what they moved is found at an earlier place. */
  readonly unread: number[];
};

function readLog(path: string): Log {
  const log: Log = { marks: [], heads: new Map(), erased: new Map(), unread: [] };
  const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n") : [];
  // What the line before came to: as it says, and as it should say, since either may be what is altered.
  let before: readonly string[] = [""];
  for (const [index, line] of lines.entries()) {
    if (line === "") continue;
    const bytes = Buffer.from(line);
    const entry = before.map((sum) => readEntry(bytes, sum)).find((read) => read !== undefined);
    const text = line.slice(0, line.lastIndexOf(',"sum":'));
    before = [line.slice(-18, -2), ...before.map((sum) => sumOf(text, sum))];
    if (entry === undefined) {
      log.unread.push(index + 1);
      continue;
    }
    before = [entry.sum];
    if (entry.facts !== null) log.marks.push(entry.facts);
    for (const change of entry.changes) take(change, log);
  }
  return log;
}

function take(change: Change, log: Log): void {
  if ("forgotten" in change) log.heads.delete(change.forgotten.name);
  if ("erased" in change) log.erased.set(change.erased.digest, change.erased);
  if ("revived" in change) log.erased.delete(change.revived);
  if (!("record" in change)) return;
  const { name, head } = change.record;
  if (typeof name === "string" && typeof head === "string")
    log.heads.set(name, [head, ...(log.heads.get(name) ?? []).filter((id) => id !== head)]);
}
