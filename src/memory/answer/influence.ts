import type { FactId, Principal } from "../../session/index.js";
import { isKeptByRuntime, type Store } from "../../store/index.js";
import { compareText, defined } from "../../util/index.js";
import type { Progress } from "../derived.js";
import { storeNameOf } from "../name.js";
import { type AskOptions, brief, checkAsk, factAt, knownMemory, saidBy, unknownMemory } from "./fact-line.js";
import { isSpace, withLineage } from "./lineage.js";
import type { LineageFile } from "./lineage-file.js";
import { DECISIONS, IN_TURN } from "./lineage-growth.js";
import { type Reach, reachOf } from "./reach.js";

/** Everything that a memory reached. */
export type Influence = {
  readonly memory: FactId;
  /** Readings that found it, or a memory that came of it. */
  readonly reads: readonly Reading[];
  readonly sessions: readonly ReachedSession[];
  /** Those in the turn of a reading that showed it first. */
  readonly decisions: readonly Decision[];
  readonly memories: readonly LaterMemory[];
  /** The spaces that have the memory or one of those, including forks of a space. */
  readonly spaces: readonly string[];
  /** How many facts were reached, by type: readings, and all that comes from them. */
  readonly counts: { readonly [type: string]: number };
  readonly totals: {
    readonly facts: number;
    readonly reads: number;
    readonly decisions: number;
    readonly direct: number;
    readonly memories: number;
  };
  /** Whether one of the lists is not all there is. */
  readonly more: boolean;
  /** Facts of the store whose content is not there, or that are cited and not there: what came of them nobody knows. */
  readonly unresolved: number;
};

export type Reading = {
  readonly id: FactId;
  /** The memories of these that it found. */
  readonly memories: readonly FactId[];
  readonly space: string;
  readonly at: string;
  readonly by: Principal;
  readonly branch?: string;
  /** The modules in which it was read, the outermost first; a run of version 0.1 does not say. */
  readonly module?: readonly string[];
  /** Whether one of them was shown; false when other hits took its place in the prompt. */
  readonly shown: boolean;
  readonly score?: number;
};

export type ReachedSession = {
  readonly name: string;
  readonly id: FactId;
  /** The first reading on its way, the branch that it was on, and the session just before: where one would fork to undo it. */
  readonly first: FactId;
  readonly branch?: string;
  readonly before?: FactId;
  /** A name that the runtime keeps for a run under way. */
  readonly kept?: true;
};

export type Decision = {
  readonly id: FactId;
  readonly type: (typeof DECISIONS)[number];
  readonly at: string;
  readonly by: Principal;
  readonly text: string;
  /** In the turn of a reading that showed it. */
  readonly direct: boolean;
};

export type LaterMemory = {
  readonly id: FactId;
  readonly space?: string;
  readonly text?: string;
  /** The fact of it that rests on what was reached, and on what. */
  readonly fact: FactId;
  readonly because: FactId;
  /** The memory that this one came of; through this reading, unless it is cited itself. */
  readonly from: FactId;
  readonly read?: FactId;
};

const USE = "ask what a memory reached";

/**
 * Every session, branch, decision and later memory that a memory reached: what descends from a reading of it,
 * also through detached roots, and the memories that rest on what was reached or on the memory itself, with
 * their readings, and so on.
 *
 * ```ts
 * const { sessions, decisions, memories } = await influence(store, memory);
 * ```
 */
export async function influence(store: Store, memory: FactId, options: AskOptions = {}): Promise<Influence> {
  checkAsk(options, USE, "influence(store, memory, { most: 100 })");
  const { most = 1_000, progress } = options;
  const given = await knownMemory(store, memory);
  const found = await withLineage(store, progress, (file) => {
    const reach = reachOf(file, given);
    return {
      ...listed(file, reach, most),
      reach,
      sessions: sessionsIn(file, reach),
      kin: kinOf(file, [given, ...reach.memories.map(({ id }) => id)]),
    };
  });
  const { reach, sessions, kin, rows, counts, direct, unresolved } = found;
  if (reach.reads.length + reach.memories.length === 0 && !(await store.has(given)))
    throw unknownMemory(USE, given);
  const reads: Reading[] = [];
  for (const one of reach.reads.slice(0, most)) {
    const fact = await factAt(store, one.id, []);
    const module = fact?.type === "memory-read" ? fact.module : undefined;
    reads.push({ ...one, ...defined({ module }) });
  }
  const decisions: Decision[] = [];
  for (const one of rows) {
    const fact = await factAt(store, one.id, []);
    if (fact !== undefined) decisions.push({ ...one, at: fact.at, by: fact.by, text: saidBy(fact) });
  }
  const memories: LaterMemory[] = [];
  for (const one of reach.memories.slice(0, most)) {
    const fact = await factAt(store, one.id, ["text"]);
    memories.push({ ...one, ...(fact?.type === "memory-write" && { text: brief(fact.text) }) });
  }
  const total = DECISIONS.reduce((sum, type) => sum + (counts[type] ?? 0), 0);
  return {
    memory: given,
    reads,
    sessions,
    decisions: decisions.sort(
      (one, other) => Number(other.direct) - Number(one.direct) || compareText(one.at, other.at),
    ),
    memories,
    spaces: await spacesWith(store, kin),
    counts,
    totals: {
      facts: Object.values(counts).reduce((sum, n) => sum + n, 0),
      reads: reach.reads.length,
      decisions: total,
      direct,
      memories: reach.memories.length,
    },
    more: total > decisions.length || reach.reads.length > most || reach.memories.length > most,
    unresolved,
  };
}

type Row = Pick<Decision, "id" | "type" | "direct">;

const AMOUNTS = `SELECT type, n FROM amount WHERE node = ? AND type <> '${IN_TURN}'`;

/** Counts what was reached and lists decisions, those nearest to a reading first. */
function listed(file: LineageFile, reach: Reach, most: number) {
  const amounts = new Map<string, number>();
  for (const node of reach.nodes)
    for (const { type, n } of file.all(AMOUNTS, node))
      amounts.set(type as string, (amounts.get(type as string) ?? 0) + (n as number));
  const rows: Row[] = [];
  let direct = 0;
  const take = (node: number, isDirect: boolean, only: boolean): void => {
    const room = most - rows.length;
    if (room <= 0) return;
    const sql = `SELECT id, kind FROM fact WHERE node = ? AND kind > 1${only ? ` AND kind & 1 = ${isDirect ? 1 : 0}` : ""} LIMIT ?`;
    for (const { id, kind } of file.all(sql, node, room))
      rows.push({
        id: Buffer.from(id as Uint8Array).toString("hex"),
        type: DECISIONS[((kind as number) >> 1) - 1] as Row["type"],
        direct: isDirect,
      });
  };
  for (const node of reach.direct) {
    direct += Number(file.get("SELECT n FROM amount WHERE node = ? AND type = ?", node, IN_TURN)?.n ?? 0);
    take(node, true, true);
  }
  for (const node of reach.nodes) {
    if (rows.length >= most) break;
    take(node, false, reach.direct.has(node));
  }
  const { open, missing } = file.get(
    "SELECT (SELECT count(DISTINCT fact) FROM outside WHERE open > 0) AS open, (SELECT count(*) FROM missing) AS missing",
  ) as { open: number; missing: number };
  const counts = Object.fromEntries([...amounts].sort(([one], [other]) => (one < other ? -1 : 1)));
  return { rows, counts, direct, unresolved: open + missing };
}

/** A space that has a beginning in common with some memories, and so may have them. */
type Kin = { readonly space: string; readonly head: FactId; readonly memories: readonly FactId[] };

function kinOf(file: LineageFile, memories: readonly FactId[]): readonly Kin[] {
  const byRoot = new Map<string, FactId[]>();
  for (const memory of memories) {
    const root = file.get("SELECT root FROM about WHERE fact = ?1 AND memory = ?1", memory)?.root;
    if (typeof root === "string") byRoot.set(root, [...(byRoot.get(root) ?? []), memory]);
  }
  const standing = "SELECT name, id FROM head JOIN name USING (id) WHERE root = ? AND root IS NOT NULL";
  return [...byRoot].flatMap(([root, found]) =>
    file.all(standing, root).flatMap(({ name, id }) => {
      const space = String(name).slice(storeNameOf("").length);
      return isSpace(String(name)) ? [{ space, head: id as FactId, memories: found }] : [];
    }),
  );
}

async function spacesWith(store: Store, kin: readonly Kin[]): Promise<readonly string[]> {
  const spaces: string[] = [];
  for (const { space, head, memories } of kin) {
    const elsewhere = new Set<FactId>();
    for await (const lines of store.lines(memories, { without: [head] }))
      for (const { id } of lines) elsewhere.add(id);
    if (memories.some((memory) => !elsewhere.has(memory))) spaces.push(space);
  }
  return spaces.sort();
}

function sessionsIn(file: LineageFile, reach: Reach): readonly ReachedSession[] {
  const reached: ReachedSession[] = [];
  for (const [node, { id: first, branch, before }] of reach.firsts)
    for (const { name, id } of file.all(STANDING, node)) {
      const kept: true | undefined = isKeptByRuntime(name as string) ? true : undefined;
      const where = defined({ branch, before, kept });
      reached.push({ name: name as string, id: id as FactId, first, ...where });
    }
  return reached.sort((one, other) => (one.name < other.name ? -1 : 1));
}

const STANDING = "SELECT name, id FROM head JOIN name USING (id) WHERE node = ? AND node > 0";

/** How many readings found each of some memories, or a memory that came of it. */
export async function readingsOf(
  store: Store,
  memories: readonly FactId[],
  progress?: Progress,
): Promise<readonly number[]> {
  return withLineage(store, progress, (file) => memories.map((id) => reachOf(file, id).reads.length));
}
