import { type AgentOptions, agent, endOf, stopAt } from "../../agent/index.js";
import { type LanguageModel, textOf, turnOf } from "../../agent/model/index.js";
import type { Module } from "../../runtime/index.js";
import type { FactOf, Session } from "../../session/index.js";
import { defined } from "../../util/index.js";
import type { Checks, Rebuilds } from "../../workflow/index.js";
import {
  called,
  checkOptions,
  defineModule,
  enter,
  refusing,
  requireCount,
  requireName,
  withState,
} from "../../workflow/index.js";
import { elsewhere, oneOf, withDefaults } from "../options.js";
import { withTextCalls } from "./codec.js";
import { episodeOf, FINISH, readStep } from "./episode.js";
import { UnreadableError } from "./error.js";

export type ReactOptions = Pick<
  AgentOptions,
  | "name"
  | "description"
  | "instructions"
  | "model"
  | "fallback"
  | "tools"
  | "maxSteps"
  | "budget"
  | "policy"
  | "parameters"
  | "retry"
  | "timeout"
  | "compress"
  | "context"
> & {
  /** "text" for models that write their actions (the default), "calls" for models that call tools by themselves. */
  readonly codec?: "text" | "calls";
  /** How often the model is told that its text has no action in it. Default 2. */
  readonly repairs?: number;
};

/** A module that thinks, acts and observes until it knows the answer. */
export interface React extends Module, Rebuilds {
  readonly kind: "react";
  readonly description?: string;
  /** The answer that it finished with. */
  output(session: Session): string | undefined;
}

const UNREADABLE = `There is no action in what you wrote. Write one thought and one action: "Action 1: Tool[argument]", or "Action 1: ${FINISH}[answer]" when you know the answer.`;
const ALOUD =
  "Before you call a tool, say in a sentence or two what you think and why you call it. When you know the answer, say it and call nothing.";

/**
 * ReAct: thought, action, observation, repeated. Models without tool calls write `Action 1: Tool[argument]`,
 * which becomes the same tool call under the same policies. It ends at `Finish[answer]` or a limit; text
 * without an action is told to the model, then an `UnreadableError`.
 *
 * ```ts
 * const clerk = react({ name: "clerk", model, tools: [search] });
 * clerk.output(await rath.run(clerk, rath.start("Is Paramore from Tennessee?")));
 * ```
 */
export function react(options: ReactOptions): React {
  const { name, codec = "text", maxSteps = 50, policy, description } = options ?? {};
  requireName(name, "react", EXAMPLE);
  const refuse = refusing(called("react", name));
  const given = withDefaults(options, { codec, repairs: 2, maxSteps });
  // Before the agent is made of them.
  checkOptions(given, CHECKS, refuse, EXAMPLE);
  const { codec: _, repairs: __, budget: ___, policy: ____, instructions, ...rest } = given;
  const isWritten = codec === "text";
  const text = [...(instructions === undefined ? [] : [instructions]), ...(isWritten ? [] : [ALOUD])];
  const thinker = agent({
    ...rest,
    ...(text.length > 0 && { instructions: text.join("\n\n") }),
    ...(isWritten && { model: modelsOf(rest.model).map(withTextCalls) as [LanguageModel] }),
    ...(isWritten && Array.isArray(rest.fallback) && { fallback: rest.fallback.map(withTextCalls) }),
  });
  const tools = thinker.state?.tools as readonly { readonly name: string }[];
  if (isWritten && tools.some((tool) => tool.name === FINISH))
    throw refuse(`one of its tools is called "${FINISH}", which ends it`, "give the tool another name");
  return defineModule<
    typeof given,
    Omit<React, keyof Module | keyof Rebuilds> & Pick<React, "kind" | "state">
  >(
    {
      kind: "react",
      name,
      example: EXAMPLE,
      parts: { thinker },
      options: given,
      checks: CHECKS,
      limits: (now) => defined({ budget: now.budget, policy }),
      check(now) {
        if (now.options.codec !== codec)
          throw refuse("its `codec` is code, not a value", "make another one with the other codec");
      },
      more: ({ options: now }) => ({
        kind: "react",
        ...defined({ description }),
        state: Object.freeze({
          codec,
          repairs: now.repairs,
          ...defined({ budget: now.budget, policy: policy?.version }),
        }),
        output(session) {
          const { steps, answer } = episodeOf(session, name);
          // A model that was told to write actions has not answered with a text that lacks one.
          const isAnswered = codec === "calls" || steps.some(({ action }) => action?.tool === FINISH);
          return isAnswered ? answer : undefined;
        },
      }),
    },
    (entered, { part, options: { repairs } }) =>
      codec === "calls" ? enter(part, entered) : written(entered, name, repairs, part),
  );
}

const EXAMPLE = 'react({ name: "clerk", model, tools: [search] })';
const CHECKS: Checks<ReactOptions> = {
  ...elsewhere("name", "description", "instructions", "model", "fallback", "tools", "budget", "policy"),
  ...elsewhere("parameters", "retry", "timeout", "compress", "context"),
  codec: oneOf("text", "calls"),
  repairs: (repairs, option, refuse) => requireCount(repairs, option, refuse, 0),
  maxSteps: requireCount,
};

/** Asks until there is an answer. An agent ends at a reply without a call, and that is a text without an action, or the end. */
async function written(entered: Session, name: string, repairs: number, thinker: Module): Promise<Session> {
  const allowed = thinker.state?.maxSteps as number;
  const before = turnOf(entered, name);
  let session = entered;
  let one = thinker;
  for (let refusals = 0; ; refusals++) {
    session = await enter(one, session);
    const end = endOf(session);
    if (end.type !== "model-reply") return session;
    const said = textOf((end as FactOf<"model-reply">).content);
    if (readStep(said).action?.tool === FINISH) return session;
    if (refusals >= repairs) throw new UnreadableError(name, session, refusals + 1, said);
    const left = allowed - (turnOf(session, name) - before);
    if (left <= 0) return stopAt(session, "steps", allowed);
    one = withState(thinker, { maxSteps: left });
    session = session.say(UNREADABLE, { by: "runtime" });
  }
}

function modelsOf(model: AgentOptions["model"]): readonly LanguageModel[] {
  return Array.isArray(model) ? model : [model as LanguageModel];
}
