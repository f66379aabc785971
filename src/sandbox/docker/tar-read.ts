import { ArchiveError } from "./error.js";
import { BLOCK, checksumOf, FIELDS, paddingOf, readRecords, type TarEntry } from "./tar.js";

/** An entry as it is read. Its body must be read before the next entry is asked for, or is passed over. */
export type ReadEntry = TarEntry & { readonly body: () => AsyncIterable<Buffer> };

/** No name is this long; a header that claims to be longer is there to fill the memory. */
const MAX_HEADER_BYTES = 1024 ** 2;

/**
 * Reads an archive as it comes: ustar, with extended headers (pax), and GNU's long names and numbers. An archive that
 * ends without its end mark was cut off, and is an `ArchiveError`.
 */
export async function* readTar(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ReadEntry, void, void> {
  const bytes = new Bytes(chunks);
  const shared = new Map<string, Buffer>();
  let own = new Map<string, Buffer>();
  for (;;) {
    const header = await bytes.exactly(BLOCK);
    if (header.every((byte) => byte === 0)) break;
    if (numberAt(header, "checksum") !== checksumOf(header))
      throw new ArchiveError("a header does not have its own checksum");
    const type = String.fromCharCode(header[FIELDS.type[0]] as number);
    if ("xgLK".includes(type)) {
      const size = numberAt(header, "size");
      if (size > MAX_HEADER_BYTES) throw new ArchiveError("a header is longer than any name");
      const body = await bytes.exactly(size);
      await bytes.exactly(paddingOf(size));
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
        const piece = await bytes.atMost(left);
        left -= piece.length;
        yield piece;
      }
    };
    yield { ...entry, body };
    for await (const _rest of body());
    await bytes.exactly(paddingOf(entry.size));
  }
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
    size: kind === "file" || !KINDS.has(type) ? sizeOf(records, header) : 0,
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

function sizeOf(records: ReadonlyMap<string, Buffer>, header: Buffer): number {
  return numberOf(records, "size") ?? numberAt(header, "size");
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

/** Bytes that come in chunks of any length, taken out in others. */
class Bytes {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  async exactly(length: number): Promise<Buffer> {
    if (length === 0) return Buffer.alloc(0);
    const parts: Buffer[] = [];
    for (let missing = length; missing > 0; ) {
      const part = await this.atMost(missing);
      parts.push(part);
      missing -= part.length;
    }
    return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
  }

  /** At least one byte. */
  async atMost(length: number): Promise<Buffer> {
    while (this.#rest.length === 0) {
      const { done, value } = await this.#chunks.next();
      if (done === true) throw new ArchiveError("it ends before its end");
      this.#rest = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    }
    const part = this.#rest.subarray(0, length);
    this.#rest = this.#rest.subarray(length);
    return part;
  }

  /** Reads to the end: what follows the end mark is padding. */
  async drain(): Promise<void> {
    for (;;) if ((await this.#chunks.next()).done === true) return;
  }
}
