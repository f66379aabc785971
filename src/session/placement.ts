import { parting } from "./ancestry.js";
import { PlacementMismatchError } from "./error.js";
import type { FactOf, Placement } from "./fact/index.js";
import type { Json } from "./json.js";
import type { Session } from "./session.js";
import { adopted, savedAsJson, type View } from "./view.js";

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
    const side = adopted(merge);
    if (side !== undefined) return places[side] ?? null;
    const { place, mismatch } = reconcile(places, merge.parents, (shared) => merge.at(shared));
    // A merge that could not have been made here goes on with ours: a recorded graph must always be readable.
    return mismatch === undefined ? place : (places[0] ?? null);
  },
  ...savedAsJson<Placement | null>(),
};

/** Refuses, before it is made, a merge whose sides moved to different places and that adopts neither. */
export function checkPlacement(parents: readonly Session[], adopt: FactOf<"branch-merge">["adopt"]): void {
  if (adopt !== "both") return;
  const places = parents.map((parent) => parent.view(placementView));
  const { mismatch } = reconcile(places, parents, (shared) => shared.view(placementView));
  if (mismatch !== undefined) throw mismatch;
}

/** A side that stayed where the others left it has no say; two that moved apart are a mismatch. */
function reconcile(
  places: readonly (Placement | null)[],
  parents: readonly Session[],
  at: (shared: Session) => Placement | null,
): { place: Placement | null; mismatch?: PlacementMismatchError } {
  let [place = null] = places;
  let mover = parents[0] as Session;
  for (let side = 1; side < places.length; side++) {
    const other = places[side] ?? null;
    if (alike(place, other)) continue;
    // Compared with the side that said where we are so far: a later one may have gone on from there.
    const { base } = parting(mover, parents[side] as Session);
    const before = base[0] === undefined ? null : at(base[0]);
    if (alike(place, before)) {
      place = other;
      mover = parents[side] as Session;
    } else if (!alike(other, before)) {
      const [ours, theirs] = [place?.sandbox ?? "nothing", other?.sandbox ?? "nothing"];
      return { place, mismatch: new PlacementMismatchError(ours, theirs) };
    }
  }
  return { place };
}

function alike(one: Json, other: Json): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}
