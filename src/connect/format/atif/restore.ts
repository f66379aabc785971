import type { Json, Session } from "../../../session/index.js";
import { type Fields, isFields, own } from "../fields.js";
import { restored } from "../trajectory/kept.js";
import type { Told } from "../trajectory/line.js";
import { copiedStep } from "./copied.js";
import { NOTES } from "./read.js";

/** What of a line came from a trajectory, as it was there, and the facts that came after it. */
export type Restored = {
  /** The document without its steps; undefined when the line is not from one. */
  readonly header: Fields | undefined;
  /** Where it stood among those that are embedded in one document. */
  readonly place: number | undefined;
  readonly steps: readonly Fields[];
  /** The sessions that took in embedded trajectories meanwhile. */
  readonly merges: readonly Session[];
  readonly rest: readonly Told[];
};

/** Reads the notes of an imported line. `above` are the steps of the trajectory that this one is embedded in. */
export function documentIn(line: readonly Told[], above: readonly Fields[]): Restored {
  let header: Fields | undefined;
  let place: number | undefined;
  let last = -1;
  const steps: Fields[] = [];
  for (const [index, { fact, session }] of line.entries()) {
    if (fact.type !== "note" || fact.kind !== "import-rest") continue;
    const value = fact.value as Json;
    if (fact.what === NOTES.trajectory && isFields(value)) {
      const { document, place: where } = restored(session, value) as { document: Fields; place: number };
      [header, place] = [document, where];
    } else if (fact.what === NOTES.copied && isFields(value))
      steps.push(...above.slice(0, Number(own(value, "steps"))).map(copiedStep));
    else if (fact.what === NOTES.step) steps.push(restored(session, value) as Fields);
    else continue;
    last = index;
  }
  if (header === undefined) return { header, place, steps: [], merges: [], rest: line };
  // Trajectories to which no step refers were taken in after the last step.
  while (line[last + 1]?.fact.type === "branch-merge" && isOfImport(line[last + 1])) last += 1;
  const merges = line
    .slice(0, last + 1)
    .flatMap(({ fact, session }) => (fact.type === "branch-merge" ? [session] : []));
  return { header, place, steps, merges, rest: line.slice(last + 1) };
}

function isOfImport(told: Told | undefined): boolean {
  const fact = told?.fact;
  return (
    fact?.type === "branch-merge" &&
    typeof fact.why === "string" &&
    fact.why.startsWith("embedded trajectory ")
  );
}
