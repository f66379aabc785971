import { ArchiveError } from "./error.js";

/** An entry of an archive. Names and targets are bytes: nothing says that they are text. */
export type TarEntry = {
  readonly kind: "file" | "directory" | "link" | "hard-link" | "other";
  readonly name: Buffer;
  readonly mode: number;
  readonly size: number;
  readonly uid: number;
  readonly gid: number;
  /** Where a link leads; of a hard link, the name of an entry before it. */
  readonly target: Buffer;
};

export const BLOCK = 512;

/** Where the fields of a header lie. */
export const FIELDS = {
  name: [0, 100],
  mode: [100, 8],
  uid: [108, 8],
  gid: [116, 8],
  size: [124, 12],
  mtime: [136, 12],
  checksum: [148, 8],
  type: [156, 1],
  target: [157, 100],
  magic: [257, 8],
  prefix: [345, 155],
} as const;

/** How many bytes follow a body up to the next block. */
export function paddingOf(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK;
}

/** The sum of a header's bytes, with its own field taken as spaces. */
export function checksumOf(header: Uint8Array): number {
  const [from, length] = FIELDS.checksum;
  let sum = 32 * length;
  for (let at = 0; at < BLOCK; at++) if (at < from || at >= from + length) sum += header[at] as number;
  return sum;
}

/** The records of an extended header: `length key=value\n`, the length in bytes and counting itself. */
export function readRecords(body: Buffer): Map<string, Buffer> {
  const records = new Map<string, Buffer>();
  for (let at = 0; at < body.length; ) {
    const space = body.indexOf(0x20, at);
    const digits = space < 0 ? "" : body.toString("latin1", at, space);
    const end = at + Number(digits);
    const equals = body.indexOf(0x3d, space);
    if (
      !/^[1-9]\d{0,9}$/.test(digits) ||
      end > body.length ||
      equals < 0 ||
      equals >= end ||
      body[end - 1] !== 0x0a
    )
      throw new ArchiveError("an extended header is not made of records");
    records.set(body.toString("latin1", space + 1, equals), body.subarray(equals + 1, end - 1));
    at = end;
  }
  return records;
}

export function writeRecord(key: string, value: Buffer): Buffer {
  const rest = Buffer.concat([Buffer.from(` ${key}=`), value, Buffer.from("\n")]);
  // The length counts its own digits, so one more digit may make it need one more.
  let length = rest.length + 1;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return Buffer.concat([Buffer.from(String(length)), rest]);
}
