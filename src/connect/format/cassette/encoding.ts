import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate, inflateRaw } from "node:zlib";
import { MAX_BYTES } from "../json.js";
import { textOf } from "../lines.js";

/** A body as text, with the encodings that were undone; or the reason why the text is missing. */
export type Decoded =
  | { readonly text: string; readonly encodings: readonly string[] }
  | { readonly unreadable: string };

const limit = { maxOutputLength: MAX_BYTES };

const decoders: { readonly [encoding: string]: (bytes: Uint8Array) => Promise<Uint8Array> } = {
  gzip: (bytes) => promisify(gunzip)(bytes, limit),
  // Some servers leave out the header that RFC 9110 asks for.
  deflate: (bytes) =>
    promisify(inflate)(bytes, limit).catch(() => promisify(inflateRaw)(bytes, limit) as Promise<Buffer>),
  br: (bytes) => promisify(brotliDecompress)(bytes, limit),
  // Node has Zstandard only since 22.15: with a decoder of its own a file gives the same ids on every version.
  zstd: async (bytes) => {
    const { Decompress } = await import("fzstd");
    const pieces: Uint8Array[] = [];
    let [length, ended] = [0, false];
    const stream = new Decompress((piece, isLast) => {
      length += piece.length;
      if (length > MAX_BYTES) throw new RangeError(`it is longer than ${MAX_BYTES} bytes`);
      pieces.push(piece);
      ended ||= isLast === true;
    });
    stream.push(bytes, true);
    if (!ended) throw new Error("unexpected end of file");
    return Buffer.concat(pieces);
  },
};

/** The text of a body whose headers name these encodings, in the order in which they were applied. */
export async function decoded(bytes: Uint8Array, named: readonly string[]): Promise<Decoded> {
  const known = named.map((name) => (name === "x-gzip" ? "gzip" : name));
  // A recorder may have filtered the header, or undone the encoding and kept the header.
  const encodings = known.length > 0 ? known : sniffed(bytes);
  let plain = bytes;
  for (const encoding of encodings.toReversed()) {
    const decode = Object.hasOwn(decoders, encoding) ? decoders[encoding] : undefined;
    if (decode === undefined)
      return { unreadable: `the encoding ${JSON.stringify(encoding)} is not supported` };
    try {
      plain = await decode(plain);
    } catch {
      const text = plain === bytes ? textOf(bytes) : undefined;
      // The decoder's own words differ between versions of Node, and the ids must not.
      return text === undefined
        ? { unreadable: `it cannot be decoded as ${encoding}` }
        : { text, encodings: [] };
    }
  }
  const text = textOf(plain);
  return text === undefined ? { unreadable: "it is not UTF-8 text" } : { text, encodings };
}

/** The encoding that the first bytes give away. */
function sniffed(bytes: Uint8Array): readonly string[] {
  const [first, second, third, fourth] = bytes;
  if (first === 0x1f && second === 0x8b) return ["gzip"];
  if (first === 0x28 && second === 0xb5 && third === 0x2f && fourth === 0xfd) return ["zstd"];
  return [];
}
