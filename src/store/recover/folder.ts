import { hash } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Digest, digestOf, type FactId } from "../../session/index.js";
import { StoreError } from "../error.js";
import { readLines } from "../exchange/lines.js";
import type { Erasure, NameRecord } from "../shelf.js";
import type { Piece, Salvage } from "./recover.js";

/** How much of `facts.jsonl` was acknowledged: bytes, and all ids taken together. */
type Mark = { readonly bytes: number; readonly xor: string };
type Step = { readonly name: string; readonly key: string; readonly head: FactId };
/** A change beside facts and blobs. */
type Change =
  | { readonly record: NameRecord; readonly key?: string }
  | { readonly step: Step }
  | { readonly forgotten: { readonly name: string } }
  | { readonly erased: Erasure }
  | { readonly revived: Digest };
/** One line of `names.jsonl`: everything that one sync made durable. No mark while `facts.jsonl` was being replaced. */
type Entry = { readonly facts: Mark | null; readonly changes: readonly Change[]; readonly sum: string };

/**
 * Reads a folder that the store `file:` of version 0.1 wrote: `facts.jsonl`, `names.jsonl`, `keys.jsonl` and `blobs/`.
 * Each line and each blob is read on its own, so damage costs no more than it touches.
 */
export function readFolder(path: string): Salvage {
  if (!existsSync(join(path, "facts.jsonl")) && !existsSync(join(path, "names.jsonl")))
    throw new StoreError(
      "not-a-store",
      `Cannot read ${path}: it has neither facts.jsonl nor names.jsonl.`,
      "give a folder that openrath 0.1 wrote as a store, or a file: rath import FILE",
      { data: { path } },
    );
  const log = readLog(join(path, "names.jsonl"));
  const { keys, unread } = readKeys(join(path, "keys.jsonl"));
  return {
    async *lines() {
      for (const place of [...log.unread, ...unread])
        yield { place, problem: "it is not the line that was written" };
      if (existsSync(join(path, "facts.jsonl"))) yield* confirmed(join(path, "facts.jsonl"), log.marks);
      else yield { place: "facts.jsonl", problem: "it is missing" };
    },
    blob(digest: Digest) {
      const file = join(path, "blobs", digest.slice(0, 2), digest);
      return statSync(file, { throwIfNoEntry: false })?.isFile() ? readFileSync(file) : undefined;
    },
    erased: (digest) => log.erased.get(digest),
    async *names() {
      for (const [name, ids] of log.heads) yield { name, ids, steps: log.steps.get(name) ?? new Map() };
    },
    keys: () => keys,
    close() {},
  };
}

/** The log says after each commit what all ids come to, so the lines between two of its marks can be told altered. */
async function* confirmed(file: string, marks: readonly Mark[]): AsyncGenerator<Piece> {
  let before = 0n;
  let sum = 0n;
  let [bytes, number, next] = [0, 0, 0];
  let waiting: { place: string; line: string }[] = [];
  const met = new Set<FactId>();
  // As bytes: what is no longer UTF-8 must not move the marks behind it.
  for await (const raw of readLines(file, "latin1")) {
    const line = Buffer.from(raw, "latin1");
    number += 1;
    waiting.push({ place: `facts.jsonl:${number}`, line: line.toString("utf8") });
    bytes += line.length + 1;
    const id = digestOf(line);
    if (!met.has(id)) sum ^= BigInt(`0x${id.slice(0, 16)}`);
    met.add(id);
    while (next < marks.length && (marks[next] as Mark).bytes < bytes) next += 1;
    const mark = marks[next];
    if (mark?.bytes !== bytes) continue;
    const written = BigInt(`0x${mark.xor}`);
    const sure = sum === (before ^ written);
    for (const one of waiting) yield { ...one, sure };
    waiting = [];
    before = written;
    sum = 0n;
  }
  for (const one of waiting) yield { ...one, sure: false };
}

type Log = {
  readonly marks: Mark[];
  /** Where each name stood, the newest first. */
  readonly heads: Map<string, FactId[]>;
  readonly steps: Map<string, Map<string, FactId>>;
  readonly erased: Map<Digest, Erasure>;
  /** Lines that cannot be read; the names they moved are found at an earlier place. */
  readonly unread: string[];
};

function readLog(path: string): Log {
  const log: Log = { marks: [], heads: new Map(), steps: new Map(), erased: new Map(), unread: [] };
  const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n") : [];
  // The sum of the line before: as it says, and as it should say, since either may be what is altered.
  let before: readonly string[] = [""];
  for (const [index, line] of lines.entries()) {
    if (line === "") continue;
    const text = line.slice(0, -SUM_LENGTH);
    const entry = before.map((sum) => readEntry(line, text, sum)).find((read) => read !== undefined);
    if (entry === undefined) {
      log.unread.push(`names.jsonl:${index + 1}`);
      before = [line.slice(-18, -2), ...before.map((sum) => sumOf(text, sum))];
      continue;
    }
    before = [entry.sum];
    if (entry.facts !== null) log.marks.push(entry.facts);
    for (const change of entry.changes) take(change, log);
  }
  return log;
}

function take(change: Change, log: Log): void {
  if ("erased" in change) log.erased.set(change.erased.digest, change.erased);
  else if ("revived" in change) log.erased.delete(change.revived);
  else if ("forgotten" in change) {
    log.heads.delete(change.forgotten.name);
    log.steps.delete(change.forgotten.name);
  } else if ("step" in change) takeStep(change.step, log);
  else {
    const { name, head } = change.record;
    if (head === null) return;
    log.heads.set(name, [head, ...(log.heads.get(name) ?? []).filter((id) => id !== head)]);
    if (change.key !== undefined) takeStep({ name, key: change.key, head }, log);
  }
}

function takeStep(step: Step, log: Log): void {
  const steps = log.steps.get(step.name) ?? new Map<string, FactId>();
  log.steps.set(step.name, steps.set(step.key, step.head));
}

const SUM_LENGTH = ',"sum":"0123456789abcdef"}'.length;

/** The entry of a line, or undefined when it is not what was written after the line before. */
function readEntry(line: string, text: string, before: string): Entry | undefined {
  return line.slice(-SUM_LENGTH) === `,"sum":"${sumOf(text, before)}"}`
    ? (JSON.parse(line) as Entry)
    : undefined;
}

/** The sum covers the line before it as well, so a line that was altered, lost, doubled or moved is found. */
function sumOf(text: string, before: string): string {
  return hash("sha256", before + text, "hex").slice(0, 16);
}

const KEY = /^(\{"id":("(?:[^"\\]|\\.)*"),"secret":"((?:[0-9a-f]{2})*)"),"sum":"([0-9a-f]{8})"\}$/;

/** The secrets that salts are made of. The end of a line that a crash cut off is half a secret that nobody was promised. */
function readKeys(path: string): {
  readonly keys: ReadonlyMap<string, Uint8Array>;
  readonly unread: readonly string[];
} {
  const keys = new Map<string, Uint8Array>();
  const unread: string[] = [];
  const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n").slice(0, -1) : [];
  for (const [index, line] of lines.entries()) {
    const [, text = "", id = "", secret = "", sum] = KEY.exec(line) ?? [];
    // Nothing else would notice a secret that is no longer the same.
    if (hash("sha256", text, "hex").slice(0, 8) === sum)
      keys.set(JSON.parse(id) as string, Buffer.from(secret, "hex"));
    else unread.push(`keys.jsonl:${index + 1}`);
  }
  return { keys, unread };
}
