import { BLOCK, checksumOf, FIELDS, paddingOf, type TarEntry, writeRecord } from "./tar.js";

/** What an archive ends with. */
export const TAR_END: Uint8Array = new Uint8Array(2 * BLOCK);

export type WrittenEntry = TarEntry & {
  /** Seconds since 1970. */
  readonly mtime: number;
};

/**
 * The header of an entry, with an extended one before it where a name is too long or a number too large for ustar. Its
 * body and `fillOf(size)` follow.
 */
export function tarHeader(entry: WrittenEntry): Buffer {
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
  const about = block("x", {
    name: Buffer.from("extended"),
    target: Buffer.alloc(0),
    mode: 0o644,
    uid: 0,
    gid: 0,
    size: body.length,
    mtime,
  });
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
