import { answerOf } from "../../agent/index.js";
import type { Module } from "../../runtime/index.js";
import type { Json, Principal, Session } from "../../session/index.js";
import { parseJson } from "../../util/index.js";
import { enter, isModule, type StepResult, step, workBeside } from "../../workflow/index.js";
import { LONGEST } from "../operation.js";
import { field } from "./kind.js";

/** Somebody who can be asked: a module, such as an agent, or a function of your own, which is called through the door. */
export type Somebody<Input> = Module | ((input: Input) => unknown);

type Question<Input> = {
  /** The name of the question in the record. */
  readonly name: string;
  readonly whom: Somebody<Input>;
  /** The input of a function. */
  readonly input: Input;
  /** The message for a module. */
  readonly words: string;
};

/** Asks a module on a branch, whose words are evidence and not conversation. May throw a `StepError`. */
export async function ask<Input>(
  session: Session,
  { name, whom, input, words }: Question<Input>,
): Promise<StepResult<Json>> {
  if (!isModule(whom))
    return step(name, async (given: Json) => (await whom(given as Input)) as Json, {
      effect: "read",
      origin: "input",
    }).call(session, input as Json);
  const { session: ended, value } = await workBeside(session, {
    name,
    input: { asks: whom.name },
    by: askedOf(whom),
    work: (fork) => enter(whom, fork.say(words, { by: "runtime" })),
    value: (end, fork) => answerOf(whom, end, fork) ?? null,
  });
  return { session: ended, value };
}

/** Whose words an answer is. */
export function askedOf(whom: Somebody<never>): Principal {
  return isModule(whom) ? `agent:${whom.name}` : "agent";
}

/** The JSON in an answer: itself, or what stands in a text of it, also between fences. */
export function jsonIn(answer: Json): Json | undefined {
  if (typeof answer !== "string") return answer;
  const text = /```(?:json)?\s*\n([\s\S]*?)\n\s*```/.exec(answer)?.[1] ?? answer;
  return parseJson(text) as Json | undefined;
}

/** A thought, and the numbers of the statements that it rests on, from 1. */
type Insight = { readonly text: string; readonly because: readonly number[] };

/** The thoughts that rest on something that was shown, and how many did not. */
type Insights = { readonly kept: readonly Insight[]; readonly dropped: number };

/**
 * The thoughts in an answer: a list of `{ text, because: [1, 3] }`, or lines such as `1. She likes it
 * (because of 1, 3)`. One without a valid number is dropped.
 */
export function insightsIn(answer: Json, statements: number, most: number): Insights {
  const all = listedIn(answer) ?? (typeof answer === "string" ? writtenIn(answer) : []);
  const some = all.slice(0, most);
  const kept = some.filter(
    ({ text, because }) =>
      text !== "" &&
      text.length <= LONGEST &&
      because.length > 0 &&
      because.every((number) => Number.isSafeInteger(number) && number >= 1 && number <= statements),
  );
  return { kept, dropped: all.length - kept.length };
}

/** The questions in an answer: a list of texts, `{ questions: […] }`, or one on each line. */
export function questionsIn(answer: Json, most: number): readonly string[] {
  const json = jsonIn(answer);
  const list = Array.isArray(json) ? json : field(json, "questions");
  const texts = Array.isArray(list)
    ? list.filter((one): one is string => typeof one === "string")
    : typeof answer === "string"
      ? linesOf(answer)
          .filter(({ words, listed }) => listed || /[?？؟]$/u.test(words))
          .map(({ words }) => words)
      : [];
  const trimmed = texts.map((one) => one.trim().toWellFormed()).filter((one) => one !== "");
  return [...new Set(trimmed)].slice(0, most);
}

/** The number in an answer, where there is one on the scale. */
export function ratingIn(answer: Json, [least, most]: readonly [number, number]): number | undefined {
  const said = field(answer, "importance") ?? field(jsonIn(answer), "importance") ?? answer;
  const number = typeof said === "string" ? Number(/-?\d+(?:\.\d+)?/.exec(said)?.[0] ?? Number.NaN) : said;
  return typeof number === "number" && number >= least && number <= most ? number : undefined;
}

function listedIn(answer: Json): readonly Insight[] | undefined {
  const json = jsonIn(answer);
  const list = Array.isArray(json) ? json : field(json, "insights");
  if (!Array.isArray(list)) return undefined;
  return (list as readonly Json[]).map((one) => {
    const [text, because] = [field(one, "text"), field(one, "because")];
    return insightOf(
      typeof text === "string" ? text : "",
      Array.isArray(because)
        ? because.map((number) => (typeof number === "number" ? number : Number.NaN))
        : [],
    );
  });
}

/** Lines that are numbered, or name what they rest on; others are talk around them. */
function writtenIn(answer: string): readonly Insight[] {
  return linesOf(answer).flatMap(({ words, listed }) => {
    const cites = [...words.matchAll(/\(because of/gi)].at(-1)?.index;
    if (cites === undefined) return listed ? [insightOf(words, [])] : [];
    return [insightOf(words.slice(0, cites), (words.slice(cites).match(/\d+/g) ?? []).map(Number))];
  });
}

function insightOf(text: string, because: readonly number[]): Insight {
  return { text: text.trim().toWellFormed(), because: [...new Set(because)] };
}

function linesOf(text: string): readonly { readonly words: string; readonly listed: boolean }[] {
  return text
    .split(/\r\n|[\n\r]/)
    .map((line) => {
      const [mark] = /^\s*(?:\(?\d{1,3}[.):]|[-*•])\s+/.exec(line) ?? [];
      return { words: line.slice(mark?.length ?? 0).trim(), listed: mark !== undefined };
    })
    .filter(({ words }) => words !== "");
}
