import { type FactId, factTypes, type Principal } from "../session/index.js";
import type { Store } from "../store/index.js";
import { defined } from "../util/index.js";
import type { SpaceChain } from "./chain.js";
import { comparable, contradictedBy, differInOneThing } from "./contradiction.js";
import { type MemoryRefusedError, refusing } from "./error.js";
import { storeNameOf } from "./name.js";
import type { SpaceSettings } from "./operation.js";
import type { Space } from "./space.js";
import { memoriesOf } from "./state.js";
import { useIndex } from "./view.js";

/** How many memories of a merged branch are compared with those of the space. */
const COMPARED = 1_000;

const UNDOABLE: ReadonlySet<string> = factTypes(
  "memory-write memory-revise memory-revoke memory-promote memory-expire memory-link",
  "memory-rollback",
);

/** The changes of a space since one of its ids. */
export type Changes = {
  readonly facts: readonly FactId[];
  readonly written: readonly FactId[];
  /** The memories that the facts are about. */
  readonly touched: readonly FactId[];
  /** The last revision of each memory. */
  readonly revised: ReadonlyMap<FactId, FactId>;
};

/** The facts of a space that are not in the past of an id. `only` limits the memories to those of some of these facts. */
export async function changesSince(
  store: Store,
  head: FactId,
  to: FactId,
  only?: ReadonlySet<FactId>,
): Promise<Changes> {
  const facts: FactId[] = [];
  const written: FactId[] = [];
  const touched = new Set<FactId>();
  const revised = new Map<FactId, FactId>();
  for await (const { id, fact } of store.history(head, { without: [to] })) {
    if (UNDOABLE.has(fact.type)) facts.push(id);
    if (fact.type === "memory-write") written.push(id);
    if (fact.type === "memory-revise") revised.set(fact.of, id);
    if (only === undefined || only.has(id)) for (const one of memoriesOf(id, fact)) touched.add(one);
  }
  return { facts, written, touched: [...touched], revised };
}

/** Merges a branch into a space. Memories that contradict each other are both kept, and linked. */
export async function mergeBranch(
  space: Space,
  chain: SpaceChain,
  settings: SpaceSettings,
  { from, by, why }: { readonly from: string; readonly by: Principal; readonly why?: string },
): Promise<FactId> {
  const use = `merge "${from}" into the memory "${space.name}"`;
  const { store } = space;
  const other = await store.load(storeNameOf(from));
  // Another space has other rules, and its memories were never compared with ours.
  await requireKin(space, other.id, use);
  let sides: readonly [theirs: Changes, ours: Changes] | undefined;
  const { session } = await chain.append(use, { by }, async (end) => {
    const ours = await store.load(end.id);
    sides = [await changesSince(store, other.id, ours.id), await changesSince(store, ours.id, other.id)];
    return ours.merge(other, { by, ...defined({ why }) });
  });
  if (sides !== undefined) {
    const [theirs, ours] = sides;
    await linkContradictions(space, settings, theirs.written.slice(0, COMPARED), by);
    await keepBoth(space, ours.revised, theirs.revised, by);
  }
  return (await space.head()) ?? session.id;
}

async function linkContradictions(
  space: Space,
  { contradicts }: SpaceSettings,
  brought: readonly FactId[],
  by: Principal,
): Promise<void> {
  if (contradicts === false) return;
  const why = "found when branches were merged";
  for (const id of brought) {
    const [memory, others] = await useIndex(space, async (index) => {
      const found = index.get(id);
      return [found, found?.status === "live" ? comparable(index, found) : []] as const;
    });
    if (memory === undefined) continue;
    for (const other of await contradictedBy(memory, others, contradicts ?? differInOneThing))
      if (other.id !== id && !memory.contradicts.includes(other.id))
        await space.link(id, { to: other.id, relation: "contradicts", by, why });
  }
}

/** A memory revised on both branches keeps one text; the other becomes a memory that contradicts it. */
async function keepBoth(space: Space, ours: Changes["revised"], theirs: Changes["revised"], by: Principal) {
  for (const [id, mine] of ours) {
    const other = theirs.get(id);
    const memory = other === undefined ? undefined : await space.get(id);
    if (other === undefined || memory?.status !== "live") continue;
    const lost = memory.version === mine ? other : mine;
    const { fact } = await space.store.load(lost, { horizon: 1 });
    if (fact.type !== "memory-revise" || typeof fact.text !== "string" || fact.text === memory.text) continue;
    const written = await space.write({
      text: fact.text,
      because: [lost],
      source: "reflection",
      by: fact.by,
      scope: memory.scope,
    });
    if (written.contradicts.includes(id)) continue;
    const why = "both branches have revised it";
    await space.link(written.memory, { to: id, relation: "contradicts", by, why });
  }
}

/** The id that a text stands for: an id of the store, or the beginning of one. */
export async function resolveId(store: Store, id: unknown, use: string): Promise<FactId> {
  if (typeof id !== "string" || !/^[0-9a-f]{4,64}$/.test(id)) throw unknownId(String(id), use);
  return store.resolve(id).catch(() => {
    throw unknownId(id, use);
  });
}

export async function requirePast(space: Space, id: FactId, use: string): Promise<void> {
  const head = await space.head();
  if (head === id) return;
  if (head === undefined) throw unknownId(id, use);
  for await (const lines of space.store.lines(id, { without: [head] }))
    if (lines.length > 0) throw unknownId(id, use);
}

/** Throws unless an id is of a space, or of a branch of it. */
export async function requireKin(space: Space, id: FactId, use: string): Promise<void> {
  const head = await space.head();
  if (head === undefined || (await rootOf(space.store, head)) !== (await rootOf(space.store, id)))
    throw unknownId(id, use);
}

/** The id of the session that a space began with. */
async function rootOf(store: Store, head: FactId): Promise<FactId | undefined> {
  for await (const lines of store.lines(head)) return lines[0]?.id;
  return undefined;
}

function unknownId(id: FactId, use: string): MemoryRefusedError {
  return refusing(use, "unknown")(
    `${id.slice(0, 12)} is not in the past of the space`,
    "an id of the space, such as `head` of a write or of a recall",
    { id },
  );
}
