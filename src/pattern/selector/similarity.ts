import { saidLast } from "../../agent/model/index.js";
import type { Session } from "../../session/index.js";
import {
  anything,
  type Checks,
  checkOptions,
  functionLike,
  optional,
  refusing,
  requireFunction,
} from "../../workflow/index.js";
import { type Decider, ranked } from "./choice.js";
import { between } from "./score.js";

/** Texts as vectors, in the order of the texts: a function, or an embedding model of the AI SDK. */
export type Embedding =
  | ((texts: readonly string[], signal: AbortSignal) => Promise<readonly (readonly number[])[]>)
  | EmbeddingModel;

export interface EmbeddingModel {
  readonly modelId: string;
  readonly maxEmbeddingsPerCall?: number | undefined | PromiseLike<number | undefined>;
  doEmbed(options: {
    values: string[];
    abortSignal?: AbortSignal;
  }): PromiseLike<{ readonly embeddings: readonly (readonly number[])[] }>;
}

export type BySimilarityOptions = {
  readonly embed: Embedding;
  /** Cosine that is needed at least, from -1 to 1. Default 0. */
  readonly threshold?: number;
  /** Things that people say who want a route, beside its description. */
  readonly examples?: { readonly [route: string]: readonly string[] };
  /** The text to compare. Default: the user's last words. */
  readonly query?: (session: Session) => string;
};

/** The route that is described, or asked for in the examples, by what comes nearest to what was said last. */
export function bySimilarity(options: BySimilarityOptions): Decider {
  const refuse = refusing("a choice by similarity");
  checkOptions(options, CHECKS, refuse, "bySimilarity({ embed: async (texts) => vectors })");
  const { embed, threshold = 0, examples = {}, query = saidLast } = options;
  return {
    name: "similarity",
    async decide(session, routes, { signal }) {
      const text = query(session);
      if (text.trim() === "") return { chosen: null, why: "nothing was said" };
      const known = routes.map(({ name, description = name }) => [
        description,
        ...(Object.hasOwn(examples, name) ? (examples[name] ?? []) : []),
      ]);
      const vectors = await vectorsOf(embed, [text, ...known.flat()], signal);
      const [asked, ...others] = vectors as [readonly number[], ...(readonly number[])[]];
      const scores: { [route: string]: number } = {};
      for (const [place, { name }] of routes.entries()) {
        const own = others.splice(0, known[place]?.length);
        scores[name] = Math.max(...own.map((other) => cosine(asked, other)));
      }
      const [best] = ranked(scores);
      if (best === undefined || best[1] < threshold)
        return { chosen: null, scores, why: `nothing comes nearer than ${threshold}` };
      return { chosen: best[0], scores };
    },
  };
}

const CHECKS: Checks<BySimilarityOptions> = {
  embed(embed, option, refuse) {
    if (typeof (embed as EmbeddingModel | undefined)?.doEmbed !== "function")
      requireFunction(embed, option, refuse, "embed: async (texts) => vectors, or an embedding model");
  },
  threshold: optional(between(-1, 1)),
  examples: anything,
  query: optional(functionLike("query: (session) => the text to compare")),
};

type Vectors = readonly (readonly number[])[];

async function vectorsOf(embed: Embedding, texts: readonly string[], signal: AbortSignal): Promise<Vectors> {
  const vectors =
    typeof embed === "function" ? await embed(texts, signal) : await modelled(embed, texts, signal);
  const length = vectors[0]?.length ?? 0;
  if (vectors.length !== texts.length || length === 0 || vectors.some((one) => one.length !== length))
    throw new TypeError(`the embedding gave no vector of the same length for each of ${texts.length} texts`);
  return vectors;
}

async function modelled(
  model: EmbeddingModel,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<Vectors> {
  const most = (await model.maxEmbeddingsPerCall) ?? texts.length;
  const all: (readonly number[])[] = [];
  for (let from = 0; from < texts.length; from += most) {
    const values = texts.slice(from, from + most);
    const { embeddings } = await model.doEmbed({ values, abortSignal: signal });
    all.push(...embeddings);
  }
  return all;
}

function cosine(one: readonly number[], other: readonly number[]): number {
  let [dot, first, second] = [0, 0, 0];
  for (const [place, value] of one.entries()) {
    const against = other[place] as number;
    dot += value * against;
    first += value * value;
    second += against * against;
  }
  return first === 0 || second === 0 ? 0 : dot / Math.sqrt(first * second);
}
