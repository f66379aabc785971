import { type AgentOptions, agent, type Callable, replaced, toolboxOf } from "../../agent/index.js";
import type { LanguageModel } from "../../agent/model/index.js";
import type { Budget, Module } from "../../runtime/index.js";
import type { Session } from "../../session/index.js";
import { defined, showValue } from "../../util/index.js";
import {
  anything,
  called,
  defineModule,
  enter,
  functionLike,
  isModule,
  type Rebuilds,
  type Refuse,
  refusing,
  requireBudget,
  requireCount,
} from "../../workflow/index.js";
import { moduleOr, withDefaults } from "../options.js";
import { signatureOf, type Written } from "./argument.js";
import { answerOf, inWords } from "./found.js";
import { type InlineCall, rendered, textIn } from "./inline-call.js";
import { decide, type Given, kept, spliced } from "./inline-decide.js";
import type { Score } from "./inline-score.js";

export type InlineToolsOptions = Pick<AgentOptions, "name" | "instructions" | "parameters" | "policy"> & {
  readonly model: LanguageModel | readonly [LanguageModel, ...LanguageModel[]];
  /** What may be called in the text. A call may turn out to be of no use, so none of them may change anything. */
  readonly tools: readonly [Callable, ...Callable[]];
  readonly score: Score;
  /** By how much the text must be better with the result than without. Default 0: better is enough. */
  readonly threshold?: number;
  /** Calls that are tried at most; the others are left out of the text, and the record says so. Default 20. */
  readonly maxCalls?: number;
  /** What a call that is kept becomes. Default: `[tool(argument) → result]`. */
  readonly splice?: (call: InlineCall, result: string) => string;
  readonly budget?: Budget;
};

/**
 * Tool choice in the manner of Toolformer: a model writes a text with calls in it, `[tool(argument)]`. Each is made, and
 * the text is measured three times, each on a branch of its own: with the result, with the call alone, and without. A
 * call is kept where its result makes the text better than both by the threshold; the others leave the text, and
 * their branches say why.
 *
 * ```ts
 * const writer = inlineTools({ name: "writer", model, tools: [calculator], score: (text) => likelihood(text) });
 * ```
 */
export function inlineTools(options: InlineToolsOptions): Module & Rebuilds {
  const { name, tools, score, model, instructions, parameters } = options ?? {};
  const box = toolsOf(name, tools);
  const writer = agent({
    name,
    model,
    instructions: [...(instructions === undefined ? [] : [instructions]), rulesFor(box.specs)].join("\n\n"),
    ...defined({ parameters }),
  });
  return defineModule(
    {
      kind: "inlineTools",
      name,
      example: 'inlineTools({ name: "writer", model, tools: [calculator], score: (text) => a number })',
      parts: { ...box.parts, writer, ...(isModule(score) && { scorer: score }) },
      options: withDefaults(options, { threshold: 0, maxCalls: 20, splice: spliced }),
      checks: {
        name: anything,
        instructions: anything,
        parameters: anything,
        policy: anything,
        model: anything,
        tools: anything,
        score: moduleOr(functionLike("score: (text) => a number, or a module")),
        threshold: requireThreshold,
        maxCalls: requireCount,
        splice: functionLike("splice: (call, result) => a text"),
        budget: (budget, _, refuse) => requireBudget(budget, refuse),
      },
      learnable: ["threshold", "maxCalls"],
      limits: ({ budget, policy }) => defined({ budget, policy }),
    },
    (entered, { options: checked, parts }) =>
      run(
        entered,
        {
          ...checked,
          box: toolboxOf(name, replaced(tools, parts), []),
          score: parts.scorer ?? score,
        },
        parts.writer as Module,
      ),
  );
}

async function run(entered: Session, given: Given, writer: Module): Promise<Session> {
  const { name, box, maxCalls } = given;
  let session = await enter(writer, entered);
  const draft = answerOf(writer, session, entered);
  // It ended at a limit, and the record says so.
  if (draft === undefined) return session;
  const text = textIn(inWords(draft), box.specs);
  const results: (string | undefined)[] = [];
  for (const call of text.calls.slice(0, maxCalls)) {
    const decided = await decide(session, given, text, call, results);
    session = decided.session;
    results.push(decided.result);
  }
  if (text.calls.length > maxCalls)
    session = session.append({
      type: "budget-stop",
      limit: "calls",
      allowed: maxCalls,
      spent: maxCalls,
      asked: text.calls.length - maxCalls,
    });
  const said = rendered(text, (call) => kept(given, call, results[call.place]));
  return session.say(said, { role: "assistant", by: `agent:${name}` });
}

function toolsOf(name: string, tools: unknown): ReturnType<typeof toolboxOf> {
  const refuse = refusing(called("inlineTools", name));
  if (!Array.isArray(tools) || tools.length === 0)
    throw refuse("it has no tools", "say what may be called in the text: tools: [calculator]");
  const box = toolboxOf(name, tools as readonly Callable[], []);
  for (const { name: own, effect } of box.tools.values())
    if (effect === "write" || effect === "idempotent")
      throw refuse(
        `its tool "${own}" changes the world (${effect}), and is tried before it is known whether it helps`,
        'give it tools that look or compute: effect: "read" or "pure"',
      );
  return box;
}

function requireThreshold(threshold: unknown, _: string, refuse: Refuse): void {
  if (!Number.isFinite(threshold) || (threshold as number) < 0)
    throw refuse(`its \`threshold\` is ${showValue(threshold)}, not a number from 0 on`, "threshold: 0.1");
}

function rulesFor(specs: readonly Written[]): string {
  const lines = specs.map((one) => `- [${signatureOf(one, ["(", ")"])}]: ${one.description ?? ""}`);
  return ["Where one of these would help your text, write the call into it, and go on:", ...lines].join("\n");
}
