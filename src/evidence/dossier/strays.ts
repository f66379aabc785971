import { type FactId, parentsOf, typeOf } from "../../session/index.js";
import { isKeptByRuntime, type Store } from "../../store/index.js";

/** Facts whose children are looked for one by one; a longer record is looked through by its names alone. */
const WALKED = 50_000;
/** How many facts of other branches are followed. */
const FOLLOWED = 50_000;

export type Strays = {
  /** Where the branches end that hang from these facts and are in nobody's past here. */
  readonly heads: readonly FactId[];
  /** The parts that were not searched, in words. */
  readonly note?: string;
};

/**
 * The branches from a history that were never merged: interrupted runs, what-ifs, tried forks. Without them a
 * dossier could hide failures. Others' later runs on a session without a run do not count.
 */
export async function straysOf(
  store: Store,
  head: FactId,
  isKnown: (id: FactId) => boolean,
  ids: Iterable<FactId>,
  facts: number,
  walked: number = WALKED,
  hasRun = true,
): Promise<Strays> {
  if (facts > walked) return byNames(store, head, isKnown);
  const open: FactId[] = [];
  const seen = new Set<FactId>();
  const want = (id: FactId): void => {
    if (isKnown(id) || seen.has(id)) return;
    seen.add(id);
    open.push(id);
  };
  const childrenOf = async (id: FactId): Promise<readonly FactId[]> => {
    const children = await store.children(id);
    if (hasRun) return children;
    const own: FactId[] = [];
    for (const child of children) {
      const line = await store.line(child);
      if (line !== undefined && typeOf(line) !== "run-start") own.push(child);
    }
    return own;
  };
  for (const id of ids) for (const child of await childrenOf(id)) want(child);
  const heads: FactId[] = [];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    const children = await childrenOf(id);
    if (seen.size > FOLLOWED)
      return {
        heads: [id, ...heads],
        note: `more than ${FOLLOWED.toLocaleString("en")} facts of other branches hang from this session; not all of them are here`,
      };
    if (children.length === 0) heads.push(id);
    for (const child of children) want(child);
  }
  return { heads: heads.sort() };
}

/** Whatever is kept is under a name: those that hang from these facts are the branches that somebody kept. */
async function byNames(store: Store, head: FactId, isKnown: (id: FactId) => boolean): Promise<Strays> {
  const heads = new Set<FactId>();
  for (const { id } of await store.names())
    if (!isKnown(id) && !heads.has(id) && (await hangs(store, id, head, isKnown))) heads.add(id);
  return {
    heads: [...heads].sort(),
    note: "the record is long: branches that nothing took in were looked for by their names alone",
  };
}

/** Whether what a session has of its own comes from these facts: its first facts say so. */
async function hangs(store: Store, id: FactId, head: FactId, isKnown: (id: FactId) => boolean) {
  for await (const lines of store.lines(id, { without: [head] }))
    return lines.some(({ line }) => parentsOf(line).some(isKnown));
  return false;
}

/** The names that lead to ids, without those that a runtime keeps for itself. */
export async function namesById(store: Store): Promise<ReadonlyMap<FactId, readonly string[]>> {
  const names = new Map<FactId, string[]>();
  for (const { name, id } of await store.names())
    if (!isKeptByRuntime(name)) names.set(id, [...(names.get(id) ?? []), name]);
  return names;
}
