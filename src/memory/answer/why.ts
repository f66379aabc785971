import { type Fact, type FactId, type Principal, parentsOf } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { defined, optionNames } from "../../util/index.js";
import { requireCount, requireFunction, requireOptions } from "../../workflow/index.js";
import type { Progress } from "../derived.js";
import { MemoryRefusedError, refusing } from "../error.js";
import { type Scope, scopeIn } from "../scope.js";
import { behind, groundOf, type Relation } from "./behind.js";
import { factOf, HINT, knownMemory, saidBy } from "./fact-line.js";
import { withLineage } from "./lineage.js";

export type WhyOptions = {
  /** How many facts are followed; default 1,000. Those nearest to the memory come first. */
  readonly most?: number;
  /** Told now and then while the index is made. */
  readonly progress?: Progress;
};

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

export type Version = {
  readonly id: FactId;
  readonly type: string;
  readonly by: Principal;
  readonly at: string;
  readonly text: string;
  readonly source?: string;
  readonly scope?: Scope;
  readonly because: readonly FactId[];
};

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

const KNOWN = optionNames<WhyOptions>()("most progress");
const MOST = 1_000;

/**
 * Why a memory is there: all its versions and what each rests on, followed down to people's words and decisions, results of
 * tools, validations and imports.
 *
 * ```ts
 * console.log(whyText(await why(store, memory)));
 * ```
 */
export async function why(store: Store, memory: FactId, options: WhyOptions = {}): Promise<Why> {
  const refuse = refusing("ask why a memory is there");
  requireOptions(options, refuse, "why(store, memory, { most: 100 })", KNOWN);
  const { most = MOST, progress } = options;
  requireCount(most, "most", refuse);
  if (progress !== undefined)
    requireFunction(progress, "progress", refuse, "progress: (done) => console.error(done)");
  const id = await knownMemory(store, memory);
  const line = await store.line(id);
  const written = line === undefined ? undefined : await factOf(store, line);
  if (written?.type !== "memory-write")
    throw new MemoryRefusedError(
      "unknown",
      "ask why a memory is there",
      `${id.slice(0, 12)} is not in the store`,
      HINT,
      { memory: id },
    );
  const about = await withLineage(store, progress, ({ file }) =>
    file.all("SELECT fact FROM about WHERE memory = ?", id).map((row) => row.fact as FactId),
  );
  const walk = new Walk(store, most);
  const later = await walk.read(about.filter((one) => one !== id));
  const versions = [{ id, fact: written as Fact }, ...later.sort(byTime)];
  walk.want(id);
  for (const version of versions.slice(1)) walk.link({ from: id, to: version.id, relation: "version" });
  await walk.run();
  return Object.freeze({
    memory: id,
    space: written.space,
    versions: versions.map(versionOf),
    ...walk.result(),
  });
}

class Walk {
  readonly #store: Store;
  readonly #most: number;
  readonly #wanted = new Set<FactId>();
  readonly #nodes = new Map<FactId, WhyNode>();
  readonly #edges: WhyEdge[] = [];
  #more = false;

  constructor(store: Store, most: number) {
    this.#store = store;
    this.#most = most;
  }

  async read(ids: readonly FactId[]): Promise<{ readonly id: FactId; readonly fact: Fact }[]> {
    const facts: { id: FactId; fact: Fact }[] = [];
    for (const id of ids) {
      const line = await this.#store.line(id);
      if (line !== undefined) facts.push({ id, fact: await factOf(this.#store, line) });
    }
    return facts;
  }

  /** False when there is no room for it. */
  want(id: FactId): boolean {
    if (!this.#wanted.has(id) && this.#wanted.size >= this.#most) {
      this.#more = true;
      return false;
    }
    this.#wanted.add(id);
    return true;
  }

  link(edge: WhyEdge): void {
    if (this.want(edge.to)) this.#edges.push(edge);
  }

  async run(): Promise<void> {
    // The set grows as it is walked: nearest first, each fact once.
    for (const id of this.#wanted) {
      const line = await this.#store.line(id);
      if (line === undefined) {
        this.#nodes.set(id, { id, type: "unknown", text: "it is not in the store", ground: "missing" });
        continue;
      }
      const fact = await factOf(this.#store, line);
      const next = await behind(this.#store, { id, parents: parentsOf(line), fact });
      for (const { to, relation } of next.links) this.link({ from: id, to, relation });
      this.#more ||= next.more;
      const ground = groundOf(fact, next.links.length === 0);
      const { type, by, at, run } = fact;
      this.#nodes.set(id, {
        id,
        type,
        text: saidBy(fact),
        by,
        at,
        ...defined({ run, ground }),
      });
    }
  }

  result(): Pick<Why, "nodes" | "edges" | "leaves" | "more"> {
    const leaves = [...this.#nodes.values()].filter(({ ground }) => ground !== undefined);
    return { nodes: this.#nodes, edges: this.#edges, leaves, more: this.#more };
  }
}

function versionOf({ id, fact }: { readonly id: FactId; readonly fact: Fact }): Version {
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
    because: Array.isArray(because) ? because : [],
  };
}

type Told = { readonly id: FactId; readonly fact: Fact };

function byTime(one: Told, other: Told): number {
  return one.fact.at < other.fact.at ? -1 : one.fact.at > other.fact.at ? 1 : one.id < other.id ? -1 : 1;
}
