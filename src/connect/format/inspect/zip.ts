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
    const lengths = [28, 30, 32].map((offset) => buffer.readUInt16LE(at + offset)) as [
      number,
      number,
      number,
    ];
    const name = buffer.toString("utf8", at + 46, at + 46 + lengths[0]);
    const local = buffer.readUInt32LE(at + 42);
    at += 46 + lengths[0] + lengths[1] + lengths[2];
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
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(UTF8_NAMES, 2);
    common.writeUInt16LE(8, 4);
    common.writeUInt16LE(NO_TIME.time, 6);
    common.writeUInt16LE(NO_TIME.date, 8);
    common.writeUInt32LE(crc32(content), 10);
    common.writeUInt32LE(data.length, 14);
    common.writeUInt32LE(content.length, 18);
    common.writeUInt16LE(title.length, 22);
    const mark = Buffer.alloc(4);
    mark.writeUInt32LE(LOCAL);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(ENTRY);
    entry.writeUInt16LE(20, 4);
    common.copy(entry, 6);
    entry.writeUInt32LE(at, 42);
    pieces.push(mark, common, title, data);
    directory.push(entry, title);
    at += mark.length + common.length + title.length + data.length;
  }
  const size = directory.reduce((sum, { length }) => sum + length, 0);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(END);
  end.writeUInt16LE(files.size, 8);
  end.writeUInt16LE(files.size, 10);
  end.writeUInt32LE(size, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...pieces, ...directory, end]);
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
