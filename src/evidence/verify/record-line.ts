import { isUtf8 } from "node:buffer";
import type { BlobRef, Digest, FactId } from "../../session/index.js";
import {
  checkLine,
  digestOf,
  isDigest,
  MAX_DEPTH,
  parentsOf,
  RecordError,
  readFact,
  refsOf,
} from "../../session/index.js";
import { type Erasure, readBlobLine, readErasureLine, treesIn } from "../../store/index.js";

/** The content of one line of a record, checked against everything that can be known from the line alone. */
export type RecordLine =
  | {
      readonly kind: "fact";
      readonly id: FactId;
      readonly type: string;
      readonly text: string;
      readonly parents: readonly FactId[];
      readonly refs: readonly BlobRef[];
      readonly trees: readonly Digest[];
    }
  | {
      readonly kind: "blob";
      readonly digest: Digest;
      readonly size: number;
      /** Its bytes, where they may be a directory, the pieces of a file, or the list of what was erased. */
      readonly text?: Buffer;
      /** How many bytes may be left out at the beginning so that the rest is JSON. */
      readonly json: readonly number[];
    }
  | { readonly kind: "erasure"; readonly erasure: Erasure }
  | { readonly kind: "wrong"; readonly problem: string; readonly id?: FactId };

/** A salt is 32 bytes long, where there is one. */
const SALT = 32;

/** Reads a line. It never throws: what cannot be trusted comes back with what is wrong with it. */
export function readRecordLine(bytes: Buffer): RecordLine {
  if (!isUtf8(bytes)) return { kind: "wrong", problem: "it is not UTF-8" };
  const text = bytes.toString("utf8");
  try {
    if (text.startsWith('{"blob":')) return readBlob(text);
    if (text.startsWith('{"erased":')) return readErasure(text);
    checkLine(text);
    const { type } = readFact(text, undefined);
    const id = digestOf(bytes);
    const refs = Object.values(refsOf(text));
    return { kind: "fact", id, type, text, parents: parentsOf(text), refs, trees: treesIn(text) };
  } catch (error) {
    if (error instanceof RecordError) return { kind: "wrong", problem: String(error.data.reason) };
    if (error instanceof SyntaxError) return { kind: "wrong", problem: "it is not JSON" };
    throw error;
  }
}

function readBlob(text: string): RecordLine {
  const { digest, bytes } = readBlobLine(text);
  const begins = bytes.toString("latin1", 0, 10);
  const isList = begins.startsWith('["') || bytes.toString("latin1", SALT, SALT + 2) === '["';
  const json = [0, SALT].filter((salt) => isJson(bytes, salt));
  const isListing = begins === '{"tree":1,' || isList || begins === "[]";
  return { kind: "blob", digest, size: bytes.length, json, ...(isListing && { text: bytes }) };
}

function readErasure(text: string): RecordLine {
  const erasure = readErasureLine(text);
  if (!isDigest(erasure.fact))
    throw new RecordError("this erasure line does not say erased, fact, by, at and why, in normal form");
  return { kind: "erasure", erasure };
}

/** Whether content is JSON that is nested no deeper than a fact may be. */
function isJson(bytes: Buffer, salt: number): boolean {
  if (bytes.length <= salt || !/^[\s[{"\-0-9tfn]/.test(bytes.toString("latin1", salt, salt + 1)))
    return false;
  let level: unknown[];
  try {
    level = [JSON.parse(bytes.toString("utf8", salt))];
  } catch {
    return false;
  }
  for (let depth = 0; depth <= MAX_DEPTH && level.length > 0; depth++)
    level = level.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []));
  return level.length === 0;
}
