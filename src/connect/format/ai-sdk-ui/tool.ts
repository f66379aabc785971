import { canonical, digestOf, type Failure, type Json, type Part } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import { type FieldReader, type Fields, stringOf, toolNamed } from "../fields.js";
import type { Arrival } from "../trajectory/arrival.js";

/** A call as far as it went. */
export type ToolUse = {
  readonly call: string;
  readonly name: string;
  readonly input: Json;
  /** The question whether it may be done, as it was asked. */
  readonly ask?: Fields;
  readonly outcome?: Outcome;
  /** The provider runs it. */
  readonly provider?: true;
  readonly meta?: Json;
};
export type Outcome = { readonly output: Json } | { readonly error: Failure };

/** The part of a UI message that is a use of a tool: `fields` are all its fields but its type. */
export function toolUseOf(name: string, fields: FieldReader): ToolUse {
  const state = fields.text("state") ?? "input-available";
  const call = fields.text("toolCallId") ?? "";
  const input = fields.json("input") ?? fields.json("rawInput") ?? {};
  const ask = fields.object("approval");
  const executed = fields.flag("providerExecuted");
  if (executed === false) fields.keep("providerExecuted", false);
  const meta = fields.object("callProviderMetadata");
  const outcome = outcomeIn(state, fields, ask);
  // How far it went is told by the facts; what was still on its way when the chat was kept is not.
  if (outcome === undefined && state !== "input-available" && !state.startsWith("approval-"))
    fields.keep("state", state);
  const provider = executed === true ? executed : undefined;
  return { call, name, input, ...defined({ ask, outcome, provider, meta }) };
}

function outcomeIn(state: string, fields: FieldReader, ask: Fields | undefined): Outcome | undefined {
  if (state === "output-available") return { output: fields.json("output") ?? null };
  if (state === "output-error")
    return { error: { name: "ToolError", message: fields.text("errorText") ?? "It failed." } };
  return state === "output-denied" ? { error: denial(ask?.reason) } : undefined;
}

export function denial(reason: Json | undefined): Failure {
  return {
    name: "ToolDeniedError",
    message: stringOf(reason) ?? "It was not allowed.",
    code: "tool-denied",
  };
}

/** What the message of the assistant says of it. */
export function partsOf({ call, name, input, outcome, provider, meta }: ToolUse): readonly Part[] {
  const asked: Part = { type: "tool-call", call, name, input, ...defined({ provider, meta }) };
  if (!provider || outcome === undefined) return [asked];
  return [asked, resultPart(call, name, outcome)];
}

export function resultPart(call: string, name: string, outcome: Outcome): Part {
  return "output" in outcome
    ? { type: "tool-result", call, name, output: outcome.output }
    : { type: "tool-result", call, name, output: outcome.error.message, failed: true };
}

/** Tells the call, what was asked and answered about it, and what it gave. */
export function tellUse(arrival: Arrival, { call, name, input, ask, outcome, provider }: ToolUse): void {
  if (provider) return;
  const of = arrival.call(name, input, call, "assistant");
  if (ask !== undefined) {
    const question = tellQuestion(arrival, of, name, input, ask);
    const { approved, reason, isAutomatic } = ask;
    if (typeof approved === "boolean")
      tellAnswer(arrival, question, { approved, why: stringOf(reason), automatic: isAutomatic === true });
  }
  if (outcome !== undefined) tellOutcome(arrival, of, name, outcome);
}

export type Question = { readonly of: string; readonly digest: string };

export function tellQuestion(arrival: Arrival, of: string, name: string, input: Json, ask: Fields): Question {
  const what = { tool: name, input, approval: ask };
  const digest = digestOf(canonical(what));
  return { of: arrival.add({ type: "approval-ask", what, digest, of, name }), digest };
}

/** The person at the chat answers in it, unless it says that a rule did. */
export function tellAnswer(
  arrival: Arrival,
  { of, digest }: Question,
  answer: { readonly approved: boolean; readonly why: string | undefined; readonly automatic?: boolean },
): void {
  const decision = answer.approved ? "approve" : "reject";
  const by = answer.automatic === true ? "runtime" : "user";
  arrival.add({ type: "approval-give", of, decision, digest, ...defined({ why: answer.why }), by });
}

export function tellOutcome(arrival: Arrival, of: string, name: string, outcome: Outcome): void {
  const by = toolNamed(name);
  if ("output" in outcome) arrival.add({ type: "tool-result", of, output: outcome.output, by });
  else arrival.add({ type: "tool-failure", of, error: outcome.error, by });
}
