import { parting } from "./ancestry.js";
import { PlacementMismatchError } from "./error.js";
import type { FactOf, Placement } from "./fact.js";
import { frozen, type Json } from "./json.js";
import type { Session } from "./session.js";
import { adopted, type View } from "./view.js";

/** Where side effects happen now. Null, in a state that can be saved, stands for nowhere yet. */
export const placementView: View<Placement | null> = {
  name: "placement",
  start: null,
  step(place, fact) {
    if (fact.type === "placement-change")
      return Object.freeze(
        fact.spec === undefined ? { sandbox: fact.sandbox } : { sandbox: fact.sandbox, spec: fact.spec },
      );
    if (fact.type === "session-detach") return fact.placement ?? null;
    return place;
  },
  merge(places, merge) {
    const side = adopted(merge.fact);
    return side === undefined
      ? reconcile(places, merge.parents, (shared) => merge.at(shared))
      : (places[side] ?? null);
  },
  save: (place) => place,
  load: (saved) => frozen(saved) as Placement | null,
};

/** Refuses, before it is made, a merge whose sides moved to different places and that adopts neither. */
export function checkPlacement(parents: readonly Session[], adopt: FactOf<"branch-merge">["adopt"]): void {
  if (adopt !== "both") return;
  reconcile(
    parents.map((parent) => parent.view(placementView)),
    parents,
    (shared) => shared.view(placementView),
  );
}

/** A side that stayed where the others left it has no say; two that moved apart are a mismatch. */
function reconcile(
  places: readonly (Placement | null)[],
  parents: readonly Session[],
  at: (shared: Session) => Placement | null,
): Placement | null {
  let [place = null] = places;
  for (let side = 1; side < places.length; side++) {
    const other = places[side] ?? null;
    if (alike(place, other)) continue;
    const { base } = parting(parents[0] as Session, parents[side] as Session);
    const before = base[0] === undefined ? null : at(base[0]);
    if (alike(place, before)) place = other;
    else if (!alike(other, before))
      throw new PlacementMismatchError(place?.sandbox ?? "nothing", other?.sandbox ?? "nothing");
  }
  return place;
}

function alike(one: Json, other: Json): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}
