import type { Json } from "../../../session/index.js";
import { amount, type Fields, isFields, parsed, wordsFor } from "../fields.js";

/** What a request to a model says, in the shape of the GenAI conventions. */
export type Asked = {
  readonly model: string;
  readonly instructions?: string;
  readonly messages: readonly Fields[];
};
/** What a model answered, likewise. */
export type Answered = {
  readonly parts: readonly Fields[];
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
  asked(body: Fields, path: string): Asked;
  /** A whole answer; undefined when it is none. */
  answered(body: Fields, asked: Asked): Answered | undefined;
  /** The pieces of a stream as a whole answer. */
  joined(events: readonly Fields[]): Fields | undefined;
};

export function textPart(text: Json | undefined): Fields {
  return { type: "text", content: wordsFor(text) };
}

export function otherPart(value: Json): Fields {
  return { type: "other", value };
}

export function callPart(id: Json | undefined, name: Json | undefined, input: Json): Fields {
  return { type: "tool_call", id: wordsFor(id ?? ""), name: wordsFor(name ?? ""), arguments: input };
}

export function resultPart(id: Json | undefined, response: Json | undefined): Fields {
  return { type: "tool_call_response", id: wordsFor(id ?? ""), response: response ?? null };
}

/** A count of tokens that can be counted with. */
export function tokens(value: Json | undefined): number {
  return amount(value) ?? 0;
}

/** The data of the events of a stream. */
export function eventsIn(text: string): readonly Fields[] {
  const data = text.split(/\r?\n\r?\n/).map((event) =>
    event
      .split(/\r?\n/)
      .flatMap((line) => (line.startsWith("data:") ? [line.slice(5).trim()] : []))
      .join("\n"),
  );
  return data.map(parsed).filter(isFields);
}
