import {
  BeyondHorizonError,
  branchView,
  digestOf,
  type FactId,
  filesView,
  type Json,
  keepingView,
  knownOf,
  lineageView,
  pendingView,
  placementView,
  type Session,
  sandboxView,
  seedView,
  snapshotViews,
  transcriptView,
  usageView,
  type View,
} from "../../session/index.js";

/** A snapshot is looked into when a session's depth passes a multiple of the first, and taken at the latest after so many. */
const SNAPSHOT_EVERY = 512;
const SNAPSHOT_AT_LATEST = 4096;
/** Sooner, it may add this much to what was written since the last one. */
const SHARE = 0.02;
/** A view that takes more than this is left out: it is asked of the whole history instead. */
const VIEW_CHARACTERS = 262_144;

// biome-ignore lint/suspicious/noExplicitAny: the views have nothing in common but how they are saved.
const ours: readonly View<any>[] = [
  usageView,
  placementView,
  pendingView,
  lineageView,
  branchView,
  transcriptView,
  keepingView,
  filesView,
  sandboxView,
];
const VIEWS = ours.map(({ name }) => name).join();

/** The answers of the views at a session, as text: with it a long session opens without its past. */
export function takeSnapshot(session: Session): string {
  const saved: { [name: string]: Json } = {};
  for (const view of [...ours, ...snapshotViews]) {
    const state = savedState(session, view);
    if (state !== undefined && JSON.stringify(state).length <= VIEW_CHARACTERS)
      saved[view.name as string] = state;
  }
  const body = JSON.stringify({ depth: session.depth, of: VIEWS, views: saved });
  return `${SEAL}${sealOf(session.id, body)}",${body.slice(1)}`;
}

/** Nothing for a view whose answer would have to be read from the store first. */
function savedState<State>(session: Session, view: View<State>): Json | undefined {
  try {
    return view.save?.(knownOf(session, view), session);
  } catch (error) {
    if (error instanceof BeyondHorizonError) return undefined;
    throw error;
  }
}

/** Whether a snapshot is to be thought of after writing from one depth to another. */
export function isDue(from: number, to: number): boolean {
  return Math.floor(from / SNAPSHOT_EVERY) < Math.floor((to + 1) / SNAPSHOT_EVERY);
}

/** Whether a snapshot is small next to what came since the last one, or that was long ago. */
export function isWorthKeeping(
  snapshot: string,
  session: Session,
  prepared: { has(session: Session): boolean },
): boolean {
  let written = 0;
  let at: Session | undefined = session;
  for (let count = 0; at !== undefined && !prepared.has(at); count++) {
    written += at.line.length;
    if (count >= SNAPSHOT_AT_LATEST || snapshot.length <= SHARE * written) return true;
    at = at.isPastLoaded ? at.parents[0] : undefined;
  }
  return false;
}

const SEAL = '{"seal":"';
const SEALED = SEAL.length + 64 + '",'.length;

/** A snapshot is covered by no id, so it carries a digest of its own: an altered one would make a session tell lies. */
export function isSealed(id: FactId, snapshot: string): boolean {
  return snapshot.slice(0, SEALED) === `${SEAL}${sealOf(id, `{${snapshot.slice(SEALED)}`)}",`;
}

function sealOf(id: FactId, body: string): string {
  return digestOf(id + body);
}

/** Whether a snapshot was taken of all views that there are now. An older one could not answer for a newer view. */
export function isCurrent(snapshot: string): boolean {
  return (JSON.parse(snapshot) as { of?: string }).of === VIEWS;
}

/** How deep the session of a snapshot stands. */
export function depthIn(snapshot: string): number {
  return (JSON.parse(snapshot) as { depth: number }).depth;
}

/** Tells a session whose past is not loaded what its views answer. */
export function useSnapshot(session: Session, snapshot: string): void {
  const { views: saved } = JSON.parse(snapshot) as { views: { [name: string]: Json } };
  for (const view of [...ours, ...snapshotViews]) {
    const state = saved[view.name as string];
    if (state !== undefined) seedView(session, view, view.load?.(state));
  }
}
