import type { Json, Usage } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import type { Fields } from "../fields.js";
import { amount, detailOf, FieldReader, fieldsOf, isFields, objectsOf, parsed, stringOf } from "../fields.js";
import {
  ERROR_TYPE,
  GEN_AI,
  INFERENCE,
  MEMORY,
  OPERATION,
  OURS,
  PARAMETERS,
  SESSION,
} from "./conventions.js";
import { AI, aiSdkMessage, aiSdkOutput, aiSdkRole, aiSdkTools, flatMessages, flatTools } from "./dialect.js";
import type { ReadSpan } from "./parse.js";

export type Role = "chat" | "tool" | "agent" | "workflow" | "session" | "memory" | "fork" | "merge" | "step";

/** The meaning of a span, under any of the known conventions. The attributes that were understood are taken from `left`. */
export type Understood = {
  readonly role: Role;
  readonly left: FieldReader;
  /** The name of the operation, where it is one of the conventions. */
  readonly operation: string | undefined;
  readonly conversation: string | undefined;
};

/** The kinds of OpenInference and of Langfuse. */
const KINDS: ReadonlyMap<string, Role> = new Map([
  ["llm", "chat"],
  ["generation", "chat"],
  ["tool", "tool"],
  ["agent", "agent"],
  ["chain", "workflow"],
]);

export function understood(span: ReadSpan): Understood {
  const left = new FieldReader(span.attributes);
  const operation = left.text(GEN_AI.operation);
  const ours = left.text(OURS.operation);
  const kind = left.text("openinference.span.kind");
  const observation = left.text("langfuse.observation.type");
  const [conversation, session] = [left.text(GEN_AI.conversation), left.text(SESSION)];
  if (session !== undefined && session !== conversation) left.keep(SESSION, session);
  const held = session ?? conversation ?? left.text("langfuse.session.id");
  if (held !== undefined && conversation === undefined) left.keep(SESSION, held);
  const named = KINDS.get(kind?.toLowerCase() ?? "") ?? KINDS.get(observation ?? "");
  const role = roleOf(operation, ours) ?? named ?? roleByContent(left) ?? "step";
  if (role === "step" || (role === "chat" && operation !== OPERATION.chat))
    left.keep(GEN_AI.operation, operation);
  if (role === "step") left.keep("openinference.span.kind", kind);
  if (role === "step") left.keep("langfuse.observation.type", observation);
  return { role, left, operation, conversation: held };
}

function roleOf(operation = "", ours?: string): Role | undefined {
  if (ours === "fork" || ours === "merge" || ours === "session") return ours;
  if (INFERENCE.has(operation)) return "chat";
  return MEMORY.has(operation) ? "memory" : ROLES.get(operation);
}

const ROLES: ReadonlyMap<string, Role> = new Map([
  [OPERATION.tool, "tool"],
  [OPERATION.agent, "agent"],
  [OPERATION.workflow, "workflow"],
]);

/** The role of a span that does not name its operation: one of the AI SDK, or one with a model and its usage. */
function roleByContent(left: FieldReader): Role | undefined {
  const operation = left.text(AI.operation);
  const role = operation === undefined ? undefined : aiSdkRole(operation);
  if (operation !== undefined) left.keep(AI.operation, operation);
  if (role !== undefined) return role;
  const { names } = left;
  const model = [GEN_AI.requestModel, GEN_AI.responseModel, "llm.model_name"];
  const isAsked = names.some((name) => model.includes(name));
  // Embeddings have a model and input tokens; only a model that answers has words or output tokens.
  const isAnswered = names.some((name) =>
    /^(gen_ai\.(input|output)\.messages$|gen_ai\.usage\.output_tokens$|llm\.(input|output)_messages\.|llm\.token_count\.completion$)/.test(
      name,
    ),
  );
  return isAsked && isAnswered ? "chat" : undefined;
}

/** The attributes of a call of a model. */
export function chatIn(left: FieldReader) {
  const parameters: { [name: string]: Json } = {};
  for (const [to, from] of PARAMETERS) {
    const value = left.number(from);
    if (value !== undefined) parameters[to] = value;
  }
  const stop = left.list(GEN_AI.stop);
  if (stop !== undefined) parameters.stop = stop;
  const type = left.text(GEN_AI.outputType);
  if (type !== undefined && type !== "json") left.keep(GEN_AI.outputType, type);
  const finishes = left.list(GEN_AI.finish);
  const [finish] = finishes ?? [];
  if (finishes !== undefined && !(finishes.length === 1 && typeof finish === "string"))
    left.keep(GEN_AI.finish, finishes);
  const model =
    left.text(GEN_AI.requestModel) ??
    left.text("llm.model_name") ??
    left.text(AI.model) ??
    left.text("langfuse.observation.model.name");
  const instructions = instructionsIn(left);
  return {
    model: model ?? "unknown",
    provider: left.text(GEN_AI.provider) ?? left.text("gen_ai.system") ?? left.text("llm.provider"),
    agent: left.text(GEN_AI.agent),
    parameters,
    json: type === "json",
    finish: stringOf(finish) ?? left.text(AI.finish),
    usage: usageIn(left),
    cost: left.number(OURS.cost, 0),
    response: left.text(GEN_AI.responseId),
    responseModel: left.text(GEN_AI.responseModel),
    instructions,
    tools: listIn(left, GEN_AI.toolDefinitions) ?? aiSdkTools(left) ?? flatTools(left),
    input: messagesIn(left, INPUT),
    output: messagesIn(left, OUTPUT),
  };
}

type Names = {
  readonly role: string;
  /** A list of messages, of the conventions. */
  readonly list: string;
  /** Messages that are spread over attributes, by OpenInference. */
  readonly flat: string;
  /** Words, or a list of messages with words, by Langfuse and OpenInference. */
  readonly plain: readonly string[];
  readonly aiSdk: (left: FieldReader) => readonly Fields[];
};

const INPUT: Names = {
  role: "user",
  list: GEN_AI.inputMessages,
  flat: "llm.input_messages",
  plain: ["langfuse.observation.input", "input.value"],
  aiSdk: (left) => (listIn(left, AI.prompt) ?? []).filter(isFields).map(aiSdkMessage),
};
const OUTPUT: Names = {
  role: "assistant",
  list: GEN_AI.outputMessages,
  flat: "llm.output_messages",
  plain: ["langfuse.observation.output", "output.value"],
  aiSdk: aiSdkOutput,
};

function usageIn(left: FieldReader): Usage | undefined {
  const count = (...names: readonly string[]) => {
    for (const name of names) {
      const value = left.number(name, 0);
      if (value !== undefined && value <= Number.MAX_SAFE_INTEGER) return value;
      if (value !== undefined) left.keep(name, value);
    }
    return undefined;
  };
  const details = parsedIn(left, "langfuse.observation.usage_details");
  const held = fieldsOf(details);
  const [prompt, completion] = ["llm.token_count.prompt", "llm.token_count.completion"] as const;
  const input =
    count(GEN_AI.inputTokens, prompt, "ai.usage.inputTokens", "ai.usage.promptTokens") ?? amount(held.input);
  const output =
    count(GEN_AI.outputTokens, completion, "ai.usage.outputTokens", "ai.usage.completionTokens") ??
    amount(held.output);
  if (details !== undefined) left.keep("langfuse.observation.usage_details", JSON.stringify(details));
  const cached = count(GEN_AI.cachedTokens, `${prompt}_details.cache_read`, "ai.usage.cachedInputTokens");
  const reasoning = count(
    GEN_AI.reasoningTokens,
    `${completion}_details.reasoning`,
    "ai.usage.reasoningTokens",
  );
  if (input === undefined && output === undefined) {
    if (cached !== undefined) left.keep(GEN_AI.cachedTokens, cached);
    if (reasoning !== undefined) left.keep(GEN_AI.reasoningTokens, reasoning);
    return undefined;
  }
  return { input: input ?? 0, output: output ?? 0, ...defined({ cached, reasoning }) };
}

/** Instructions are a list of text parts; anything else is left. */
function instructionsIn(left: FieldReader): string | undefined {
  const parts = listIn(left, GEN_AI.instructions);
  if (parts === undefined) return undefined;
  const texts = parts.map((part) => stringOf(fieldsOf(part).content));
  const [only] = texts;
  const exact = parts.length === 1 && isFields(parts[0]) && Object.keys(parts[0]).length === 2;
  if (!exact) left.keep(GEN_AI.instructions, JSON.stringify(parts));
  return texts.length === 1 ? only : texts.filter((text) => text !== undefined).join("\n\n");
}

/** Messages in the shape of the conventions, whichever names they have. */
function messagesIn(left: FieldReader, { role, list: name, flat, plain, aiSdk }: Names): readonly Fields[] {
  const list = listIn(left, name);
  if (list !== undefined) {
    const messages = list.filter(isFields);
    if (messages.length !== list.length) left.keep(name, list);
    return messages;
  }
  const unfolded = flatMessages(left, flat);
  if (unfolded.length > 0) return unfolded;
  const told = aiSdk(left);
  if (told.length > 0) return told;
  const key = plain.find((one) => left.names.includes(one));
  const value = key === undefined ? undefined : parsedIn(left, key);
  if (key === undefined || value === undefined) return [];
  if (typeof value === "string") return [{ role, parts: [{ type: "text", content: value }] }];
  left.keep(key, JSON.stringify(value));
  const held = isFields(value) && Array.isArray(value.messages) ? value.messages : value;
  const messages = Array.isArray(held) ? objectsOf(held) : [held].filter(isFields);
  return messages.flatMap(({ role: speaker, content }) =>
    typeof content === "string"
      ? [{ role: stringOf(speaker) ?? role, parts: [{ type: "text", content }] }]
      : [],
  );
}

function listIn(left: FieldReader, name: string): readonly Json[] | undefined {
  const value = parsedIn(left, name);
  if (value === undefined || Array.isArray(value)) return value as readonly Json[] | undefined;
  left.keep(name, value);
  return undefined;
}

/** A value that may come as JSON text. */
function parsedIn(left: FieldReader, name: string): Json | undefined {
  const value = left.json(name);
  return typeof value === "string" ? detailOf(value) : value;
}

/** The error of a span that failed. */
export function failureIn(
  span: ReadSpan,
  left: FieldReader,
): { readonly name: string; readonly message: string } | undefined {
  const type = left.text(ERROR_TYPE);
  if (type === undefined && !span.failed) return undefined;
  return { name: type ?? "_OTHER", message: span.message ?? "" };
}

/** The first of these attributes that is there; its text may be JSON. */
export function valueIn(left: FieldReader, ...names: readonly string[]): Json | undefined {
  for (const name of names) {
    const held = left.json(name);
    if (held !== undefined) return parsed(held);
  }
  return undefined;
}

export function toolIn(tool: Json): Json {
  if (!isFields(tool)) return { name: "", input: tool };
  const { name, description, parameters } = tool;
  return {
    name: stringOf(name) ?? "",
    ...defined({ description: stringOf(description) }),
    ...(isFields(parameters) && { input: parameters }),
  };
}

/** Whether a definition of a tool says nothing that the record of it does not. */
export function isExact(tool: Json): boolean {
  return (
    isFields(tool) &&
    tool.type === "function" &&
    Object.keys(tool).every((key) => ["type", "name", "description", "parameters"].includes(key))
  );
}
