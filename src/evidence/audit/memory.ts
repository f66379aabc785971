import { type Why, type WhyNode, why } from "../../memory/answer/index.js";
import { type FactId, type MemoryHit, RathError } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { firstLine } from "../../util/index.js";
import { type Answer, Telling } from "./answer.js";
import { type Read, type Reader, readingsOf, TURN, turnReadings } from "./reader.js";
import { type Step, stepOf, stepWords } from "./step.js";
import { many, short } from "./words.js";

/** `progress` is called with the number of facts that the index of memories has taken in. */
type WhyOptions = { readonly progress?: (facts: number) => void };

/** So many memories of a reading are told one by one. */
const HITS = 20;
/** So many facts behind a memory are told. */
const GROUNDS = 10;

/** The memories read at a step, with what was shown and why they existed: a model's turn, or another call. */
export async function whichMemory(
  store: Store,
  ref: string,
  step: string | number,
  options: WhyOptions = {},
): Promise<Answer> {
  const telling = await Telling.open(store, `Which memory was read at step ${step} of ${ref}?`);
  const { reader } = telling;
  const head = await store.resolve(ref);
  const found = await stepOf(reader, head, step);
  const isModel = found.fact.type === "model-call";
  const before = found.parents[0];
  const turn = isModel && before !== undefined ? await turnReadings(reader, before) : undefined;
  if (turn?.isCut === true)
    telling.gap`The turn is long: only its newest ${TURN} facts were looked at for readings.`;
  const readings = isModel ? (turn?.readings ?? []) : await readingsOf(reader, head, found.id);
  if (readings.length === 0)
    if (isModel)
      telling.claim`${[found.id]} No memory was read in the turn of ${stepWords(found)}: nothing that was remembered stood in its prompt.`;
    else telling.claim`${[found.id]} No memory was read by ${stepWords(found)}.`;
  const shown = isModel ? await shownTo(telling.reader, found, readings) : new Set<FactId>();
  const told: { reading: FactId; memory: FactId; shown: boolean }[] = [];
  for (const reading of readings) {
    const isShown = isModel ? shown.has(reading.id) : reading.fact.shown !== undefined;
    told.push(...(await tellReading(telling, found, reading, { isShown, isModel, ...options })));
  }
  return telling.done({ step: found.id, memories: told });
}

/** The readings whose notes stood in the prompt of a call. */
async function shownTo(reader: Reader, { fact }: Step, readings: readonly Read[]) {
  const shown = inForce(readings);
  const config =
    fact.type === "model-call" && fact.config !== undefined ? await reader.fact(fact.config) : undefined;
  const since = config?.fact.type === "agent-configure" ? config.fact.since : undefined;
  if (since === undefined) return shown;
  // An agent as a tool begins in the middle, and was shown nothing that was recalled before.
  const before = inForce((await turnReadings(reader, since)).readings);
  return new Set([...shown].filter((id) => !before.has(id)));
}

/** Of each part of each space, the reading that was to be shown last is the one that stands in the prompt. */
function inForce(readings: readonly Read[]): ReadonlySet<FactId> {
  const last = new Map<string, Read>();
  for (const reading of readings) {
    const { space, shown, settings } = reading.fact;
    const { part = "", show } = (settings ?? {}) as { readonly part?: string; readonly show?: boolean };
    if (shown !== undefined || show === true) last.set(JSON.stringify([space, part]), reading);
  }
  return new Set([...last.values()].filter(({ fact }) => fact.shown !== undefined).map(({ id }) => id));
}

async function tellReading(
  telling: Telling,
  step: Step,
  { id, fact }: Read,
  { isShown, isModel, ...options }: WhyOptions & { readonly isShown: boolean; readonly isModel: boolean },
): Promise<{ reading: FactId; memory: FactId; shown: boolean }[]> {
  const { space, query, hits, head, shown, by, at, module } = fact;
  const where = isModel ? `in the turn of ${stepWords(step)}` : `at ${stepWords(step)}`;
  const stood = head === undefined ? "" : `, which stood at ${short(head)}`;
  telling.claim`${[id, step.id, ...(head === undefined ? [] : [head])]} ${by}${module === undefined ? "" : `, in ${telling.plain(module.join(" › "))},`} looked in the memory ${telling.plain(space)}${stood}, for ${telling.quoted(query)}, ${where} at ${at}.`;
  if (!Array.isArray(hits)) {
    telling.gap`The result of the reading ${short(id)} is not here: ${telling.plain(hits)}.`;
    return [];
  }
  if (hits.length === 0) telling.claim`${[id]} It found nothing.`;
  if (shown !== undefined)
    if (isShown) telling.claim`${[id]} Of it, the model was shown: ${telling.quoted(shown, 600)}.`;
    else telling.claim`${[id]} Its text stood in no prompt of this step: a later reading took its place.`;
  const tool = shown === undefined && hits.length > 0 ? await toolOf(telling.reader, fact.of) : undefined;
  if (tool !== undefined)
    telling.claim`${[id, tool.id]} Its result was returned by the tool ${telling.plain(tool.name)}, which stands in the conversation.`;
  else if (shown === undefined && hits.length > 0)
    telling.claim`${[id]} The model was shown nothing of it as notes; the program that asked was given it.`;
  const told = isShown
    ? "shown"
    : tool === undefined
      ? "found and not shown"
      : "found and given back by the tool";
  for (const hit of hits.slice(0, HITS))
    await tellHit(telling, id, hit, { told: isTold(hit) ? told : "found and left out", ...options });
  if (hits.length > HITS)
    telling.gap`${many(hits.length - HITS, "more memory", "more memories")} of that reading are not told here.`;
  return hits.map((hit) => ({ reading: id, memory: hit.memory, shown: isShown && isTold(hit) }));
}

function isTold({ parts }: MemoryHit): boolean {
  return (parts as { readonly told?: unknown } | undefined)?.told !== false;
}

/** The tool that a reading was made by, if it was one. */
async function toolOf(reader: Reader, of: FactId | undefined) {
  const call = of === undefined ? undefined : await reader.fact(of);
  return call?.fact.type === "tool-call" ? { id: call.id, name: call.fact.name } : undefined;
}

async function tellHit(
  telling: Telling,
  reading: FactId,
  hit: MemoryHit,
  { told, ...options }: WhyOptions & { readonly told: string },
): Promise<void> {
  const { memory, version, score, text } = hit;
  const here = await telling.reader.store.has(memory);
  const said = text === undefined ? "" : `: ${telling.quoted(text, 200)}`;
  telling.claim`${[reading, ...(here ? [memory] : []), ...(version !== undefined && version !== memory ? [version] : [])]} Memory ${short(memory)} was ${told}, with the score ${Number(score).toFixed(2)}${said}.`;
  if (!here) {
    telling.gap`The memory ${short(memory)} itself is not in this store, so nobody can say here why it was there.`;
    return;
  }
  try {
    await tellWhy(telling, await why(telling.reader.store, memory, options));
  } catch (error) {
    if (!(error instanceof RathError)) throw error;
    telling.gap`Why the memory ${short(memory)} was there cannot be told: ${firstLine(error.message)}`;
  }
}

/** Why a memory was there: who wrote it, and what it rests on in the end. */
async function tellWhy(telling: Telling, { memory, versions, leaves, more }: Why): Promise<void> {
  for (const { id, type, by, at, text, source, because } of versions) {
    const verb = VERBS[type] ?? type;
    const from = source === undefined ? "" : `, learnt from: ${source}`;
    const rests =
      because.length === 0
        ? ""
        : `, because of ${because.slice(0, 5).map(short).join(", ")}${because.length > 5 ? ` and ${because.length - 5} more` : ""}`;
    telling.claim`${[id, ...(await present(telling, because.slice(0, 5)))]} It was ${verb} by ${by} at ${at}${from}${rests}${text === "" ? "" : `: ${telling.quoted(text, 200)}`}.`;
  }
  for (const leaf of leaves.slice(0, GROUNDS)) tellGround(telling, memory, leaf);
  if (leaves.length > GROUNDS || more)
    telling.gap`More lies behind the memory ${short(memory)} than is told here: rath memory why ${short(memory)}.`;
}

function tellGround(telling: Telling, memory: FactId, { id, type, by, at, text, ground }: WhyNode): void {
  if (ground === "missing" && by === undefined) {
    telling.gap`It rests on ${short(id)}, which is not in this store.`;
    return;
  }
  telling.claim`${[id, memory]} In the end it rests on ${GROUND[ground ?? "tool"]}: ${type} ${short(id)} by ${by} at ${at}${text === "" ? "" : `: "${text}"`}.`;
}

async function present(telling: Telling, ids: readonly FactId[]): Promise<readonly FactId[]> {
  const here: FactId[] = [];
  for (const id of ids) if (await telling.reader.store.has(id)) here.push(id);
  return here;
}

const VERBS: { readonly [type: string]: string } = {
  "memory-write": "written",
  "memory-revise": "revised",
  "memory-revoke": "revoked",
  "memory-promote": "promoted",
  "memory-expire": "ended",
  "memory-link": "linked",
};

const GROUND = {
  person: "the word of a person",
  tool: "what the world said",
  validation: "a validation",
  import: "an import",
  model: "what a model said, with nothing behind it",
  missing: "something that is no longer here",
} as const;
