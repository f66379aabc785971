import { type Json, jsonCopy, type Part, Withheld } from "../../../session/index.js";
import { type Fields, isFields } from "../fields.js";
import { UNKNOWN_TIME } from "../intake.js";
import { withheldText } from "../trajectory/kept.js";
import type { Side, Told } from "../trajectory/line.js";
import type { Action, Turn } from "../trajectory/turn.js";
import { outcomeOf, partsOf, textOf, thoughtsOf, wordsOf } from "../trajectory/turn.js";
import { IMAGES } from "./rules.js";

/** A turn as a step of ATIF. Ids, other facts and withheld content have no field there and stand in `extra.openrath`. */
export function stepOf(turn: Turn, number: number, embed: (side: Side) => string): Fields {
  const agent = turn.role === "assistant";
  const results = [
    ...turn.actions.flatMap((action) => resultOf(action, embed)),
    ...(turn.kind === "summary" ? [{ content: textOf(turn.content) }] : []),
    ...turn.sides.map((side) => ({ subagent_trajectory_ref: [{ trajectory_id: embed(side) }] })),
  ];
  const calls = callsOf(turn);
  const thoughts = agent ? thoughtsOf(turn.content) : undefined;
  const metrics = metricsOf(turn);
  const model = turn.asked?.model ?? turn.reply?.model;
  return {
    step_id: number,
    ...(turn.at !== "" && turn.at !== UNKNOWN_TIME && { timestamp: turn.at }),
    source: agent ? "agent" : turn.role,
    ...(agent && model !== undefined && { model_name: model }),
    message: messageOf(turn),
    ...(thoughts !== undefined && turn.kind === "reply" && { reasoning_content: thoughts }),
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(results.length > 0 && { observation: { results } }),
    ...(metrics !== undefined && { metrics }),
    ...(turn.copied === true && { is_copied_context: true }),
    ...(agent && turn.copied !== true && { llm_call_count: turn.kind === "reply" ? 1 : 0 }),
    extra: extraOf(turn),
  };
}

function messageOf(turn: Turn): Json {
  if (turn.kind === "join")
    return turn.sides.length === 0 ? "recorded besides the conversation" : "took in what ran beside";
  if (turn.kind === "summary") return "The conversation so far was summed up.";
  const parts = partsOf(turn.content);
  const images = parts.some((part) => imageOf(part) !== undefined);
  if (!images) return wordsOf(turn.content);
  return parts.flatMap((part): Json[] => {
    const image = imageOf(part);
    if (image !== undefined) return [image];
    const words = wordsOf([part]);
    return words === "" ? [] : [{ type: "text", text: words }];
  });
}

function imageOf(part: Part): Json | undefined {
  if (part.type === "other" && isFields(part.value) && part.value.type === "image") return part.value;
  if (part.type !== "file" || !IMAGES.includes(part.media)) return undefined;
  const path = /^[a-z][a-z0-9+.-]*:/i.test(part.data) ? part.data : `data:${part.media};base64,${part.data}`;
  return { type: "image", source: { media_type: part.media, path } };
}

/** The calls that a model asked for, made or not, and the calls made without a model. */
function callsOf(turn: Turn): readonly Fields[] {
  const calls = new Map<string, Fields>();
  if (turn.role === "assistant")
    for (const part of partsOf(turn.content))
      if (part.type === "tool-call")
        calls.set(part.call, {
          tool_call_id: part.call,
          function_name: part.name,
          arguments: argumentsOf(part.input),
        });
  for (const { call, name, input, asked } of turn.actions)
    calls.set(call, {
      tool_call_id: call,
      function_name: name,
      arguments: argumentsOf(input),
      ...(asked !== undefined && { extra: { openrath: { id: asked.id } } }),
    });
  return [...calls.values()];
}

function argumentsOf(input: unknown): Json {
  if (input instanceof Withheld) return { withheld: withheldText(input) };
  return isFields(input) ? input : { input: jsonCopy(input) };
}

function resultOf(action: Action, embed: (side: Side) => string): readonly Fields[] {
  const outcome = outcomeOf(action);
  const refs = action.sides.map((side) => ({ trajectory_id: embed(side) }));
  if (outcome === undefined && refs.length === 0) return [];
  const { fact, id } = (action.outcome ?? {}) as Partial<Told>;
  const error = fact?.type === "tool-failure" ? { error: jsonCopy(fact.error) } : {};
  return [
    {
      source_call_id: action.call,
      ...(outcome !== undefined && { content: outcome.text }),
      ...(refs.length > 0 && { subagent_trajectory_ref: refs }),
      ...(id !== undefined && { extra: { openrath: { id, ...error } } }),
    },
  ];
}

function metricsOf({ reply }: Turn): Fields | undefined {
  if (reply === undefined) return undefined;
  const { usage, cost } = reply;
  return {
    prompt_tokens: Math.trunc(usage.input),
    completion_tokens: Math.trunc(usage.output),
    ...(usage.cached !== undefined && { cached_tokens: Math.trunc(usage.cached) }),
    ...(cost !== undefined && { cost_usd: cost }),
    ...(usage.reasoning !== undefined && { extra: { reasoning_tokens: usage.reasoning } }),
  };
}

function extraOf(turn: Turn): Fields {
  const withheld = partsOf(turn.content).flatMap((part) =>
    part.type === "withheld" ? [{ reason: part.reason, digest: part.digest }] : [],
  );
  const { told, also, failure, kind, reply } = turn;
  const [summary] = told;
  return {
    ...(kind === "summary" && { context_management: managementOf(summary) }),
    openrath: {
      facts: told.map(({ id }) => id),
      ...(withheld.length > 0 && { withheld }),
      ...(reply?.finish !== undefined && { finish: reply.finish }),
      ...(failure !== undefined && { error: jsonCopy(failure.error) }),
      ...(also.length > 0 && { also: also.map(({ id, fact }) => ({ id, fact: jsonCopy(fact) })) }),
    },
  };
}

/** The convention by which a step says that what it observes takes the place of the context before it. */
function managementOf(told: Told | undefined): Fields {
  const { policy, tokens } = (told?.fact ?? {}) as { policy?: string; tokens?: Json };
  const counts = isFields(tokens) ? tokens : {};
  return {
    type: "compaction",
    boundary: policy === "drop-outputs" ? "edit" : "replace",
    ...(typeof counts.before === "number" && { tokens_before: counts.before }),
    ...(typeof counts.after === "number" && { tokens_after: counts.after }),
  };
}
