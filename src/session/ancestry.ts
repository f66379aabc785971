import { postorder } from "../util/index.js";
import { BeyondHorizonError } from "./error.js";
import type { FactId } from "./fact/index.js";
import type { Session } from "./session.js";

/**
 * Every session of `head`'s past and `head` itself, parents before children: what ours saw first, then what
 * each further side of a merge adds. Iterative, because histories outgrow the call stack.
 */
export function* historyOf(head: Session): Generator<Session, void> {
  const path: Session[] = [];
  let node = head;
  for (let parent = node.soleParent; parent !== undefined; parent = node.soleParent) {
    path.push(node);
    node = parent;
  }
  if (node.parents.length > 1) return yield* within(head, () => true);
  yield node;
  for (let index = path.length - 1; index >= 0; index--) yield path[index] as Session;
}

/**
 * The part of `head`'s past that `known` lacks, in the order of `head`'s history. The cost is the
 * distance to where they parted, not the length of the history before it.
 */
export function unseen(head: Session, known: Session): Iterable<Session> {
  // The common case first: `head` goes on from `known` in a straight line.
  const path: Session[] = [];
  let node = head;
  while (node !== known && node.depth > known.depth) {
    const parent = node.soleParent;
    if (parent === undefined) break;
    path.push(node);
    node = parent;
  }
  if (same(node, known)) return path.reverse();
  const wanted = paint(known, head, "theirs").theirs;
  return within(head, (session) => wanted.has(session.id));
}

/** The parts that only one of two sessions has, and the nearest sessions they share. */
export function parting(
  ours: Session,
  theirs: Session,
): { base: readonly Session[]; ours: Iterable<Session>; theirs: Iterable<Session> } {
  const sides = paint(ours, theirs, "both");
  return {
    base: sides.base,
    ours: sides.ours.size === 0 ? [] : within(ours, (session) => sides.ours.has(session.id)),
    theirs: sides.theirs.size === 0 ? [] : within(theirs, (session) => sides.theirs.has(session.id)),
  };
}

/** The nearest session that all of these share; the deepest, if there are more. Undefined for histories that share nothing. */
export function commonPast(sessions: readonly Session[]): Session | undefined {
  let [shared] = sessions;
  for (const other of sessions.slice(1)) {
    if (shared === undefined) return undefined;
    const { base } = parting(shared, other);
    shared = [...base].sort((one, next) => next.depth - one.depth || (one.id < next.id ? -1 : 1))[0];
  }
  return shared;
}

/** Whether `ancestor` is in the past of `session`, or the same session. */
export function descends(session: Session, ancestor: Session): boolean {
  const seen = new Set<Session>();
  const open = [session];
  let cut: Session | undefined;
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    // Straight stretches are walked remembering a step now and then: many branches may lead to one trunk.
    while (node.depth > ancestor.depth && !seen.has(node)) {
      const parent: Session | undefined = node.soleParent;
      if (parent === undefined) break;
      if (node.depth % REMEMBER_EVERY === 0) seen.add(node);
      node = parent;
    }
    if (same(node, ancestor)) return true;
    if (node.depth <= ancestor.depth || seen.has(node)) continue;
    seen.add(node);
    if (node.atHorizon) cut = node;
    else for (const parent of node.parents) open.push(parent);
  }
  if (cut !== undefined) throw new BeyondHorizonError("whether one session descends from another", cut.id);
  return false;
}

const REMEMBER_EVERY = 64;

/** Whether all of a session's past can be had: what is not in memory can be read. Reads nothing. */
export function isWithinReach(session: Session): boolean {
  const seen = new Set<Session>();
  const open = [session];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    // Along one line of facts nothing need be remembered.
    for (let next: Session | undefined = node; next !== undefined; ) {
      if (next.atHorizon) return false;
      node = next;
      next = node.isPastLoaded ? node.soleParent : undefined;
    }
    if (!node.isPastLoaded || node.parents.length < 2 || seen.has(node)) continue;
    seen.add(node);
    open.push(...node.parents);
  }
  return true;
}

/** Equal ids mean equal histories, so two objects with one id are one session. */
function same(one: Session, other: Session): boolean {
  return one === other || (one.depth === other.depth && one.id === other.id);
}

/** The wanted part of a past, each fact once. */
function* within(head: Session, wanted: (session: Session) => boolean): Generator<Session, void> {
  const done = new Set<FactId>();
  const isOpen = (parent: Session): boolean => !done.has(parent.id) && wanted(parent);
  for (const session of postorder(head, ({ parents }) => parents, isOpen)) {
    done.add(session.id);
    yield session;
  }
}

type Mark = { readonly session: Session; seen: number; inherited: boolean };
const OURS = 1;
const THEIRS = 2;
const BOTH = 3;

/**
 * Walks back from both sides, deepest first, and marks who can reach what. A session is visited after all
 * its descendants here, so its marks are final when it is taken; the walk ends when only shared past is left.
 */
function paint(
  ours: Session,
  theirs: Session,
  want: "theirs" | "both",
): { ours: Set<FactId>; theirs: Set<FactId>; base: readonly Session[] } {
  const found = { ours: new Set<FactId>(), theirs: new Set<FactId>() };
  const base: Session[] = [];
  const marks = new Map<FactId, Mark>();
  const heap: Mark[] = [];
  let waiting = 0; // marks in the heap that still keep the walk going
  const counts = (mark: Mark): number =>
    mark.seen === THEIRS || (want === "both" && (mark.seen === OURS || !mark.inherited)) ? 1 : 0;

  const reach = (session: Session, seen: number): void => {
    const mark = marks.get(session.id);
    if (mark === undefined) {
      const fresh = { session, seen, inherited: seen === BOTH };
      marks.set(session.id, fresh);
      push(heap, fresh);
      waiting += counts(fresh);
      return;
    }
    waiting -= counts(mark);
    mark.seen |= seen;
    if (seen === BOTH) mark.inherited = true;
    waiting += counts(mark);
  };
  reach(ours, OURS);
  reach(theirs, THEIRS);
  while (waiting > 0) {
    const mark = pop(heap) as Mark;
    waiting -= counts(mark);
    const { session } = mark;
    if (mark.seen === OURS) found.ours.add(session.id);
    else if (mark.seen === THEIRS) found.theirs.add(session.id);
    else if (!mark.inherited) base.push(session);
    // The past before the last mark that counts changes nothing, and need not be read.
    if (waiting === 0 && mark.seen !== THEIRS && !(mark.seen === OURS && want === "both")) break;
    if (session.atHorizon) throw new BeyondHorizonError("what two sessions share", session.id);
    for (const parent of session.parents) reach(parent, mark.seen);
  }
  return { ...found, base };
}

function push(heap: Mark[], mark: Mark): void {
  let index = heap.length;
  heap.push(mark);
  while (index > 0) {
    const above = (index - 1) >> 1;
    const parent = heap[above] as Mark;
    if (parent.session.depth >= mark.session.depth) break;
    heap[index] = parent;
    index = above;
  }
  heap[index] = mark;
}

function pop(heap: Mark[]): Mark | undefined {
  const top = heap[0];
  const last = heap.pop();
  if (heap.length === 0 || last === undefined) return top;
  let index = 0;
  for (;;) {
    let below = 2 * index + 1;
    if (below >= heap.length) break;
    const right = heap[below + 1];
    if (right !== undefined && right.session.depth > (heap[below] as Mark).session.depth) below += 1;
    const child = heap[below] as Mark;
    if (child.session.depth <= last.session.depth) break;
    heap[index] = child;
    index = below;
  }
  heap[index] = last;
  return top;
}
