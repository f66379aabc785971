import { isOfVersion01, type Module } from "../../runtime/index.js";
import { type FactId, type Json, type Session, SessionError } from "../../session/index.js";
import { defined, showValue } from "../../util/index.js";
import type { Checks, Refuse } from "../../workflow/index.js";
import {
  anything,
  checkOptions,
  createModule,
  optional,
  refusing,
  requireCount,
  requireName,
} from "../../workflow/index.js";
import type { Fitter } from "../ask.js";
import type { LanguageModel, ModelConfig, Prompt } from "../model/index.js";
import { messagesFor, renderPrompt } from "../model/index.js";
import { within } from "../within.js";
import { dropOutputs, dropTurns } from "./drop.js";
import { type Pins, pinned, pinsOf, requirePins, sparser } from "./pin.js";
import { idOf, type Policy, tokensOf, type Unit, unitsOf } from "./policy.js";
import { condense, type SummariseOptions, summarise } from "./summarise.js";

export type CompressOptions = {
  /** Maximum number of tokens in a prompt, by estimate. */
  readonly budget: number;
  /** Tokens to reduce an oversized prompt to. Default: 60 % of the budget, so that not every step compresses again. */
  readonly target?: number;
  /** The policies, in order. Default: drop tool outputs, summarise, condense, drop old messages. */
  readonly policies?: readonly [Policy, ...Policy[]];
  /** The model that writes the summaries of the default policies. Default: the models of the agent. */
  readonly model?: SummariseOptions["model"];
  /** The messages that stay in view. Default: the user's first and the last four replies, or fewer. */
  readonly pins?: Pins;
  /** The name of the module. */
  readonly name?: string;
};

/** A module that brings a conversation into its budget, and what an agent's option `compress` takes. */
export interface Compressor extends Module, Fitter {
  readonly kind: "compress";
  readonly state: NonNullable<Module["state"]>;
}

const EXAMPLE = "compress({ budget: 100_000 })";
const CHECKS: Checks<CompressOptions> = {
  budget: (budget, option, refuse) => requireCount(budget, option, refuse, 1, EXAMPLE),
  target: optional((target, option, refuse) => requireCount(target, option, refuse, 0, EXAMPLE)),
  policies: optional(requirePolicies),
  model: anything,
  pins: optional((pins, _, refuse) => requirePins(pins as Pins, refuse)),
  name: anything,
};

/**
 * Leaves parts of a conversation out of view when it outgrows its budget, policy by policy. The record keeps
 * all: each part is a `context-compress` fact, and `recallTool()` pages it back in. Throws a `ContextError`
 * that says what is too large when it cannot fit.
 *
 * ```ts
 * const room = compress({ budget: 100_000, model: small });
 * const coder = agent({ name: "coder", model, tools: [readFile, recallTool()], compress: room });
 * session = await room.forward(session); // by hand, as a module
 * ```
 */
export function compress(options: CompressOptions): Compressor {
  const refuse = refusing("compress");
  checkOptions(options, CHECKS, refuse, EXAMPLE);
  const { budget, target = Math.floor(budget * 0.6), pins = {}, name = "compress" } = options;
  requireName(name, "compress", EXAMPLE);
  if (target > budget)
    throw refuse(
      `its \`target\` of ${target} is more than its budget`,
      `target: ${Math.floor(budget * 0.6)}`,
    );
  if (options.policies !== undefined && options.model !== undefined)
    throw refuse(
      "it has both `policies` and `model`, which is only for the default policies",
      "give the model to the policies: summarise({ model })",
    );
  const policies = options.policies === undefined ? undefined : Object.freeze([...options.policies]);
  // Also refuses a `model` that is not a language model.
  const declared = policies ?? (options.model === undefined ? OF_AN_AGENT : defaultPolicies(options.model));
  const room: Room = {
    budget,
    target,
    ...defined({ policies, model: options.model }),
    pins: Object.freeze({ ...pins, facts: [...(pins.facts ?? [])] }),
  };
  const fields: Omit<Compressor, "forward"> = {
    name,
    kind: "compress",
    budget,
    state: Object.freeze({
      budget,
      target,
      policies: declared.map((policy) => ({ name: policy.name, ...policy.state })),
      pins: pinsOf(pins),
    }),
    fit: (session, config, prompt, models) => relieved(room, session, config, prompt, models),
  };
  return createModule(fields, async (entered) => {
    // As an agent would see it: of a tool's own conversation only.
    const config: ModelConfig = { agent: name, ...defined({ since: within(entered) }) };
    const prompt = renderPrompt(config, messagesFor(config, entered));
    return prompt.tokens > budget ? (await relieved(room, entered, config, prompt)).session : entered;
  });
}

type Room = Required<Pick<CompressOptions, "budget" | "target" | "pins">> &
  Pick<CompressOptions, "model"> & { readonly policies?: readonly Policy[] };

/** The state of the default policies while the summarising model is unknown. */
const OF_AN_AGENT = ["drop-outputs", "summarise", "condense"].map((name) => ({ name, state: {} }));
const OUTPUTS = dropOutputs();
const TURNS = dropTurns();
const made = new WeakMap<object, readonly Policy[]>();

/** The policies with which an agent can go on without end. Made once for each model. */
function defaultPolicies(model: SummariseOptions["model"] | undefined): readonly Policy[] {
  if (model === undefined) return [OUTPUTS];
  const known = Object(model) === model ? made.get(model as object) : undefined;
  if (known !== undefined) return known;
  const policies = [OUTPUTS, summarise({ model }), condense({ model })];
  made.set(model as object, policies);
  return policies;
}

/** Applies the policies in order, repeatedly while that helps; then pins fewer replies. */
async function relieved(
  { budget, target, policies: chosen, model, pins }: Room,
  given: Session,
  config: ModelConfig,
  crowded: Prompt,
  models?: readonly LanguageModel[],
): Promise<{ readonly session: Session; readonly prompt: Prompt }> {
  let session = given;
  let prompt = crowded;
  const failures = new Map<Policy, string>();
  const reduce = async (policies: readonly Policy[], staying: Pins, goal: number): Promise<void> => {
    for (let before = Number.POSITIVE_INFINITY; prompt.tokens > goal && prompt.tokens < before; ) {
      before = prompt.tokens;
      for (const policy of policies) {
        for (let last = Number.POSITIVE_INFINITY; prompt.tokens > goal && prompt.tokens < last; ) {
          if (failures.has(policy)) break;
          last = prompt.tokens;
          const result = await policy.apply({
            session,
            agent: config.agent,
            units: pinned(unitsOf(config, session), staying),
            excess: prompt.tokens - goal,
            budget,
          });
          if (result === undefined) break;
          session = result.session;
          prompt = renderPrompt(config, messagesFor(config, session), prompt);
          if (result.failed !== undefined) failures.set(policy, result.failed);
        }
      }
    }
  };
  const asked = models as SummariseOptions["model"] | undefined;
  const policies = chosen ?? defaultPolicies(model ?? asked);
  await reduce(policies, pins, target);
  const all = chosen ?? [...policies, TURNS];
  if (chosen === undefined && prompt.tokens > budget) await reduce([TURNS], pins, target);
  // A run of version 0.1 ended here.
  for (let fewer = sparser(pins); fewer !== undefined && prompt.tokens > budget; fewer = sparser(fewer)) {
    if (isOfVersion01(session)) break;
    await reduce(all, fewer, budget);
  }
  if (prompt.tokens <= budget) return { session, prompt };
  const head = renderPrompt(config, []).tokens;
  const weights = weightsOf(pinned(unitsOf(config, session), pins));
  throw new ContextError(config.agent, session, { budget, tokens: prompt.tokens, head }, weights, [
    ...failures.values(),
  ]);
}

const SHOWN = 5;

function weightsOf(units: readonly Unit[]): readonly Weight[] {
  return units
    .toSorted((one, other) => other.tokens - one.tokens)
    .slice(0, SHOWN)
    .map(({ entries, tokens, summary, stays = "no policy leaves it out" }) => {
      const entry = entries.reduce((one, other) =>
        tokensOf(other.message) > tokensOf(one.message) ? other : one,
      );
      const { message } = entry;
      const what = summary
        ? "a summary"
        : message.role === "tool"
          ? `a result of ${message.name}`
          : `what the ${message.role} said`;
      return { fact: idOf(entry), what, tokens, why: stays };
    });
}

function requirePolicies(policies: unknown, _: string, refuse: Refuse): void {
  if (!Array.isArray(policies) || policies.length === 0)
    throw refuse(`its \`policies\` are ${Array.isArray(policies) ? "none" : showValue(policies)}`, EXAMPLE);
  for (const policy of policies as readonly (Partial<Policy> | undefined)[])
    if (
      typeof policy?.apply !== "function" ||
      typeof policy.name !== "string" ||
      typeof policy.state !== "object"
    )
      throw refuse(`one of its policies is ${showValue(policy)}`, EXAMPLE);
}

export type Weight = {
  readonly fact: FactId;
  readonly what: string;
  readonly tokens: number;
  readonly why: string;
};

/** A prompt does not fit its budget whatever may be left out. No model was asked; `session` is where it stands. */
export class ContextError extends SessionError {
  constructor(
    agent: string,
    session: Session,
    sizes: { readonly budget: number; readonly tokens: number; readonly head: number },
    weights: readonly Weight[],
    failures: readonly string[],
  ) {
    const { budget, tokens, head } = sizes;
    const said = weights.map(
      ({ fact, what, tokens: own, why }) => `\n- ${what} (${fact.slice(0, 16)}): about ${own} tokens, ${why}`,
    );
    const first = head > budget / 2 ? `\n- its instructions and tools: about ${head} tokens` : "";
    const failed = failures.map((failure) => `\n- ${failure}`);
    super(
      session,
      "context-overflow",
      `Cannot ask a model for "${agent}": its prompt is about ${tokens} tokens and may have ${budget}, and nothing more can be left out of view.${first}${said.join("")}${failed.join("")}`,
      {
        hint: "raise `budget`, pin fewer messages, leave out `policies`, or limit the outputs of tools with `maxOutput`",
        data: { agent, ...sizes, stays: weights as Json, failures },
      },
    );
  }
}
