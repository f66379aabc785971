import type { Content, Json, Usage } from "../../../session/index.js";
import { parseJson } from "../../../util/index.js";
import { type Fields, listOf, objectsIn, toolSpec } from "../fields.js";
import { type Arrival, contentOf, textParts } from "../trajectory/arrival.js";

export const NOTE = "openhands event";

export type Call = { readonly call: string; readonly name: string; readonly input: Json };

/** The tokens and the cost of all models. */
export type Total = Required<Usage> & { readonly cost: number };
export const NOTHING: Total = { input: 0, output: 0, cached: 0, reasoning: 0, cost: 0 };

export function contentIn(content: Json | undefined): Content {
  if (typeof content === "string") return content;
  return contentOf(textParts(listOf(content)));
}

/** The arguments of a call, where they are JSON text. */
export function parsedText(text: Json | undefined): Json | undefined {
  return typeof text === "string" ? (parseJson(text) as Json | undefined) : undefined;
}

/** Adds an event to the other events of the same answer of the model. */
export function gather(groups: Map<string, Fields[]>, key: string, event: Fields): void {
  const group = groups.get(key);
  if (group === undefined) groups.set(key, [event]);
  else group.push(event);
}

export function configure(arrival: Arrival, agent: string, instructions: string, event: Fields): void {
  const tools = objectsIn(event, "tools").map(toolSpec);
  arrival.add({ type: "agent-configure", agent, instructions, ...(tools.length > 0 && { tools }) });
}

/** The facts of an event, so that later events can name them. */
export type Span = { readonly from: string; readonly to: string };

/** A summary that takes the place of what these facts say. */
export function condense(arrival: Arrival, spans: readonly Span[], summary: string): void {
  const [from, to] = [spans[0]?.from, spans.at(-1)?.to];
  if (from === undefined || to === undefined) return;
  arrival.add({ type: "context-compress", from, to, summary, policy: "condensation" });
}
