import { ByteReader } from "../byte-reader.js";
import { ArchiveError } from "../error.js";

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

/** An entry as it is read. Its body must be read before the next entry is asked for, or is passed over. */
export type ReadEntry = TarEntry & { readonly body: () => AsyncIterable<Buffer> };

/** No name is this long; a header that claims to be longer is there to fill the memory. */
const MAX_HEADER_BYTES = 1024 ** 2;

/** Reads ustar with pax headers and GNU's long names and numbers. Without an end mark: an `ArchiveError`. */
export async function* readTar(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ReadEntry, void, void> {
  const bytes = new ByteReader(chunks, () => new ArchiveError("it ends before its end"));
  const shared = new Map<string, Buffer>();
  let own = new Map<string, Buffer>();
  for (;;) {
    const header = await bytes.take(BLOCK);
    if (header.every((byte) => byte === 0)) break;
    if (numberAt(header, "checksum") !== checksumOf(header))
      throw new ArchiveError("a header does not have its own checksum");
    const type = String.fromCharCode(header[FIELDS.type[0]] as number);
    if ("xgLK".includes(type)) {
      const size = numberAt(header, "size");
      if (size > MAX_HEADER_BYTES) throw new ArchiveError("a header is longer than any name");
      const body = await bytes.take(size);
      await bytes.take(paddingOf(size));
      if (type === "x") own = new Map([...own, ...readRecords(body)]);
      else if (type === "g") for (const [key, value] of readRecords(body)) shared.set(key, value);
      else own.set(type === "L" ? "path" : "linkpath", untilZero(body));
      continue;
    }
    const entry = entryOf(header, type, new Map([...shared, ...own]));
    own = new Map();
    let left = entry.size;
    const body = async function* (): AsyncGenerator<Buffer> {
      while (left > 0) {
        const piece = await bytes.some(left);
        left -= piece.length;
        yield piece;
      }
    };
    yield { ...entry, body };
    for await (const _rest of body());
    await bytes.take(paddingOf(entry.size));
  }
  // After the end mark comes padding.
  await bytes.drain();
}

function entryOf(header: Buffer, type: string, records: ReadonlyMap<string, Buffer>): TarEntry {
  if (type === "S" || [...records.keys()].some((key) => key.startsWith("GNU.sparse.")))
    throw new ArchiveError("it holds a sparse file in a form of its own");
  const name = records.get("path") ?? nameOf(header);
  if (name.length === 0) throw new ArchiveError("an entry has no name");
  // Archives from before there was a type for directories end their names with a slash.
  const kind = type === "0" && name.at(-1) === 0x2f ? "directory" : (KINDS.get(type) ?? "other");
  return {
    kind,
    name,
    mode: numberAt(header, "mode") & 0o7777,
    size: kind === "file" || !KINDS.has(type) ? (numberOf(records, "size") ?? numberAt(header, "size")) : 0,
    uid: numberOf(records, "uid") ?? numberAt(header, "uid"),
    gid: numberOf(records, "gid") ?? numberAt(header, "gid"),
    target: records.get("linkpath") ?? untilZero(field(header, "target")),
  };
}

const KINDS: ReadonlyMap<string, TarEntry["kind"]> = new Map([
  ["0", "file"],
  ["\0", "file"],
  ["7", "file"],
  ["1", "hard-link"],
  ["2", "link"],
  ["3", "other"],
  ["4", "other"],
  ["5", "directory"],
  ["6", "other"],
]);

function nameOf(header: Buffer): Buffer {
  const name = untilZero(field(header, "name"));
  // GNU's own format has other things where ustar has the beginning of a long name.
  const isUstar = field(header, "magic").toString("latin1").startsWith("ustar\0");
  const prefix = isUstar ? untilZero(field(header, "prefix")) : Buffer.alloc(0);
  return prefix.length === 0 ? name : Buffer.concat([prefix, Buffer.from("/"), name]);
}

function numberOf(records: ReadonlyMap<string, Buffer>, key: string): number | undefined {
  const text = records.get(key)?.toString("latin1");
  if (text === undefined) return undefined;
  if (!/^\d{1,16}$/.test(text) || !Number.isSafeInteger(Number(text)))
    throw new ArchiveError(`the ${key} of an entry is not a number`);
  return Number(text);
}

/** Octal digits, or with the highest bit set the number itself. */
function numberAt(header: Buffer, which: keyof typeof FIELDS): number {
  const bytes = field(header, which);
  const first = bytes[0] as number;
  if ((first & 0x80) !== 0) {
    let value = first & 0x7f;
    for (const byte of bytes.subarray(1)) value = value * 256 + byte;
    if (first === 0xff || !Number.isSafeInteger(value))
      throw new ArchiveError(`the ${which} of an entry is negative or beyond counting`);
    return value;
  }
  const text = bytes.toString("latin1").replace(/^[ \0]+|[ \0]+$/g, "");
  if (!/^[0-7]*$/.test(text)) throw new ArchiveError(`the ${which} of an entry is not a number`);
  return text === "" ? 0 : Number.parseInt(text, 8);
}

function field(header: Buffer, which: keyof typeof FIELDS): Buffer {
  const [from, length] = FIELDS[which];
  return header.subarray(from, from + length);
}

function untilZero(bytes: Buffer): Buffer {
  const zero = bytes.indexOf(0);
  return zero < 0 ? bytes : bytes.subarray(0, zero);
}

/** The end mark of an archive. */
export const TAR_END: Uint8Array = new Uint8Array(2 * BLOCK);

/** The header of an entry, with a pax header before it where needed. Its body and `fillOf(size)` follow. */
export function tarHeader(entry: TarEntry & { readonly mtime: number }): Buffer {
  const { kind, size, uid, gid, mode, mtime } = entry;
  const name = kind === "directory" ? Buffer.concat([entry.name, Buffer.from("/")]) : entry.name;
  const target = kind === "link" || kind === "hard-link" ? entry.target : Buffer.alloc(0);
  const records: Buffer[] = [];
  if (name.length > FIELDS.name[1]) records.push(writeRecord("path", name));
  if (target.length > FIELDS.target[1]) records.push(writeRecord("linkpath", target));
  for (const [key, value] of Object.entries({ size, uid, gid }))
    if (value > largest(key as "size" | "uid" | "gid"))
      records.push(writeRecord(key, Buffer.from(String(value))));
  const own = block(TYPES[kind], { name, target, mode, uid, gid, size, mtime });
  if (records.length === 0) return own;
  const body = Buffer.concat(records);
  const plain = { name: Buffer.from("extended"), target: Buffer.alloc(0), mode: 0o644, uid: 0, gid: 0 };
  const about = block("x", { ...plain, size: body.length, mtime });
  return Buffer.concat([about, body, fillOf(body.length), own]);
}

/** The zeros after a body. */
export function fillOf(size: number): Buffer {
  return Buffer.alloc(paddingOf(size));
}

const TYPES = { file: "0", "hard-link": "1", link: "2", directory: "5", other: "6" } as const;

type Numbers = {
  readonly [field in "mode" | "uid" | "gid" | "size" | "mtime"]: number;
};

function block(type: string, fields: Numbers & { readonly name: Buffer; readonly target: Buffer }): Buffer {
  const header = Buffer.alloc(BLOCK);
  fields.name.copy(header, FIELDS.name[0], 0, FIELDS.name[1]);
  fields.target.copy(header, FIELDS.target[0], 0, FIELDS.target[1]);
  for (const field of ["mode", "uid", "gid", "size", "mtime"] as const) {
    const value = fields[field] > largest(field) ? 0 : fields[field];
    header.write(value.toString(8).padStart(FIELDS[field][1] - 1, "0"), FIELDS[field][0], "latin1");
  }
  header.write(type, FIELDS.type[0], "latin1");
  header.write("ustar\x0000", FIELDS.magic[0], "latin1");
  header.write(`${checksumOf(header).toString(8).padStart(6, "0")}\0 `, FIELDS.checksum[0], "latin1");
  return header;
}

/** The largest number that a field can hold in octal digits and a zero. */
function largest(field: keyof Numbers): number {
  return 8 ** (FIELDS[field][1] - 1) - 1;
}
