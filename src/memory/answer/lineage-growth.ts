import { setImmediate as turn } from "node:timers/promises";
import { beginsTurn } from "../../agent/model/index.js";
import type { Fact, FactId, FactOf } from "../../session/index.js";
import { isDigest, parentsOf, readFact, refsOf, typeOf, Withheld } from "../../session/index.js";
import type { Line, Store } from "../../store/index.js";
import { bytesOf, keyOf } from "../derived-file.js";
import { MEMORY_FACTS, memoriesOf } from "../state.js";
import { factOf, idsIn, writerOf } from "./fact-line.js";
import type { LineageFile } from "./lineage-file.js";

/** The types of facts that are decisions of a person, a model or a rule. */
export const DECISIONS = [
  "model-reply",
  "tool-call",
  "route-choose",
  "approval-give",
  "validation-report",
] as const satisfies readonly Fact["type"][];

/** Decisions in the turn of their node are counted beside the types of facts. No type is called that: none is empty. */
export const IN_TURN = "";

/** Where a fact stands: its node (0 without one), whether its turn is still that of the node, and the branch, where it is known. */
type Standing = { readonly node: number; readonly turn: boolean; readonly branch: string | undefined };

const NOWHERE: Standing = Object.freeze({ node: 0, turn: false, branch: undefined });
const ROOT: Standing = Object.freeze({ node: 0, turn: false, branch: "main" });
/** The maximum number of facts in memory: most facts come from one that was met lately. */
const MET = 100_000;
/** The longest time that other work of this process waits. */
const SLICE_MS = 12;
/** How far back the beginning of a branch is looked for. */
const BACK = 20_000;
/** How far back from a reading the call is looked for that it is evidence of. */
const REQUEST = 64;

/** Adds facts to the index. Lines come parents first, all in one transaction. */
export class LineageGrowth {
  readonly #file: LineageFile;
  readonly #store: Store;
  readonly #again: boolean;
  /** Whether facts were cited before: then each new one may be what somebody waits for. */
  readonly #cited: boolean;
  readonly #breathe = breather();
  readonly #met = new Map<FactId, Standing>();
  readonly #amounts = new Map<number, Map<string, number>>();
  /** Facts that were cited by what came in. */
  readonly #fresh = new Set<FactId>();
  readonly #seen = new Set<FactId>();

  /** `again` says that facts may come that are here already. */
  constructor(file: LineageFile, store: Store, options: { readonly again: boolean }) {
    this.#file = file;
    this.#store = store;
    this.#again = options.again;
    this.#cited = file.get("SELECT 1 FROM cite LIMIT 1") !== undefined;
  }

  async add(lines: readonly Line[]): Promise<void> {
    for (const { id, line } of lines) {
      await this.#breathe();
      if (this.#amounts.size >= MET) await this.#flush();
      if (this.#fresh.has(id)) this.#seen.add(id);
      const known = this.#again ? this.#file.find(id) : undefined;
      const standing =
        known === undefined
          ? await this.#take(id, line)
          : { node: known.node, turn: (known.kind & 1) === 1, branch: undefined };
      if (this.#met.size >= MET) this.#met.clear();
      this.#met.set(id, standing);
    }
  }

  /** Ends it: answers with the facts that were cited and may not be in what the index covers. */
  async finish(): Promise<readonly FactId[]> {
    await this.#flush();
    const elsewhere: FactId[] = [];
    for (const cited of this.#fresh) {
      await this.#breathe();
      const row = this.#file.find(cited);
      if (row !== undefined) this.#point(cited, row.node);
      else if (!this.#seen.has(cited)) elsewhere.push(cited);
    }
    return elsewhere;
  }

  async #take(id: FactId, line: string): Promise<Standing> {
    const type = typeOf(line);
    const parents = parentsOf(line);
    if (MEMORY_FACTS.has(type)) await this.#memory(id, line);
    if (type === "session-detach") return this.#detached(id, line);
    const standings = parents.map((parent) => this.#standing(parent));
    const nodes = nodesOf(standings);
    const [first = ROOT] = standings;
    const branch =
      type === "branch-fork" || type === "branch-merge" ? branchOf(line, standings) : first.branch;
    if (type === "memory-read") {
      const fact = await factOf(this.#store, line, ["hits"]);
      const made = fact.type === "memory-read" && (await this.#read(id, line, parents, fact, branch, nodes));
      if (made) return this.#place(id, type, made);
    }
    // Most facts stand where the one before stood: then nothing is made anew.
    if (nodes.size === 0) return branch === first.branch && first.node === 0 ? first : { ...ROOT, branch };
    const begins =
      type === "message-say" && [...nodes.values()].includes(true) && beginsTurn(readFact(line, undefined));
    if (nodes.size > 1) {
      return this.#place(id, type, { node: this.#node(id, nodes, begins), turn: true, branch });
    }
    const [[node, turn]] = [...nodes] as [[number, boolean]];
    const next = turn && !begins;
    const same = first.node === node && first.turn === next && first.branch === branch;
    return this.#place(id, type, same ? first : { node, turn: next, branch });
  }

  /** A detached root is a node of its own: what it was detached from may not be known yet. */
  #detached(id: FactId, line: string): Standing {
    const { from } = readFact(line, undefined) as FactOf<"session-detach">;
    this.#cite(id, [from]);
    return this.#place(id, "session-detach", { ...ROOT, node: this.#node(id, new Map(), true) });
  }

  /** Keeps a fact that is of a node. */
  #place(id: FactId, type: string, standing: Standing): Standing {
    const { node, turn } = standing;
    const kind = (DECISIONS.indexOf(type as (typeof DECISIONS)[number]) + 1) * 2 + (turn ? 1 : 0);
    const sql = "INSERT INTO fact (k, id, node, kind) VALUES (?, ?, ?, ?)";
    this.#file.run(sql, keyOf(id), bytesOf(id), node, kind);
    this.#count(node, type);
    if (kind > 1 && turn) this.#count(node, IN_TURN);
    if (this.#cited) this.#point(id, node);
    return standing;
  }

  #node(
    id: FactId,
    nodes: ReadonlyMap<number, boolean>,
    begins: boolean,
    read: readonly (string | null)[] = [null, null, null, null, null],
  ): number {
    const sql = "INSERT INTO node (fact, at, by, space, branch, before) VALUES (?, ?, ?, ?, ?, ?)";
    const node = this.#file.run(sql, id, ...read);
    for (const [parent, turn] of nodes)
      this.#file.run("INSERT INTO edge VALUES (?, ?, ?)", parent, node, turn && !begins ? 1 : 0);
    return node;
  }

  /** A reading that found something, or of which nobody knows, is a node of its own. */
  async #read(
    id: FactId,
    line: string,
    parents: readonly FactId[],
    fact: FactOf<"memory-read">,
    branch: string | undefined,
    nodes: ReadonlyMap<number, boolean>,
  ): Promise<Standing | undefined> {
    if (Array.isArray(fact.hits) && fact.hits.length === 0) return undefined;
    const own = branch ?? (await this.#branchAt(parents[0]));
    const before = await this.#before(parents[0], fact.of);
    const node = this.#node(id, nodes, false, [fact.at, fact.by, fact.space, own ?? null, before ?? null]);
    this.#hits(node, id, line, fact);
    return { node, turn: true, branch: own };
  }

  #hits(node: number, id: FactId, line: string, { hits, shown }: FactOf<"memory-read">): void {
    this.#note(id, line, { hits });
    if (!Array.isArray(hits)) return;
    for (const { memory, score, parts } of hits as FactOf<"memory-read">["hits"]) {
      if (!isDigest(memory)) continue;
      // Not shown only where others were shown and this one was not.
      const told = (parts as { readonly told?: unknown } | undefined)?.told;
      const isShown = told === false && shown !== undefined ? 0 : 1;
      const sum = typeof score === "number" ? score : null;
      this.#file.run("INSERT OR IGNORE INTO hit VALUES (?, ?, ?, ?)", memory, node, sum, isShown);
    }
  }

  /** A fact about memories: which, and what it cites. */
  async #memory(id: FactId, line: string): Promise<void> {
    const fact = await factOf(this.#store, line, ["because", "merges"]);
    const { because, merges } = fact as { readonly because?: unknown; readonly merges?: unknown };
    this.#note(id, line, { because, merges });
    const about = fact.type === "memory-write" ? [id] : memoriesOf(id, fact);
    const space = fact.type === "memory-write" ? fact.space : null;
    const root = (await rootOf(this.#file, this.#store, id)) ?? null;
    for (const memory of about)
      if (isDigest(memory))
        this.#file.run("INSERT OR IGNORE INTO about VALUES (?, ?, ?, ?)", id, memory, space, root);
    this.#cite(id, [...idsIn(because), ...idsIn(merges), writerOf(fact)].filter(isDigest));
  }

  #cite(id: FactId, all: readonly FactId[]): void {
    for (const cited of all) {
      this.#file.run("INSERT OR IGNORE INTO cite VALUES (?, ?, 0)", id, cited);
      this.#fresh.add(cited);
    }
  }

  /** Remembers which blobs were read, or should have been: 1 is one that is not there, 2 one that cannot be read. */
  #note(id: FactId, line: string, fields: { readonly [field: string]: unknown }): void {
    for (const [field, { digest }] of Object.entries(refsOf(line))) {
      if (!Object.hasOwn(fields, field)) continue;
      const value = fields[field];
      const open = value instanceof Withheld ? (value.reason === "unfit" ? 2 : 1) : 0;
      this.#file.run("INSERT OR REPLACE INTO outside VALUES (?, ?, ?)", digest, id, open);
    }
  }

  #point(cited: FactId, node: number): void {
    this.#file.run("UPDATE cite SET node = ? WHERE cited = ? AND node <> ?", node, cited, node);
  }

  #standing(id: FactId): Standing {
    const met = this.#met.get(id);
    if (met !== undefined) return met;
    const row = this.#file.find(id);
    return row === undefined ? NOWHERE : { node: row.node, turn: (row.kind & 1) === 1, branch: undefined };
  }

  #count(node: number, type: string): void {
    const amounts = this.#amounts.get(node) ?? new Map<string, number>();
    this.#amounts.set(node, amounts);
    amounts.set(type, (amounts.get(type) ?? 0) + 1);
  }

  async #flush(): Promise<void> {
    for (const [node, amounts] of this.#amounts) {
      await this.#breathe();
      const sql = "INSERT INTO amount VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n";
      for (const [type, n] of amounts) this.#file.run(sql, node, type, n);
    }
    this.#amounts.clear();
  }

  /** The branch of a session whose past was taken in long ago: the last fork on the way that was adopted. */
  async #branchAt(from: FactId | undefined): Promise<string | undefined> {
    let id = from;
    for (let steps = 0; steps < BACK && id !== undefined; steps++) {
      await this.#breathe();
      const known = this.#met.get(id)?.branch;
      if (known !== undefined) return known;
      const line = await this.#store.line(id);
      if (line === undefined) return undefined;
      const parents = parentsOf(line);
      if (parents.length === 0) return "main";
      const type = typeOf(line);
      if (type === "branch-fork") return branchOf(line, []);
      id = parents[type === "branch-merge" ? adoptedIn(line, parents.length) : 0];
    }
    return undefined;
  }

  /** Where the run would go on without the reading: before its call, so none stays unanswered. */
  async #before(parent: FactId | undefined, of: FactId | undefined): Promise<FactId | undefined> {
    let id = of === undefined ? undefined : parent;
    for (let steps = 0; steps < REQUEST && id !== undefined; steps++) {
      const line: string | undefined = await this.#store.line(id);
      if (line === undefined) break;
      const [before] = parentsOf(line);
      if (id === of) return before ?? parent;
      id = before;
    }
    return parent;
  }
}

/** Lets other work of this process go on, now and then. Reading the clock costs as much as some of the work. */
export function breather(): () => Promise<void> {
  let [steps, since] = [0, performance.now()];
  return async () => {
    if (++steps % 64 !== 0 || performance.now() - since <= SLICE_MS) return;
    await turn();
    since = performance.now();
  };
}

/** The first fact of the space that a fact stands in: forks of a space have it in common. */
export async function rootOf(file: LineageFile, store: Store, from: FactId): Promise<FactId | undefined> {
  for (let id = from; ; ) {
    const root = file.get("SELECT root FROM about WHERE fact = ? LIMIT 1", id)?.root;
    if (typeof root === "string") return root;
    const line = await store.line(id);
    if (line === undefined) return undefined;
    const [parent] = parentsOf(line);
    if (parent === undefined) return id;
    id = parent;
  }
}

/** The nodes that a fact comes from, each with whether there is a way from it in one turn. */
function nodesOf(standings: readonly Standing[]): Map<number, boolean> {
  const nodes = new Map<number, boolean>();
  for (const { node, turn } of standings) if (node > 0) nodes.set(node, turn || (nodes.get(node) ?? false));
  return nodes;
}

function branchOf(line: string, standings: readonly Standing[]): string | undefined {
  const fact = readFact(line, undefined);
  if (fact.type === "branch-fork") return fact.name;
  return standings[adoptedIn(line, standings.length)]?.branch;
}

function adoptedIn(line: string, sides: number): number {
  const { adopt } = readFact(line, undefined) as FactOf<"branch-merge">;
  const side = adopt === "theirs" ? 1 : typeof adopt === "number" ? adopt : 0;
  return side < sides ? side : 0;
}
