import type { FactId } from "../../session/index.js";
import { removable } from "../care/removal.js";
import type { Removal } from "../shelf.js";
import type { Blobs } from "./blobs.js";
import { chainOf, type Place, placeIn } from "./chain.js";
import type { Connection } from "./connection.js";
import type { Facts } from "./facts.js";
import type { Names } from "./names.js";

/** All that a database holds. */
export type Tables = {
  readonly connection: Connection;
  readonly facts: Facts;
  readonly names: Names;
  readonly blobs: Blobs;
};

/** Removes facts, blobs and keys, inside of a transaction. */
export function applyRemoval(tables: Tables, what: Removal): void {
  const { connection, facts, names, blobs } = tables;
  facts.lines.pack(true);
  const gone = stillLoose(tables, what.ids ?? []);
  facts.lines.remove(gone);
  for (const place of gone.keys()) {
    connection.run("DELETE FROM snapshots WHERE p = ?", place);
    connection.run("DELETE FROM merges WHERE child = ?", place);
    if (placeIn(place) === 0) connection.run("DELETE FROM chains WHERE chain = ?", chainOf(place));
  }
  names.dropSteps(new Set(gone.values()));
  for (const digest of removable(what, () => everyLine(facts), blobs)) blobs.drop(digest);
  for (const key of what.keys ?? []) blobs.dropKey(key);
  if (what.snapshots) connection.run("DELETE FROM snapshots");
  connection.run("UPDATE generation SET collected = collected + 1");
}

/** Of facts that nothing led to when they were counted, those that may still go: no name or newer fact came to them since. */
function stillLoose({ facts, names }: Tables, ids: readonly FactId[]): ReadonlyMap<Place, FactId> {
  const loose = new Map<Place, FactId>();
  for (const id of ids) {
    const place = facts.place(id);
    if (place !== undefined) loose.set(place, id);
  }
  const standing = [...names.places()];
  for (const place of loose.keys())
    for (const child of facts.childPlaces(place)) if (!loose.has(child)) standing.push(child);
  const past = facts.chains.reach(standing);
  for (const place of [...loose.keys()]) if (place <= (past.get(chainOf(place)) ?? -1)) loose.delete(place);
  return loose;
}

/** The lines that are there now. Only while nobody else writes. */
function* everyLine(facts: Facts): Generator<string> {
  for (const batch of facts.every()) for (const { line } of batch) yield line;
}
