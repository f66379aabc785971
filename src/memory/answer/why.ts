import { type Fact, type FactId, type Principal, parentsOf } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { compareText, defined } from "../../util/index.js";
import { scopeIn } from "../scope.js";
import { behind, groundOf, type Relation } from "./behind.js";
import type { AskOptions } from "./fact-line.js";
import { checkAsk, factAt, factOf, knownMemory, saidBy, unknownMemory } from "./fact-line.js";
import { withLineage } from "./lineage.js";

/** The kinds of final evidence: a person, a tool, a validation, an import, a model, or a fact that is missing. */
export type Ground = "person" | "tool" | "validation" | "import" | "model" | "missing";

/** The chain of evidence of a memory, as a graph: a fact that several others rest on stands in it once. */
export type Why = {
  readonly memory: FactId;
  readonly space: string;
  /** As it was written, and everything that was said about it since, in order. */
  readonly versions: readonly Version[];
  readonly nodes: ReadonlyMap<FactId, WhyNode>;
  readonly edges: readonly WhyEdge[];
  /** The final evidence. */
  readonly leaves: readonly WhyNode[];
  /** Whether there is more behind it than was followed. */
  readonly more: boolean;
};

export type Version = ReturnType<typeof versionOf>;

export type WhyNode = {
  readonly id: FactId;
  readonly type: string;
  readonly text: string;
  readonly by?: Principal;
  readonly at?: string;
  /** The run in which it happened. */
  readonly run?: string;
  /** On what is evidence by itself. */
  readonly ground?: Ground;
};

/** That one fact rests on another, and how. */
export type WhyEdge = { readonly from: FactId; readonly to: FactId; readonly relation: Relation };

const USE = "ask why a memory is there";

/**
 * Why a memory exists: its versions and their evidence, down to people's words, tool results and imports.
 *
 * ```ts
 * console.log(whyText(await why(store, memory)));
 * ```
 */
export async function why(store: Store, memory: FactId, options: AskOptions = {}): Promise<Why> {
  checkAsk(options, USE, "why(store, memory, { most: 100 })");
  const { most = 1_000, progress } = options;
  const id = await knownMemory(store, memory);
  const written = await factAt(store, id);
  if (written?.type !== "memory-write") throw unknownMemory(USE, id);
  const about = await withLineage(store, progress, (file) =>
    file.all("SELECT fact FROM about WHERE memory = ?", id).map((row) => row.fact as FactId),
  );
  const later: Told[] = [];
  for (const one of about) {
    const fact = one === id ? undefined : await factAt(store, one);
    if (fact !== undefined) later.push({ id: one, fact });
  }
  later.sort(byTime);
  const versions: readonly Told[] = [{ id, fact: written }, ...later];
  const edges: WhyEdge[] = later
    .slice(0, most - 1)
    .map(({ id: to }) => ({ from: id, to, relation: "version" }));
  const wanted = new Set([id, ...edges.map(({ to }) => to)]);
  const nodes = new Map<FactId, WhyNode>();
  let more = versions.length > most;
  // The set grows as it is walked: nearest first, each fact once.
  for (const from of wanted) {
    const here = await store.line(from);
    if (here === undefined) {
      nodes.set(from, { id: from, type: "unknown", text: "it is not in the store", ground: "missing" });
      continue;
    }
    const fact = await factOf(store, here);
    const next = await behind(store, { id: from, parents: parentsOf(here), fact });
    for (const { to, relation } of next.links) {
      if (!wanted.has(to) && wanted.size >= most) more = true;
      else {
        wanted.add(to);
        edges.push({ from, to, relation });
      }
    }
    more ||= next.more;
    const ground = groundOf(fact, next.links.length === 0);
    const { type, by, at, run } = fact;
    nodes.set(from, { id: from, type, text: saidBy(fact), by, at, ...defined({ run, ground }) });
  }
  return Object.freeze({
    memory: id,
    space: written.space,
    versions: versions.map(versionOf),
    nodes,
    edges,
    leaves: [...nodes.values()].filter(({ ground }) => ground !== undefined),
    more,
  });
}

function versionOf({ id, fact }: Told) {
  const { source, scope, to, because } = fact as {
    readonly source?: string;
    readonly scope?: Parameters<typeof scopeIn>[0];
    readonly to?: Parameters<typeof scopeIn>[0];
    readonly because?: unknown;
  };
  // A promotion may say where it holds from then on; a link names another memory there.
  const holds = scope ?? (fact.type === "memory-promote" ? to : undefined);
  return {
    id,
    type: fact.type,
    by: fact.by,
    at: fact.at,
    text: saidBy(fact),
    ...defined({ source }),
    ...(holds !== undefined && { scope: scopeIn(holds) }),
    because: (Array.isArray(because) ? because : []) as readonly FactId[],
  };
}

type Told = { readonly id: FactId; readonly fact: Fact };

function byTime(one: Told, other: Told): number {
  return compareText(one.fact.at, other.fact.at) || compareText(one.id, other.id);
}
