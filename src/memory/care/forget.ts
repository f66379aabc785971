import { hostServices, type Module } from "../../runtime/index.js";
import { type FactId, type Json, type Principal, readFact } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { compareText, defined, showValue } from "../../util/index.js";
import type { Check, Checks, Rebuilds, StepContext } from "../../workflow/index.js";
import {
  anything,
  called,
  checkOptions,
  createModule,
  functionLike,
  optional,
  rebuild,
  refusing as refusingModule,
  requireCount,
  requireName,
  step,
} from "../../workflow/index.js";
import { requireMemory, unchecked } from "../checks.js";
import { refusing } from "../error.js";
import type { MemorySpace } from "../memory.js";
import { principalOf, timeOf } from "../operation.js";
import { holdsIn, type ScopeGiven, scopeOf, scopeText } from "../scope.js";
import type { Space } from "../space.js";
import type { Memory } from "../state.js";
import { breath, type CareOptions, isKeptElsewhere, type Watching } from "./group.js";

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

export type ForgetOptions = ForgettingOptions &
  CareOptions & {
    /** The time by which it is told what is old. Default: now. */
    readonly now?: string;
  };

export type Forgotten = { readonly memory: FactId; readonly why: string; readonly score: number };

export type Forgetting = {
  readonly head: FactId | undefined;
  readonly looked: number;
  readonly forgotten: readonly Forgotten[];
  /** Whether there is more to be forgotten than was allowed at once. */
  readonly more: boolean;
};

const USE = "forget what is in a memory";
const DAY = 24 * 3_600_000;
/** The importance of a memory that nobody has rated, on the usual scale from 1 to 10. */
const NEUTRAL = 5;
const PAGE = 1_000;

const requireDuration: Check = (value, option, refuse) => {
  if (!(Number.isFinite(value) && (value as number) > 0))
    throw refuse(`its \`${option}\` is ${showValue(value)}`, `milliseconds: ${option}: 30 * 24 * 3_600_000`);
};

export const FORGETTING: Checks<ForgettingOptions> = {
  olderThan: optional(requireDuration),
  unreadFor: optional(requireDuration),
  halfLife: optional(requireDuration),
  importanceBelow: optional((value, _, refuse) => {
    if (!Number.isFinite(value))
      throw refuse(`its \`importanceBelow\` is ${showValue(value)}`, "importanceBelow: 3");
  }),
  keep: optional(functionLike("keep: (memory) => true or false")),
  most: optional((value, option, refuse) => requireCount(value, option, refuse, 0)),
  limit: optional(requireCount),
  scope: anything,
};

const CHECKS: Checks<ForgetOptions> = { ...FORGETTING, ...unchecked("by dry now progress signal") };

export type Rule = Omit<ForgettingOptions, "scope"> & {
  readonly limit: number;
  readonly halfLife: number;
  readonly scope?: string;
};

/** The options with their defaults. */
export function ruleOf({ scope, ...options }: ForgettingOptions): Rule {
  const { olderThan, importanceBelow, unreadFor, most } = options;
  if ([olderThan, importanceBelow, unreadFor, most].every((one) => one === undefined))
    throw refusing(USE)(
      "it does not say what to forget",
      "{ olderThan: 90 * 24 * 3_600_000, importanceBelow: 3 }, or { most: 10_000 }",
    );
  return {
    ...options,
    limit: options.limit ?? 1_000,
    halfLife: options.halfLife ?? 30 * DAY,
    ...(scope !== undefined && { scope: scopeText(scopeOf(scope, USE)) }),
  };
}

/**
 * Lets memories expire, with a reason: they are no longer recalled, but stay readable as of before. Run
 * again, also after a crash, it continues.
 *
 * ```ts
 * await forget(notes.open(store), { by: "user:ada", olderThan: 90 * 24 * 3_600_000, importanceBelow: 3 });
 * ```
 */
export async function forget(space: Space, options: ForgetOptions): Promise<Forgetting> {
  checkOptions(options, CHECKS, refusing(USE), '{ by: "user:ada", most: 10_000 }');
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
export async function forgettable(space: Space, rule: Rule, now: string, watching: Watching = {}) {
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
      (one, other) => one.score - other.score || compareText(one.memory, other.memory),
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
  const changed = Date.parse(memory.revised ?? memory.at);
  const used = read === undefined ? changed : Math.max(changed, Date.parse(read.last));
  const age = Math.max(0, Date.parse(now) - used);
  const recency = 0.5 ** (age / halfLife);
  return recency * Math.max(0, memory.importance ?? NEUTRAL) * (1 + Math.log1p(read?.count ?? 0));
}

function days(milliseconds: number): string {
  const count = milliseconds / DAY;
  return count >= 1 ? `${Math.floor(count)} days` : `${Math.round(milliseconds / 60_000)} minutes`;
}

/** How often a memory was found, and when last. */
export type Read = { readonly count: number; readonly last: string };

/** The readings of a space in the sessions of a store. Only the sessions record them, so all their lines are searched. */
export async function readsOf(
  store: Store,
  space: string,
  { progress, signal }: Watching = {},
): Promise<ReadonlyMap<FactId, Read>> {
  const reads = new Map<FactId, Read>();
  const names = (await store.names()).filter(({ name }) => !name.startsWith("memory/"));
  if (names.length === 0) return reads;
  let seen = 0;
  for await (const lines of store.lines(names.map(({ id }) => id))) {
    for (const { id, line } of lines) {
      if (++seen % 10_000 === 0) await breath(signal, progress, seen);
      if (!line.includes('"memory-read"')) continue;
      let fact = readFact(line, undefined);
      if (fact.type !== "memory-read" || fact.space !== space) continue;
      // Long lists of hits are kept beside the line.
      if (!Array.isArray(fact.hits)) ({ fact } = await store.load(id, { horizon: 1 }));
      if (fact.type !== "memory-read" || !Array.isArray(fact.hits)) continue;
      for (const { memory } of fact.hits) {
        const known = reads.get(memory);
        const last = known === undefined || fact.at > known.last ? fact.at : known.last;
        reads.set(memory, { count: (known?.count ?? 0) + 1, last });
      }
    }
  }
  return reads;
}

export type ForgettingModuleOptions = ForgettingOptions & { readonly memory: MemorySpace };

const MODULE_CHECKS: Checks<ForgettingModuleOptions> = { memory: requireMemory, ...FORGETTING };
/** Memories of one step: what is done is on the record as it goes. */
const AT_ONCE = 100;

/**
 * A module that lets memories be forgotten. The plan with its reasons is recorded first and is the evidence.
 *
 * ```ts
 * const nightly = forgetting("nightly", { memory: notes, unreadFor: 90 * 24 * 3_600_000, importanceBelow: 3 });
 * ```
 */
export function forgetting(name: string, options: ForgettingModuleOptions): Module & Rebuilds {
  requireName(name, "forgetting", 'forgetting("nightly", { memory: notes, most: 10_000 })');
  const refuse = refusingModule(called("forgetting", name));
  checkOptions(options, MODULE_CHECKS, refuse, "{ memory: notes, most: 10_000 }");
  const { memory, ...given } = options;
  const rule = ruleOf(given);
  const { keep: _, ...state } = rule;
  const look = step(
    `look for what ${memory.name} can forget`,
    async (_settings: Json, context: StepContext) => {
      const { request, signal, emit } = context;
      const progress = (count: number, total?: number): void => emit({ done: count, ...defined({ total }) });
      const now = hostServices(request).time();
      const space = memory.open(await context.store());
      // A run does not forget memories of wider scopes.
      const keep = (one: Memory): boolean => !holdsIn(memory.scope, one.scope) || rule.keep?.(one) === true;
      return { now, ...(await forgettable(space, { ...rule, keep }, now, { signal, progress })) };
    },
    { effect: "read", origin: "input" },
  );
  const act = step(
    `forget in ${memory.name}`,
    async (plan: readonly Forgotten[], context: StepContext) => {
      const { request, signal } = context;
      const space = memory.open(await context.store());
      await space.store.save(request);
      for (const one of plan) {
        signal.throwIfAborted();
        await expire(space, one, { by: "runtime", because: [request.id] });
      }
      return plan.length;
    },
    { effect: "idempotent", origin: "input" },
  );
  return createModule<Omit<Module, "forward"> & Rebuilds>(
    {
      name,
      kind: "forgetting",
      state: Object.freeze({ memory: memory.name, ...state } as { readonly [field: string]: Json }),
      [rebuild]: ({ memory: _memory, scope: _scope, ...changed }) =>
        forgetting(name, { ...options, ...(changed as ForgettingOptions) }),
    },
    async (session) => {
      let { session: now, value } = await look.call(session, state);
      const plan = value.forgotten as readonly Forgotten[];
      for (let from = 0; from < plan.length; from += AT_ONCE)
        ({ session: now } = await act.call(now, plan.slice(from, from + AT_ONCE)));
      return now;
    },
  );
}
