import { beginsTurn } from "../../../agent/model/index.js";
import { type FactId, isDigest } from "../../../session/index.js";
import type { Influence } from "../influence.js";
import type { Recorded } from "./record.js";

type Body = { readonly [field: string]: unknown };
const bodyOf = ({ fact }: Recorded): Body => fact as unknown as Body;
const ids = (value: unknown): readonly FactId[] => (Array.isArray(value) ? value.filter(isDigest) : []);
const DECIDED = ["model-reply", "tool-call", "route-choose", "approval-give", "validation-report"];

/** What is compared: sets, since a list in no order is as good as another. */
export type Plain = {
  readonly reads: readonly FactId[];
  readonly sessions: readonly string[];
  readonly decisions: readonly string[];
  readonly direct: number;
  readonly memories: readonly FactId[];
  readonly spaces: readonly string[];
  readonly counts: { readonly [type: string]: number };
};

export function plain({ reads, sessions, decisions, memories, spaces, counts, totals }: Influence): Plain {
  return {
    reads: reads.map(({ id }) => id).sort(),
    sessions: sessions.map(({ name, first, before }) => `${name} ${first} ${before}`).sort(),
    decisions: decisions.map(({ id, direct }) => `${id} ${direct}`).sort(),
    direct: totals.direct,
    memories: memories.map(({ id }) => id).sort(),
    spaces,
    counts,
  };
}

/** The definition of what a memory reached, written down as it is said, without any thought of speed. */
export function naive(
  facts: ReadonlyMap<FactId, Recorded>,
  names: { readonly [name: string]: FactId | null },
  memory: FactId,
): Plain {
  const named = Object.entries(names).flatMap(([name, id]) => (id === null ? [] : [[name, id] as const]));
  const here = covered(
    facts,
    named.map(([, id]) => id),
  );
  const all = [...here.values()];
  const children = new Map<FactId, FactId[]>();
  for (const one of all)
    for (const parent of parentsOf(one)) children.set(parent, [...(children.get(parent) ?? []), one.id]);
  const descend = (from: readonly FactId[], stop: (id: FactId) => boolean = () => false): Set<FactId> => {
    const met = new Set(from);
    for (const id of met) for (const child of children.get(id) ?? []) if (!stop(child)) met.add(child);
    return met;
  };
  const memories = new Set([memory]);
  let reads: Recorded[] = [];
  let reached = new Set<FactId>();
  for (let size = 0; size !== memories.size; ) {
    size = memories.size;
    reads = all.filter((one) => hitsOf(one).some((hit) => memories.has(hit.memory)));
    reached = descend(reads.map(({ id }) => id));
    const about = new Set(
      all.filter((one) => aboutOf(one).some((id) => memories.has(id))).map(({ id }) => id),
    );
    for (const one of all) {
      if (!one.fact.type.startsWith("memory-")) continue;
      if (citedBy(one).some((id) => reached.has(id) || about.has(id)))
        for (const id of aboutOf(one)) memories.add(id);
    }
  }
  const spaces = named
    .filter(([name, head]) => name.startsWith("memory/") && hasAny(past(facts, [head]), memories))
    .map(([name]) => name.slice("memory/".length))
    .sort();
  memories.delete(memory);
  const showing = reads.filter((one) =>
    hitsOf(one).some(
      (hit) =>
        (memories.has(hit.memory) || hit.memory === memory) &&
        !(hit.parts?.told === false && bodyOf(one).shown !== undefined),
    ),
  );
  const direct = descend(
    showing.map(({ id }) => id),
    (id) => beginsTurn((here.get(id) as Recorded).fact),
  );
  const counts: { [type: string]: number } = {};
  for (const id of reached) {
    const { type } = (here.get(id) as Recorded).fact;
    counts[type] = (counts[type] ?? 0) + 1;
  }
  return {
    reads: reads.map(({ id }) => id).sort(),
    sessions: named
      .flatMap(([name, head]) => {
        const before = past(here, [head]);
        const first = reads
          .filter(({ id }) => before.has(id))
          .filter(
            ({ id, parents }) => !reads.some((other) => other.id !== id && past(here, parents).has(other.id)),
          )
          .sort((one, other) =>
            one.fact.at < other.fact.at ? -1 : one.fact.at > other.fact.at ? 1 : one.id < other.id ? -1 : 1,
          )[0];
        return first === undefined ? [] : [`${name} ${first.id} ${first.parents[0]}`];
      })
      .sort(),
    decisions: [...reached]
      .filter((id) => DECIDED.includes((here.get(id) as Recorded).fact.type))
      .map((id) => `${id} ${direct.has(id)}`)
      .sort(),
    direct: [...reached].filter(
      (id) => direct.has(id) && DECIDED.includes((here.get(id) as Recorded).fact.type),
    ).length,
    memories: [...memories].sort(),
    spaces,
    counts: Object.fromEntries(Object.entries(counts).sort(([one], [other]) => (one < other ? -1 : 1))),
  };
}

/** The past of the heads, and of everything that memories in it cite. */
function covered(
  facts: ReadonlyMap<FactId, Recorded>,
  heads: readonly FactId[],
): ReadonlyMap<FactId, Recorded> {
  return past(facts, heads, (one) => [...parentsOf(one), ...citedBy(one)]);
}

function past(
  facts: ReadonlyMap<FactId, Recorded>,
  heads: readonly FactId[],
  behind: (one: Recorded) => readonly FactId[] = parentsOf,
): ReadonlyMap<FactId, Recorded> {
  const met = new Map<FactId, Recorded>();
  const open = [...heads];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    const one = facts.get(id);
    if (one === undefined || met.has(id)) continue;
    met.set(id, one);
    open.push(...behind(one));
  }
  return met;
}

function hasAny(facts: ReadonlyMap<FactId, unknown>, some: Iterable<FactId>): boolean {
  for (const id of some) if (facts.has(id)) return true;
  return false;
}

/** A detached root comes from the session that it was detached from. */
function parentsOf({ parents, fact }: Recorded): readonly FactId[] {
  return fact.type === "session-detach" ? [fact.from] : parents;
}

/** What a fact about a memory rests on: its evidence, what it takes the place of, and the session that wrote it. */
function citedBy(one: Recorded): readonly FactId[] {
  if (aboutOf(one).length === 0) return [];
  const { because, merges, of, from } = bodyOf(one);
  const writer = one.fact.type === "memory-write" ? of : from;
  return [...ids(because), ...ids(merges), ...ids([writer])];
}

function hitsOf(
  one: Recorded,
): readonly { readonly memory: FactId; readonly parts?: { readonly told?: boolean } }[] {
  return one.fact.type === "memory-read" ? (one.fact.hits as never) : [];
}

function aboutOf({ id, fact }: Recorded): readonly FactId[] {
  switch (fact.type) {
    case "memory-write":
      return [id];
    case "memory-revise":
    case "memory-revoke":
    case "memory-promote":
    case "memory-expire":
      return [fact.of];
    case "memory-link":
      return [fact.of, fact.to];
    default:
      return [];
  }
}
