import {
  canonical,
  digestOf,
  type Failure,
  type Json,
  type Part,
  type Session,
} from "../../../session/index.js";
import { agentNamed, type Fields, type JsonObject, toolNamed } from "../fields.js";

const ASSISTANT = agentNamed("assistant");

/** A call as far as it went. */
export type ToolUse = {
  readonly call: string;
  readonly name: string;
  readonly input: Json;
  /** The question whether it may be done, as it was asked. */
  readonly ask?: JsonObject;
  readonly answer?: { readonly approved: boolean; readonly why?: string; readonly automatic: boolean };
  readonly outcome?: Outcome;
  /** The provider runs it. */
  readonly provider?: true;
  readonly meta?: Json;
};
export type Outcome = { readonly output: Json } | { readonly error: Failure };

/** The part of a UI message that is a use of a tool: `fields` are all its fields but its type. */
export function toolUseOf(name: string, fields: Fields): ToolUse {
  const state = fields.text("state") ?? "input-available";
  const call = fields.text("toolCallId") ?? "";
  const input = fields.json("input") ?? fields.json("rawInput") ?? {};
  const approval = fields.object("approval");
  const provider = fields.flag("providerExecuted");
  if (provider === false) fields.keep("providerExecuted", false);
  const meta = fields.object("callProviderMetadata");
  const outcome = outcomeIn(state, fields, approval);
  // How far it went is told by the facts; what was still on its way when the chat was kept is not.
  if (outcome === undefined && state !== "input-available" && !state.startsWith("approval-"))
    fields.keep("state", state);
  const said = approval?.approved;
  const why = approval?.reason;
  return {
    call,
    name,
    input,
    ...(approval !== undefined && { ask: approval }),
    ...(typeof said === "boolean" && {
      answer: {
        approved: said,
        automatic: approval?.isAutomatic === true,
        ...(typeof why === "string" && { why }),
      },
    }),
    ...(outcome !== undefined && { outcome }),
    ...(provider === true && { provider }),
    ...(meta !== undefined && { meta }),
  };
}

function outcomeIn(state: string, fields: Fields, approval: JsonObject | undefined): Outcome | undefined {
  if (state === "output-available") return { output: fields.json("output") ?? null };
  if (state === "output-error")
    return { error: { name: "ToolError", message: fields.text("errorText") ?? "It failed." } };
  if (state !== "output-denied") return undefined;
  const { reason } = approval ?? {};
  return { error: denial(reason) };
}

export function denial(reason: Json | undefined): Failure {
  return {
    name: "ToolDeniedError",
    message: typeof reason === "string" ? reason : "It was not allowed.",
    code: "tool-denied",
  };
}

/** What the message of the assistant says of it. */
export function partsOf({ call, name, input, outcome, provider, meta }: ToolUse): readonly Part[] {
  const asked: Part = {
    type: "tool-call",
    call,
    name,
    input,
    ...(provider && { provider }),
    ...(meta !== undefined && { meta }),
  };
  if (!provider || outcome === undefined) return [asked];
  const given: Part =
    "output" in outcome
      ? { type: "tool-result", call, name, output: outcome.output }
      : { type: "tool-result", call, name, output: outcome.error.message, failed: true };
  return [asked, given];
}

/** The call, what was asked and answered about it, and what it gave. */
export function used(session: Session, use: ToolUse, at: string): Session {
  if (use.provider) return session;
  const { call, name, input, ask, answer, outcome } = use;
  let next = session.append({ type: "tool-call", name, input, call, at, by: ASSISTANT });
  const of = next.id;
  if (ask !== undefined) next = asked(next, of, name, input, ask, at);
  if (answer !== undefined) next = decided(next, next.id, answer, at);
  return outcome === undefined ? next : ended(next, of, name, outcome, at);
}

export function asked(
  session: Session,
  of: string,
  name: string,
  input: Json,
  ask: JsonObject,
  at: string,
): Session {
  const what = { tool: name, input, approval: ask };
  return session.append({ type: "approval-ask", what, digest: digestOf(canonical(what)), of, name, at });
}

/** Whoever sits before a chat answers in it, unless it says that a rule did. */
export function decided(
  session: Session,
  of: string,
  { approved, why, automatic }: NonNullable<ToolUse["answer"]>,
  at: string,
): Session {
  const { digest } = session.fact.type === "approval-ask" ? session.fact : { digest: of };
  return session.append({
    type: "approval-give",
    of,
    decision: approved ? "approve" : "reject",
    digest,
    ...(why !== undefined && { why }),
    at,
    by: automatic ? "runtime" : "user",
  });
}

export function ended(session: Session, of: string, name: string, outcome: Outcome, at: string): Session {
  const by = toolNamed(name);
  return session.append(
    "output" in outcome
      ? { type: "tool-result", of, output: outcome.output, at, by }
      : { type: "tool-failure", of, error: outcome.error, at, by },
  );
}
