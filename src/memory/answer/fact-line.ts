import type { Digest, Fact, FactId } from "../../session/index.js";
import { describeFact, isDigest, lineOf, readFact, refsOf, textOf } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { showValue } from "../../util/index.js";
import { type Checks, checkOptions, functionLike, optional, requireCount } from "../../workflow/index.js";
import type { Progress } from "../derived.js";
import { type MemoryRefusedError, refusing } from "../error.js";
import { memoriesOf } from "../state.js";

/** The fact of a line with the content of its blobs, or of these fields alone; missing content is `Withheld`. */
export async function factOf(store: Store, line: string, fields?: readonly string[]): Promise<Fact> {
  const blobs = new Map<Digest, Uint8Array>();
  for (const [field, { digest }] of Object.entries(refsOf(line))) {
    if (fields !== undefined && !fields.includes(field)) continue;
    const bytes = await store.blob(digest).catch(() => undefined);
    if (bytes !== undefined) blobs.set(digest, bytes);
  }
  return readFact(line, { read: (digest) => blobs.get(digest) });
}

/** The fact at an id, with the content of its blobs or of these fields; undefined when it is not in the store. */
export async function factAt(
  store: Store,
  id: FactId,
  fields?: readonly string[],
): Promise<Fact | undefined> {
  const line = await store.line(id);
  return line === undefined ? undefined : factOf(store, line, fields);
}

/** The ids in a field of a fact. Content that is withheld has none. */
export function idsIn(value: unknown): readonly FactId[] {
  return Array.isArray(value) ? value.filter(isDigest) : [];
}

/** The session that wrote a fact about a memory: all that it had read by then is behind the fact. */
export function writerOf(fact: Fact): FactId | undefined {
  if (fact.type === "memory-write") return fact.of;
  return (fact as { readonly from?: FactId }).from;
}

/** Some words of something, on one line, with an escape for each character that a reader would not see. */
export function brief(value: unknown, most = 120): string {
  return lineOf(textOf(value), most);
}

/** A fact in a few words: its own words where it has some, else a description. */
export function saidBy(fact: Fact, most = 120): string {
  const field = WORDS[fact.type];
  const words = field === undefined ? undefined : (fact as { readonly [field: string]: unknown })[field];
  return words === undefined ? describeFact(fact, { most }) : lineOf(textOf(words), most);
}

/** The field with the words of a fact: a statement, a result, a memory, or the reason for a change of one. */
const WORDS: { readonly [type in Fact["type"]]?: string } = {
  "session-start": "text",
  "memory-write": "text",
  "memory-revise": "text",
  "message-say": "content",
  "model-reply": "content",
  "tool-result": "output",
  "step-result": "value",
  "memory-revoke": "why",
  "memory-promote": "why",
  "memory-expire": "why",
};

export type AskOptions = {
  /** The maximum length of each list; default 1,000. Totals are exact whatever it is. */
  readonly most?: number;
  /** Called now and then while the index is made. */
  readonly progress?: Progress;
};

const CHECKS: Checks<AskOptions> = {
  most: optional(requireCount),
  progress: optional(functionLike("progress: (done) => console.error(done)")),
};

export function checkAsk(options: AskOptions, use: string, example: string): void {
  checkOptions(options, CHECKS, refusing(use), example);
}

/** The memory is not in the store: a misspelt id must not look like a memory without influence. */
export function unknownMemory(use: string, memory: FactId): MemoryRefusedError {
  return refusing(use, "unknown")(`${memory.slice(0, 12)} is not in the store`, HINT, { memory });
}

const HINT = "give the id of a memory: what a write or a recall answers with as `memory`";

/** The memory that is meant by an id, the beginning of one, or the id of something that was said about it later. */
export async function knownMemory(store: Store, given: unknown): Promise<FactId> {
  const refuse = refusing("ask about a memory", "unknown");
  if (typeof given !== "string" || !/^[0-9a-f]{6,64}$/.test(given))
    throw refuse(`${showValue(given)} is not the id of a memory`, HINT);
  const id = isDigest(given) ? given : await store.resolve(given);
  const line = await store.line(id);
  // One that was collected may have been read by sessions that are still here.
  if (line === undefined) return id;
  const fact = readFact(line, undefined);
  const [memory] = fact.type === "memory-write" ? [id] : memoriesOf(id, fact);
  if (memory === undefined) throw refuse(`${id.slice(0, 12)} is a ${fact.type}`, HINT, { fact: id });
  return memory;
}
