import { type Fact, type Session, traceFieldsOf, Withheld } from "../../../session/index.js";
import { EVALUATION_EVENT, GEN_AI, OURS } from "./conventions.js";
import type { Detail } from "./describe.js";
import { type Attributes, nanosecondsOf, type SpanEvent } from "./span.js";

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
