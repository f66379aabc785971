import { createHmac, hash } from "node:crypto";
import type { Digest } from "./fact.js";
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
  const body = Buffer.from(plain ? content : JSON.stringify(content), "utf8");
  if (secret === undefined) return { ref: { digest: digestOf(body), size: body.length, media }, bytes: body };
  const salt = createHmac("sha256", secret).update(media).update("\0").update(body).digest();
  const bytes = Buffer.concat([salt, body]);
  return { ref: { digest: digestOf(bytes), size: bytes.length, media, salt: SALT_BYTES }, bytes };
}

/** The content a blob stands for, or undefined when it should hold JSON and does not. */
export function contentOf(ref: BlobRef, bytes: Uint8Array): Json | undefined {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8", ref.salt ?? 0);
  if (ref.media === "text/plain") return text;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** SHA-256 in hex: the name of a line or a blob. */
export function digestOf(bytes: Uint8Array | string): Digest {
  return hash("sha256", bytes, "hex");
}
