import { askedLast } from "../agent/model/index.js";
import type { Fact, FactId, FactOf, Json, Session, View } from "../session/index.js";
import { BeyondHorizonError, readFact, typeOf } from "../session/index.js";
import type { Store } from "../store/index.js";
import { defined } from "../util/index.js";
import type { StepContext } from "../workflow/index.js";
import { factOf } from "./answer/fact-line.js";
import type { Found } from "./search/space-index.js";
import type { Shown } from "./shown.js";

type Read = FactOf<"memory-read">;
type Reading = Pick<Read, "space" | "query"> & {
  readonly head: FactId | undefined;
  readonly found: readonly Found[];
  readonly settings: Read["settings"];
};

/** A memory that was found, as it is on the record of the session that asked. */
export type Recollection = {
  readonly memory: FactId;
  readonly version: FactId;
  readonly text: string;
  readonly score: number;
  /** The parts of the score, the origin of the memory, and whether the model was shown it. */
  readonly parts: { readonly words: number; readonly meaning: number; readonly [part: string]: Json };
};

/** Records a `memory-read`. `shown` is the text before the next prompt; a tool's result shows everything. */
export function recordReading(
  { record }: Pick<StepContext, "record">,
  { space, head, query, found, settings }: Reading,
  shown?: { readonly to: Session; readonly notes: Shown | undefined },
): void {
  const told = shown === undefined ? found.map(({ memory }) => memory.id) : (shown.notes?.memories ?? []);
  const notes = shown?.notes;
  record({
    type: "memory-read",
    space,
    ...defined({ head }),
    query,
    hits: found.map((one) => hitOf(one, told)),
    ...defined({
      settings,
      shown: notes?.text,
      before: notes === undefined || shown === undefined ? undefined : askedLast(shown.to),
    }),
  });
}

function hitOf({ memory, score, parts, alike }: Found, told: readonly FactId[]): Read["hits"][number] {
  const { id, version, text, source, by, at, trust, scope, contradicts } = memory;
  return {
    memory: id,
    version,
    score,
    text,
    parts: {
      ...parts,
      told: told.includes(id),
      source,
      by,
      at,
      trust,
      scope: [...scope],
      ...(contradicts.length > 0 && { contradicts }),
      ...(alike.length > 0 && { alike }),
    },
  };
}

/** The hits of the newest reading in the past of a session. */
export function recollectionsIn(session: Session): readonly Recollection[] {
  for (let node: Session | undefined = session; node !== undefined; node = node.parents[0])
    if (node.fact.type === "memory-read") return recollectionsOf(node.fact);
  return [];
}

export function recollectionsOf({ hits }: Read): readonly Recollection[] {
  // Content that was erased since is not a list.
  if (!Array.isArray(hits)) return [];
  return hits.map(({ memory, version = memory, text = "", score, parts }) => ({
    memory,
    version,
    text,
    score,
    parts: (parts ?? { words: 0, meaning: 0 }) as Recollection["parts"],
  }));
}

/** Whether a second reading found what the record says. */
export function isSameReading(found: readonly Found[], recorded: readonly Recollection[]): boolean {
  return (
    found.length === recorded.length &&
    found.every(({ memory: { id, version, text }, score }, place) => {
      const hit = recorded[place];
      return hit?.memory === id && hit.version === version && hit.score === score && hit.text === text;
    })
  );
}

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
 * Whether a memory was read before these facts or before what the session `from` does, through detached
 * sessions too. `influence` follows the same ways.
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
