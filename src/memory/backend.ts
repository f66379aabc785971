import { digestOf, type FactId, type Json, RathError } from "../session/index.js";
import { defined, firstLine } from "../util/index.js";
import { isKind, timesOf } from "./search/live.js";
import type { Found } from "./search/space-index.js";
import type { Space } from "./space.js";
import type { Memory } from "./state.js";
import type { FindOptions, FoundIn } from "./view.js";

/** Another system that keeps and finds texts: OpenViking, a memory server. The space keeps the record. */
export interface Backend {
  /** With its kind and where it is; on the record with every reading. Never a secret. */
  readonly name: string;
  /** Puts a memory there, or its newer text, and says by what address it is found. The same again does no harm. */
  keep(memory: Memory, context: BackendContext): Promise<Kept>;
  /** The address at which a memory of a space is kept. */
  addressOf(memory: FactId, space: string): string;
  /** Takes one away: it was revoked, has expired, or was undone. A missing one is not an error. */
  drop(address: string, context: BackendContext): Promise<void>;
  find(
    query: string,
    options: { readonly limit: number },
    context: BackendContext,
  ): Promise<readonly BackendFound[]>;
}

export type BackendContext = {
  readonly signal: AbortSignal;
  /** The value of a secret that the runtime was given. */
  secret(name: string): string;
};

export type Kept = { readonly address: string };

/** A text that was found there. Texts that we keep there name their memory; the others belong to other programs. */
export type BackendFound = {
  readonly address: string;
  readonly text: string;
  /** From 0 to 1. */
  readonly score: number;
  readonly memory?: FactId;
  readonly parts?: Json;
};

/** The fault of a backend: unreachable, refused, missing, too long, too slow, cancelled, or not installed. */
export type BackendFault = keyof typeof HINTS;

const HINTS = {
  unreachable: "start it, and check its address; the memories themselves are in the space",
  refused: "read what it says: the key, the account or the address is not what it wants",
  "not-found": "look at what is there with ls, or keep the memory again",
  malformed: "look whether something else answers at that address, or another version of it",
  "too-large": "ask for less, or allow longer answers with maxAnswer",
  timeout: "ask again, or allow more time with timeout",
  stopped: "ask again: the caller stopped waiting for this answer",
  "not-installed": "install the package that the message names",
} as const;

/** Another system that was to keep or find memories did not. Our own record is as it was. */
export class BackendError extends RathError {
  readonly fault: BackendFault;

  constructor(
    backend: string,
    fault: BackendFault,
    use: string,
    reason: string,
    data: { readonly [key: string]: Json } = {},
    hint: string = HINTS[fault],
  ) {
    const said = brief(reason);
    super("memory-backend", `Cannot ${use} at ${backend}: ${said}.`, {
      hint,
      data: { backend, fault, reason: said, ...data },
    });
    this.fault = fault;
  }
}

const WORDS = 300;

/** An untrusted message, shortened, on one line. */
function brief(text: string): string {
  const line = text
    .slice(0, WORDS * 4)
    .toWellFormed()
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim()
    .replace(/\.$/, "");
  return line.length > WORDS ? `${line.slice(0, WORDS).toWellFormed()}…` : line;
}

/** How many more texts are searched there than are returned, since some of them are revoked here. */
const MORE = 10;

/** Brings a backend up to date with some memories: live ones are kept there, others are removed. */
export async function mirrored(
  space: Space,
  backend: Backend,
  memories: readonly FactId[],
  context: BackendContext,
): Promise<number> {
  let kept = 0;
  for (const id of memories) {
    context.signal.throwIfAborted();
    const memory = await space.get(id);
    if (memory?.status === "live") {
      await backend.keep(memory, context);
      kept += 1;
    } else await backend.drop(backend.addressOf(id, space.name), context);
  }
  return kept;
}

/**
 * The hits of a space and of its backend. Revoked memories are not returned although the backend has them, and unknown
 * texts are imported untrusted. Falls back to the space when the backend fails; `without` says why.
 */
export async function foundIn(
  space: Space,
  backend: Backend,
  query: string,
  options: FindOptions,
  context: BackendContext,
  redact: (text: string) => string,
): Promise<FoundIn & { readonly backend: string }> {
  const own = await space.find(query, options);
  const { limit, threshold, now } = own;
  const found = new Map<FactId, Found>(own.found.map((one) => [one.memory.id, one]));
  let without: string | undefined;
  try {
    for (const one of await backend.find(query, { limit: limit + MORE }, context)) {
      if (!(one.score >= threshold)) continue;
      const memory =
        one.memory === undefined
          ? await adopted(space, backend, { ...one, text: redact(one.text) })
          : await space.get(one.memory);
      if (memory === undefined || memory.status !== "live" || !isMeant(options, memory, now)) continue;
      const before = found.get(memory.id);
      const parts = { words: 0, meaning: 0, ...before?.parts, elsewhere: one.score, address: one.address };
      const score = Math.max(one.score, before?.score ?? 0);
      found.set(memory.id, { memory, score, parts, alike: before?.alike ?? [] });
    }
  } catch (error) {
    if (!(error instanceof BackendError)) throw error;
    without = firstLine(error.message);
  }
  const best = [...found.values()]
    .sort((one, other) => other.score - one.score || (one.memory.id < other.memory.id ? -1 : 1))
    .slice(0, limit);
  const head = await space.head();
  return { ...own, head, found: best, backend: backend.name, ...defined({ without }) };
}

/** Imports a text of another program as a memory. The same text at the same address is imported once. */
async function adopted(space: Space, backend: Backend, { address, text }: BackendFound) {
  if (text.trim() === "") return undefined;
  const digest = digestOf(text.toWellFormed());
  const { memory } = await space.adopt({ backend: backend.name, address, text, digest });
  return space.get(memory);
}

function isMeant(filter: FindOptions, memory: Memory, now: string): boolean {
  const { expires, revised, at, subject } = memory;
  const time = Date.parse(revised ?? at);
  const [since, until] = timesOf(filter);
  if (filter.subject !== undefined && filter.subject !== subject) return false;
  return (
    isKind(filter, memory) && time >= since && time <= until && !(expires !== undefined && expires <= now)
  );
}
