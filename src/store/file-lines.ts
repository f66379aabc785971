import { hash } from "node:crypto";
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { checkLine, type FactId, RathError } from "../session/index.js";
import { FactIndex } from "./index-facts.js";

const CHUNK = 1 << 20;
const NEWLINE = 0x0a;

/** A line as it lies in a file, without its newline; `complete` says whether there is one. */
export type FileLine = { readonly bytes: Buffer; readonly start: number; readonly complete: boolean };

/** The lines between two places of a file. Split at the byte 0x0A only: U+2028 and the like are content. */
export function* linesIn(fd: number, from: number, to: number): Generator<FileLine, void> {
  let start = from;
  let pieces: Buffer[] = [];
  for (let position = from; position < to; ) {
    const chunk = Buffer.allocUnsafe(Math.min(CHUNK, to - position));
    const length = readSync(fd, chunk, 0, chunk.length, position);
    if (length === 0) break;
    const part = chunk.subarray(0, length);
    let begin = 0;
    for (let end = part.indexOf(NEWLINE); end >= 0; end = part.indexOf(NEWLINE, begin)) {
      const last = part.subarray(begin, end);
      yield { bytes: pieces.length === 0 ? last : Buffer.concat([...pieces, last]), start, complete: true };
      pieces = [];
      begin = end + 1;
      start = position + begin;
    }
    if (begin < length) pieces.push(part.subarray(begin));
    position += length;
  }
  if (pieces.length > 0) yield { bytes: Buffer.concat(pieces), start, complete: false };
}

/** Parents are hex and come first, so they can be read off the first bytes of a line. */
const HEAD = /^\{"rath":\d+,"parents":\[((?:"[0-9a-f]{64}"(?:,"[0-9a-f]{64}")*)?)\]$/;

/** Adds a line to an index: its row, -1 when it was there already, or what is wrong with it. */
export function addLine(facts: FactIndex, bytes: Buffer): number | string {
  if (bytes.length === 0) return "it is empty";
  const list = HEAD.exec(bytes.toString("latin1", 0, bytes.indexOf(0x5d) + 1))?.[1];
  if (list === undefined || bytes.at(-1) !== 0x7d)
    return bytes.includes(0) ? "it has NUL bytes, as a crash leaves them" : "it is not a record line";
  const id = hash("sha256", bytes, "buffer");
  if (facts.rowOf(id) >= 0) return -1;
  const parents: number[] = [];
  for (let at = 1; at < list.length; at += 67) {
    const parent = list.slice(at, at + 64);
    const row = facts.row(parent);
    if (row < 0) return `its parent ${parent} is not among the lines before it`;
    parents.push(row);
  }
  return facts.add(id, parents);
}

/** What is wrong with the bytes of a line by themselves. */
export function problemOf(bytes: Buffer): string | undefined {
  if (bytes.includes(0)) return "it has NUL bytes, as a crash leaves them";
  const line = bytes.toString("utf8");
  if (Buffer.byteLength(line) !== bytes.length || !Buffer.from(line).equals(bytes)) return "it is not UTF-8";
  try {
    checkLine(line);
    return undefined;
  } catch (error) {
    return error instanceof RathError ? String(error.data.reason ?? error.message) : String(error);
  }
}

/** A line of a record file: its text and id when it is sound and all its past was, else the problem. */
export type ScannedLine = {
  readonly number: number;
  readonly place: string;
  readonly line: string;
  readonly id: FactId;
} & ({ readonly problem?: never } | { readonly problem: string });

/** Reads a record file (or the `facts.jsonl` of a folder) line by line, whatever state it is in. */
export function* scanFacts(path: string): Generator<ScannedLine, void> {
  const file = statSync(path).isDirectory() ? join(path, "facts.jsonl") : path;
  const name = file.slice(Math.max(file.lastIndexOf("/"), file.lastIndexOf("\\")) + 1);
  const facts = new FactIndex();
  const fd = openSync(file, "r");
  try {
    let number = 0;
    for (const { bytes, complete } of linesIn(fd, 0, Number.MAX_SAFE_INTEGER)) {
      number += 1;
      const problem = problemOf(bytes) ?? (complete ? undefined : "it is cut off: its newline is missing");
      const added = problem ?? addLine(facts, bytes);
      const common = {
        number,
        place: `${name}:${number}`,
        line: bytes.toString("utf8"),
        id: hash("sha256", bytes, "hex"),
      };
      yield typeof added === "string" ? { ...common, problem: added } : common;
    }
  } finally {
    closeSync(fd);
  }
}

/** The number of the line that begins at a place. */
export function lineNumberAt(fd: number, place: number): number {
  let number = 1;
  for (const line of linesIn(fd, 0, place)) if (line.complete) number += 1;
  return number;
}
