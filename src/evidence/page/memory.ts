import { type Influence, influence, readingsOf, type Why, why } from "../../memory/answer/index.js";
import { type Memory, memory, type Space, type SpaceView } from "../../memory/index.js";
import type { FactId } from "../../session/index.js";
import { NotFoundError, type Store } from "../../store/index.js";
import { defined, nearestOf } from "../../util/index.js";
import { type ListOptions, type ListPage, pageOf, stretchOf } from "./list.js";
import { type FactRow, factRow, type RowReader } from "./row.js";
import type { Soon } from "./soon.js";

export type MemorySpaceRow = {
  readonly space: string;
  readonly head: FactId | null;
  readonly memories: number;
  /** How many memories are in each state. */
  readonly counts: { readonly [state: string]: number };
};

export type MemoryRow = {
  readonly id: FactId;
  readonly space: string;
  readonly text: string;
  readonly state: Memory["status"];
  readonly trust: Memory["trust"];
  readonly at: string;
  readonly by: string;
  readonly subject?: string;
  /** How many readings found it, or a memory that came of it. */
  readonly told: number;
  /** The facts that it rests on, and those that it contradicts. */
  readonly why: readonly FactId[];
  readonly contradicts: readonly FactId[];
  /** Why it is no longer live. */
  readonly reason?: string;
};

export type SpacesOptions = ListOptions & {
  /** Only spaces of which this says yes. */
  readonly seen?: (space: string) => boolean;
};
export type MemoriesOptions = ListOptions & {
  readonly head?: FactId | undefined;
  /** Only memories that have these words in them. */
  readonly q?: string | undefined;
};

/** Everything that a memory reached, and that taking it out puts in doubt. */
export type MemoryReach = Pick<Influence, "memory" | "sessions" | "memories" | "totals" | "more"> & {
  /** Readings that found it: they stand in prompts. */
  readonly prompts: readonly FactRow[];
  readonly decisions: readonly FactRow[];
};

export type MemoryWhy = Omit<Why, "nodes"> & { readonly nodes: readonly Why["leaves"][number][] };

const STATUSES = ["live", "held", "revoked", "expired", "merged"] as const;
const UNDER = "memory/";
/** So many of each kind are named; the totals are exact. */
const REACH = 200;

/** The memory spaces of a store, what is in them, and what came of it. */
export class MemoryPages {
  readonly #store: Store;

  readonly #reader: RowReader;
  readonly #soon: Soon;

  constructor(store: Store, reader: RowReader, soon: Soon) {
    this.#store = store;
    this.#reader = reader;
    this.#soon = soon;
  }

  async spaces({ seen = () => true, ...options }: SpacesOptions): Promise<ListPage<MemorySpaceRow>> {
    const names = (await this.#names()).filter(seen);
    const stretch = stretchOf(options, names.length);
    const items: MemorySpaceRow[] = [];
    let at = stretch.from;
    for (; names[at] !== undefined && items.length < stretch.limit; at += stretch.step) {
      const space = this.#space(names[at] as string);
      const counts: { [state: string]: number } = {};
      const all = await space.list({ within: true, statuses: STATUSES });
      for (const { status } of all) counts[status] = (counts[status] ?? 0) + 1;
      items.push({ space: space.name, head: (await space.head()) ?? null, memories: all.length, counts });
    }
    return pageOf(items, stretch, at - stretch.step, names.length);
  }

  /** The memories of a space, in order of writing; as of a fact of the space, if one is given. */
  async memories(name: string, { head, q, ...options }: MemoriesOptions) {
    const names = await this.#names();
    if (!names.includes(name)) {
      const near = nearestOf(name, names);
      const there =
        names.length === 0 ? "nothing was remembered here yet" : `there are ${names.slice(0, 10).join(", ")}`;
      throw new NotFoundError(
        `a memory space ${JSON.stringify(String(name).slice(0, 80))}`,
        near === undefined ? there : `did you mean ${near}?`,
      );
    }
    const space = this.#space(name);
    const view: SpaceView = head === undefined ? space : await space.at(head);
    const words = q?.toLowerCase() ?? "";
    const all = (await view.list({ within: true, statuses: STATUSES })).filter(
      ({ text }) => words === "" || text.toLowerCase().includes(words),
    );
    const stretch = stretchOf(options, all.length);
    const listed: Memory[] = [];
    let at = stretch.from;
    for (; all[at] !== undefined && listed.length < stretch.limit; at += stretch.step)
      listed.push(all[at] as Memory);
    const ids = listed.map(({ id }) => id);
    const told = await this.#soon.ask((progress) => readingsOf(this.#store, ids, progress));
    const items = listed.map((one, place) => memoryRow(one, told[place] ?? 0));
    return pageOf(items, stretch, at - stretch.step, all.length);
  }

  /** The facts that a memory rests on, as a graph. */
  async why(memory: FactId): Promise<MemoryWhy> {
    const { nodes, ...answer } = await this.#soon.ask((progress) =>
      why(this.#store, memory, defined({ progress })),
    );
    return { ...answer, nodes: [...nodes.values()] };
  }

  /** The preview of taking a memory out. */
  async influence(memory: FactId): Promise<MemoryReach> {
    const { sessions, memories, totals, more, ...reached } = await this.#soon.ask((progress) =>
      influence(this.#store, memory, { most: REACH, ...defined({ progress }) }),
    );
    const rows = async (facts: readonly { readonly id: FactId }[]): Promise<readonly FactRow[]> => {
      const found: FactRow[] = [];
      for (const { id } of facts) {
        const recorded = await this.#reader.fact(id);
        if (recorded !== undefined) found.push(factRow(recorded));
      }
      return found;
    };
    const told = { prompts: await rows(reached.reads), decisions: await rows(reached.decisions) };
    return { memory: reached.memory, ...told, memories, sessions, totals, more };
  }

  async #names(): Promise<readonly string[]> {
    return (await this.#store.names({ under: UNDER })).map(({ name }) => name.slice(UNDER.length));
  }

  #space(name: string): Space {
    return memory({ name, scope: "service:pages" }).open(this.#store);
  }
}

function memoryRow(one: Memory, told: number): MemoryRow {
  const { id, space, text, status: state, trust, at, by, subject, because, contradicts, why: reason } = one;
  const known = { id, space, text, state, trust, at, by, told, why: because, contradicts };
  return { ...known, ...defined({ subject, reason }) };
}
