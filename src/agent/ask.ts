import { admitted, isStreamed, perform, pricesOf, type Retry, type Spend } from "../runtime/index.js";
import type { FactOf, Failure, Json, Session } from "../session/index.js";
import { defined } from "../util/index.js";
import { ModelFailedError } from "./error.js";
import type { LanguageModel, ModelConfig, Prompt } from "./model/index.js";
import {
  callModel,
  callsOf,
  costOf,
  failureOf,
  messagesFor,
  priceOf,
  renderPrompt,
  turnOf,
} from "./model/index.js";

/** Brings a conversation that outgrew its room back into it. `compress(…)` makes one. */
export interface Fitter {
  readonly budget: number;
  readonly state: { readonly [name: string]: Json };
  /** The session and its prompt, with as much left out of view as it takes; throws when that is not enough. */
  fit(
    session: Session,
    config: ModelConfig,
    prompt: Prompt,
    models?: readonly LanguageModel[],
  ): Promise<{ readonly session: Session; readonly prompt: Prompt }>;
}

export type Asking = {
  readonly config: ModelConfig;
  readonly configured: Session;
  /** Where the agent began, if not there: its replies are counted from here on. */
  readonly begun?: Session;
  readonly models: readonly LanguageModel[];
  readonly retry: Retry;
  readonly timeout?: number | undefined;
  readonly stream: boolean;
  readonly chunks: boolean;
  /** Whether `toolChoice` holds although a tool was called before. */
  readonly insists?: boolean;
  /** Asked before a call whose prompt is larger than its budget. */
  readonly compress?: Fitter | undefined;
};

/** The prompt before, which most of the next one repeats, the place of the model that answered it, and the answers so far. */
export type Asked = {
  readonly prompt: Prompt | undefined;
  readonly place: number;
  readonly replies: number;
  readonly called: boolean;
};

export const NOTHING_ASKED: Asked = Object.freeze({ prompt: undefined, place: 0, replies: 0, called: false });

/** Asks the model for the next step, or the next model when it fails; the one that answered stays first. */
export async function ask(
  given: Session,
  asking: Asking,
  before: Asked,
): Promise<{ readonly session: Session; readonly asked: Asked }> {
  const { config, models, compress } = asking;
  const failures: { model: string; error: Failure }[] = [];
  let session = given;
  let prompt = before.prompt;
  for (let place = before.place; place < models.length; place++) {
    const model = models[place] as LanguageModel;
    prompt = renderPrompt(config, messagesFor(config, session), prompt);
    if (compress !== undefined && prompt.tokens > compress.budget)
      ({ session, prompt } = await compress.fit(session, config, prompt, models));
    session = await performed(session, asking, model, prompt, before);
    const { fact } = session;
    if (fact.type === "model-reply") {
      const called = before.called || callsOf(fact.content).length > 0;
      return { session, asked: { prompt, place, replies: before.replies + 1, called } };
    }
    failures.push({ model: model.modelId, error: (fact as FactOf<"model-failure">).error });
  }
  throw new ModelFailedError(config.agent, session, failures);
}

function performed(
  session: Session,
  asking: Asking,
  model: LanguageModel,
  prompt: Prompt,
  { replies, called }: Asked,
): Promise<Session> {
  const { config, configured, begun = configured, retry, timeout, stream, chunks, insists } = asking;
  // The prices of the host come before the listed ones.
  const price = priceOf(model.modelId, pricesOf(session)) ?? priceOf(model.modelId);
  const by = `service:${model.provider}` as const;
  const spend = spendOf(prompt, config, price);
  return perform(session, {
    fact: {
      type: "model-call",
      model: model.modelId,
      agent: config.agent,
      config: configured.id,
      prompt: prompt.digest,
      by: `agent:${config.agent}`,
    },
    effect: "read",
    act: async (attempt) => {
      const taken = await admitted(session, model.provider, spend.tokens ?? 0, attempt.signal);
      const reply = await callModel(model, prompt, config, {
        signal: attempt.signal,
        stream: stream || (typeof model.doStream === "function" && isStreamed(session)),
        chunks,
        // Counted from the beginning on: the whole past is looked at once, not at every step.
        turn: turnOf(begun, config.agent) + replies,
        called: called && insists !== true,
        onDelta: (delta) => attempt.emit(delta),
      });
      taken(reply.usage.input + reply.usage.output);
      const cost = price && { cost: costOf(reply.usage, price) };
      return Object.assign({ type: "model-reply", by } as const, reply, cost, { agent: config.agent });
    },
    failed: (error, thrown) => ({
      type: "model-failure",
      // The provider's error, with the code that tells the runtime the outcome: "timeout".
      error: thrown === undefined ? error : { ...defined({ code: error.code }), ...failureOf(thrown) },
      by,
    }),
    retry,
    spend,
    ...defined({ timeout }),
  });
}

/** The minimum cost of the call: the prompt and the longest allowed answer. */
function spendOf(prompt: Prompt, config: ModelConfig, price: ReturnType<typeof priceOf>): Spend {
  const output = config.parameters?.maxOutputTokens ?? 0;
  return {
    steps: 1,
    tokens: prompt.tokens + output,
    ...(price !== undefined && { money: costOf({ input: prompt.tokens, output }, price) }),
  };
}
