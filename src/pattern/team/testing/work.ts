import { type Agent, type AgentOptions, agent } from "../../../agent/index.js";
import { callsOf, renderedPrompt, type ScriptedReply, scripted, textOf } from "../../../agent/model/index.js";
import type { Session } from "../../../session/index.js";

/** An agent that follows a script. */
export function says(
  name: string,
  script: readonly ScriptedReply[],
  options: Partial<AgentOptions> = {},
): Agent<undefined> {
  return agent({ name, model: scripted(script), ...options });
}

/** Who did what on which branch: the replies on all branches, in the order of the history. */
export function workIn(session: Session): readonly string[] {
  const agents = new Map<string, string | undefined>();
  const work: string[] = [];
  for (const { id, fact, branch } of session.history()) {
    if (fact.type === "model-call") agents.set(id, fact.agent);
    if (fact.type !== "model-reply") continue;
    const calls = callsOf(fact.content).map(({ name }) => `${name}()`);
    work.push(`${branch} | ${agents.get(fact.of)} | ${[textOf(fact.content), ...calls].join("")}`);
  }
  return work;
}

/** The names of the modules that were at work, in the order in which they began. */
export function enteredIn(session: Session): readonly string[] {
  return [...session.history()].flatMap(({ fact }) => (fact.type === "module-enter" ? [fact.module] : []));
}

/** What a model was shown at each call, on which branch and as whom. */
export function promptsIn(
  session: Session,
): readonly { readonly branch: string; readonly agent?: string | undefined; readonly text: string }[] {
  return [...session.history()].flatMap((node) => {
    const { fact, branch } = node;
    if (fact.type !== "model-call") return [];
    return [{ branch, agent: fact.agent, text: JSON.stringify(renderedPrompt(node).messages) }];
  });
}
