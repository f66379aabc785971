import { digestOf, type FactId } from "../session/index.js";
import type { Backend, BackendContext, Found as Elsewhere } from "./backend.js";
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
 * What a backend finds, as far as the space's record bears it out: a memory that was revoked, or that holds elsewhere, is not
 * told because some other system still has it. What the record does not know is taken in first, as something imported that
 * nobody trusts.
 */
export async function foundIn(
  space: Space,
  backend: Backend,
  query: string,
  options: FindOptions & { readonly limit: number; readonly threshold: number; readonly now: string },
  context: BackendContext,
): Promise<FoundIn> {
  const { limit, threshold, now } = options;
  const elsewhere = await backend.find(query, { limit: limit + MORE }, context);
  const known = new Map<FactId, Memory>();
  for (const one of await space.list(options)) known.set(one.id, one);
  const found: Found[] = [];
  for (const one of elsewhere) {
    if (!(one.score >= threshold) || found.length >= limit) continue;
    const memory = one.memory === undefined ? await adopted(space, backend, one) : known.get(one.memory);
    if (memory === undefined || memory.status !== "live" || isOver(memory, now)) continue;
    if (found.some((other) => other.memory.id === memory.id)) continue;
    const parts = { words: 0, meaning: 0, elsewhere: one.score, address: one.address };
    found.push({ memory, score: one.score, parts, alike: [] });
  }
  return { head: await space.head(), now, limit, threshold, found };
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

function isOver({ expires }: Memory, now: string): boolean {
  return expires !== undefined && expires <= now;
}
