import type { Fact, FactId, FactOf, Failure, Json, Session } from "../../../session/index.js";
import { traceFieldsOf, Withheld } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import { inputMessages, instructionsOf, outputMessages, withheld } from "./content.js";
import {
  ERROR_TYPE,
  EVALUATION_EVENT,
  GEN_AI,
  OPERATION,
  OURS,
  PARAMETERS,
  providerOf,
} from "./conventions.js";
import { type Attributes, CLIENT, INTERNAL, nanosecondsOf, type Span, type SpanEvent } from "./span.js";

/** How much is told. */
export type Detail = { readonly content: boolean };

/** How agents were configured, by the fact that says so. */
type Configs = ReadonlyMap<FactId, FactOf<"agent-configure">>;
type Described = { readonly name: string; readonly kind?: Span["kind"]; readonly attributes: Attributes };

/** The name and attributes of a call when it is made. */
export function callAttributes(
  node: Session,
  fact: FactOf<"model-call"> | FactOf<"tool-call"> | FactOf<"step-call">,
  configs: Configs,
  detail: Detail,
): Described {
  if (fact.type === "model-call") return chat(node, fact, configs, detail);
  if (fact.type === "tool-call")
    return {
      name: `${OPERATION.tool} ${fact.name}`,
      attributes: {
        [GEN_AI.operation]: OPERATION.tool,
        [GEN_AI.toolName]: fact.name,
        [GEN_AI.toolType]: "function",
        ...(fact.call !== undefined && { [GEN_AI.toolCall]: fact.call }),
        ...(detail.content && { [GEN_AI.toolArguments]: text(fact.input) }),
      },
    };
  return {
    name: `step ${fact.name}`,
    attributes: {
      [OURS.operation]: "step",
      [OURS.step]: fact.name,
      ...(detail.content && fact.input !== undefined && { [OURS.input]: text(fact.input) }),
    },
  };
}

function chat(node: Session, fact: FactOf<"model-call">, configs: Configs, { content }: Detail): Described {
  const config = fact.config === undefined ? undefined : configs.get(fact.config);
  const parameters = { ...plain(config?.parameters), ...plain(fact.parameters) };
  const attributes: Attributes = {
    [GEN_AI.operation]: OPERATION.chat,
    [GEN_AI.provider]: providerOf(fact.model),
    [GEN_AI.requestModel]: fact.model,
    ...(fact.agent !== undefined && { [GEN_AI.agent]: fact.agent }),
    ...(config?.output !== undefined && { [GEN_AI.outputType]: "json" }),
    ...requestAttributes(parameters),
  };
  if (!content) return { name: `${OPERATION.chat} ${fact.model}`, attributes };
  const [before] = node.parents;
  const { messages, omitted } = inputMessages(before);
  attributes[GEN_AI.inputMessages] = JSON.stringify(messages);
  if (omitted > 0) attributes[OURS.omitted] = omitted;
  const { instructions, tools } = plain(config);
  if (typeof instructions === "string")
    attributes[GEN_AI.instructions] = JSON.stringify(instructionsOf(instructions));
  if (Array.isArray(tools)) attributes[GEN_AI.toolDefinitions] = JSON.stringify(tools.map(definitionOf));
  return { name: `${OPERATION.chat} ${fact.model}`, attributes };
}

function requestAttributes(parameters: { readonly [name: string]: unknown }): Attributes {
  const attributes: Attributes = {};
  for (const [from, to] of PARAMETERS) {
    const value = parameters[from];
    if (typeof value === "number") attributes[to] = value;
  }
  const { stop } = parameters;
  if (Array.isArray(stop) && stop.every((one) => typeof one === "string")) attributes[GEN_AI.stop] = stop;
  return attributes;
}

/** The attributes that the outcome of a call adds to its span. */
export function outcomeAttributes(fact: Fact, call: Session, { content }: Detail): Attributes {
  switch (fact.type) {
    case "model-reply": {
      const { usage } = fact;
      const { otel } = plain(fact.meta);
      // Zeros stand for what an import was not told.
      const told = plain(otel).usage !== "not told";
      const messages = content ? JSON.stringify(outputMessages(fact.content, fact.finish)) : undefined;
      return defined({
        [GEN_AI.finish]: [fact.finish],
        [GEN_AI.inputTokens]: told ? usage.input : undefined,
        [GEN_AI.outputTokens]: told ? usage.output : undefined,
        [GEN_AI.cachedTokens]: usage.cached,
        [GEN_AI.reasoningTokens]: usage.reasoning,
        [GEN_AI.responseId]: fact.response,
        [GEN_AI.responseModel]: fact.model ?? (call.fact as FactOf<"model-call">).model,
        [OURS.cost]: fact.cost,
        [GEN_AI.outputMessages]: messages,
      });
    }
    case "tool-result":
      return content ? { [GEN_AI.toolResult]: text(fact.output) } : {};
    case "step-result":
      return content ? { [OURS.value]: text(fact.value) } : {};
    default:
      return {};
  }
}

/** An error by its name; its message may repeat what was said. */
export function errorOf(
  error: Failure | Withheld,
  { content }: Detail,
): { readonly attributes: Attributes; readonly message?: string } {
  if (error instanceof Withheld) return { attributes: { [ERROR_TYPE]: "_OTHER" } };
  const type = error.code ?? error.name;
  return {
    attributes: { [ERROR_TYPE]: type === "" ? "_OTHER" : type },
    ...(content && { message: error.message }),
  };
}

/** An operation on memories: it is over when it is recorded, so its span has no length. */
export function memoryOf(fact: Fact, { content }: Detail): Described | undefined {
  const described = (operation: string, attributes: Attributes, kind: Span["kind"] = INTERNAL) => ({
    name: operation,
    kind,
    attributes: { [GEN_AI.operation]: operation, ...attributes },
  });
  const one = (id: FactId): Attributes => ({ [GEN_AI.memoryRecord]: id, [GEN_AI.memoryCount]: 1 });
  const said = (record: Json): Attributes =>
    content ? { [GEN_AI.memoryRecords]: JSON.stringify([record]) } : {};
  switch (fact.type) {
    case "memory-space":
      return described(OPERATION.createStore, { [GEN_AI.memoryStore]: fact.space });
    case "memory-read": {
      const hits: unknown = fact.hits;
      const found = Array.isArray(hits) ? (hits as FactOf<"memory-read">["hits"]) : [];
      const records = found.map(({ memory: id, score, text = null }) => ({ content: text, id, score }));
      return described(OPERATION.search, {
        [GEN_AI.memoryStore]: fact.space,
        [GEN_AI.memoryCount]: found.length,
        ...(content && {
          [GEN_AI.memoryQuery]: typeof fact.query === "string" ? fact.query : text(fact.query),
          [GEN_AI.memoryRecords]: JSON.stringify(records),
        }),
      });
    }
    case "memory-write":
      return described(OPERATION.create, {
        [GEN_AI.memoryStore]: fact.space,
        [GEN_AI.memoryCount]: 1,
        ...said({ content: words(fact.text) }),
      });
    case "memory-revise":
      return described(OPERATION.update, {
        ...one(fact.of),
        ...said({ content: words(fact.text), id: fact.of }),
      });
    case "memory-promote":
      return described(OPERATION.update, one(fact.of));
    case "memory-revoke":
    case "memory-expire":
      return described(OPERATION.delete, one(fact.of));
    case "note":
      return fact.kind === MEMORY_NOTE ? noted(fact, described) : undefined;
    default:
      return undefined;
  }
}

/** A note that keeps an operation of somebody else's memory, for which facts want evidence that is not there. */
export const MEMORY_NOTE = "memory-operation";

function noted(
  fact: FactOf<"note">,
  described: (operation: string, attributes: Attributes, kind: Span["kind"]) => Described,
): Described | undefined {
  const { operation, attributes } = fact;
  if (typeof operation !== "string") return undefined;
  const kept = Object.entries(plain(attributes)).filter(([, value]) =>
    /^(string|number)$/.test(typeof value),
  );
  return described(
    operation,
    Object.fromEntries(kept) as Attributes,
    fact.remote === true ? CLIENT : INTERNAL,
  );
}

function definitionOf(tool: unknown): Json {
  const { name, description, input } = plain(tool);
  return {
    type: "function",
    name: typeof name === "string" ? name : "",
    ...(typeof description === "string" && { description }),
    ...(typeof input === "object" && input !== null && { parameters: input as Json }),
  };
}

function plain(value: unknown): { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Withheld)
    ? (value as { readonly [name: string]: unknown })
    : {};
}

function words(value: string | Withheld): Json {
  return value instanceof Withheld ? withheld(value) : value;
}

/** A value as JSON text, with a mark in place of erased content. */
function text(value: Json | Withheld): string {
  return JSON.stringify(value instanceof Withheld ? withheld(value) : value);
}

/** The event of a fact: an evaluation in the words of the conventions, others in ours; undefined for the rest. */
export function eventOf(node: Session, detail: Detail): SpanEvent | undefined {
  const { fact } = node;
  const time = nanosecondsOf(fact.at);
  if (fact.type === "validation-report")
    return { name: EVALUATION_EVENT, time, attributes: judged(node, detail) };
  const fields = traceFieldsOf(fact);
  if (fields === undefined) return undefined;
  const attributes: Attributes = { [OURS.fact]: node.id, [OURS.by]: fact.by };
  for (const field of fields) {
    const value: unknown = Reflect.get(fact, field);
    if (isAttribute(value)) attributes[`openrath.${field}`] = value;
  }
  return { name: `openrath.${fact.type}`, time, attributes };
}

function judged(node: Session, { content }: Detail): Attributes {
  const fact = node.fact as Extract<Fact, { type: "validation-report" }>;
  const detail: unknown = fact.detail;
  return {
    [GEN_AI.evaluation]: fact.name,
    ...(fact.score !== undefined && { [GEN_AI.score]: fact.score }),
    [GEN_AI.label]: fact.passed ? "pass" : "fail",
    ...(content &&
      detail !== undefined &&
      !(detail instanceof Withheld) && {
        [GEN_AI.explanation]: typeof detail === "string" ? detail : JSON.stringify(detail),
      }),
    [OURS.fact]: node.id,
  };
}

function isAttribute(value: unknown): value is Attributes[string] {
  if (Array.isArray(value)) return value.every((one) => typeof one === "string");
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}
