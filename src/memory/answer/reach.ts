import type { FactId, Principal } from "../../session/index.js";
import type { LaterMemory, Reading } from "./influence.js";
import type { LineageFile } from "./lineage-file.js";

/** A node of the index that is a reading. */
type Read = {
  readonly node: number;
  readonly id: FactId;
  readonly at: string;
  readonly by: Principal;
  readonly space: string;
  readonly branch?: string;
  readonly before?: FactId;
};

type Met = Omit<LaterMemory, "text" | "space">;

/** What came of a memory, as nodes of the index. */
export type Reach = {
  readonly nodes: ReadonlySet<number>;
  /** Those that a reading which showed it leads to without a new turn on the way. */
  readonly direct: ReadonlySet<number>;
  readonly reads: readonly Reading[];
  readonly memories: readonly Omit<LaterMemory, "text">[];
  /** Of each node the first reading on its way. */
  readonly firsts: ReadonlyMap<number, Read>;
};

/** Follows a memory: its readings, what comes from them, the memories that rest on that, their readings, and so on. */
export function reachOf(file: LineageFile, memory: FactId): Reach {
  const reach = new Reaching(file);
  const later = new Map<FactId, Met>();
  for (let round: readonly FactId[] = [memory]; round.length > 0; ) {
    const met = reach.follow(round);
    const next: Met[] = [];
    for (const one of met.sort(byIds))
      if (one.id !== memory && !later.has(one.id)) {
        later.set(one.id, one);
        next.push(one);
      }
    round = next.map(({ id }) => id);
  }
  const spaceOf = file.statement("SELECT space FROM about WHERE fact = ?1 AND memory = ?1");
  const memories = [...later.values()].map((one) => {
    const space = spaceOf.get(one.id)?.space;
    return { ...one, ...(typeof space === "string" && { space }) };
  });
  return { ...reach.result(), memories };
}

class Reaching {
  readonly #file: LineageFile;
  /** Each node that was reached, and the reading and the memory through which. */
  readonly #nodes = new Map<number, { readonly read: FactId; readonly memory: FactId }>();
  readonly #reads = new Map<number, Read & { memories: FactId[]; shown: boolean; score?: number }>();

  constructor(file: LineageFile) {
    this.#file = file;
  }

  /** Takes in what some memories reached, and answers with the memories that rest on it. */
  follow(memories: readonly FactId[]): Met[] {
    const met = memories.flatMap((memory) => this.#citing(memory));
    const cites = this.#file.statement(
      "SELECT about.memory, cite.fact, cite.cited FROM cite JOIN about ON about.fact = cite.fact WHERE cite.node = ?",
    );
    for (const { read, memory } of this.#sources(memories)) {
      const via = { read: read.id, memory };
      for (const node of this.#from(read.node, via))
        for (const row of cites.all(node))
          met.push({
            id: row.memory as FactId,
            fact: row.fact as FactId,
            because: row.cited as FactId,
            from: memory,
            read: read.id,
          });
    }
    return met;
  }

  result(): Omit<Reach, "memories"> {
    const reads = [...this.#reads.values()].sort(byTime);
    return {
      nodes: new Set(this.#nodes.keys()),
      direct: this.#direct(reads.filter(({ shown }) => shown).map(({ node }) => node)),
      firsts: this.#firsts(reads),
      reads: reads.map(({ node: _, before: __, memories, ...read }) => ({
        ...read,
        memories: [...memories].sort(),
      })),
    };
  }

  /** Memories that rest on facts about this one. */
  #citing(memory: FactId): Met[] {
    return this.#file
      .statement(
        `SELECT about.memory, cite.fact, cite.cited FROM about AS its JOIN cite ON cite.cited = its.fact
         JOIN about ON about.fact = cite.fact WHERE its.memory = ?`,
      )
      .all(memory)
      .map((row) => ({
        id: row.memory as FactId,
        fact: row.fact as FactId,
        because: row.cited as FactId,
        from: memory,
      }));
  }

  /** The readings of these memories, the earliest first. */
  #sources(memories: readonly FactId[]): { readonly read: Read; readonly memory: FactId }[] {
    const hits = this.#file.statement(
      `SELECT node.n AS node, fact, at, by, space, branch, before, score, shown
       FROM hit JOIN node ON node.n = hit.node WHERE memory = ?`,
    );
    const sources: { read: Read; memory: FactId }[] = [];
    for (const memory of memories)
      for (const row of hits.all(memory)) {
        const read = readIn(row as Row);
        sources.push({ read, memory });
        const known = this.#reads.get(read.node);
        const score = row.score as number | null;
        if (known === undefined)
          this.#reads.set(read.node, {
            ...read,
            memories: [memory],
            shown: row.shown === 1,
            ...(score !== null && { score }),
          });
        else {
          known.memories.push(memory);
          known.shown ||= row.shown === 1;
          if (score !== null && !(known.score !== undefined && known.score >= score)) known.score = score;
        }
      }
    return sources.sort((one, other) => byTime(one.read, other.read) || (one.memory < other.memory ? -1 : 1));
  }

  /** The nodes that come from one and were not reached before, itself among them. */
  #from(start: number, via: { readonly read: FactId; readonly memory: FactId }): readonly number[] {
    if (this.#nodes.has(start)) return [];
    const children = this.#file.statement("SELECT child FROM way WHERE parent = ?");
    const found = [start];
    this.#nodes.set(start, via);
    for (const node of found)
      for (const row of children.all(node)) {
        const child = row.child as number;
        if (this.#nodes.has(child)) continue;
        this.#nodes.set(child, via);
        found.push(child);
      }
    return found;
  }

  #direct(starts: readonly number[]): ReadonlySet<number> {
    const children = this.#file.statement("SELECT child FROM edge WHERE parent = ? AND turn = 1");
    const found = new Set(starts);
    for (const node of found) for (const row of children.all(node)) found.add(row.child as number);
    return found;
  }

  /**
   * Of each node the earliest of the readings on its way that have none before them. The others are no place to go back to:
   * what was before them had been reached already.
   */
  #firsts(reads: readonly Read[]): ReadonlyMap<number, Read> {
    const parents = this.#file.statement("SELECT parent FROM way WHERE child = ?");
    const children = this.#file.statement("SELECT child FROM way WHERE parent = ?");
    const firsts = new Map<number, Read>();
    for (const read of reads) {
      if (parents.all(read.node).some((row) => this.#nodes.has(row.parent as number))) continue;
      const found = [read.node];
      firsts.set(read.node, read);
      for (const node of found)
        for (const row of children.all(node)) {
          const child = row.child as number;
          if (firsts.has(child)) continue;
          firsts.set(child, read);
          found.push(child);
        }
    }
    return firsts;
  }
}

type Row = {
  readonly node: number;
  readonly fact: string;
  readonly at: string;
  readonly by: string;
  readonly space: string;
  readonly branch: string | null;
  readonly before: string | null;
};

function readIn({ node, fact, at, by, space, branch, before }: Row): Read {
  return {
    node,
    id: fact,
    at,
    by: by as Principal,
    space,
    ...(branch !== null && { branch }),
    ...(before !== null && { before }),
  };
}

function byTime(one: Read, other: Read): number {
  return one.at < other.at ? -1 : one.at > other.at ? 1 : one.id < other.id ? -1 : one.id > other.id ? 1 : 0;
}

/** The same way is told of a memory wherever the index is made. */
function byIds(one: Met, other: Met): number {
  const [a, b] = [one, other].map(
    ({ id, fact, because, from, read = "" }) => `${id}${read === "" ? 0 : 1}${fact}${because}${from}${read}`,
  );
  return (a as string) < (b as string) ? -1 : 1;
}
