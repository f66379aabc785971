import { textOf } from "../../agent/model/index.js";
import type { Session } from "../../session/index.js";
import { optionNames, showValue } from "../../util/index.js";
import { refusing, requireFunction, requireOptions } from "../../workflow/index.js";
import type { Decider, Route } from "./choice.js";

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
  /** What is compared. Default: what the user said last. */
  readonly query?: (session: Session) => string;
};

/** The route that is described, or asked for in the examples, by what comes nearest to what was said last. */
export function bySimilarity(options: BySimilarityOptions): Decider {
  const refuse = refusing("a choice by similarity");
  requireOptions(options, refuse, "bySimilarity({ embed: async (texts) => vectors })", OPTIONS);
  const { embed, threshold = 0, examples = {}, query = saidLast } = options;
  if (typeof (embed as EmbeddingModel)?.doEmbed !== "function")
    requireFunction(embed, "embed", refuse, "embed: async (texts) => vectors, or an embedding model");
  if (!(threshold >= -1 && threshold <= 1))
    throw refuse(`its \`threshold\` is ${showValue(threshold)}`, "a number from -1 to 1");
  requireFunction(query, "query", refuse, "query: (session) => the text to compare");
  return {
    name: "similarity",
    async decide(session, routes, { signal }) {
      const text = query(session);
      if (text.trim() === "") return { chosen: null, why: "nothing was said" };
      const known = routes.map((route) => textsOf(route, examples));
      const vectors = await vectorsOf(embed, [text, ...known.flat()], signal);
      const [asked, ...others] = vectors as [readonly number[], ...(readonly number[])[]];
      const scores: { [route: string]: number } = {};
      let place = 0;
      for (const [index, { name }] of routes.entries()) {
        const own = (known[index] as readonly string[]).map(() =>
          cosine(asked, others[place++] as readonly number[]),
        );
        scores[name] = Math.max(...own);
      }
      const [best] = Object.entries(scores).sort(([, one], [, other]) => other - one);
      if (best === undefined || best[1] < threshold)
        return { chosen: null, scores, why: `nothing comes nearer than ${threshold}` };
      return { chosen: best[0], scores };
    },
  };
}

const OPTIONS = optionNames<BySimilarityOptions>()("embed threshold examples query");

function saidLast(session: Session): string {
  const last = session.transcript.findLast(({ role }) => role === "user");
  return last?.role === "user" ? textOf(last.content) : "";
}

function textsOf(
  { name, description }: Route,
  examples: { readonly [route: string]: readonly string[] },
): readonly string[] {
  return [description ?? name, ...(Object.hasOwn(examples, name) ? (examples[name] ?? []) : [])];
}

async function vectorsOf(
  embed: Embedding,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<readonly (readonly number[])[]> {
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
): Promise<readonly (readonly number[])[]> {
  const most = (await model.maxEmbeddingsPerCall) ?? texts.length;
  const all: (readonly number[])[] = [];
  for (let from = 0; from < texts.length; from += most) {
    const { embeddings } = await model.doEmbed({
      values: texts.slice(from, from + most),
      abortSignal: signal,
    });
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
