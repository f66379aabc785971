import { influence } from "../../memory/answer/index.js";
import type { FactId } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { defined, optionNames } from "../../util/index.js";
import { type Answer, Telling } from "./answer.js";
import { requireOptions } from "./error.js";
import { many, short } from "./words.js";

export type IfFalseOptions = {
  /** How many of each kind are told one by one. Default 20. The counts are exact whatever it is. */
  readonly limit?: number;
  /** Called with the number of facts that the index of memories has taken in. */
  readonly progress?: (facts: number) => void;
};

const KNOWN = optionNames<IfFalseOptions>()("limit progress");

/** The influence of a memory: everything that would be lost if it were false. */
export async function ifFalse(store: Store, memory: FactId, options: IfFalseOptions = {}): Promise<Answer> {
  requireOptions(options, KNOWN, "ask what would be lost");
  const { limit = 20, progress } = options;
  const telling = await Telling.open(
    store,
    `What would be lost if the memory ${String(memory).slice(0, 64)} were false?`,
  );
  const reached = await influence(store, memory, { most: Math.max(limit, 1), ...defined({ progress }) });
  const { memory: id, totals, reads, sessions, decisions, memories } = reached;
  const here = await store.has(id);
  const [first] = reads;
  const root = here ? id : (first?.id ?? memories[0]?.fact);
  if (root === undefined) return telling.done();
  if (!here) telling.gap`The memory ${short(id)} itself is no longer in this store.`;
  if (totals.facts === 0)
    telling.claim`${[root, ...reads.slice(0, limit).map((read) => read.id)]} Nothing: nobody has ever read the memory ${short(id)}.`;
  else
    telling.claim`${[root, ...reads.slice(0, limit).map((read) => read.id)]} ${many(totals.facts, "fact")} come of the memory ${short(id)} or were made after it was read: ${many(totals.reads, "reading")}, ${many(totals.decisions, "decision")} (${totals.direct} of them in the turn of a reading that showed it), ${many(sessions.length, "session")} and ${many(totals.memories, "later memory", "later memories")}.`;
  for (const read of reads.slice(0, limit))
    telling.claim`${[read.id]} ${read.by} read it${read.module === undefined ? "" : ` in ${telling.plain(read.module.join(" › "))}`} at ${read.at}${read.branch === undefined ? "" : ` on the branch ${read.branch}`}${read.shown ? " and was told it" : ", and others were shown in its place"}.`;
  for (const session of sessions.slice(0, limit))
    telling.claim`${[session.first, session.id]} The session ${session.name} rests on it from ${short(session.first)} on${session.before === undefined ? "" : `; just before, it stood at ${short(session.before)}`}.`;
  for (const { id: decision, direct } of decisions.slice(0, limit)) {
    const found = await telling.reader.fact(decision);
    if (found === undefined) continue;
    const { at, by } = found.fact;
    telling.claim`${[decision]} ${direct ? "In that turn" : "Later"}, at ${at}, ${by} ${telling.deed(found.fact)}.`;
  }
  for (const later of memories.slice(0, limit))
    telling.claim`${[later.fact, later.because]} The memory ${short(later.id)}${later.text === undefined ? "" : `, ${telling.quoted(later.text)},`} was made because of ${short(later.because)}, which comes of it.`;
  const left = [totals.reads, totals.decisions, totals.memories, sessions.length].map((all) =>
    Math.max(0, all - limit),
  );
  const more = left.reduce((sum, one) => sum + one, 0);
  if (more > 0)
    telling.gap`${many(more, "more reading, decision, session or memory", "more readings, decisions, sessions and memories")} are counted and not told one by one.`;
  if (reached.unresolved > 0)
    telling.gap`Of ${many(reached.unresolved, "fact")} the content is not here: nobody knows what came of them.`;
  return telling.done({ totals, counts: reached.counts, spaces: reached.spaces });
}
