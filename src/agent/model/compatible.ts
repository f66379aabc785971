import { MissingPackageError } from "./error.js";
import type { LanguageModel } from "./model.js";

export type CompatibleOptions = {
  /** Where the API is, up to and with its version: `http://localhost:11434/v1`. */
  readonly url: string;
  readonly model: string;
  readonly key?: string;
  /** The provider's name in records. */
  readonly name?: string;
};

/** A model behind OpenAI's chat API (Ollama, vLLM, llama.cpp), by the AI SDK client that you install. */
export async function compatible({
  url,
  model,
  key,
  name = "compatible",
}: CompatibleOptions): Promise<LanguageModel> {
  const { createOpenAICompatible } = await optionalPackage(
    "@ai-sdk/openai-compatible",
    "an OpenAI-compatible endpoint",
    () => import("@ai-sdk/openai-compatible"),
  );
  const provider = createOpenAICompatible({
    baseURL: url,
    name,
    includeUsage: true,
    supportsStructuredOutputs: true,
    ...(key !== undefined && { apiKey: key }),
  });
  return provider.chatModel(model);
}

/** Loads a package that users install themselves. When it is missing, the error names it and its use. */
export async function optionalPackage<Module>(
  name: string,
  use: string,
  load: () => Promise<Module>,
): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    if (!isMissing(error) && !isMissing((error as { cause?: unknown } | null)?.cause)) throw error;
    throw new MissingPackageError(name, use, error);
  }
}

function isMissing(error: unknown): boolean {
  return /MODULE_NOT_FOUND$/.test(String((error as { code?: unknown } | undefined)?.code));
}
