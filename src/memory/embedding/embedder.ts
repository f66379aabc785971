import { checked } from "./checked.js";
import { EmbeddingError } from "./error.js";
import { type EmbeddingModel, embeddedBy, nameOf } from "./model.js";
import { staticEmbedding } from "./static.js";

/** Texts as vectors of length 1, in the order of the texts, so that the product of two is their cosine. */
export interface Embedder {
  /** With its version: vectors of another name are not compared with these. */
  readonly name: string;
  /** Numbers in each vector; 0 while only the model knows, that is before its first answer. */
  readonly dimensions: number;
  embed(
    texts: readonly string[],
    signal?: AbortSignal,
  ): Promise<readonly Float32Array[]> | readonly Float32Array[];
  /** How much of a text it knows, from 0 to 1; where it does not say, all. */
  coverage?(text: string): number;
}

/** The numbers of one text. */
export type Numbers = readonly number[] | Float32Array | Float64Array;

/** A function with a name, which is what its vectors are known by. */
export type EmbeddingFunction = (
  texts: readonly string[],
  signal?: AbortSignal,
) => PromiseLike<readonly Numbers[]> | readonly Numbers[];

/** What can be given where texts are to become vectors. */
export type Embedding = Embedder | EmbeddingFunction | EmbeddingModel;

/**
 * The embedder that is meant: that of `@openrath/embedding` when nothing is given, an embedder, a named function,
 * or an embedding model of the AI SDK. What they answer is checked and brought to length 1.
 */
export function embedderOf(given?: Embedding): Embedder {
  if (given === undefined) return staticEmbedding();
  if (typeof given === "function") {
    if (given.name === "")
      throw refused("a function", "it has no name, and its vectors are known by it", NAMED);
    return checked(given.name, 0, given);
  }
  if (typeof given === "object" && given !== null) {
    if ("doEmbed" in given && typeof given.doEmbed === "function")
      return checked(nameOf(given), 0, embeddedBy(given));
    const { name, dimensions, embed } = given as Partial<Embedder>;
    if (typeof embed === "function") {
      if (typeof name !== "string" || name === "") throw refused("an embedder", "it has no name", NAMED);
      if (!Number.isSafeInteger(dimensions) || (dimensions as number) < 0)
        throw refused(`"${name}"`, "its `dimensions` are no whole number", "dimensions: 384");
      return checked(name, dimensions as number, (texts, signal) => (given as Embedder).embed(texts, signal));
    }
  }
  throw refused(shown(given), "it is no embedding", "embedderOf(openai.textEmbeddingModel(name))");
}

const NAMED = 'give it a name: { name: "mine-1", dimensions: 384, embed: async (texts) => vectors }';

function refused(what: string, reason: string, hint: string): EmbeddingError {
  return new EmbeddingError(what, reason, hint);
}

function shown(given: unknown): string {
  if (typeof given === "string") return JSON.stringify(given.slice(0, 60));
  return typeof given === "object" && given !== null ? "an object" : String(given);
}
