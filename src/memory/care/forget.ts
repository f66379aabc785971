import type { FactId, Principal } from "../../session/index.js";
import { optionNames, showValue } from "../../util/index.js";
import { requireCount, requireFunction, requireOptions } from "../../workflow/index.js";
import type { Progress } from "../derived.js";
import { principalOf, timeOf } from "../draft.js";
import { refusing } from "../error.js";
import { type ScopeGiven, scopeOf, scopeText } from "../scope.js";
import type { Space } from "../space.js";
import type { Memory } from "../state.js";
import { breath, isKeptElsewhere } from "./group.js";
import { type Read, readsOf } from "./reads.js";

/** Which memories are forgotten. A memory must meet all of the first three that are given. */
export type ForgettingOptions = {
  /** Written or revised longer ago than this, in milliseconds. */
  readonly olderThan?: number;
  /** Less important than this. One that nobody has judged is not. */
  readonly importanceBelow?: number;
  /** Not found by anybody for this long, in milliseconds. */
  readonly unreadFor?: number;
  /** Memories that are never forgotten. Blocks of core memory and memory files never are. */
  readonly keep?: (memory: Memory) => boolean;
  /** How many may be live; beyond that the ones with the lowest score go. */
  readonly most?: number;
  /** After how many milliseconds a memory counts half, for the score. Default 30 days. */
  readonly halfLife?: number;
  /** Only memories of exactly this scope. */
  readonly scope?: ScopeGiven;
  /** How many are forgotten at once. Default 1,000. */
  readonly limit?: number;
};

export type ForgetOptions = ForgettingOptions & {
  readonly by: Principal;
  /** Only returns what would happen. */
  readonly dry?: boolean;
  /** The time by which it is told what is old. Default: now. */
  readonly now?: string;
  readonly progress?: Progress;
  readonly signal?: AbortSignal;
};

export type Forgotten = { readonly memory: FactId; readonly why: string; readonly score: number };

export type Forgetting = {
  readonly head: FactId | undefined;
  readonly looked: number;
  readonly forgotten: readonly Forgotten[];
  /** Whether there is more to be forgotten than was allowed at once. */
  readonly more: boolean;
};

const KNOWN = optionNames<ForgetOptions>()(
  "olderThan importanceBelow unreadFor keep most halfLife scope limit",
  "by dry now progress signal",
);
const USE = "forget what is in a memory";
const DAY = 24 * 3_600_000;
const HALF_LIFE = 30 * DAY;
const LIMIT = 1_000;
/** What a memory counts that nobody has judged, on the usual scale from 1 to 10. */
const NEUTRAL = 5;
const PAGE = 1_000;

export type Rule = Omit<ForgettingOptions, "scope"> & {
  readonly limit: number;
  readonly halfLife: number;
  readonly scope?: string;
};

export function ruleOf(options: ForgettingOptions): Rule {
  const refuse = refusing(USE);
  const {
    olderThan,
    importanceBelow,
    unreadFor,
    keep,
    most,
    halfLife = HALF_LIFE,
    limit = LIMIT,
    scope,
  } = options;
  if ([olderThan, importanceBelow, unreadFor, most].every((one) => one === undefined))
    throw refuse(
      "it does not say what to forget",
      "{ olderThan: 90 * 24 * 3_600_000, importanceBelow: 3 }, or { most: 10_000 }",
    );
  for (const [name, value] of Object.entries({ olderThan, unreadFor, halfLife }))
    if (value !== undefined && !(Number.isFinite(value) && value > 0))
      throw refuse(`its \`${name}\` is ${showValue(value)}`, `milliseconds: ${name}: 30 * 24 * 3_600_000`);
  if (importanceBelow !== undefined && !Number.isFinite(importanceBelow))
    throw refuse(`its \`importanceBelow\` is ${showValue(importanceBelow)}`, "importanceBelow: 3");
  if (keep !== undefined) requireFunction(keep, "keep", refuse, "keep: (memory) => true or false");
  if (most !== undefined) requireCount(most, "most", refuse, 0);
  requireCount(limit, "limit", refuse);
  const { scope: _, ...rest } = options;
  return {
    ...rest,
    limit,
    halfLife,
    ...(scope !== undefined && { scope: scopeText(scopeOf(scope, USE)) }),
  };
}

/**
 * Lets memories of a space be forgotten: they expire, with a reason, and are no longer recalled. Nothing is deleted; their
 * evidence and their words stay readable as of before. Done again, also after a crash, it goes on where it was.
 *
 * ```ts
 * await forget(notes.open(store), { by: "user:ada", olderThan: 90 * 24 * 3_600_000, importanceBelow: 3 });
 * ```
 */
export async function forget(space: Space, options: ForgetOptions): Promise<Forgetting> {
  requireOptions(options, refusing(USE), '{ by: "user:ada", most: 10_000 }', KNOWN);
  const { by: given, dry = false, now: time, progress, signal, ...criteria } = options;
  const by = principalOf(given, USE);
  const rule = ruleOf(criteria);
  const now = time === undefined ? new Date().toISOString() : timeOf(time, USE);
  const { forgotten, looked, more } = await forgettable(space, rule, now, { progress, signal });
  if (!dry)
    for (const [place, one] of forgotten.entries()) {
      if (place % 100 === 0) await breath(signal, progress, place, forgotten.length);
      await expire(space, one, { by });
    }
  return { head: await space.head(), looked, forgotten, more };
}

/** Lets one memory expire, and what it has taken the place of: that would be told again otherwise. */
export async function expire(
  space: Space,
  { memory, why }: Pick<Forgotten, "memory" | "why">,
  ending: { readonly by: Principal; readonly because?: readonly FactId[] },
): Promise<void> {
  const known = await space.get(memory);
  if (known === undefined) return;
  if (known.status === "live") await space.expire(memory, { why, ...ending });
  for (const part of known.merges)
    if ((await space.get(part))?.status === "live")
      await expire(
        space,
        { memory: part, why: `${memory.slice(0, 12)}, which took its place, was forgotten` },
        ending,
      );
}

/** The memories that would be forgotten now. */
export async function forgettable(
  space: Space,
  rule: Rule,
  now: string,
  watching: { readonly progress?: Progress | undefined; readonly signal?: AbortSignal | undefined } = {},
): Promise<{ readonly forgotten: readonly Forgotten[]; readonly looked: number; readonly more: boolean }> {
  const { keep = () => false, scope, most, limit } = rule;
  const all = await space.list({ statuses: ["live", "expired"] });
  const meant = all.filter((one) => scope === undefined || scopeText(one.scope) === scope);
  const live = meant.filter(({ status }) => status === "live");
  const reads = await readsOf(space.store, space.name, watching);
  const gone = new Set(meant.filter(({ status }) => status === "expired").map(({ id }) => id));
  const found: Forgotten[] = [];
  const stays: Forgotten[] = [];
  for (const [place, memory] of live.entries()) {
    if (place % PAGE === 0) await breath(watching.signal, watching.progress, place, live.length);
    const read = reads.get(memory.id);
    const score = scoreOf(memory, read, rule.halfLife, now);
    if (isKeptElsewhere(memory) || keep(memory)) continue;
    const why =
      memory.mergedInto !== undefined && gone.has(memory.mergedInto)
        ? `${memory.mergedInto.slice(0, 12)}, which took its place, was forgotten`
        : reasonFor(memory, read, rule, now);
    (why === undefined ? stays : found).push({ memory: memory.id, why: why ?? "", score });
  }
  if (most !== undefined) {
    const over = live.length - found.length - most;
    const lowest = stays.toSorted(
      (one, other) => one.score - other.score || (one.memory < other.memory ? -1 : 1),
    );
    for (const one of lowest.slice(0, Math.max(0, over)))
      found.push({
        ...one,
        why: `there is room for ${most}, and its score of ${one.score.toFixed(3)} is among the lowest`,
      });
  }
  return { forgotten: found.slice(0, limit), looked: live.length, more: found.length > limit };
}

/** Why a memory is forgotten by what was asked for; undefined when it is not. */
function reasonFor(memory: Memory, read: Read | undefined, rule: Rule, now: string): string | undefined {
  const { expires, importance } = memory;
  const time = Date.parse(now);
  if (expires !== undefined && Date.parse(expires) <= time) return `it was to be told until ${expires}`;
  const { olderThan, importanceBelow, unreadFor } = rule;
  const reasons: string[] = [];
  const age = time - Date.parse(memory.revised ?? memory.at);
  if (olderThan !== undefined) {
    if (!(age > olderThan)) return undefined;
    reasons.push(`it is ${days(age)} old`);
  }
  if (importanceBelow !== undefined) {
    if (importance === undefined || importance >= importanceBelow) return undefined;
    reasons.push(`its importance is ${importance}`);
  }
  if (unreadFor !== undefined) {
    const since = read === undefined ? age : time - Date.parse(read.last);
    if (!(since > unreadFor)) return undefined;
    reasons.push(read === undefined ? "nobody has ever found it" : `nobody has found it for ${days(since)}`);
  }
  return reasons.length === 0 ? undefined : reasons.join(", ");
}

/** How much a memory counts: less the older it is, more the more important it is and the more often it was found. */
function scoreOf(memory: Memory, read: Read | undefined, halfLife: number, now: string): number {
  const times = [memory.revised ?? memory.at, ...(read === undefined ? [] : [read.last])].map((at) =>
    Date.parse(at),
  );
  const age = Math.max(0, Date.parse(now) - Math.max(...times));
  const recency = 0.5 ** (age / halfLife);
  return recency * Math.max(0, memory.importance ?? NEUTRAL) * (1 + Math.log1p(read?.count ?? 0));
}

function days(milliseconds: number): string {
  const count = milliseconds / DAY;
  return count >= 1 ? `${Math.floor(count)} days` : `${Math.round(milliseconds / 60_000)} minutes`;
}
