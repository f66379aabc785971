import type { FactId, Failure, Json, Part, Role } from "../../../session/index.js";
import { canonical, digestOf } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import { deniedTool, wordsAlone } from "../../ai-sdk/conversation.js";
import type { Fields } from "../fields.js";
import {
  FieldReader,
  fieldsIn,
  fieldsOf,
  isFields,
  isTime,
  listOf,
  stringOf,
  toolNamed,
  without,
  wordsFor,
} from "../fields.js";
import type { Arrival } from "../trajectory/arrival.js";

/** Tells what a UI message says; `left` is called when some of it went into a note. */
export function tellUiMessage(arrival: Arrival, message: Fields, role: Role, left: () => void): void {
  const fields = new FieldReader(message);
  fields.text("role");
  const parts = fields.list("parts") ?? [];
  arrival.clock([message.createdAt, fieldsIn(message, "metadata").createdAt].find(isTime));
  const step = new Step(arrival, role);
  const rests: { [place: string]: Json } = {};
  for (const [index, part] of parts.entries()) {
    const rest = step.take(part);
    if (rest !== undefined) rests[index] = rest;
  }
  step.close();
  if (parts.length === 0) arrival.say(role, "", speaker(role));
  if (Object.keys(rests).length > 0) fields.keep("parts", rests);
  // An id alone is nothing to tell about.
  if (fields.names.some((name) => name !== "id")) left();
  arrival.rest("message", fields.rest);
}

/** One step: the words and calls of one reply, then the results of the calls. */
class Step {
  readonly #arrival: Arrival;
  readonly #role: Role;
  #parts: Part[] = [];
  #uses: ToolUse[] = [];

  constructor(arrival: Arrival, role: Role) {
    this.#arrival = arrival;
    this.#role = role;
  }

  /** Takes a part of the message and returns the fields that are left. */
  take(part: Json): Json | undefined {
    if (!isFields(part) || typeof part.type !== "string") {
      this.#parts.push({ type: "other", value: part });
      return undefined;
    }
    const fields = new FieldReader(part);
    const type = fields.text("type") as string;
    if (type === "step-start") {
      this.close();
      return fields.rest;
    }
    const tool =
      type === "dynamic-tool"
        ? (fields.text("toolName") ?? "")
        : type.startsWith("tool-")
          ? type.slice(5)
          : undefined;
    if (tool !== undefined && this.#role === "assistant") {
      if (type === "dynamic-tool") fields.keep("dynamic", true);
      const use = toolUseOf(tool, fields);
      this.#uses.push(use);
      this.#parts.push(...partsOf(use));
      return fields.rest;
    }
    // Words after a result belong to another reply.
    if (this.#uses.some(({ outcome, provider }) => outcome !== undefined && !provider)) this.close();
    const said = saidIn(type, fields);
    this.#parts.push(said ?? { type: "other", value: part });
    return said === undefined ? undefined : fields.rest;
  }

  /** Says what was taken, and does what was called. */
  close(): void {
    if (this.#parts.length === 0) return;
    this.#arrival.say(this.#role, wordsAlone(this.#parts), speaker(this.#role));
    for (const use of this.#uses) tellUse(this.#arrival, use);
    this.#parts = [];
    this.#uses = [];
  }
}

/** Words, thoughts, files and sources; undefined for what there is no word for. */
function saidIn(type: string, fields: FieldReader): Part | undefined {
  switch (type) {
    case "text":
    case "reasoning": {
      const text = fields.text("text");
      const meta = fields.object("providerMetadata");
      return text === undefined ? undefined : { type, text, ...defined({ meta }) };
    }
    case "file": {
      const [media, data, name] = [fields.text("mediaType"), fields.text("url"), fields.text("filename")];
      if (media === undefined || data === undefined) return undefined;
      const meta = fields.object("providerMetadata");
      return { type: "file", media, data, ...defined({ name, meta }) };
    }
    case "source-url":
    case "source-document": {
      const source = { type, ...fields.rest };
      for (const name of fields.names) fields.json(name);
      return { type: "source", source };
    }
    default:
      return undefined;
  }
}

export function speaker(role: Role): "agent:assistant" | undefined {
  return role === "assistant" ? "agent:assistant" : undefined;
}

type Rests = { [place: string]: Json };

/** The model messages of a chat: results and decisions are in later messages than the calls that they are about. */
export class ModelMessages {
  readonly #arrival: Arrival;
  /** Calls without a result, by the ids that the chat gives them. */
  readonly #calls = new Map<string, FactId>();
  readonly #questions = new Map<string, Question>();

  constructor(arrival: Arrival) {
    this.#arrival = arrival;
  }

  /** Tells what a message says; `left` is called when some of it went into a note. */
  tell(message: Fields, role: Role | "tool", left: () => void): void {
    const fields = new FieldReader(message);
    fields.text("role");
    const content = fields.json("content");
    const rests: Rests = {};
    if (role === "tool") this.#answers(listOf(content), rests);
    else if (typeof content === "string") this.#arrival.say(role, content, speaker(role));
    else this.#say(listOf(content), role, rests);
    if (typeof content !== "string" && !Array.isArray(content)) fields.keep("content", content);
    if (Object.keys(rests).length > 0) fields.keep("parts", rests);
    if (fields.rest !== undefined) left();
    this.#arrival.rest("message", fields.rest);
  }

  #say(content: readonly Json[], role: Role, rests: Rests): void {
    const uses: { call: string; name: string; input: Json; question?: Fields }[] = [];
    const parts = content.flatMap((part, index): readonly Part[] => {
      if (!isFields(part)) return [{ type: "other", value: part }];
      const fields = new FieldReader(part);
      const type = fields.text("type");
      if (type === "tool-approval-request") {
        const use = uses.find(({ call }) => call === part.toolCallId);
        const more = without(part, "type", "approvalId", "toolCallId");
        if (use !== undefined) use.question = { id: part.approvalId ?? "", ...more };
        return use === undefined ? [{ type: "other", value: part }] : [];
      }
      const made = partsIn(type, fields);
      if (made === undefined) return [{ type: "other", value: part }];
      const { rest } = fields;
      if (rest !== undefined) rests[index] = rest;
      const [first] = made;
      if (first?.type === "tool-call" && !first.provider)
        uses.push({ call: first.call, name: first.name, input: first.input });
      return made;
    });
    this.#arrival.say(role, wordsAlone(parts), speaker(role));
    for (const { call, name, input, question } of uses) {
      const id = this.#arrival.call(name, input, call, "assistant");
      this.#calls.set(call, id);
      if (question === undefined) continue;
      this.#questions.set(wordsFor(question.id), tellQuestion(this.#arrival, id, name, input, question));
    }
  }

  /** Results and decisions, each for the call or the question that it answers. */
  #answers(parts: readonly Json[], rests: Rests): void {
    for (const [index, part] of parts.entries()) {
      const fields = new FieldReader(fieldsOf(part));
      const type = fields.text("type");
      const question = this.#questions.get(wordsFor(isFields(part) ? part.approvalId : ""));
      if (type === "tool-result") {
        const [call, name] = [fields.text("toolCallId") ?? "", fields.text("toolName") ?? ""];
        const of = this.#calls.get(call) ?? this.#arrival.call(name, {}, call, "assistant");
        this.#calls.delete(call);
        tellOutcome(this.#arrival, of, name, outcomeOf(fields.json("output")));
      } else if (type === "tool-approval-response" && question !== undefined) {
        const approved = fields.flag("approved") === true;
        const why = fields.text("reason");
        fields.text("approvalId");
        tellAnswer(this.#arrival, question, { approved, why });
      } else {
        rests[index] = part;
        continue;
      }
      if (fields.rest !== undefined) rests[index] = fields.rest;
    }
  }
}

function partsIn(type: string | undefined, fields: FieldReader): readonly Part[] | undefined {
  const meta = fields.object("providerOptions");
  switch (type) {
    case "text":
    case "reasoning": {
      const text = fields.text("text");
      return text === undefined ? undefined : [{ type, text, ...defined({ meta }) }];
    }
    case "tool-call": {
      const [call, name] = [fields.text("toolCallId") ?? "", fields.text("toolName") ?? ""];
      const input = fields.json("input") ?? {};
      const provider = fields.flag("providerExecuted") === true;
      return partsOf({ call, name, input, ...(provider && { provider }), ...defined({ meta }) });
    }
    case "tool-result": {
      const [call, name] = [fields.text("toolCallId") ?? "", fields.text("toolName") ?? ""];
      const outcome = outcomeOf(fields.json("output"));
      fields.keep("providerOptions", meta);
      return [resultPart(call, name, outcome)];
    }
    case "file":
    case "image": {
      const data = fields.text("data") ?? fields.text("image");
      const media = fields.text("mediaType") ?? (type === "image" ? "image" : undefined);
      const name = fields.text("filename");
      if (data === undefined || media === undefined) return undefined;
      return [{ type: "file", media, data, ...defined({ name, meta }) }];
    }
    default:
      return undefined;
  }
}

/** The ways in which the AI SDK writes what a tool gave. */
function outcomeOf(output: Json | undefined): Outcome {
  if (!isFields(output)) return { output: output ?? null };
  const { type, value = null, reason, ...more } = output;
  if (Object.keys(more).length > 0) return { output };
  switch (type) {
    case "text":
    case "json":
      return { output: value };
    case "error-text":
      return { error: { name: "ToolError", message: wordsFor(value) } };
    case "error-json":
      return { error: { name: "ToolError", message: JSON.stringify(value), data: value } };
    case "execution-denied":
      return { error: denial(reason) };
    default:
      return { output };
  }
}

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
  // Facts tell how far it went, but not that it was still on its way when the chat was kept.
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

function denial(reason: Json | undefined): Failure {
  return deniedTool(stringOf(reason) ?? "It was not allowed.");
}

/** The parts of the assistant's message. */
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
