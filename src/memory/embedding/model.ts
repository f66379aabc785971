import type { EmbeddingFunction, Numbers } from "./embedder.js";

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
      const { embeddings } = await model.doEmbed({
        values,
        ...(signal !== undefined && { abortSignal: signal }),
      });
      // A call that answers for fewer or more would shift all that follow it.
      if (embeddings?.length !== values.length) return [...all, ...(embeddings ?? [])];
      all.push(...embeddings);
    }
    return all;
  };
}
