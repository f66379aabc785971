import { type FactId, readFact } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import type { Progress } from "../derived.js";
import { breath } from "./group.js";

/** How often a memory was found, and when last. */
export type Read = { readonly count: number; readonly last: string };

const PAGE = 10_000;

/**
 * What sessions of a store have found in a space. A space does not say who reads it, those who do say so; so their
 * record is looked through, as lines, without holding it.
 */
export async function readsOf(
  store: Store,
  space: string,
  {
    progress,
    signal,
  }: { readonly progress?: Progress | undefined; readonly signal?: AbortSignal | undefined } = {},
): Promise<ReadonlyMap<FactId, Read>> {
  const reads = new Map<FactId, Read>();
  const names = (await store.names()).filter(({ name }) => !name.startsWith("memory/"));
  if (names.length === 0) return reads;
  let seen = 0;
  for await (const lines of store.lines(names.map(({ id }) => id))) {
    for (const { id, line } of lines) {
      if (++seen % PAGE === 0) await breath(signal, progress, seen, undefined);
      if (!line.includes('"memory-read"')) continue;
      let fact = readFact(line, undefined);
      if (fact.type !== "memory-read" || fact.space !== space) continue;
      // What is long is kept beside the line, and read where it is wanted.
      if (!Array.isArray(fact.hits)) ({ fact } = await store.load(id, { horizon: 1 }));
      if (fact.type !== "memory-read" || !Array.isArray(fact.hits)) continue;
      for (const { memory } of fact.hits) {
        const known = reads.get(memory);
        const last = known === undefined || fact.at > known.last ? fact.at : known.last;
        reads.set(memory, { count: (known?.count ?? 0) + 1, last });
      }
    }
  }
  return reads;
}
