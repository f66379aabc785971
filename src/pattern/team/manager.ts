import { type Agent, agent } from "../../agent/index.js";
import type { LanguageModel } from "../../agent/model/index.js";
import { type JsonSchema, moduleTool, type Tool } from "../../agent/tool/index.js";
import type { Session } from "../../session/index.js";
import { branch, type Parts } from "../../workflow/index.js";

export const MANAGER = "manager";

/** An agent that can do nothing itself but give work and put questions to the others. */
export function managerOf(
  model: LanguageModel | readonly [LanguageModel, ...LanguageModel[]],
  coworkers: Parts,
): Agent<undefined> {
  const lines = Object.entries(coworkers).map(([name, module]) => {
    const { description } = module as { readonly description?: unknown };
    return typeof description === "string" ? `- ${name}: ${description}` : `- ${name}`;
  });
  return agent({
    name: MANAGER,
    model,
    instructions: [INSTRUCTIONS, ...lines].join("\n"),
    tools: [
      toCoworker(coworkers, "delegate_work_to_coworker", "Gives a task to a coworker, who does it.", "task"),
      toCoworker(coworkers, "ask_question_to_coworker", "Puts a question to a coworker.", "question"),
    ],
  });
}

const INSTRUCTIONS =
  "You manage a crew. You do no work yourself: delegate it, ask, look at what comes back, and give the final answer. A coworker knows only what you write. Your coworkers are:";

/** A tool by which a coworker is told something. Who it is stands in the call, and the choice of it on the branch of the call. */
function toCoworker(coworkers: Parts, name: string, description: string, what: string): Tool<never, unknown> {
  return moduleTool(branch(name, coworkerIn, { routes: coworkers }), {
    name,
    description,
    input: inputOf(Object.keys(coworkers), what),
    say: (input) => {
      const { [what]: told, context } = input as { readonly [field: string]: string };
      return context === undefined || context === ""
        ? `${told}`
        : `${told}\n\nWhat you need to know:\n${context}`;
    },
  }) as unknown as Tool<never, unknown>;
}

/** Whom the call names on whose branch a session is. */
function coworkerIn(session: Session): string | null {
  for (let node: Session | undefined = session; node !== undefined; node = node.soleParent) {
    const call = node.fact.type === "branch-fork" ? node.soleParent?.fact : undefined;
    if (call?.type === "tool-call") return (call.input as { readonly coworker: string }).coworker;
  }
  return null;
}

function inputOf(coworkers: readonly string[], what: string): JsonSchema {
  return {
    type: "object",
    properties: {
      coworker: { type: "string", enum: [...coworkers] },
      [what]: { type: "string", description: `The whole ${what}.` },
      context: { type: "string", description: "Everything the coworker needs to know." },
    },
    required: ["coworker", what],
    additionalProperties: false,
  };
}
