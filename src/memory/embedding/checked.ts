import { readableError, thrownMessage } from "../../session/index.js";
import type { Embedder, EmbeddingFunction, Numbers } from "./embedder.js";
import { EmbeddingError } from "./error.js";

/** An embedder of whatever answers for it: what is no vector, or not as long as the others, is an error and no result. */
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

/** Whoever was asked may not listen to the signal: then nobody waits for the answer. */
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

/** What is wrong with an answer. A length of 0 is not yet known. */
function faultOf(vectors: unknown, count: number, length: number): string | undefined {
  if (!Array.isArray(vectors)) return "it answered with no list";
  if (vectors.length !== count) return `it gave ${vectors.length} vectors for ${count} texts`;
  let expected = length;
  for (const [place, vector] of vectors.entries()) {
    if (!isNumbers(vector)) return `what it gave for text ${place} is no list of numbers`;
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
