import type { Content, FactId, Json, Session } from "../../session/index.js";
import { wordsOf } from "./argument.js";
import { type Action, type Episode, FINISH, isInvalid, readStep } from "./episode.js";
import { plainText } from "./found.js";

/**
 * The episode that a session holds, read from its facts: the same whether the model wrote its actions, called tools by
 * itself, or the episode was imported. With a name, only what that agent did.
 */
export function episodeOf(session: Session, agent?: string): Episode {
  const steps: { thought: string; action?: Action; observation?: string }[] = [];
  const calls = new Map<FactId, { observation?: string }>();
  const askers = new Map<FactId, string | undefined>();
  let question: string | undefined;
  let last: string | undefined;
  let isWritten = false;
  const isOwn = (name: string | undefined) => agent === undefined || name === agent;
  for (const { id, fact } of session.history()) {
    if (fact.type === "session-start" && fact.text !== undefined) question = plainText(fact.text);
    else if (fact.type === "model-call") askers.set(id, fact.agent);
    else if (fact.type === "model-reply" && isOwn(askers.get(fact.of))) said(fact.content);
    else if (fact.type === "message-say" && fact.role === "assistant" && isOwn(nameOf(fact.by)))
      said(fact.content);
    else if (fact.type === "message-say" && fact.role === "user") question ??= plainText(fact.content);
    else if (fact.type === "tool-call" && isOwn(nameOf(fact.by))) {
      const newest = steps.at(-1);
      // Of several calls in one reply, each is a step; what was thought stands with the first.
      const step: (typeof steps)[number] =
        newest === undefined || newest.action !== undefined ? { thought: "" } : newest;
      if (step !== newest) steps.push(step);
      step.action = { tool: fact.name, argument: wordsOf(fact.input) };
      calls.set(id, step);
    } else if (fact.type === "tool-result") observed(fact.of, outputWords(fact.output));
    else if (fact.type === "tool-failure") observed(fact.of, fact.error.message);
  }
  const end = steps.at(-1);
  // A model that calls tools by itself answers by calling none.
  if (end !== undefined && last !== undefined && !isWritten)
    steps[steps.length - 1] = { thought: "", action: { tool: FINISH, argument: last } };
  const { action, observation } = steps.at(-1) ?? {};
  const answer = action?.tool === FINISH && !isInvalid(observation) ? action.argument : undefined;
  return {
    question: question ?? "",
    steps: Object.freeze(steps.map((step) => Object.freeze({ ...step }))),
    ...(answer !== undefined && { answer }),
  };

  function said(content: Content): void {
    const words = plainText(content);
    const { thought, action } = readStep(words);
    const isCalling = typeof content !== "string" && content.some((part) => part.type === "tool-call");
    isWritten ||= action !== undefined;
    last = isCalling ? undefined : words;
    // A written action that became a call is told by that call.
    steps.push({ thought, ...(!isCalling && action !== undefined && { action }) });
  }

  function observed(of: FactId, words: string): void {
    const step = calls.get(of);
    if (step !== undefined) step.observation = words;
  }
}

function nameOf(by: string): string | undefined {
  return by.startsWith("agent:") ? by.slice("agent:".length) : undefined;
}

function outputWords(output: Json): string {
  return typeof output === "string" ? output : JSON.stringify(output);
}
