import { compatible, type LanguageModel } from "../../agent/model/index.js";

type Environment = { readonly [name: string]: string | undefined };

/** A model that the environment names: where it answers, and what it is called. Its key is not part of it. */
export type Endpoint = { readonly url: string; readonly model: string };

/** What such a run may spend. */
export const BUDGET = { steps: 80, tokens: 600_000, milliseconds: 900_000 } as const;

const OPENAI = "https://api.openai.com/v1";
const MODEL = "gpt-5-mini";

/**
 * The endpoint that the environment names, if any: RATH_BASE_URL and RATH_MODEL, or OPENAI_BASE_URL, OPENAI_MODEL and
 * OPENAI_API_KEY as others know them. A key alone means the one that keys are usually for.
 */
export function endpointOf(environment: Environment): Endpoint | undefined {
  const url = environment.RATH_BASE_URL || environment.OPENAI_BASE_URL;
  if (!url && !keyOf(environment)) return undefined;
  return { url: url || OPENAI, model: environment.RATH_MODEL || environment.OPENAI_MODEL || MODEL };
}

export function keyOf(environment: Environment): string | undefined {
  return environment.RATH_API_KEY || environment.OPENAI_API_KEY || undefined;
}

/** The model behind an endpoint. */
export function modelAt({ url, model }: Endpoint, environment: Environment): Promise<LanguageModel> {
  const key = keyOf(environment);
  return compatible({ url, model, ...(key !== undefined && { key }) });
}
