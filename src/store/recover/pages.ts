import { closeSync, existsSync, fstatSync, openSync, readSync } from "node:fs";

/** A row as it lies in a page. `rowid` is missing in tables that have none and in indexes. */
export type PageRow = {
  readonly page: number;
  readonly rowid?: number;
  readonly values: readonly PageValue[];
};
export type PageValue = number | string | Uint8Array | null;

const TABLE_LEAF = 13;
const INDEX_LEAF = 10;
const INDEX_INNER = 2;
const TABLE_INNER = 5;
const LOG_HEADER = 32;
const FRAME_HEADER = 24;

/**
 * All rows of a database file and its log, page by page. Nothing that leads from one page to another is
 * trusted but the chain of a long value, so a damaged page costs its own rows and no others. Rows may be
 * old, doubled or altered: the caller must tell them apart.
 */
export function* rowsInPages(path: string): Generator<PageRow> {
  const file = openSync(path, "r");
  const log = existsSync(`${path}-wal`) ? openSync(`${path}-wal`, "r") : undefined;
  try {
    const size = pageSizeOf(file);
    const frames = log === undefined ? new Map<number, number>() : framesOf(log, size);
    const count = Math.ceil(fstatSync(file).size / size);
    const most = (count + frames.size) * size;
    const inFile = (number: number): Buffer => read(file, (number - 1) * size, size);
    const inLog = (number: number): Buffer => {
      const frame = frames.get(number);
      return frame === undefined ? inFile(number) : read(log as number, frame, size);
    };
    for (let number = 1; number <= count; number++) yield* rowsIn(number, { at: inLog, size, most });
    // A damaged number may stand far behind the others, with nothing between them.
    for (const number of frames.keys()) if (number > count) yield* rowsIn(number, { at: inLog, size, most });
    // The pages that the log replaced may be all there is, where the log itself is damaged.
    for (const number of frames.keys()) yield* rowsIn(number, { at: inFile, size, most });
  } finally {
    closeSync(file);
    if (log !== undefined) closeSync(log);
  }
}

type Pages = {
  readonly at: (number: number) => Buffer;
  /** Bytes of a page, and of all pages together: no value is longer. */
  readonly size: number;
  readonly most: number;
};

function* rowsIn(number: number, pages: Pages): Generator<PageRow> {
  const page = pages.at(number);
  const { size } = pages;
  const start = number === 1 ? 100 : 0;
  const kind = page[start] as number;
  if (kind === TABLE_INNER) return;
  const kinds =
    kind === TABLE_LEAF || kind === INDEX_LEAF || kind === INDEX_INNER ? [kind] : [TABLE_LEAF, INDEX_LEAF];
  for (const as of kinds) {
    const cells = page.readUInt16BE(start + 3);
    const pointers = start + (as === INDEX_INNER ? 12 : 8);
    for (let cell = 0; cell < cells && pointers + cell * 2 + 2 <= size; cell++) {
      const at = page.readUInt16BE(pointers + cell * 2);
      if (at < pointers || at >= size - 3) continue;
      try {
        yield { page: number, ...rowAt(page, at, as, pages) };
      } catch (error) {
        // Not a cell.
        if (!(error instanceof RangeError)) throw error;
      }
    }
  }
}

/** A cell: how long its row is, the row's beginning, and where the rest goes on. */
function rowAt(
  page: Buffer,
  start: number,
  kind: number,
  { at: pageAt, size, most: longest }: Pages,
): { rowid?: number; values: PageValue[] } {
  let at = start + (kind === INDEX_INNER ? 4 : 0);
  const [length, afterLength] = varint(page, at);
  at = afterLength;
  let rowid: number | undefined;
  if (kind === TABLE_LEAF) [rowid, at] = varint(page, at);
  const most = kind === TABLE_LEAF ? size - 35 : Math.floor(((size - 12) * 64) / 255) - 23;
  const least = Math.floor(((size - 12) * 32) / 255) - 23;
  const fitting = least + ((length - least) % (size - 4));
  const local = length <= most ? length : fitting <= most ? fitting : least;
  if (at + local > size || length > longest) throw new RangeError("not a cell");
  const parts = [page.subarray(at, at + local)];
  let left = length - local;
  for (let next = left > 0 ? page.readUInt32BE(at + local) : 0; left > 0 && next > 0; ) {
    const part = pageAt(next);
    next = part.readUInt32BE(0);
    parts.push(part.subarray(4, Math.min(size, 4 + left)));
    left -= size - 4;
    // A page that the file does not have reads as zeros and ends the chain.
  }
  const values = valuesOf(Buffer.concat(parts));
  return rowid === undefined ? { values } : { rowid, values };
}

/** The values of a record; those beyond the end of what could be read are cut off. */
function valuesOf(record: Buffer): PageValue[] {
  const [end, first] = varint(record, 0);
  if (end > 200 || end > record.length) throw new RangeError("not a record");
  const values: PageValue[] = [];
  let body = end;
  for (let at = first; at < end; ) {
    const [type, next] = varint(record, at);
    at = next;
    const size = type >= 12 ? Math.floor((type - 12) / 2) : ([0, 1, 2, 3, 4, 6, 8, 8, 0, 0][type] ?? 0);
    const bytes = record.subarray(body, body + size);
    body += size;
    if (type >= 12) values.push(type % 2 === 0 ? bytes : bytes.toString("utf8"));
    else if (type === 8 || type === 9) values.push(type - 8);
    else if (type >= 1 && type <= 5) values.push(bytes.readIntBE(0, size));
    else values.push(type === 6 ? Number(bytes.readBigInt64BE(0)) : null);
  }
  return values;
}

function varint(bytes: Buffer, start: number): [value: number, next: number] {
  let value = 0n;
  for (let at = start; at < start + 9; at++) {
    const byte = bytes.readUInt8(at);
    if (at === start + 8) return [Number((value << 8n) | BigInt(byte)), at + 1];
    value = (value << 7n) | BigInt(byte & 0x7f);
    if (byte < 0x80) return [Number(value), at + 1];
  }
  throw new RangeError("not a number");
}

function pageSizeOf(file: number): number {
  const size = read(file, 16, 2).readUInt16BE(0);
  // Ours have 4096. Where the header is what is damaged, that is the best guess.
  return size >= 512 && (size & (size - 1)) === 0 ? size : 4096;
}

/** Where each page stands last in the log. Frames of before the log was begun anew carry another salt. */
function framesOf(log: number, size: number): Map<number, number> {
  const frames = new Map<number, number>();
  const salt = read(log, 16, 8);
  const end = fstatSync(log).size;
  for (let at = LOG_HEADER; at + FRAME_HEADER + size <= end; at += FRAME_HEADER + size) {
    const header = read(log, at, FRAME_HEADER);
    const number = header.readUInt32BE(0);
    if (number > 0 && number < 2 ** 30 && header.subarray(8, 16).equals(salt))
      frames.set(number, at + FRAME_HEADER);
  }
  return frames;
}

/** Bytes of a file; zeros where it has none. */
function read(file: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  readSync(file, bytes, 0, length, position);
  return bytes;
}
