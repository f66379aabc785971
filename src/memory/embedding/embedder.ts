import { readableError, thrownMessage } from "../../session/index.js";
import { defined, showValue } from "../../util/index.js";
import { staticEmbedding } from "./reading.js";
import { EmbeddingError } from "./table.js";

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

/** Everything that can be used as an embedder. */
export type Embedding = Embedder | EmbeddingFunction | EmbeddingModel;

/** The given embedder (object, named function, AI SDK model) or the default. Vectors get length 1. */
export function embedderOf(given?: Embedding): Embedder {
  if (given === undefined) return staticEmbedding();
  if (typeof given === "function") {
    if (given.name === "")
      throw new EmbeddingError("a function", "it has no name, and its vectors are known by it", NAMED);
    return checked(given.name, 0, given);
  }
  if (typeof given === "object" && given !== null) {
    if ("doEmbed" in given && typeof given.doEmbed === "function")
      return checked(nameOf(given), 0, embeddedBy(given));
    const { name, dimensions, embed } = given as Partial<Embedder>;
    if (typeof embed === "function") {
      if (typeof name !== "string" || name === "")
        throw new EmbeddingError("an embedder", "it has no name", NAMED);
      if (!Number.isSafeInteger(dimensions) || (dimensions as number) < 0)
        throw new EmbeddingError(`"${name}"`, "`dimensions` must be a whole number", "dimensions: 384");
      return checked(name, dimensions as number, (texts, signal) => (given as Embedder).embed(texts, signal));
    }
  }
  throw new EmbeddingError(
    showValue(given),
    "it must be an embedder, a named function or an embedding model",
    "embedderOf(openai.textEmbeddingModel(name))",
  );
}

const NAMED = 'give it a name: { name: "mine-1", dimensions: 384, embed: async (texts) => vectors }';

/** A checked embedder: a value that is not a vector, or has another length, is an error. */
export function checked(name: string, declared: number, embed: EmbeddingFunction): Embedder {
  let dimensions = declared;
  return {
    name,
    get dimensions() {
      return dimensions;
    },
    async embed(texts, signal) {
      if (texts.length === 0) return [];
      signal?.throwIfAborted();
      const vectors = await answered(name, texts, embed, signal);
      const fault = faultOf(vectors, texts.length, dimensions);
      if (fault !== undefined) throw new EmbeddingError(`"${name}"`, fault, HINT);
      dimensions = (vectors[0] as Numbers).length;
      return vectors.map(unitOf);
    },
  };
}

const HINT = "give an embedding that answers with one vector of the same length for each text";

/** Stops waiting when the signal aborts, also for an embedder that ignores the signal. */
async function answered(
  name: string,
  texts: readonly string[],
  embed: EmbeddingFunction,
  signal: AbortSignal | undefined,
): Promise<readonly Numbers[]> {
  let aborted = () => {};
  const abortion = new Promise<never>((_, reject) => {
    aborted = () => reject(signal?.reason);
    signal?.addEventListener("abort", aborted, { once: true });
  });
  try {
    return await Promise.race([Promise.resolve(texts).then((all) => embed(all, signal)), abortion]);
  } catch (thrown) {
    if (signal?.aborted) throw signal.reason;
    const error = readableError(thrown);
    if (error instanceof EmbeddingError) throw error;
    const reason = thrownMessage(error).replace(/\.$/, "");
    throw new EmbeddingError(`"${name}"`, `it failed: ${reason}`, "see the cause, and try again", error);
  } finally {
    signal?.removeEventListener("abort", aborted);
  }
}

/** The fault of an answer. A length of 0 is not yet known. */
function faultOf(vectors: unknown, count: number, length: number): string | undefined {
  if (!Array.isArray(vectors)) return "it answered with no list";
  if (vectors.length !== count) return `it gave ${vectors.length} vectors for ${count} texts`;
  let expected = length;
  for (const [place, vector] of vectors.entries()) {
    if (!isNumbers(vector)) return `its vector of text ${place} is not a list of numbers`;
    expected ||= vector.length;
    if (vector.length !== expected || expected === 0)
      return `its vector of text ${place} has ${vector.length} numbers instead of ${expected || "some"}`;
    for (let at = 0; at < vector.length; at++)
      if (!Number.isFinite(vector[at]) || Math.abs(vector[at] as number) > LARGEST)
        return `the vector of text ${place} has a ${String(vector[at])} in it`;
  }
  return undefined;
}

// Its square still has room for the squares of the others.
const LARGEST = 1e150;

function isNumbers(vector: unknown): vector is Numbers {
  return Array.isArray(vector) || vector instanceof Float32Array || vector instanceof Float64Array;
}

/** Of length 1; one that is so already stays bit by bit as it is, and one of nothing but zeros as well. */
function unitOf(vector: Numbers): Float32Array {
  let square = 0;
  for (let at = 0; at < vector.length; at++) square += (vector[at] as number) ** 2;
  const length = square === 0 || Math.abs(square - 1) < 1e-6 ? 1 : Math.sqrt(square);
  return Float32Array.from(vector, (value) => value / length);
}

/** An embedding model of the AI SDK, of any version, as far as it is used here. */
export interface EmbeddingModel {
  readonly modelId: string;
  readonly provider?: string;
  readonly maxEmbeddingsPerCall?: number | undefined | PromiseLike<number | undefined>;
  doEmbed(options: {
    values: string[];
    abortSignal?: AbortSignal;
  }): PromiseLike<{ readonly embeddings: readonly (readonly number[])[] }>;
}

/** A model of the same id may be another one elsewhere. */
export function nameOf({ provider, modelId }: EmbeddingModel): string {
  return provider === undefined ? modelId : `${provider}/${modelId}`;
}

/** As many calls as the model needs, one after another: who limits how much is in one call limits the calls too. */
export function embeddedBy(model: EmbeddingModel): EmbeddingFunction {
  return async (texts, signal) => {
    const limit = await model.maxEmbeddingsPerCall;
    const most = limit !== undefined && limit >= 1 ? Math.floor(limit) : texts.length;
    const all: Numbers[] = [];
    for (let from = 0; from < texts.length; from += most) {
      signal?.throwIfAborted();
      const values = texts.slice(from, from + most);
      const { embeddings } = await model.doEmbed({ values, ...defined({ abortSignal: signal }) });
      // A call that answers for fewer or more would shift all that follow it.
      if (embeddings?.length !== values.length) return [...all, ...(embeddings ?? [])];
      all.push(...embeddings);
    }
    return all;
  };
}
