import { why } from "../../memory/index.js";
import type { Fact, FactId, FactOf } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import type { Listed, MemoryDeed, MemoryRead, MemoryReason } from "./dossier.js";
import { factAt } from "./look-up.js";
import { Sample } from "./sample.js";
import { brief } from "./saying.js";
import { itemOf, type Seen, timeOf } from "./seen.js";
import { isId, isObject, text, type Words } from "./words.js";

/** How many memories are asked for their reasons, and how far each is followed. */
const REASONS = 25;
const FOLLOWED = 60;
const HITS = 50;

type Deed = Omit<MemoryDeed, "type" | "because" | "memory"> & {
  readonly version: FactId;
  readonly own?: Fact;
};

/** What was recalled and remembered, and why those memories are there. */
export class Memories {
  readonly #words: Words;
  readonly #reads: Sample<MemoryRead>;
  readonly #deeds: Sample<Deed>;
  readonly #named = new Set<FactId>();

  constructor(most: number, words: Words) {
    this.#words = words;
    this.#reads = new Sample(most);
    this.#deeds = new Sample(most);
  }

  see(seen: Seen): void {
    const { id, fact } = seen;
    if (fact.type === "memory-read") this.#read(seen, fact);
    else if (isDeed(fact.type)) this.#deed(seen, id, fact);
    else if (fact.type === "step-result") this.#told(seen, fact.value);
    else if (fact.type === "tool-result") this.#told(seen, fact.output);
  }

  get reads(): Listed<MemoryRead> {
    return this.#reads.listed();
  }

  /** The deeds with what their facts in the memory spaces say. */
  async deeds(store: Store, erased: ReadonlySet<string>): Promise<Listed<MemoryDeed>> {
    const { items, ...rest } = this.#deeds.listed();
    const deeds: MemoryDeed[] = [];
    for (const deed of items) {
      const fact = deed.own ?? (await factAt(store, deed.version, erased));
      // A result may name anything with such an id; only memories are told.
      if (fact !== undefined && isDeed(fact.type)) deeds.push(this.#shown(deed, fact));
    }
    return { ...rest, items: deeds, total: rest.total - (items.length - deeds.length) };
  }

  /** Why the memories that were read or written are there. */
  async reasons(store: Store, deeds: readonly MemoryDeed[]): Promise<Listed<MemoryReason>> {
    for (const { memory } of deeds) if (isId(memory)) this.#named.add(memory);
    const items: MemoryReason[] = [];
    for (const memory of [...this.#named].slice(0, REASONS)) items.push(await reasonOf(store, memory));
    const total = this.#named.size;
    return { items, total, ...(items.length < total && { gap: items.length }) };
  }

  #read(seen: Seen, fact: FactOf<"memory-read">): void {
    const words = this.#words;
    const hits: readonly unknown[] | undefined = Array.isArray(fact.hits) ? fact.hits : undefined;
    const [settings, shown] = [words.maybe(fact.settings), words.maybe(fact.shown)];
    for (const hit of (hits ?? []).slice(0, HITS))
      if (isObject(hit) && isId(hit.memory) && this.#named.size < 1_000) this.#named.add(hit.memory);
    this.#reads.add({
      ...itemOf(seen),
      space: fact.space,
      ...(Array.isArray(fact.module) && { module: fact.module }),
      ...(fact.head !== undefined && { head: fact.head }),
      query: words.tell(fact.query),
      ...(settings !== undefined && { settings }),
      ...(shown !== undefined && { shown }),
      hits: {
        items: (hits ?? [])
          .slice(0, HITS)
          .filter(isObject)
          .map((hit) => {
            const said = words.maybe(hit.text);
            return {
              memory: text(hit.memory),
              ...(typeof hit.score === "number" && { score: hit.score }),
              ...(said !== undefined && { text: said }),
            };
          }),
        total: hits?.length ?? 0,
      },
      ...(hits === undefined && { withheld: words.tell(fact.hits) }),
    });
  }

  #deed(seen: Seen, version: FactId, own: Fact): void {
    this.#deeds.add({ ...itemOf(seen), version, own });
  }

  /** A result that names a memory: what was done to it stands in the space. */
  #told(seen: Seen, value: unknown): void {
    if (!isObject(value)) return;
    const version = value.version ?? value.memory;
    if (isId(version)) this.#deeds.add({ ...itemOf(seen), version });
    else if (Array.isArray(value.memories) && isId(value.head))
      this.#deeds.add({ ...itemOf(seen), version: value.head });
  }

  #shown({ version, own, ...item }: Deed, fact: Fact): MemoryDeed {
    const words = this.#words;
    const said = fact as {
      readonly of?: unknown;
      readonly space?: unknown;
      readonly source?: unknown;
      readonly because?: unknown;
      readonly text?: unknown;
      readonly why?: unknown;
      readonly scope?: unknown;
    };
    const [told, reason, scope] = [words.maybe(said.text), words.maybe(said.why), words.maybe(said.scope)];
    return {
      ...item,
      facts: own === undefined ? [...item.facts, version] : item.facts,
      by: fact.by,
      type: fact.type,
      ...(typeof said.space === "string" && { space: said.space }),
      memory: fact.type === "memory-write" ? version : text(said.of ?? version),
      ...(told !== undefined && { text: told }),
      ...(reason !== undefined && { why: reason }),
      ...(typeof said.source === "string" && { source: said.source }),
      ...(scope !== undefined && { scope }),
      because: Array.isArray(said.because) ? said.because.filter(isId).slice(0, HITS) : [],
    };
  }
}

function isDeed(type: string): boolean {
  return type.startsWith("memory-") && type !== "memory-read" && type !== "memory-space";
}

async function reasonOf(store: Store, memory: FactId): Promise<MemoryReason> {
  try {
    const found = await why(store, memory, { most: FOLLOWED });
    return {
      memory,
      space: found.space,
      versions: found.versions.slice(0, HITS).map(({ id, type, by, at, text: said }) => ({
        fact: id,
        type,
        by,
        ...(timeOf(at) !== undefined && { at }),
        text: brief(said, 400),
      })),
      grounds: found.leaves.slice(0, HITS).map(({ id, type, ground, by, text: said }) => ({
        fact: id,
        type,
        ground: ground ?? "",
        ...(by !== undefined && { by }),
        text: brief(said, 400),
      })),
      more: found.more || found.leaves.length > HITS,
    };
  } catch (error) {
    const problem = error instanceof Error ? (error.message.split("\n")[0] ?? "") : "it cannot be looked up";
    return { memory, versions: [], grounds: [], more: false, problem };
  }
}
