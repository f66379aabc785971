import { beginsTurn } from "../../../model/index.js";
import type { FactId } from "../../../session/index.js";
import { isId } from "../fact-line.js";
import type { Influence } from "../influence.js";
import type { Recorded } from "./record.js";

type Body = { readonly [field: string]: unknown };
const bodyOf = ({ fact }: Recorded): Body => fact as unknown as Body;
const ids = (value: unknown): readonly FactId[] => (Array.isArray(value) ? value.filter(isId) : []);
const DECIDED = ["model-reply", "tool-call", "route-choose", "approval-give", "validation-report"];

/** What is compared: sets, since a list in no order is as good as another. */
export type Plain = {
  readonly reads: readonly FactId[];
  readonly sessions: readonly string[];
  readonly decisions: readonly string[];
  readonly direct: number;
  readonly memories: readonly FactId[];
  readonly counts: { readonly [type: string]: number };
};

export function plain({ reads, sessions, decisions, memories, counts, totals }: Influence): Plain {
  return {
    reads: reads.map(({ id }) => id).sort(),
    sessions: sessions.map(({ name, first, before }) => `${name} ${first} ${before}`).sort(),
    decisions: decisions.map(({ id, direct }) => `${id} ${direct}`).sort(),
    direct: totals.direct,
    memories: memories.map(({ id }) => id).sort(),
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
  for (const { id, parents } of all)
    for (const parent of parents) children.set(parent, [...(children.get(parent) ?? []), id]);
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
      const { because, merges } = bodyOf(one);
      if ([...ids(because), ...ids(merges)].some((id) => reached.has(id) || about.has(id)))
        for (const id of aboutOf(one)) memories.add(id);
    }
  }
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
        const past = covered(here, [head], false);
        const first = reads
          .filter(({ id }) => past.has(id))
          .filter(
            ({ id, parents }) =>
              !reads.some((other) => other.id !== id && covered(here, parents, false).has(other.id)),
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
    counts: Object.fromEntries(Object.entries(counts).sort(([one], [other]) => (one < other ? -1 : 1))),
  };
}

/** The past of the heads and, with `cited`, of everything that memories in it cite. */
function covered(
  facts: ReadonlyMap<FactId, Recorded>,
  heads: readonly FactId[],
  cited = true,
): ReadonlyMap<FactId, Recorded> {
  const met = new Map<FactId, Recorded>();
  const open = [...heads];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    const one = facts.get(id);
    if (one === undefined || met.has(id)) continue;
    met.set(id, one);
    open.push(...one.parents);
    if (cited && one.fact.type.startsWith("memory-") && one.fact.type !== "memory-read")
      open.push(...ids(bodyOf(one).because), ...ids(bodyOf(one).merges));
  }
  return met;
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
