import { digestOf, type FactId } from "../session/index.js";
import { defined, firstLine } from "../util/index.js";
import type { Backend, BackendContext, Found as Elsewhere } from "./backend.js";
import { BackendError } from "./backend.js";
import { isKind, timesOf } from "./search/live.js";
import type { Found } from "./search/space-index.js";
import type { Space } from "./space.js";
import type { Memory } from "./state.js";
import type { FindOptions, FoundIn } from "./view.js";

/** Asked for in addition, since some of what is found there is not told any more. */
const MORE = 10;

/** Brings a backend to what a space says of some memories: those that are live are kept there, the others are not. */
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
 * What the space finds, and a backend beside it as far as the space's record bears that out: a memory that was revoked, or that
 * holds elsewhere, is not told because some other system still has it. What the record does not know is taken in first, as
 * something imported that nobody trusts. A backend that does not answer leaves what the space finds by itself, and it says so.
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
  return {
    ...own,
    head,
    found: best,
    backend: backend.name,
    ...defined({ without }),
  };
}

/** Something of others, as a memory of ours from now on. The same words at the same address are taken in once. */
async function adopted(
  space: Space,
  backend: Backend,
  { address, text }: Elsewhere,
): Promise<Memory | undefined> {
  if (text.trim() === "") return undefined;
  const { memory } = await space.adopt({
    backend: backend.name,
    address,
    text,
    digest: digestOf(text.toWellFormed()),
  });
  return space.get(memory);
}

/** Whether a memory is one of those that are asked for. */
function isMeant(filter: FindOptions, memory: Memory, now: string): boolean {
  const { expires, revised, at, subject } = memory;
  const time = Date.parse(revised ?? at);
  const [since, until] = timesOf(filter);
  if (filter.subject !== undefined && filter.subject !== subject) return false;
  return (
    isKind(filter, memory) && time >= since && time <= until && !(expires !== undefined && expires <= now)
  );
}
