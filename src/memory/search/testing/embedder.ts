import type { Embedder } from "../../embedding/embedder.js";
import { wordsOf } from "../tokens.js";

/** An embedder that knows only words: texts with the same words have the same vector, with others another one. */
export function hashingEmbedder(name = "hashing-1", dimensions = 64): Embedder & { embedded: number } {
  return {
    name,
    dimensions,
    embedded: 0,
    embed(texts) {
      this.embedded += texts.length;
      return texts.map((text) => {
        const vector = new Float32Array(dimensions);
        for (const word of wordsOf(text)) {
          let hash = 7;
          for (const character of word) hash = (Math.imul(hash, 31) + (character.codePointAt(0) ?? 0)) | 0;
          for (let at = 0; at < dimensions; at++) {
            hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) + at;
            vector[at] = (vector[at] as number) + ((hash >>> 8) & 0xff) - 127.5;
          }
        }
        return vector;
      });
    },
  };
}
