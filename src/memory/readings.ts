import {
  BeyondHorizonError,
  type Fact,
  type FactId,
  readFact,
  type Session,
  typeOf,
  type View,
} from "../session/index.js";
import type { Store } from "../store/index.js";
import { factOf } from "./answer/fact-line.js";

/** Whether a memory was found on some way to a session, and the sessions that its roots were detached from. */
type Readings = { readonly found: boolean; readonly detached: readonly FactId[] };

// Without `merge`, every side of a merge counts: what was rejected was read all the same.
const readingsView: View<Readings> = {
  start: Object.freeze({ found: false, detached: [] }),
  step(state, fact) {
    if (fact.type === "session-detach") return { ...state, detached: [...state.detached, fact.from] };
    return !state.found && isFinding(fact) ? { ...state, found: true } : state;
  },
};

/** A reading that found something, or whose result is no longer known. */
function isFinding(fact: Fact): boolean {
  return fact.type === "memory-read" && !(Array.isArray(fact.hits) && fact.hits.length === 0);
}

/**
 * Whether a memory was read before any of these facts, or before what the session `from` does, also before a session was
 * detached from another. All that was written after a reading is influenced by it: `influence` follows the same ways.
 */
export async function hasRead(
  store: Store,
  cited: readonly FactId[],
  from: Session | undefined,
): Promise<boolean> {
  const known: FactId[] = [];
  let open: readonly FactId[] = cited;
  if (from !== undefined) {
    try {
      const { found, detached } = from.view(readingsView);
      if (found) return true;
      known.push(from.id);
      open = [...cited, ...detached];
    } catch (error) {
      if (!(error instanceof BeyondHorizonError)) throw error;
      open = [...cited, from.id];
    }
  }
  while (open.length > 0) {
    const detached: FactId[] = [];
    for (const id of open) if (!(await store.has(id))) return true;
    for await (const lines of store.lines(open, { without: known }))
      for (const { line } of lines) {
        const type = typeOf(line);
        if (type === "memory-read" && isFinding(await factOf(store, line, ["hits"]))) return true;
        if (type === "session-detach") detached.push((readFact(line, undefined) as Detach).from);
      }
    known.push(...open);
    open = detached;
  }
  return false;
}

type Detach = Extract<Fact, { readonly type: "session-detach" }>;
