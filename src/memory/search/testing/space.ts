import { type FactId, type FactInput, Session } from "../../../session/index.js";
import type { Store } from "../../../store/index.js";
import {
  foldMemory,
  inOrder,
  type Memory,
  memoriesOf,
  type SpaceFact,
  settled,
  undoneBy,
} from "../../state.js";

export const SPACE = "memory/notes";

export type Written = Partial<Omit<Extract<FactInput, { type: "memory-write" }>, "type" | "text">>;

/** A space as its facts: what it holds is said by what is written on it. */
export function emptySpace(): Session {
  const at = "2026-11-01T00:00:00.000Z";
  return Session.start(undefined, { nonce: "notes", at, by: "user:ada" }).append({
    type: "memory-space",
    by: "user:ada",
    at,
    space: "notes",
    scope: "project:rath",
  });
}

export function write(space: Session, text: string, more: Written = {}): Session {
  return space.append({
    type: "memory-write",
    by: "user:ada",
    at: "2026-11-01T00:00:00.000Z",
    space: "notes",
    text,
    scope: ["project:rath"],
    source: "tool-result",
    because: [space.id],
    ...more,
  });
}

export function writeAll(space: Session, texts: Iterable<string>, more: Written = {}): Session {
  let end = space;
  for (const text of texts) end = write(end, text, more);
  return end;
}

export async function saved(store: Store, space: Session): Promise<FactId> {
  await store.save(space, { name: SPACE, force: true });
  return space.id;
}

/** What a space holds as of an id, told from the whole history at once, in the plainest way. */
export async function heldAt(store: Store, head: FactId): Promise<ReadonlyMap<FactId, Memory>> {
  const depths = new Map<FactId, number>();
  const facts: SpaceFact[] = [];
  for await (const { id, parents, fact } of store.history(head)) {
    const depth = 1 + Math.max(0, ...parents.map((parent) => depths.get(parent) as number));
    depths.set(id, depth);
    facts.push({ id, depth, fact });
  }
  const undone = undoneBy(facts.filter(({ fact }) => fact.type === "memory-rollback"));
  const kept = facts.filter(({ id }) => !undone.has(id));
  const folded = new Map<FactId, Memory>();
  // In the order of writing, as the index lists them.
  for (const { id, fact } of [...kept].sort(inOrder)) {
    if (fact.type !== "memory-write") continue;
    const memory = foldMemory(
      id,
      kept.filter((one) => memoriesOf(one.id, one.fact).includes(id)),
    );
    if (memory !== undefined) folded.set(id, memory);
  }
  return new Map(
    [...folded].map(([id, memory]) => [
      id,
      settled(memory, memory.mergedInto === undefined ? undefined : folded.get(memory.mergedInto)),
    ]),
  );
}
