import type { Entry, FactId, FactOf, Json, Session, View } from "../../session/index.js";
import {
  BeyondHorizonError,
  DROP_OUTPUTS,
  List,
  placesOf,
  RathError,
  requireSession,
  stubbed,
  transcriptView,
  Withheld,
} from "../../session/index.js";
import { defined } from "../../util/index.js";
import { pastOf } from "../model/transcript.js";
import { within } from "../within.js";

export type Claim = { readonly text: string; readonly from: readonly FactId[] };

/** A part that was left out of view, and its replacement. */
export type Compression = {
  readonly id: FactId;
  readonly from: FactId;
  readonly to: FactId;
  readonly policy: string;
  readonly summary: string;
  readonly of?: FactId;
  readonly claims: readonly Claim[];
  /** 0 where outputs are left out, 1 for a summary, more for a summary of summaries. */
  readonly level: number;
  readonly covers: readonly Covered[];
  /** The fork on which the agent works as a tool whose view it is. */
  readonly within?: FactId;
};

/** A message that is left out of view: the fact that said it, and for a tool the fact that answered. */
export type Covered = { readonly fact: FactId; readonly outcome?: FactId; readonly what: string };

/**
 * Everything that was left out of view on the way to a session, oldest first.
 *
 * ```ts
 * for (const { id, covers } of compressionsOf(session)) console.log(id, covers.length);
 * ```
 */
export function compressionsOf(session: Session): readonly Compression[] {
  return requireSession(session, "list compressions").view(compressionsView).toArray();
}

/** The session just before something was left out of view, with everything still in it. */
export function beforeCompression(session: Session, id: FactId): Session {
  const at = pastOf(requireSession(session, "look before a compression"), id);
  const before = at.soleParent;
  if (at.fact.type === "context-compress" && before !== undefined) return before;
  throw new RathError("not-a-compression", `Nothing was left out of view at ${id.slice(0, 12)}.`, {
    hint: "name the fact of a compression: compressionsOf(session).at(-1).id",
    data: { session: session.id, id, type: at.fact.type },
  });
}

/** Without `merge`: what was left out on any side was left out, once. */
export const compressionsView: View<List<Compression>> = {
  start: List.empty,
  step(known, fact, session) {
    if (fact.type !== "context-compress") return known;
    return known.push(compressionAt(session, fact, known));
  },
};

function compressionAt(
  session: Session,
  fact: FactOf<"context-compress">,
  known: List<Compression>,
): Compression {
  const { from, to, policy = "", of } = fact;
  const isDrop = policy === DROP_OUTPUTS;
  const covered = coveredBy(session, fact, isDrop);
  const inside = within(session);
  const summary = fact.summary as string | Withheld;
  return Object.freeze({
    id: session.id,
    from,
    to,
    policy,
    summary: summary instanceof Withheld ? `[content ${summary.reason}]` : summary,
    ...defined({ of }),
    claims: claimsIn(fact.claims),
    level: isDrop ? 0 : 1 + highest(covered, known),
    covers: Object.freeze(covered.map(toldOf)),
    ...defined({ within: inside }),
  });
}

function coveredBy(session: Session, fact: FactOf<"context-compress">, isDrop: boolean): readonly Entry[] {
  const { settled, open } = (session.parents[0] as Session).view(transcriptView);
  const entries = [...settled, ...open];
  const [first, last] = placesOf(entries, fact);
  if (first === -1 || last < first) return [];
  const range = entries.slice(first, last + 1);
  return isDrop ? range.filter(isWhole) : range;
}

/** Whether there is something to leave out, and it is not yet. */
function isWhole(entry: Entry): boolean {
  const { message } = stubbed(entry);
  return JSON.stringify(message) !== JSON.stringify(entry.message);
}

/** The entries with tool outputs restored, so that a summary is of the originals. */
export function wholeEntries(session: Session, entries: readonly Entry[]): readonly Entry[] {
  const missing = new Set(
    entries.flatMap((entry) => (entry.outcome !== undefined && !isWhole(entry) ? [entry.outcome] : [])),
  );
  const found = outcomesIn(session, missing);
  return entries.map((entry) => {
    const fact = found.get(entry.outcome ?? "");
    if (fact === undefined || entry.message.role !== "tool") return entry;
    const { output: _, error: __, ...asked } = entry.message;
    const given = fact.type === "tool-result" ? { output: fact.output } : { error: fact.error };
    return { ...entry, message: { ...asked, ...given } as Entry["message"] };
  });
}

type ToolOutcome = FactOf<"tool-result"> | FactOf<"tool-failure">;

/** One walk back, as far as it takes. */
function outcomesIn(session: Session, missing: Set<FactId>): ReadonlyMap<FactId, ToolOutcome> {
  const found = new Map<FactId, ToolOutcome>();
  if (missing.size === 0) return found;
  const seen = new Set<Session>();
  const open: Session[] = [session];
  try {
    for (let node = open.shift(); node !== undefined && found.size < missing.size; node = open.shift()) {
      if (seen.has(node)) continue;
      seen.add(node);
      const { id, fact } = node;
      const isResult = fact.type === "tool-result" && !((fact.output as unknown) instanceof Withheld);
      if (missing.has(id) && (isResult || fact.type === "tool-failure")) found.set(id, fact);
      else missing.delete(id);
      open.push(...node.parents);
    }
  } catch (error) {
    if (!(error instanceof BeyondHorizonError)) throw error;
  }
  return found;
}

function toldOf({ id, outcome, message, summary }: Entry): Covered {
  const what = summary === true ? "summary" : message.role === "tool" ? `tool ${message.name}` : message.role;
  return Object.freeze({ fact: id, ...(outcome !== undefined && { outcome }), what });
}

function highest(covered: readonly Entry[], known: List<Compression>): number {
  const summaries = new Set(covered.flatMap(({ id, summary }) => (summary === true ? [id] : [])));
  if (summaries.size === 0) return 0;
  let level = 0;
  for (const one of known) if (summaries.has(one.id)) level = Math.max(level, one.level);
  return level;
}

/** Anybody may have written the fact. */
function claimsIn(claims: Json | Withheld | undefined): readonly Claim[] {
  if (!Array.isArray(claims)) return [];
  return (claims as readonly Json[]).flatMap((claim) => {
    const { text, from } = Object(claim) as { readonly text?: unknown; readonly from?: unknown };
    if (typeof text !== "string" || !Array.isArray(from)) return [];
    return [{ text, from: from.filter((id): id is string => typeof id === "string") }];
  });
}
