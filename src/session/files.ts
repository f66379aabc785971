import { parting } from "./ancestry.js";
import type { Digest, FactId } from "./fact/index.js";
import type { Session } from "./session.js";
import { adopted, type Merge, savedAsJson, type View } from "./view.js";

/**
 * The files of a session: the tree they make, null before there are any. `unmerged` are sides of a merge whose files
 * are not in the tree yet: what each of them had, and what it had in common with the tree. They are merged in this order.
 */
export type FilesState = { readonly tree: Digest | null; readonly unmerged?: readonly Unmerged[] };
export type Unmerged = { readonly base: Digest | null; readonly theirs: Digest };

const NONE: FilesState = Object.freeze({ tree: null });

/** Which files a session has. */
export const filesView: View<FilesState> = {
  name: "files",
  start: NONE,
  step(state, fact) {
    switch (fact.type) {
      case "workspace-import":
      case "workspace-change":
      case "workspace-resolve":
        return stateOf(fact.after, state.unmerged);
      case "workspace-merge": {
        // Files also come back from a module that ran inside a call; that settles no side of a merge.
        const done = (state.unmerged ?? []).findIndex((one) => isSame(one, fact));
        return stateOf(fact.after, done < 0 ? state.unmerged : state.unmerged?.toSpliced(done, 1));
      }
      case "session-detach":
        return stateOf(fact.tree ?? null);
      default:
        return state;
    }
  },
  merge(sides, merge) {
    const side = adopted(merge);
    if (side !== undefined) return sides[side] ?? NONE;
    let [now = NONE] = sides;
    // The sessions that the sides after the first bring along: a later one may have gone on from an earlier one.
    const met = new Set<FactId>();
    for (const [place, theirs] of sides.entries())
      if (!isAlike(theirs, now)) now = joined(now, theirs, befores(merge, place, met));
    return now;
  },
  ...savedAsJson<FilesState>(),
};

/** Merges of files that left conflicts: those that nobody has decided yet, oldest first, and those that somebody has. */
export type ConflictsState = { readonly open: readonly FactId[]; readonly decided: readonly FactId[] };

/** Which conflicts are in the files of a session; those of a branch that lost are not. */
export const conflictsView: View<ConflictsState> = {
  name: "conflicts",
  start: Object.freeze({ open: Object.freeze([]), decided: Object.freeze([]) }),
  step(state, fact, session) {
    switch (fact.type) {
      case "workspace-merge":
        return Array.isArray(fact.conflicts) && fact.conflicts.length > 0
          ? conflictsOf([...state.open, session.id], state.decided)
          : state;
      case "workspace-resolve":
        return state.open.includes(fact.merge)
          ? conflictsOf(state.open, [...state.decided, fact.merge])
          : state;
      // The files of a module that ran inside a call came back with it, and what it decided.
      case "tool-result":
      case "step-result":
        return session.parents.length < 2
          ? state
          : united([state, ...session.parents.slice(1).map((inside) => inside.view(conflictsView))]);
      default:
        return state;
    }
  },
  merge(sides, merge) {
    const side = adopted(merge);
    return side === undefined ? united(sides) : (sides[side] as ConflictsState);
  },
  ...savedAsJson<ConflictsState>(),
};

function united(sides: readonly ConflictsState[]): ConflictsState {
  return conflictsOf(
    sides.flatMap(({ open }) => open),
    sides.flatMap(({ decided }) => decided),
  );
}

function conflictsOf(open: readonly FactId[], decided: readonly FactId[]): ConflictsState {
  const over = new Set(decided);
  return Object.freeze({
    open: Object.freeze([...new Set(open)].filter((id) => !over.has(id))),
    decided: Object.freeze([...over]),
  });
}

/** The files of one side in those of the others. `befores` is what both had when they parted; they may have met more than once. */
function joined(ours: FilesState, theirs: FilesState, befores: readonly FilesState[]): FilesState {
  const [mine, others] = [ours.unmerged ?? [], theirs.unmerged ?? []];
  // A side that was still to be merged when they parted is done when either side has done it.
  const open = befores.flatMap(({ unmerged = [] }) => unmerged);
  const unmerged = [...mine, ...others.filter((one) => !has(mine, one))].filter(
    (one) => !has(open, one) || (has(mine, one) && has(others, one)),
  );
  const bases = befores.length === 0 ? [null] : befores.map(({ tree }) => tree);
  // A side that changed nothing has no say.
  const stayed = (tree: Digest | null): boolean => bases.every((base) => base === tree);
  if (theirs.tree === null || theirs.tree === ours.tree || stayed(theirs.tree))
    return stateOf(ours.tree, unmerged);
  if (stayed(ours.tree)) return stateOf(theirs.tree, unmerged);
  // With a base that is one of the sides, the other would win without a question.
  const base = bases.find((one) => one !== ours.tree && one !== theirs.tree) ?? bases[0] ?? null;
  const side = { base, theirs: theirs.tree };
  return stateOf(ours.tree, has(unmerged, side) ? unmerged : [...unmerged, side]);
}

/** The files of a side of a merge when it parted from those before it. */
function befores({ parents, at }: Merge<FilesState>, place: number, met: Set<FactId>): readonly FilesState[] {
  const [ours, theirs] = [parents[0], parents[place]];
  if (ours === undefined || theirs === undefined || place === 0) return [];
  const apart = parting(ours, theirs);
  let nearest: Session | undefined;
  const own = [...apart.theirs];
  for (const one of own) if (met.has(one.id) && one.depth >= (nearest?.depth ?? 0)) nearest = one;
  for (const { id } of own) met.add(id);
  return (nearest === undefined ? apart.base : [nearest]).map(at);
}

function stateOf(tree: Digest | null, unmerged: readonly Unmerged[] = []): FilesState {
  const sides = unmerged.map(({ base, theirs }) => Object.freeze({ base, theirs }));
  return Object.freeze({ tree, ...(sides.length > 0 && { unmerged: Object.freeze(sides) }) });
}

function isAlike(one: FilesState, other: FilesState): boolean {
  const [mine = [], others = []] = [one.unmerged, other.unmerged];
  return (
    one.tree === other.tree &&
    mine.length === others.length &&
    mine.every((side, place) => isSame(side, others[place] as Unmerged))
  );
}

function isSame(one: Unmerged, other: Unmerged): boolean {
  return one.base === other.base && one.theirs === other.theirs;
}

function has(sides: readonly Unmerged[], side: Unmerged): boolean {
  return sides.some((one) => isSame(one, side));
}
