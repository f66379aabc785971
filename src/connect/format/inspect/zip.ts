import { crc32, deflateRawSync, inflateRawSync } from "node:zlib";

/** The files of an archive. Names may be anything: nothing is written to a disk. */
export type Archive = ReadonlyMap<string, Uint8Array>;

/** All files of an archive together may take this much room: a few bytes can claim to be very many. */
const MAX_BYTES = 400 * 1024 ** 2;
const END = 0x06054b50;
const ENTRY = 0x02014b50;
const LOCAL = 0x04034b50;
/** The first time that an archive can tell: the same files give the same bytes. */
const NO_TIME = { time: 0, date: 0x21 };
const UTF8_NAMES = 0x800;

/** The reason why bytes cannot be read as an archive. */
export class ArchiveFault extends Error {}

export function isZip(bytes: Uint8Array): boolean {
  return bytes.length >= 4 && bytes[0] === 0x50 && bytes[1] === 0x4b && bytes[2] === 3 && bytes[3] === 4;
}

/** The files of a zip, by what its directory says; an `ArchiveFault` when that is not so. */
export function readZip(bytes: Uint8Array): Archive {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const files = new Map<string, Uint8Array>();
  const end = endOf(buffer);
  const count = buffer.readUInt16LE(end + 10);
  let at = buffer.readUInt32LE(end + 16);
  let room = MAX_BYTES;
  for (let place = 0; place < count; place++) {
    if (at + 46 > buffer.length || buffer.readUInt32LE(at) !== ENTRY)
      throw new ArchiveFault("its directory is damaged");
    const [method, check] = [buffer.readUInt16LE(at + 10), buffer.readUInt32LE(at + 16)];
    const [packed, size] = [buffer.readUInt32LE(at + 20), buffer.readUInt32LE(at + 24)];
    const length = (offset: number): number => buffer.readUInt16LE(at + offset);
    const name = buffer.toString("utf8", at + 46, at + 46 + length(28));
    const local = buffer.readUInt32LE(at + 42);
    at += 46 + length(28) + length(30) + length(32);
    if (name.endsWith("/")) continue;
    if (files.has(name)) throw new ArchiveFault(`${JSON.stringify(name)} is there twice`);
    room -= size;
    if (room < 0) throw new ArchiveFault(`its files are longer than ${MAX_BYTES} bytes`);
    files.set(name, unpacked(buffer, local, { name, method, packed, size, check }));
  }
  return files;
}

/** A zip of files, in the order given. */
export function writeZip(files: Archive): Uint8Array {
  const pieces: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let at = 0;
  for (const [name, content] of files) {
    const [title, data] = [Buffer.from(name, "utf8"), deflateRawSync(content)];
    const flags = words(20, UTF8_NAMES, 8, NO_TIME.time, NO_TIME.date);
    const common = [flags, longs(crc32(content), data.length, content.length), words(title.length, 0)];
    const local = [longs(LOCAL), ...common, title, data];
    pieces.push(...local);
    directory.push(longs(ENTRY), words(20), ...common, words(0, 0, 0), longs(0, at), title);
    at += lengthOf(local);
  }
  const counts = words(0, 0, files.size, files.size);
  const end = [longs(END), counts, longs(lengthOf(directory), at), words(0)];
  return Buffer.concat([...pieces, ...directory, ...end]);
}

function words(...numbers: readonly number[]): Buffer {
  const bytes = Buffer.alloc(2 * numbers.length);
  for (const [place, number] of numbers.entries()) bytes.writeUInt16LE(number, 2 * place);
  return bytes;
}

function longs(...numbers: readonly number[]): Buffer {
  return words(...numbers.flatMap((number) => [number % 0x10000, Math.floor(number / 0x10000)]));
}

function lengthOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}

function endOf(buffer: Buffer): number {
  for (let at = buffer.length - 22; at >= Math.max(0, buffer.length - 22 - 0xffff); at--)
    if (buffer.readUInt32LE(at) === END) {
      if (buffer.readUInt32LE(at + 16) === 0xffffffff)
        throw new ArchiveFault("it is a ZIP64 archive, which is not read");
      return at;
    }
  throw new ArchiveFault("it has no directory: it is cut off, or no zip");
}

type Packed = {
  readonly name: string;
  readonly method: number;
  readonly packed: number;
  readonly size: number;
  readonly check: number;
};

function unpacked(buffer: Buffer, local: number, { name, method, packed, size, check }: Packed): Uint8Array {
  const shown = JSON.stringify(name.slice(0, 100));
  if (local + 30 > buffer.length || buffer.readUInt32LE(local) !== LOCAL)
    throw new ArchiveFault(`${shown} is not where its directory says`);
  const from = local + 30 + buffer.readUInt16LE(local + 26) + buffer.readUInt16LE(local + 28);
  const data = buffer.subarray(from, from + packed);
  if (data.length !== packed) throw new ArchiveFault(`${shown} is cut off`);
  if (method !== 0 && method !== 8)
    throw new ArchiveFault(`${shown} is compressed in a way that is not read (${method})`);
  let content: Uint8Array;
  try {
    content = method === 0 ? data : inflateRawSync(data, { maxOutputLength: Math.max(1, size) });
  } catch {
    throw new ArchiveFault(`${shown} cannot be unpacked`);
  }
  if (content.length !== size || crc32(content) !== check) throw new ArchiveFault(`${shown} is damaged`);
  return content;
}
