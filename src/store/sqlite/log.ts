import { closeSync, openSync, readSync } from "node:fs";
import { DamageError } from "../error.js";

const HEADER = 32;
const FRAME_HEADER = 24;
/** Little-endian sums, as every machine we know writes them. */
const MAGIC = 0x377f0682;

type Sum = { one: number; two: number };

/**
 * Throws when the log of a database is damaged before its end. SQLite passes over a frame that it cannot trust
 * and all behind it: right for a commit that a crash cut short, but commits behind that one were written after
 * it was durable. To go on without them would lose them for good, since new commits are written over them.
 */
export function checkLog(path: string): void {
  const frame = brokenFrame(`${path}-wal`);
  // Another process may be writing while this one reads: damage stays, what was being written does not.
  if (frame === undefined || brokenFrame(`${path}-wal`) !== frame || brokenFrame(`${path}-wal`) !== frame)
    return;
  throw new DamageError(
    `${path}-wal frame ${frame + 1}`,
    "it is not what was written, and there are commits behind it",
  );
}

/** The first frame that does not follow from those before it, if whole commits stand behind it. */
function brokenFrame(path: string): number | undefined {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch {
    return undefined;
  }
  try {
    const header = Buffer.alloc(HEADER);
    if (readSync(file, header, 0, HEADER, 0) < HEADER || header.readUInt32BE(0) !== MAGIC) return undefined;
    const size = header.readUInt32BE(8);
    if (size < 512 || size > 65_536) return undefined;
    const salt = header.subarray(16, 24);
    const sum = sumOf(header, 0, 24, { one: 0, two: 0 });
    let broken = sum.one === header.readUInt32BE(24) && sum.two === header.readUInt32BE(28) ? undefined : 0;
    let running: Sum = { one: header.readUInt32BE(24), two: header.readUInt32BE(28) };
    let afterCommit = false;
    const frame = Buffer.alloc(FRAME_HEADER + size);
    for (
      let index = 0;
      readSync(file, frame, 0, frame.length, HEADER + index * frame.length) === frame.length;
      index++
    ) {
      const ours = frame.subarray(8, 16).equals(salt);
      const wanted = sumOf(frame, FRAME_HEADER, size, sumOf(frame, 0, 8, running));
      running = { one: frame.readUInt32BE(16), two: frame.readUInt32BE(20) };
      const follows = ours && wanted.one === running.one && wanted.two === running.two;
      if (broken !== undefined && afterCommit && follows) return broken;
      if (!follows) broken ??= index;
      afterCommit = broken !== undefined && ours && frame.readUInt32BE(4) !== 0;
    }
    return undefined;
  } finally {
    closeSync(file);
  }
}

/** SQLite's sum over pairs of words, going on from another. */
function sumOf(bytes: Buffer, from: number, length: number, before: Sum): Sum {
  let { one, two } = before;
  for (let at = from; at < from + length; at += 8) {
    one = (one + bytes.readUInt32LE(at) + two) >>> 0;
    two = (two + bytes.readUInt32LE(at + 4) + one) >>> 0;
  }
  return { one, two };
}
