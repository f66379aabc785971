import { createHash, createHmac, hash } from "node:crypto";
import { parseJson } from "../util/index.js";
import type { Digest } from "./fact/index.js";
import type { Json } from "./json.js";

/** Content kept outside its line: the line holds this, and so the id covers every byte of the content. */
export type BlobRef = {
  readonly digest: Digest;
  readonly size: number;
  readonly media: "text/plain" | "application/json";
  /** How many leading bytes are salt: without them nobody can test a guess against the digest after an erasure. */
  readonly salt?: number;
};

/** Content that the record names but that is not there: erased by someone, not brought along, or not what its line says. */
export class Withheld {
  readonly reason: "erased" | "missing" | "unfit";
  readonly digest: Digest;
  readonly size: number;

  constructor(reason: Withheld["reason"], ref: BlobRef) {
    this.reason = reason;
    this.digest = ref.digest;
    this.size = ref.size;
    Object.freeze(this);
  }

  toJSON(): Json {
    return { withheld: this.reason, digest: this.digest, size: this.size };
  }
}

/** Where the bytes of blobs are looked up. Synchronous, because the loaded past is. */
export interface BlobSource {
  /** The bytes; "erased" when someone erased them; undefined when they were never here. */
  read(digest: Digest): Uint8Array | "erased" | undefined;
}

const SALT_BYTES = 32;

/**
 * The blob that stands for a piece of content. With a secret the blob starts with a salt derived from it:
 * the same content gives the same blob while the secret lives (a replay finds it), and cannot be guessed
 * from the digest once blob and secret are erased.
 */
export function blobOf(content: Json, secret: Uint8Array | undefined): { ref: BlobRef; bytes: Uint8Array } {
  // UTF-8 has no lone surrogates; such text goes as JSON, whose escapes keep it exactly.
  const plain = typeof content === "string" && content.isWellFormed();
  const media = plain ? "text/plain" : "application/json";
  const text = plain ? content : JSON.stringify(content);
  if (secret === undefined) {
    const body = Buffer.from(text, "utf8");
    return { ref: { digest: digestOf(body), size: body.length, media }, bytes: body };
  }
  const bytes = salted(text, media, secret);
  return { ref: { digest: digestOf(bytes), size: bytes.length, media, salt: SALT_BYTES }, bytes };
}

const HASHED_AT_ONCE = 64;
const pads = new WeakMap<Uint8Array, { readonly inner: Buffer; readonly outer: Buffer }>();

/**
 * The text behind its salt: HMAC-SHA-256, under the secret, of the media type, a NUL and the text. Every message of a person
 * needs one, and Node's `createHmac` takes several times as long as the two digests that an HMAC is made of.
 */
function salted(text: string, media: BlobRef["media"], secret: Uint8Array): Buffer {
  let pad = pads.get(secret);
  if (pad === undefined) {
    pad = { inner: padOf(secret, 0x36), outer: padOf(secret, 0x5c) };
    pads.set(secret, pad);
  }
  const from = HASHED_AT_ONCE + media.length + 1;
  const bytes = Buffer.allocUnsafe(from + Buffer.byteLength(text, "utf8"));
  pad.inner.copy(bytes);
  bytes.write(`${media}\0`, HASHED_AT_ONCE, "latin1");
  bytes.write(text, from, "utf8");
  const outer = Buffer.concat([pad.outer, hash("sha256", bytes, "buffer")]);
  // The salt takes the place of what stood before the text: the bytes are not copied again.
  hash("sha256", outer, "buffer").copy(bytes, from - SALT_BYTES);
  return bytes.subarray(from - SALT_BYTES);
}

function padOf(secret: Uint8Array, pad: number): Buffer {
  const key = Buffer.alloc(HASHED_AT_ONCE);
  key.set(secret.length > HASHED_AT_ONCE ? hash("sha256", secret, "buffer") : secret);
  return key.map((byte) => byte ^ pad) as Buffer;
}

/** The content a blob stands for, or undefined when it should hold JSON and does not. */
export function contentOf(ref: BlobRef, bytes: Uint8Array): Json | undefined {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8", ref.salt ?? 0);
  return ref.media === "text/plain" ? text : (parseJson(text) as Json | undefined);
}

/**
 * The secret of a session that is made from a file, so that the same file is the same ids. It comes from all bytes, and not
 * from their digest, which is on the record: after an erasure nobody can test a guess of some words without the rest of the file.
 */
export function secretFrom(file: Uint8Array | string, name: string): Uint8Array {
  const whole = createHash("sha256").update("openrath import\0").update(file).digest();
  return createHmac("sha256", whole).update(name).digest();
}

/** Whether a value is a SHA-256 in hex: the id of a fact, or the name of a blob. */
export function isDigest(value: unknown): value is Digest {
  return typeof value === "string" && HEX64.test(value);
}

const HEX64 = /^[0-9a-f]{64}$/;

/** SHA-256 in hex: the name of a line or a blob. */
export function digestOf(bytes: Uint8Array | string): Digest {
  return hash("sha256", bytes, "hex");
}
