import type { Json } from "../../../session/index.js";
import { isObject, type JsonObject, wordsFor } from "../fields.js";

/** What a request to a model says, in the shape of the GenAI conventions. */
export type Asked = {
  readonly model: string;
  readonly instructions?: string;
  readonly messages: readonly JsonObject[];
};
/** What a model answered, likewise. */
export type Answered = {
  readonly parts: readonly JsonObject[];
  readonly finish: string;
  readonly usage: {
    readonly input: number;
    readonly output: number;
    readonly cached?: number;
    readonly reasoning?: number;
  };
  readonly id?: string;
  readonly model?: string;
};

/** How one provider writes requests, answers and streams. */
export type Provider = {
  readonly path: RegExp;
  asked(body: JsonObject, path: string): Asked;
  /** A whole answer; undefined when it is none. */
  answered(body: JsonObject, asked: Asked): Answered | undefined;
  /** The pieces of a stream as a whole answer. */
  joined(events: readonly JsonObject[]): JsonObject | undefined;
};

export function textPart(text: Json | undefined): JsonObject {
  return { type: "text", content: wordsFor(text) };
}

export function otherPart(value: Json): JsonObject {
  return { type: "other", value };
}

export function callPart(id: Json | undefined, name: Json | undefined, input: Json): JsonObject {
  return { type: "tool_call", id: wordsFor(id ?? ""), name: wordsFor(name ?? ""), arguments: input };
}

export function listOf(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? (value as readonly Json[]).filter(isObject) : [];
}

/** A count of tokens that can be counted with. */
export function tokens(value: Json | undefined): number {
  return typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : 0;
}
