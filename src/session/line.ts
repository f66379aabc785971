import { isObject, isSize } from "../util/index.js";
import { type BlobRef, type BlobSource, blobOf, contentOf, isDigest, Withheld } from "./blob.js";
import { RecordError } from "./error.js";
import type { Digest, Fact, FactId } from "./fact/index.js";
import { flawOf, isBulky, isContent, isFit, isPersonal, mayBePersonal } from "./fact/index.js";
import { frozen, type Json, MAX_DEPTH } from "./json.js";

/** The version of the line format, the first thing in every line. */
export const FORMAT = 1;
/** Content longer than this many bytes is kept in a blob. */
export const INLINE_BYTES = 4096;

/**
 * How content is kept: up to `inline` bytes in the line. With a secret, personal content is kept in salted blobs however
 * short it is; with `inline` 0, all content is.
 */
export type Keeping = { readonly inline: number; readonly secret?: Uint8Array };

type Fields = { readonly [field: string]: Json };
export type Refs = { readonly [field: string]: BlobRef };

/**
 * The record line of a fact: `{"rath":1,"parents":[…],"blobs":{…},"fact":{…}}`, without `blobs` when there are
 * none. It is made once; its bytes are what is hashed, stored and exported.
 */
export function writeLine(parents: readonly FactId[], fact: Fact, keeping: Keeping): string {
  const head = `{"rath":${FORMAT},"parents":[${parents.length === 0 ? "" : `"${parents.join('","')}"`}]`;
  const fields = fact as unknown as Fields;
  if (keeping.inline > 0 && (keeping.secret === undefined || !mayBePersonal(fields))) {
    const body = JSON.stringify(fact);
    // A character takes at most three bytes, so a short line cannot hold a long field.
    if (body.length * 3 <= keeping.inline) return `${head},"fact":${body}}`;
  }
  const refs = outOfLine(fields, keeping);
  if (refs === undefined) return `${head},"fact":${JSON.stringify(fact)}}`;
  const inline = Object.fromEntries(Object.entries(fact).filter(([field]) => !Object.hasOwn(refs, field)));
  return `${head},"blobs":${JSON.stringify(refs)},"fact":${JSON.stringify(inline)}}`;
}

/**
 * The blobs of a line, made again from the content so that nothing is held twice, or looked up where the
 * salt is not at hand. Content that is withheld has none.
 */
export function* blobsOf(
  line: string,
  fact: Fact,
  secret: Uint8Array | undefined,
  source: BlobSource | undefined,
): Iterable<{ ref: BlobRef; bytes: Uint8Array }> {
  for (const [field, ref] of Object.entries(refsOf(line))) {
    const value = (fact as unknown as { readonly [field: string]: Json | Withheld })[field] as
      | Json
      | Withheld;
    if (value instanceof Withheld) continue;
    const made = blobOf(value, ref.salt === undefined ? undefined : secret);
    if (made.ref.digest === ref.digest) yield { ref, bytes: made.bytes };
    else {
      const bytes = source?.read(ref.digest);
      if (bytes instanceof Uint8Array) yield { ref, bytes };
    }
  }
}

function outOfLine(fact: Fields, keeping: Keeping): Refs | undefined {
  let refs: { [field: string]: BlobRef } | undefined;
  const { inline, secret } = keeping;
  for (const [field, value] of Object.entries(fact)) {
    const personal = secret !== undefined && isPersonal(fact, field);
    if (!personal && !goesOut(fact.type as string, field, value, keeping)) continue;
    refs ??= Object.create(null) as { [field: string]: BlobRef };
    // Other long content, such as instructions and tools, has no salt: the same bytes are one blob in all sessions.
    refs[field] = blobOf(value, personal || inline === 0 ? secret : undefined).ref;
  }
  return refs;
}

function goesOut(type: string, field: string, value: Json, keeping: Keeping): boolean {
  const content = isContent(type, field);
  if (content && keeping.inline === 0) return true;
  // Structure stays in the line, where views find it whatever is erased; only long lists and data do not.
  if (!content && !isBulky(type, field)) return false;
  const limit = content ? keeping.inline : Math.max(keeping.inline, INLINE_BYTES);
  if (typeof value === "string") return value.length * 3 > limit && Buffer.byteLength(value, "utf8") > limit;
  if (typeof value !== "object" || value === null) return false;
  return Buffer.byteLength(JSON.stringify(value), "utf8") > limit;
}

/** The ids of a line's parents, without reading the rest. */
export function parentsOf(line: string): readonly FactId[] {
  const from = line.indexOf("[") + 1;
  const list = line.slice(from, line.indexOf("]", from));
  return list === "" ? [] : list.slice(1, -1).split('","');
}

const BEGINNING = '"fact":{"type":"';

/** The type of a line's fact, read off its beginning where it stands there: a million lines are not parsed for it. */
export function typeOf(line: string): string {
  // Parents are hex, so the first bracket that closes ends their list.
  const at = line.indexOf("]") + 2;
  if (line.startsWith(BEGINNING, at)) {
    const from = at + BEGINNING.length;
    const type = line.slice(from, line.indexOf('"', from));
    if (!type.includes("\\")) return type;
  }
  return (JSON.parse(line) as { readonly fact: { readonly type: string } }).fact.type;
}

/** The blobs that a line refers to, by field. */
export function refsOf(line: string): Refs {
  // Parents are hex, so the first bracket that closes ends their list and what follows is known by its place.
  if (!line.startsWith('"blobs":', line.indexOf("]") + 2)) return {};
  return (JSON.parse(line) as { blobs: Refs }).blobs;
}

/** The digests of the blobs that a line refers to. */
export function digestsOf(line: string): readonly Digest[] {
  return Object.values(refsOf(line)).map((ref) => ref.digest);
}

/** The fact of a line, its content brought back from the blobs; frozen all the way down. */
export function readFact(line: string, source: BlobSource | undefined): Fact {
  const start = line.indexOf("]") + 2;
  const plain = line.startsWith('"fact":', start);
  // Most lines have no blobs; then the fact is all that need be read.
  const { fact, blobs } = (plain ? { fact: JSON.parse(line.slice(start + 7, -1)) } : JSON.parse(line)) as {
    fact: { [field: string]: unknown };
    blobs?: Refs;
  };
  if (blobs !== undefined) {
    for (const [field, ref] of Object.entries(blobs)) {
      const bytes = source?.read(ref.digest);
      const value =
        bytes === undefined
          ? new Withheld("missing", ref)
          : bytes === "erased"
            ? new Withheld("erased", ref)
            : held(fact.type as string, field, ref, bytes);
      // Defined, not assigned: a field may be called "__proto__".
      Object.defineProperty(fact, field, { value, enumerable: true });
    }
  }
  return frozen(fact) as unknown as Fact;
}

/** The content of a blob, or a note that it is not what its line says: views must go on with any record. */
function held(type: string, field: string, ref: BlobRef, bytes: Uint8Array): Json | Withheld {
  const content = contentOf(ref, bytes);
  return content === undefined || !isFit(type, field, content) ? new Withheld("unfit", ref) : content;
}

/**
 * Throws a `RecordError` unless a line from outside is a record line in its one normal form. Two readers
 * must never see two different facts in one line, so duplicate keys, other spellings of a number or a
 * character, and blanks are refused: the text must be what JSON.stringify makes of its own parse.
 */
export function checkLine(line: string): void {
  let value: unknown;
  try {
    value = JSON.parse(line);
    if (JSON.stringify(value) !== line)
      throw new RecordError("it is not in normal form (JSON.stringify of its own parse)");
  } catch (error) {
    if (error instanceof RecordError) throw error;
    throw new RecordError(error instanceof RangeError ? "it is nested too deeply" : "it is not JSON");
  }
  if (!isObject(value)) throw new RecordError("it is not an object");
  if (isTooDeep(line, value)) throw new RecordError(`it is nested deeper than ${MAX_DEPTH} levels`);
  if (typeof value.rath !== "number") throw new RecordError('it does not start with "rath"');
  if (value.rath > FORMAT)
    throw new RecordError(
      `its format is ${value.rath}, newer than ${FORMAT}`,
      { format: value.rath },
      "install a newer version of openrath to read it",
    );
  const keys = Object.keys(value).join(",");
  if (value.rath !== FORMAT || (keys !== "rath,parents,fact" && keys !== "rath,parents,blobs,fact")) {
    throw new RecordError("its fields are not rath, parents, blobs and fact, in this order");
  }
  const { parents, fact, blobs = {} } = value;
  if (!Array.isArray(parents) || !parents.every(isDigest) || new Set(parents).size !== parents.length) {
    throw new RecordError("its parents are not a list of different ids");
  }
  if (
    !isObject(fact) ||
    typeof fact.type !== "string" ||
    typeof fact.at !== "string" ||
    typeof fact.by !== "string"
  ) {
    throw new RecordError("its fact does not say type, at and by");
  }
  if (!isObject(blobs) || (value.blobs !== undefined && Object.keys(blobs).length === 0))
    throw new RecordError("its blobs are not named by field");
  for (const [field, ref] of Object.entries(blobs)) {
    if (!isRef(ref) || Object.hasOwn(fact, field))
      throw new RecordError(`its blob "${field}" is not described properly`, { field });
    // Views are made of structure, so they must find it in the line.
    if (!isContent(fact.type, field) && !isBulky(fact.type, field))
      throw new RecordError(`its "${field}" is in a blob and must be in the line`, { field });
  }
  const flaw = flawOf(fact, blobs);
  if (flaw !== undefined)
    throw new RecordError(`its ${fact.type} has no proper "${flaw}"`, { type: fact.type, field: flaw });
  if (fact.type === "branch-merge") checkMerge(parents.length, fact.adopt);
  if (parents.length > 0 && (fact.type === "session-start" || fact.type === "session-detach"))
    throw new RecordError(`its ${fact.type} is not at a root`, { type: fact.type });
}

function checkMerge(sides: number, adopt: unknown): void {
  if (sides < 2) throw new RecordError("its branch-merge has fewer than two parents");
  if ((adopt === "theirs" && sides !== 2) || (typeof adopt === "number" && adopt >= sides))
    throw new RecordError("its branch-merge adopts a side that is not there", { field: "adopt" });
}

function isRef(ref: unknown): boolean {
  if (!isObject(ref) || !isDigest(ref.digest)) return false;
  const { size, media, salt = 0 } = ref;
  if (!isSize(size) || !isSize(salt) || size < salt) return false;
  return media === "text/plain" || media === "application/json";
}

/** Deeper lines cannot come from here, and other languages' readers could not follow them. */
function isTooDeep(line: string, value: unknown): boolean {
  const limit = MAX_DEPTH + 1; // the fact lies one level down in its line
  if (line.length < 2 * limit) return false;
  let level: object[] = [value as object];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > limit) return true;
    const below: object[] = [];
    for (const one of level)
      for (const part of Object.values(one)) if (typeof part === "object" && part !== null) below.push(part);
    level = below;
  }
  return false;
}
