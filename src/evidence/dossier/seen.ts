import type { Fact, FactId } from "../../session/index.js";
import type { Item } from "./dossier.js";

/** A fact of the record with its place in the graph, as those who collect are shown it. */
export type Seen = {
  readonly id: FactId;
  readonly parents: readonly FactId[];
  readonly fact: Fact;
  readonly line: string;
  readonly branch: { readonly name: string; readonly index: number };
  /** Is not in the past of the session that the dossier is about. */
  readonly elsewhere: boolean;
};

/** What sources that told no time have in its place. */
const NO_TIME = "1970-01-01T00:00:00.000Z";

/** A time that was really told. */
export function timeOf(at: string): string | undefined {
  return at === NO_TIME || Number.isNaN(Date.parse(at)) ? undefined : at;
}

/** What every item says: its proof, its time, its author, its branch. */
export function itemOf({ id, fact, branch }: Seen): Item {
  const at = timeOf(fact.at);
  return { facts: [id], ...(at !== undefined && { at }), by: fact.by, branch: branch.name };
}
