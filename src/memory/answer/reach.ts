import type { FactId } from "../../session/index.js";
import { compareText, defined } from "../../util/index.js";
import type { LaterMemory, Reading } from "./influence.js";
import type { LineageFile } from "./lineage-file.js";

/** A node of the index that is a reading. */
type Read = Pick<Reading, "id" | "at" | "by" | "space" | "branch"> & {
  readonly node: number;
  readonly before?: FactId;
};

/** A reading that found one of the memories. */
type Finding = Read & { readonly memories: FactId[]; shown: boolean; score?: number };

type Met = Omit<LaterMemory, "text" | "space">;

/** The descendants of a memory, as nodes of the index. */
export type Reach = {
  readonly nodes: ReadonlySet<number>;
  /** Those that a reading which showed it leads to without a new turn on the way. */
  readonly direct: ReadonlySet<number>;
  readonly reads: readonly Reading[];
  readonly memories: readonly Omit<LaterMemory, "text">[];
  /** The first reading on the way to each node. */
  readonly firsts: ReadonlyMap<number, Read>;
};

const WAYS = "SELECT child AS node FROM way WHERE parent = ?";
const WAYS_BACK = "SELECT parent AS node FROM way WHERE child = ?";
const WAYS_IN_TURN = "SELECT child AS node FROM edge WHERE parent = ? AND turn = 1";
/** The memories that rest on a node, and those that rest on facts about a memory. */
const CITE = "SELECT about.memory AS id, cite.fact AS fact, cite.cited AS because";
const CITE_NODE = `${CITE} FROM cite JOIN about ON about.fact = cite.fact WHERE cite.node = ?`;
const CITE_MEMORY = `${CITE} FROM about AS its JOIN cite ON cite.cited = its.fact JOIN about ON about.fact = cite.fact
  WHERE its.memory = ?`;
const HITS = `SELECT node.n AS node, fact AS id, at, by, space, branch, before, score, shown
  FROM hit JOIN node ON node.n = hit.node WHERE memory = ?`;

/** Follows a memory: its readings, what descends from them, the memories that rest on that, their readings, and so on. */
export function reachOf(file: LineageFile, memory: FactId): Reach {
  const nodes = new Map<number, true>();
  const findings = new Map<number, Finding>();
  const later = new Map<FactId, Met>();
  for (let round: readonly FactId[] = [memory]; round.length > 0; ) {
    const met: Met[] = [];
    for (const from of round)
      for (const row of file.all(CITE_MEMORY, from)) met.push({ ...(row as Cite), from });
    for (const { read, memory: from } of readsOf(file, round, findings))
      for (const node of spread(file, read.node, nodes, true))
        for (const row of file.all(CITE_NODE, node)) met.push({ ...(row as Cite), from, read: read.id });
    const next: FactId[] = [];
    for (const one of met.sort(byIds))
      if (one.id !== memory && !later.has(one.id)) {
        later.set(one.id, one);
        next.push(one.id);
      }
    round = next;
  }
  const memories = [...later.values()].map((one) => {
    const space = file.get("SELECT space FROM about WHERE fact = ?1 AND memory = ?1", one.id)?.space;
    return { ...one, ...(typeof space === "string" && { space }) };
  });
  const reads = [...findings.values()].sort(byTime);
  const direct = new Map<number, true>();
  for (const { node, shown } of reads) if (shown) spread(file, node, direct, true, WAYS_IN_TURN);
  // A reading that descends from another is not a place to go back to: the session before it had been reached already.
  const firsts = new Map<number, Read>();
  for (const read of reads)
    if (!file.all(WAYS_BACK, read.node).some(({ node }) => nodes.has(node as number)))
      spread(file, read.node, firsts, read);
  return {
    nodes: new Set(nodes.keys()),
    direct: new Set(direct.keys()),
    firsts,
    memories,
    reads: reads.map(({ node: _, before: __, ...read }) => ({ ...read, memories: read.memories.toSorted() })),
  };
}

type Cite = Pick<Met, "id" | "fact" | "because">;

/** The readings of some memories, the earliest first. */
function readsOf(file: LineageFile, memories: readonly FactId[], findings: Map<number, Finding>) {
  const sources: { readonly read: Read; readonly memory: FactId }[] = [];
  for (const memory of memories)
    for (const row of file.all(HITS, memory)) {
      const { score, shown, branch, before, ...found } = row as Row;
      const read = { ...found, ...defined({ branch: branch ?? undefined, before: before ?? undefined }) };
      const { node } = read;
      sources.push({ read, memory });
      const known: Finding = findings.get(node) ?? { ...read, memories: [], shown: false };
      findings.set(node, known);
      known.memories.push(memory);
      known.shown ||= shown === 1;
      if (score !== null && !(known.score !== undefined && known.score >= score)) known.score = score;
    }
  return sources.sort((one, other) => byTime(one.read, other.read) || compareText(one.memory, other.memory));
}

type Row = Omit<Read, "branch" | "before"> & {
  readonly branch: string | null;
  readonly before: FactId | null;
  readonly score: number | null;
  readonly shown: number;
};

/** Gives a value to a node and to all that it leads to and that have none yet. Returns those nodes. */
function spread<Value>(file: LineageFile, start: number, met: Map<number, Value>, value: Value, ways = WAYS) {
  if (met.has(start)) return [];
  met.set(start, value);
  const found = [start];
  for (const from of found)
    for (const row of file.all(ways, from)) {
      const node = row.node as number;
      if (met.has(node)) continue;
      met.set(node, value);
      found.push(node);
    }
  return found;
}

function byTime(one: Read, other: Read): number {
  return compareText(one.at, other.at) || compareText(one.id, other.id);
}

/** The same path to a memory is returned wherever the index is made. */
function byIds(one: Met, other: Met): number {
  const [a, b] = [one, other].map(
    ({ id, fact, because, from, read = "" }) => `${id}${read === "" ? 0 : 1}${fact}${because}${from}${read}`,
  );
  return compareText(a as string, b as string);
}
