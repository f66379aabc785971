import { type Fact, type FactId, factTypes, readFact, typeOf } from "../../session/index.js";
import { lineBefore, NotFoundError, type Recorded, type Store } from "../../store/index.js";
import { type Answer, Telling } from "./answer.js";
import { tellCall } from "./call.js";
import { AuditError } from "./error.js";
import { linesAfter, placeIn, type Reader } from "./reader.js";

/** Something was asked of a model, a tool, or the world. Steps are counted in the order of the history, from 1. */
export type Step = Recorded & {
  /** Which it is of the session's steps; undefined when the session does not have it. */
  readonly number?: number;
};

const CALLS: ReadonlySet<string> = factTypes("model-call tool-call step-call");

function isCall(type: string): boolean {
  return CALLS.has(type);
}

/** The step of a session by number, id (or its beginning), or the id of any fact about it or after it. */
export async function stepOf(reader: Reader, head: FactId, given: string | number): Promise<Step> {
  // As the log shows it: #7.
  const text = String(given)
    .trim()
    .replace(/^#(?=\d+$)/, "");
  if (/^\d{1,9}$/.test(text)) {
    const found = await numbered(reader, head, Number(text));
    if (found.step !== undefined) return found.step;
    // Six digits may also be the beginning of an id.
    if (text.length < 6 || !(await isKnown(reader, text)))
      throw new AuditError(
        "step-unknown",
        `There is no step ${text}: this session has ${found.count === 1 ? "one step" : `${found.count} steps`}.`,
        found.count === 0
          ? "no model, tool or step was called in it"
          : `name one from 1 to ${found.count}; \`rath log\` shows them`,
        { step: text.slice(0, 80), steps: found.count },
      );
  }
  if (!/^[0-9a-f]{6,64}$/.test(text))
    throw new AuditError(
      "step-unknown",
      `${JSON.stringify(text.slice(0, 80))} is not a step.`,
      "give the number of a step (7), or an id, or the beginning of one; `rath log` shows both",
      { step: text.slice(0, 80) },
    );
  const called = await callAt(reader, await reader.store.resolve(text));
  const number = await numberOf(reader, head, called.id);
  return { ...called, ...(number !== undefined && { number }) };
}

/** A step in words: "step 7 (model-call 1a2b3c4d5e6f)". */
export function stepWords({ number, id, fact }: Step): string {
  const name = `${fact.type} ${id.slice(0, 12)}`;
  return number === undefined ? name : `step ${number} (${name})`;
}

async function isKnown({ store }: Reader, prefix: string): Promise<boolean> {
  try {
    await store.resolve(prefix);
    return true;
  } catch (error) {
    if (error instanceof NotFoundError) return false;
    throw error;
  }
}

/** The steps of a history in order, each with its number. */
async function* callsIn({ store }: Reader, head: FactId) {
  let number = 0;
  for await (const lines of store.lines(head))
    for (const { id, line } of lines) if (isCall(typeOf(line))) yield { id, line, number: ++number };
}

async function numbered(reader: Reader, head: FactId, wanted: number) {
  let count = 0;
  for await (const { id, line, number } of callsIn(reader, head)) {
    if (number === wanted) return { step: { ...(await reader.read(id, line)), number }, count: number };
    count = number;
  }
  return { count };
}

/** A step that is named by its id and lies farther on has no number: counting would read everything before it. */
const COUNTED = 20_000;

async function numberOf(reader: Reader, head: FactId, wanted: FactId): Promise<number | undefined> {
  const place = await placeIn(reader.store, head, wanted);
  if (place === undefined || place > COUNTED) return undefined;
  for await (const { id, number } of callsIn(reader, head)) if (id === wanted) return number;
  return undefined;
}

/** How far back a call is looked for from something that names none. */
const BACK = 10_000;

async function callAt(reader: Reader, from: FactId): Promise<Recorded> {
  let id: FactId | undefined = from;
  for (let steps = 0; id !== undefined && steps < BACK; steps++) {
    const line: string | undefined = await reader.store.line(id);
    if (line === undefined) break;
    if (isCall(typeOf(line))) return reader.read(id, line);
    const fact = readFact(line, undefined) as { readonly type: string; readonly of?: unknown };
    // A fact that names its call is believed; a question about an approval leads to the call through it.
    id =
      typeof fact.of === "string" && /^[0-9a-f]{64}$/.test(fact.of)
        ? fact.of
        : await lineBefore(reader.store, id, line);
  }
  throw new AuditError(
    "step-unknown",
    `There is no step at ${from.slice(0, 12)}: nothing was called on the way to it.`,
    "name a model call, a tool call, or something that came of one",
    { fact: from },
  );
}

/** So many facts of one step are told. */
const TOLD = 50;

/** The events of a step: the caller, the model that asked for it, the decisions, and every result. */
export async function whatStep(store: Store, ref: string, step: string | number): Promise<Answer> {
  const telling = await Telling.open(store, `What happened at step ${step} of ${ref}?`);
  const { reader } = telling;
  const head = await store.resolve(ref);
  const found = await stepOf(reader, head, step);
  const about: Recorded[] = [];
  let more = 0;
  const mark = `"of":"${found.id}"`;
  for await (const { id, line } of linesAfter(store, head, found.id)) {
    if (!line.includes(mark) || DECIDED.has(typeOf(line))) continue;
    const one = await reader.read(id, line);
    if ((one.fact as { readonly of?: unknown }).of !== found.id) continue;
    if (about.length < TOLD) about.push(one);
    else more += 1;
    // The facts of a call stand before its outcome.
    if (isOutcome(one.fact)) break;
  }
  const { fact } = found;
  telling.claim`${[found.id]} ${stepWords(found)[0]?.toUpperCase()}${stepWords(found).slice(1)}: ${fact.by} ${telling.deed(fact, 300)} at ${fact.at}.`;
  const outcome = about.findLast(({ fact: one }) => isOutcome(one));
  const last = outcome ?? about.at(-1);
  if (fact.type !== "model-call" && last !== undefined)
    await tellCall(telling, { ...last.fact, of: found.id } as Fact, last.id);
  for (const { id, fact: one } of about)
    telling.claim`${[id]} ${one.by} ${telling.deed(one, 300)} at ${one.at}.`;
  telling.left(more, "more fact", "of this step are not told here.");
  if (outcome === undefined) telling.gap`The record does not say how it ended.`;
  return telling.done({ step: found.id, ...(found.number !== undefined && { number: found.number }) });
}

/** Facts that are told with the call itself. */
const DECIDED: ReadonlySet<string> = factTypes("policy-decide approval-ask approval-use effect-start");

function isOutcome({ type }: Fact): boolean {
  return /-(?:result|reply|failure)$/.test(type);
}
