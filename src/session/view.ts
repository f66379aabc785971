import { commonPast, historyOf, unseen } from "./ancestry.js";
import { BeyondHorizonError, RathError } from "./error.js";
import type { Fact, FactOf } from "./fact/index.js";
import { frozenAs, type Json } from "./json.js";
import type { Session } from "./session.js";

/**
 * A question about a session, answered by a fold over its facts. States are values: `step` returns the next
 * one and leaves the last alone. Without `merge`, the facts of a merged-in side are stepped through once, so
 * sums and sets are right on any graph; with it, the sides of a `branch-merge` are reconciled before its fact
 * is stepped, and any other fact with several parents goes on from the first.
 */
export interface View<State> {
  readonly start: State;
  step(state: State, fact: Fact, session: Session): State;
  merge?(sides: readonly State[], merge: Merge<State>): State;
  /** Views with a name can be kept in a store's snapshots, so that a long session opens without its past. */
  readonly name?: string;
  save?(state: State, session: Session): Json | undefined;
  load?(saved: Json): State;
  /** Whether a loaded state lacks what its snapshot left out. A session that can read its past answers without it then. */
  isPartial?(state: State): boolean;
}

/** How a view is kept in snapshots whose states are JSON. */
export function savedAsJson<State>(): Required<Pick<View<State>, "save" | "load">> {
  return { save: (state) => state as Json, load: frozenAs<State> };
}

/** The questions that `View.merge` may ask about its merge. */
export interface Merge<State> {
  readonly fact: FactOf<"branch-merge">;
  readonly parents: readonly Session[];
  /** The state at a session of the shared past. */
  at(session: Session): State;
}

/** Answers are remembered at the session asked about, at merges, and every so often on the way. */
type Memo<State> = {
  readonly states: WeakMap<Session, State>;
  /** Whether facts that are not in memory are read where no answer is known. */
  readonly reads: boolean;
};
type Memos<State> = {
  /** Answers that rest on what snapshots say. */
  readonly known: Memo<State>;
  readonly all: Memo<State>;
  /** Answers of a view whose snapshots may lack something, from all facts. Made when the first is needed. */
  whole?: Memo<State>;
};
const memos = new WeakMap<object, Memos<unknown>>();
const MEMO_EVERY = 256;

/** The state of `view` after all facts of `session`: of those that can be read too, where a snapshot left out what is needed. */
export function viewOf<State>(
  session: Session,
  view: View<State>,
  canRead: boolean,
  isPartial: ((state: State) => boolean) | undefined = view?.isPartial,
): State {
  const memo = memosOf(view);
  const state = fold(session, view, memo.all);
  if (!canRead || isPartial?.(state) !== true) return state;
  memo.whole ??= { states: new WeakMap(), reads: true };
  return fold(session, view, memo.whole);
}

/** The state of `view` as far as it is known without reading facts that are not in memory; it may be partial. */
export function knownOf<State>(session: Session, view: View<State>): State {
  return fold(session, view, memosOf(view).known);
}

/** Says what the state of a view is at a session whose past is not loaded. For stores. */
export function seedView<State>(session: Session, view: View<State>, state: State): void {
  memosOf(view).known.states.set(session, state);
  const known = seeds.get(session) ?? new Map();
  seeds.set(session, known.set(view, state));
}

/** Says the same of another object for the same session. */
export function copySeeds(from: Session, to: Session): void {
  for (const [view, state] of seeds.get(from) ?? []) seedView(to, view, state);
}

const seeds = new WeakMap<Session, Map<View<unknown>, unknown>>();

/** Views of other layers whose answers stores keep in snapshots too. Each has a name of its own, `save` and `load`. */
// biome-ignore lint/suspicious/noExplicitAny: the views have nothing in common but how they are saved.
export const snapshotViews: View<any>[] = [];

/** Has stores keep the answers of a view, so that a long session need not be read for it. */
export function keepInSnapshots<State>(view: View<State>): View<State> {
  snapshotViews.push(view);
  return view;
}

function memosOf<State>(view: View<State>): Memos<State> {
  let memo = memos.get(view) as Memos<State> | undefined;
  if (memo === undefined) {
    if (typeof view?.step !== "function")
      throw new RathError("option-refused", "Cannot answer a view without a step.", {
        hint: "pass { start, step(state, fact) { … } }",
      });
    const states = new WeakMap<Session, State>();
    memo = { known: { states, reads: false }, all: { states, reads: true } };
    memos.set(view, memo as Memos<unknown>);
  }
  return memo;
}

function fold<State>(session: Session, view: View<State>, memo: Memo<State>): State {
  const { states } = memo;
  const path: Session[] = [];
  // Mostly the answer is known a few facts back, on a straight way.
  for (let node: Session | undefined = session; node !== undefined; ) {
    const state = states.get(node);
    if (state !== undefined || states.has(node)) return foldPath(path, state as State, view, memo);
    path.push(node);
    node = node.isPastLoaded ? node.soleParent : undefined;
  }
  return view.merge === undefined ? foldHistory(session, view, memo) : foldSides(session, view, memo);
}

/** Throws where parents that are not in memory are out of reach, or must not be read for an answer. */
function requireParents(node: Session, reads: boolean): void {
  if (!reads || node.atHorizon) throw new BeyondHorizonError("this view", node.id);
}

/** The first parents back to where the answer is known: `known`, or undefined when that is the root. */
function pathTo<State>(
  { states, reads }: Memo<State>,
  session: Session,
): { path: Session[]; known: Session | undefined; merges: boolean } {
  const path: Session[] = [];
  let merges = false;
  for (let node: Session | undefined = session; node !== undefined; ) {
    if (states.has(node)) return { path, known: node, merges };
    path.push(node);
    if (!node.isPastLoaded) requireParents(node, reads);
    const parent: Session | undefined = node.soleParent;
    merges ||= parent === undefined && node.parents.length > 1;
    node = parent ?? node.parents[0];
  }
  return { path, known: undefined, merges };
}

function foldHistory<State>(session: Session, view: View<State>, memo: Memo<State>): State {
  const { path, known, merges } = pathTo(memo, session);
  let state = known === undefined ? view.start : (memo.states.get(known) as State);
  // The history of a first parent is a prefix of the history of its child: fold on from there, once, whatever was merged in since.
  if (!merges) return foldPath(path, state, view, memo);
  for (const node of known === undefined ? historyOf(session) : unseen(session, known))
    state = view.step(state, node.fact, node);
  memo.states.set(session, state);
  return state;
}

function foldPath<State>(
  path: readonly Session[],
  start: State,
  view: View<State>,
  { states }: Memo<State>,
): State {
  let state = start;
  for (let index = path.length - 1; index >= 0; index--) {
    const node = path[index] as Session;
    state = view.step(state, node.fact, node);
    if (index === 0 || node.depth % MEMO_EVERY === 0) states.set(node, state);
  }
  return state;
}

function foldSides<State>(session: Session, view: View<State>, memo: Memo<State>): State {
  const { states, reads } = memo;
  const open = [session];
  for (let node = open.at(-1); node !== undefined; node = open.at(-1)) {
    if (states.has(node)) {
      open.pop();
      continue;
    }
    const path: Session[] = [];
    let at: Session = node;
    while (!states.has(at)) {
      if (!at.isPastLoaded) requireParents(at, reads);
      const parent = at.soleParent;
      if (parent === undefined) break;
      path.push(at);
      at = parent;
    }
    if (!states.has(at)) {
      const unknown = at.parents.filter((parent) => !states.has(parent));
      if (unknown.length > 0) {
        for (const parent of unknown) open.push(parent);
        continue;
      }
      const sides = at.parents.map((parent) => states.get(parent) as State);
      const before =
        at.fact.type === "branch-merge"
          ? reconciled(view, sides, at, at.fact, memo)
          : (sides[0] ?? view.start);
      states.set(at, view.step(before, at.fact, at));
    }
    foldPath(path, states.get(at) as State, view, memo);
  }
  return states.get(session) as State;
}

function reconciled<State>(
  view: View<State>,
  sides: readonly State[],
  session: Session,
  fact: FactOf<"branch-merge">,
  memo: Memo<State>,
): State {
  const merge = view.merge as NonNullable<View<State>["merge"]>;
  const { parents } = session;
  const at = (shared: Session): State => fold(shared, view, memo);
  if (fact.adopt !== "none") return merge.call(view, sides, { fact, parents, at });
  // To a view, what a merge without a preference goes on from is one more side, and the adopted one.
  const trunk = goesOnFrom(session) as Session;
  const gathering = { ...fact, adopt: parents.length };
  return merge.call(view, [...sides, at(trunk)], { fact: gathering, parents: [...parents, trunk], at });
}

/**
 * The session whose conversation, placement and files another one goes on with. A merge that prefers no side goes on with
 * the trunk: the one side that did not fork from what all of them share, or else what they share; histories that share
 * nothing leave ours as it is.
 */
export function goesOnFrom(session: Session): Session | undefined {
  const { fact, parents } = session;
  if (fact.type !== "branch-merge" || fact.adopt !== "none")
    return parents[adoptedSide(fact, parents.length)];
  if (!trunks.has(session)) trunks.set(session, trunkOf(parents));
  return trunks.get(session);
}

const trunks = new WeakMap<Session, Session | undefined>();

function trunkOf(sides: readonly Session[]): Session | undefined {
  const shared = commonPast(sides);
  if (shared === undefined) return sides[0];
  const unforked = sides.filter((side) => isUnforked(side, shared));
  return unforked.length === 1 ? unforked[0] : shared;
}

function isUnforked(side: Session, shared: Session): boolean {
  for (let node: Session | undefined = side; node !== undefined; node = goesOnFrom(node)) {
    if (node.id === shared.id) return true;
    if (node.fact.type === "branch-fork") return false;
  }
  return false;
}

/** The place of the parent whose conversation a fact goes on with: of a merge that adopts both or none, ours. */
export function adoptedSide(fact: Fact, parents: number): number {
  return fact.type === "branch-merge" ? (adopted({ fact, parents: { length: parents } }) ?? 0) : 0;
}

/** The place in the list of parents that a merge adopts, or undefined for both; ours when it names a side that is not there. */
export function adopted({
  fact,
  parents,
}: {
  readonly fact: FactOf<"branch-merge">;
  readonly parents: { readonly length: number };
}): number | undefined {
  const { adopt } = fact;
  const place = adopt === "ours" ? 0 : adopt === "theirs" ? 1 : adopt;
  if (typeof place !== "number") return undefined;
  return place < parents.length ? place : 0;
}
