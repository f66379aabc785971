import { adoptedSide, type FactId, goesOnFrom, parentsOf, readFact } from "../session/index.js";
import type { Store } from "./store.js";

/** The fact whose conversation a line goes on with; undefined at a root. For those who read a record line by line. */
export async function lineBefore(
  store: Pick<Store, "load">,
  id: FactId,
  line: string,
): Promise<FactId | undefined> {
  const parents = parentsOf(line);
  if (parents.length < 2) return parents[0];
  const fact = readFact(line, undefined);
  // What the sides of a gathering share cannot be told from the line alone.
  if (fact.type === "branch-merge" && fact.adopt === "none")
    return goesOnFrom(await store.load(id, { horizon: Number.POSITIVE_INFINITY }))?.id;
  return parents[adoptedSide(fact, parents.length)];
}
