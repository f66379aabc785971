import { type FactId, parentsOf } from "../../session/index.js";
import type { Line, Store } from "../../store/index.js";
import { straysOf } from "../dossier/strays.js";
import { IndexingError } from "../indexing.js";
import { FactTable } from "./fact-table.js";
import { Graph } from "./graph.js";
import { keepGraph, keptGraph, WORTH } from "./graph-file.js";

/** So many facts of all graphs together are kept; the graph that was asked for longest ago goes first. */
const KEPT = 2_000_000;
/**
 * Branches that nothing took in are looked for behind every fact of a graph; behind a longer one, under so many names that
 * moved last.
 */
const WALKED = 20_000;
const NAMES = 50;
/** So many facts get their rows before others may work. */
const SLICE = 5_000;

type Held = {
  readonly graph: Graph;
  /** The name or id that it was asked for by. */
  readonly ref: string;
  /** Where the session stands, and every end that was read. */
  head: FactId;
  readonly ends: Set<FactId>;
  /** How many facts of it are in its file. */
  kept: number;
  /** It takes in facts now, and no others. */
  isGrowing?: boolean;
};

/** A graph that is read beside the questions about it. */
type Building = { facts: number; readonly total: number; error?: unknown };
type Progress = (facts: number) => void;

export type GraphsOptions = {
  readonly alone?: boolean;
  /** A question that needs more facts to be read first is refused with an `IndexingError`, and they are read beside it. */
  readonly patience?: number;
};

export type Opened = { readonly graph: Graph; readonly head: FactId };

/**
 * The graphs of the sessions of a store. Each is read once, in time in proportion to its facts, and continued from where the
 * session has moved to.
 */
export class Graphs {
  readonly #store: Store;
  /** Each graph holds the past of its own session, and nothing that others made of it. */
  readonly #alone: boolean;
  /** The one asked for last stands last. */
  #held: Held[] = [];
  /** The work in turn: nobody waits for a long session to be read who asks about a short one. */
  readonly #work = { short: Promise.resolve<unknown>(undefined), long: Promise.resolve<unknown>(undefined) };
  readonly #patience: number;
  readonly #building = new Map<string, Building>();

  constructor(store: Store, { alone = false, patience = Number.POSITIVE_INFINITY }: GraphsOptions = {}) {
    this.#store = store;
    this.#alone = alone;
    this.#patience = patience;
  }

  /** The graph of a session as it is now, and the fact that the session stands at. */
  async of(ref: string): Promise<Opened> {
    const head = await this.#store.resolve(ref);
    const known = this.#known(ref, head) ?? (await this.#soon(ref, head));
    this.#use(known);
    return { graph: known.graph, head };
  }

  /** Takes in where a session has moved to whose graph is kept. */
  async kept(ref: string): Promise<void> {
    if (!this.#held.some((held) => held.ref === ref)) return;
    const head = await this.#store.resolve(ref);
    if (this.#known(ref, head) === undefined) await this.#inTurn("long", () => this.#open(ref, head));
  }

  /** Reads what is new of a session; where that is much, beside this question, which is refused until it is done. */
  async #soon(ref: string, head: FactId): Promise<Held> {
    let building = this.#building.get(ref);
    if (building === undefined) {
      if (this.#patience === Number.POSITIVE_INFINITY)
        return this.#inTurn("long", () => this.#open(ref, head));
      const { count } = await this.#store.facts(head, { limit: 1 });
      const held = this.#held.findLast((one) => one.ref === ref);
      if (count - (held?.graph.length ?? 0) <= this.#patience)
        return this.#inTurn("short", () => this.#open(ref, head));
      building = this.#building.get(ref) ?? this.#build(ref, head, count);
    }
    if (building.error === undefined) throw new IndexingError(ref, building.facts, building.total);
    this.#building.delete(ref);
    throw building.error;
  }

  #build(ref: string, head: FactId, total: number): Building {
    const building: Building = { facts: 0, total };
    this.#building.set(ref, building);
    const progress = (facts: number): void => {
      building.facts = facts;
    };
    this.#inTurn("long", () => this.#open(ref, head, progress)).then(
      () => this.#building.delete(ref),
      // The next question is told.
      (error: unknown) => {
        building.error = error;
      },
    );
    return building;
  }

  /** Takes in what hangs from graphs that are kept: where names have moved to. */
  async moved(head: FactId): Promise<void> {
    if (this.#alone) return;
    await this.#inTurn("long", async () => {
      for (const held of [...this.#held]) if (!held.graph.has(head)) await this.#join(held, head);
    });
  }

  /** One after the other: two that were read at once would be two graphs of the same facts. */
  #inTurn<Result>(lane: "short" | "long", work: () => Promise<Result>): Promise<Result> {
    const done = this.#work[lane].then(work);
    this.#work[lane] = done.catch(() => undefined);
    return done;
  }

  /** The graph that has this fact in the past of its session: beside it, it is another session's. */
  #known(ref: string, head: FactId): Held | undefined {
    return this.#held.findLast(({ graph, ref: of }) => {
      if (this.#alone && of !== ref) return false;
      const place = graph.table.ids.placeOf(head);
      return place !== -1 && place < graph.length && !graph.table.isElsewhere(place);
    });
  }

  async #open(ref: string, head: FactId, progress?: Progress): Promise<Held> {
    const known = this.#known(ref, head) ?? (await this.#continued(ref, head));
    const held = known ?? (await this.#fromFile(ref, head)) ?? (await this.#read(ref, head, progress));
    // After a start, and whenever it has grown by a tenth.
    if (held.graph.length > 1.1 * held.kept + WORTH) {
      held.kept = held.graph.length;
      await keepGraph(this.#store, this.#fileOf(ref), {
        graph: held.graph,
        head: held.head,
        ends: [...held.ends],
      }).catch(() => undefined);
    }
    return held;
  }

  /** A name has no line break, so that the two never meet. */
  #fileOf(ref: string): string {
    return this.#alone ? `${ref}\nalone` : ref;
  }

  async #continued(ref: string, head: FactId): Promise<Held | undefined> {
    for (const held of this.#held.toReversed())
      if ((!this.#alone || held.ref === ref) && !held.graph.has(head) && (await this.#join(held, head, true)))
        return held;
    return undefined;
  }

  async #fromFile(ref: string, head: FactId): Promise<Held | undefined> {
    const kept = await keptGraph(this.#store, this.#fileOf(ref));
    if (kept === undefined) return undefined;
    const held: Held = { ...kept, ref, ends: new Set(kept.ends), kept: kept.graph.length };
    const isGood = kept.head === head || (!kept.graph.has(head) && (await this.#join(held, head, true)));
    if (!isGood) return undefined;
    await this.#besides(held);
    this.#held.push(held);
    return held;
  }

  async #besides(held: Held): Promise<void> {
    if (this.#alone) return;
    for (const { id } of await this.#store.names({ order: "changed", limit: NAMES }))
      if (!held.graph.has(id)) await this.#join(held, id);
  }

  /** Reads what leads to a head and is not in a graph, if it hangs from there: from where the session stands, or anywhere. */
  async #join(held: Held, head: FactId, onlyOn = false): Promise<boolean> {
    if (held.isGrowing) return false;
    held.isGrowing = true;
    try {
      return await this.#joined(held, head, onlyOn);
    } finally {
      held.isGrowing = false;
    }
  }

  async #joined(held: Held, head: FactId, onlyOn: boolean): Promise<boolean> {
    const { graph } = held;
    const fresh: Line[] = [];
    let goesOn = false;
    for await (const lines of this.#store.lines(head, { without: [...held.ends] })) {
      const parents = new Set(lines.flatMap(({ line }) => parentsOf(line)));
      goesOn ||= parents.has(held.head);
      const hangs = fresh.length > 0 || [...parents].some((parent) => graph.has(parent));
      if (!hangs || (onlyOn && fresh.length > WALKED && !goesOn)) return false;
      fresh.push(...lines);
      await breath();
    }
    if (onlyOn && !goesOn) return false;
    const table = new FactTable();
    for (const line of fresh) table.read(line, !goesOn, graph.table);
    graph.table.adopt(table);
    await grown(graph);
    for (const { line } of fresh) for (const parent of parentsOf(line)) held.ends.delete(parent);
    held.ends.add(head);
    if (goesOn) held.head = head;
    return true;
  }

  async #read(ref: string, head: FactId, progress?: Progress): Promise<Held> {
    const table = new FactTable();
    const read = async (heads: readonly FactId[], without: readonly FactId[]): Promise<void> => {
      for await (const lines of this.#store.lines(heads, { without })) {
        for (const line of lines) table.read(line, without.length > 0);
        progress?.(table.length);
        await breath();
      }
    };
    await read([head], []);
    const strays = await this.#strays(head, table);
    if (strays.length > 0) await read(strays, [head]);
    const graph = new Graph(table.ordered());
    await grown(graph);
    const held: Held = { graph, ref, head, ends: new Set([head, ...strays]), kept: 0 };
    if (table.length > WALKED) await this.#besides(held);
    this.#held.push(held);
    return held;
  }

  async #strays(head: FactId, table: FactTable): Promise<readonly FactId[]> {
    const { length, ids } = table;
    if (length > WALKED || this.#alone) return [];
    let hasRun = false;
    function* all() {
      for (let place = 0; place < length; place++) {
        hasRun ||= table.typeAt(place) === "run-start";
        yield ids.at(place);
      }
    }
    const facts = [...all()];
    const has = (id: FactId): boolean => ids.placeOf(id) !== -1;
    return (await straysOf(this.#store, head, has, facts, length, WALKED, hasRun)).heads;
  }

  #use(held: Held): void {
    this.#held = [...this.#held.filter((one) => one !== held), held];
    let sum = this.#held.reduce((facts, { graph }) => facts + graph.length, 0);
    while (sum > KEPT && this.#held.length > 1) sum -= this.#held.shift()?.graph.length ?? 0;
  }
}

async function grown(graph: Graph): Promise<void> {
  while (graph.grow(SLICE)) await breath();
}

/** Others may work between. */
function breath(): Promise<void> {
  return new Promise((done) => setImmediate(done));
}
