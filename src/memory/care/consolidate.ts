import type { FactId, Principal } from "../../session/index.js";
import { optionNames, showValue } from "../../util/index.js";
import { requireCount, requireFunction, requireOptions } from "../../workflow/index.js";
import { type Contradicts, differInOneThing } from "../contradiction.js";
import type { Progress } from "../derived.js";
import { principalOf } from "../draft.js";
import { refusing } from "../error.js";
import { isWider, type Scope, type ScopeGiven, scopeOf, scopeText } from "../scope.js";
import type { Space } from "../space.js";
import type { Memory } from "../state.js";
import { breath, type Group, groupsOf } from "./group.js";
import { keyOf, type Merger, merge, takeOverLinks } from "./merge.js";

/** Writes the text of a memory that replaces others. */
export type WriteMerged = (memories: readonly Memory[]) => string | Promise<string>;

export type GroupingOptions = {
  /** The minimum share of words that two texts have in common, from 0 to 1. Default 0.85. */
  readonly alike?: number;
  /** Whether memories that are not equally trusted are merged too; the merged one is untrusted then. Default false. */
  readonly acrossTrust?: boolean;
  /** Only memories of exactly this scope. Default: of every scope, each by itself. */
  readonly scope?: ScopeGiven;
  /** Says whether two texts contradict each other: those are never merged. Default: by their words. */
  readonly contradicts?: Contradicts;
  /** How many memories are looked at, the newest. Default 100,000. */
  readonly most?: number;
  /** How many merges at most. Default 1,000. */
  readonly limit?: number;
};

export type ConsolidateOptions = GroupingOptions & {
  readonly by: Principal;
  /** Writes the words. Default: those that say most, and of equals the newest. */
  readonly write?: WriteMerged;
  /** Only returns what would happen. */
  readonly dry?: boolean;
  readonly progress?: Progress;
  readonly signal?: AbortSignal;
};

/** Memories that say the same, and the one that has taken their place; none yet in a dry run. */
export type Merge = {
  readonly kept: FactId;
  readonly merges: readonly FactId[];
  readonly text: string;
  readonly trust: Memory["trust"];
  readonly into?: FactId;
  readonly status?: Memory["status"];
};

export type Consolidated = {
  /** Where the space stands afterwards. */
  readonly head: FactId | undefined;
  readonly looked: number;
  readonly merges: readonly Merge[];
  /** Whether there is more to be merged than was allowed at once. */
  readonly more: boolean;
};

const KNOWN = optionNames<ConsolidateOptions>()(
  "alike acrossTrust scope contradicts most limit",
  "by write dry progress signal",
);
const ALIKE = 0.85;
const MOST = 100_000;
const LIMIT = 1_000;
/** Merged ones may be alike again, where very many are. */
const PASSES = 8;
const USE = "consolidate a memory";

export type Grouping = Required<Omit<GroupingOptions, "scope">> & { readonly scope?: string };

export function groupingOf(options: GroupingOptions): Grouping {
  const refuse = refusing(USE);
  const {
    alike = ALIKE,
    acrossTrust = false,
    contradicts = differInOneThing,
    most = MOST,
    limit = LIMIT,
    scope,
  } = options;
  if (!(alike >= 0.5 && alike <= 1)) throw refuse(`its \`alike\` is ${showValue(alike)}`, "from 0.5 to 1");
  if (typeof acrossTrust !== "boolean")
    throw refuse(`its \`acrossTrust\` is ${showValue(acrossTrust)}`, "acrossTrust: true");
  requireFunction(contradicts, "contradicts", refuse, "contradicts: (one, other) => true or false");
  requireCount(most, "most", refuse);
  requireCount(limit, "limit", refuse);
  return {
    alike,
    acrossTrust,
    contradicts,
    most,
    limit,
    ...(scope !== undefined && { scope: scopeText(scopeOf(scope, USE)) }),
  };
}

/**
 * Merges memories of a space that say the same. What they rested on is what the merged one rests on, their links are its
 * links, and they stay readable. Done again, also after a crash, it goes on where it was.
 *
 * ```ts
 * const { merges } = await consolidate(notes.open(store), { by: "user:ada", dry: true });
 * ```
 */
export async function consolidate(space: Space, options: ConsolidateOptions): Promise<Consolidated> {
  const refuse = refusing(USE);
  requireOptions(options, refuse, '{ by: "user:ada" }', KNOWN);
  const by = principalOf(options.by, USE);
  const grouping = groupingOf(options);
  const { write, dry = false, progress, signal } = options;
  if (write !== undefined) requireFunction(write, "write", refuse, "write: (memories) => the words");
  const watching = { progress, signal };
  if (!dry) await mend(space, by, signal);
  const merges: Merge[] = [];
  const tried = new Set<string>();
  let looked = 0;
  let more = false;
  for (let pass = 0; pass < PASSES && !more; pass++) {
    const { groups, looked: seen } = await lookedAt(space, grouping, watching);
    looked = Math.max(looked, seen);
    const fresh = groups.filter((group) => !tried.has(keyOf(space.name, group)));
    if (fresh.length === 0) break;
    for (const group of fresh) {
      if (merges.length >= grouping.limit) {
        more = true;
        break;
      }
      signal?.throwIfAborted();
      tried.add(keyOf(space.name, group));
      const text = write === undefined || dry ? group[0].text : await write(group);
      merges.push(dry ? planned(group, text) : await done(space, group, text, { by }));
    }
    if (dry) break;
  }
  return { head: await space.head(), looked, merges, more };
}

/** The groups of a space as it is now. */
export async function lookedAt(
  space: Space,
  { scope, most, ...grouping }: Grouping,
  {
    own,
    ...watching
  }: {
    readonly progress?: Progress | undefined;
    readonly signal?: AbortSignal | undefined;
    /** Where a run works: what is kept for more than that it leaves alone. */
    readonly own?: Scope;
  },
): Promise<{ readonly groups: readonly Group[]; readonly looked: number }> {
  const live = await space.list();
  const meant = live
    .filter((one) => scope === undefined || scopeText(one.scope) === scope)
    .filter((one) => own === undefined || !isWider(one.scope, own))
    .slice(-most);
  return { groups: await groupsOf(meant, { ...grouping, ...watching }), looked: meant.length };
}

function planned(group: Group, text: string): Merge {
  return {
    kept: group[0].id,
    merges: group.map(({ id }) => id),
    text,
    trust: group.every(({ trust }) => trust === "trusted") ? "trusted" : "untrusted",
  };
}

/** Merges a group, and says what has come of it. */
export async function done(space: Space, group: Group, text: string, merger: Merger): Promise<Merge> {
  const merged = await merge(space, group, text, merger);
  if (merged === undefined) return planned(group, text);
  const { id, trust, status } = merged;
  return { ...planned(group, merged.text), trust, status, into: id };
}

/** A crash may have come between a merge and its links. */
async function mend(space: Space, by: Principal, signal?: AbortSignal): Promise<void> {
  for (const [place, memory] of (await space.list({ statuses: ["live", "held"] })).entries()) {
    if (place % 1_000 === 0) await breath(signal, undefined, place, undefined);
    if (memory.merges.length > 0) await takeOverLinks(space, memory, by);
  }
}
