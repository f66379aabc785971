import { type Digest, type FactId, isDigest, type Json, RathError } from "../../session/index.js";

/** A bundle that cannot be written, or cannot be relied on. */
export class BundleError extends RathError {
  constructor(message: string, hint: string, data: { [key: string]: Json } = {}) {
    super("bundle-refused", message, { hint, data });
  }
}

/** The version of the format of bundles, the first thing in every bundle. */
export const BUNDLE_FORMAT = 1;

/**
 * A bundle is one JSON document in fixed lines, one for each section and record line. The digest is the
 * seal's, and the seal has those of the sections, so every byte is covered.
 */
export const FRAME = {
  first: `{"bundle":${BUNDLE_FORMAT},`,
  about: '"about":',
  lines: '"lines":[',
  end: "],",
  view: '"view":',
  keys: '"keys":',
  seal: '"seal":',
  digest: '"digest":',
  signatures: '"signatures":',
} as const;

/** The sections behind the record, in order. */
export const BEHIND = ["view", "keys", "seal", "digest", "signatures"] as const;
export type Behind = (typeof BEHIND)[number];

/** The summary of a bundle. */
export type Seal = {
  readonly facts: number;
  readonly blobs: number;
  readonly erased: number;
  /** The root of the Merkle tree (RFC 6962) over the ids of the facts, in their order. */
  readonly root: Digest;
  /** The sessions that the bundle is of. */
  readonly heads: readonly FactId[];
  /** SHA-256 of each section's text; of `lines` that of the record as a file of lines. */
  readonly sections: { readonly [section in "about" | "lines" | "view" | "keys"]: Digest };
  /** The first 8 hex digits of the SHA-256 of each line of the record, one after the other: they tell which line was altered. */
  readonly sums: string;
};

export const SUM = 8;

/** The signed text: the digest of the seal, and so everything. */
export function signedText(digest: Digest): string {
  return `openrath bundle\n${digest}\n`;
}

/** Reads the text of a seal in its one normal form; undefined if it is not one. */
export function readSeal(text: string): Seal | undefined {
  let value: Seal;
  try {
    value = JSON.parse(text) as Seal;
    const { facts, blobs, erased, root, heads, sections, sums } = value;
    const { about, lines, view, keys } = sections;
    const known: Seal = { facts, blobs, erased, root, heads, sections: { about, lines, view, keys }, sums };
    if (JSON.stringify(known) !== text) return undefined;
  } catch {
    return undefined;
  }
  const { facts, blobs, erased, root, heads, sections, sums } = value;
  const isFit =
    [facts, blobs, erased].every((count) => Number.isSafeInteger(count) && count >= 0) &&
    [root, ...Object.values(sections)].every(isDigest) &&
    Array.isArray(heads) &&
    heads.length > 0 &&
    heads.every(isDigest) &&
    typeof sums === "string" &&
    sums.length % SUM === 0;
  return isFit ? value : undefined;
}
