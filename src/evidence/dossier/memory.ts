import { why } from "../../memory/index.js";
import { type Fact, type FactId, isDigest } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { defined, firstLine, isObject } from "../../util/index.js";
import type { Reader } from "../audit/reader.js";
import { type Html, html } from "./html/html.js";
import type { Anchors, Section } from "./html/words.js";
import { card, count, inline, items, line, pairs, told, when } from "./html/words.js";
import { firstOf, type ItemOf, itemOf, Sample, type Seen, shape, timeOf } from "./item.js";
import { brief, type Item, type Listed, rounded, text, type Words } from "./words.js";

/** A reading of memory. A run of version 0.1 does not say in which modules it was done. */
export const MEMORY_READ = shape(
  "memory-read",
  "space module head query* settings* shown* hits",
  ({ hits, module }, words) => {
    const all: readonly unknown[] | undefined = Array.isArray(hits) ? hits : undefined;
    return {
      module: Array.isArray(module) ? (module as readonly string[]) : undefined,
      hits: {
        items: (all ?? [])
          .slice(0, HITS)
          .filter(isObject)
          .map(({ memory, score, text: said }) => ({
            memory: text(memory),
            ...(typeof score === "number" && { score }),
            ...defined({ text: words.maybe(said) }),
          })),
        total: all?.length ?? 0,
      },
      ...(all === undefined && { withheld: words.tell(hits) }),
    };
  },
);
export type MemoryRead = ItemOf<typeof MEMORY_READ>;

export type MemoryDeed = ReturnType<typeof deedOf>;
export type MemoryReason = Omit<Awaited<ReturnType<typeof whyOf>>, "space"> & {
  readonly space?: string;
  readonly problem?: string;
};

/** How many memories are asked for their reasons, and how far each is followed. */
const REASONS = 25;
const FOLLOWED = 60;
const HITS = 50;

type Deed = Item & { readonly version: FactId; readonly own?: Fact };

/** Recalled and written memories, and why they exist. */
export class Memories {
  readonly #words: Words;
  readonly #deeds: Sample<Deed>;
  readonly #named = new Set<FactId>();

  constructor(most: number, words: Words) {
    this.#words = words;
    this.#deeds = new Sample(most);
  }

  see(seen: Seen): void {
    const { id, fact } = seen;
    if (fact.type === "memory-read") {
      const hits: readonly unknown[] = Array.isArray(fact.hits) ? fact.hits : [];
      for (const hit of hits.slice(0, HITS))
        if (isObject(hit) && isDigest(hit.memory) && this.#named.size < 1_000) this.#named.add(hit.memory);
    } else if (isDeed(fact.type)) this.#deeds.add({ ...itemOf(seen), version: id, own: fact });
    else if (fact.type === "step-result") this.#told(seen, fact.value);
    else if (fact.type === "tool-result") this.#told(seen, fact.output);
  }

  /** The deeds with what their facts in the memory spaces say. */
  async deeds(reader: Reader): Promise<Listed<MemoryDeed>> {
    const { items, ...rest } = this.#deeds.listed();
    const deeds: MemoryDeed[] = [];
    for (const deed of items) {
      const fact = deed.own ?? (await reader.fact(deed.version))?.fact;
      // A result may name anything with such an id; only memories are told.
      if (fact !== undefined && isDeed(fact.type)) deeds.push(deedOf(deed, fact, this.#words));
    }
    return { ...rest, items: deeds, total: rest.total - (items.length - deeds.length) };
  }

  /** Why the memories that were read or written are there. */
  async reasons(store: Store, deeds: readonly MemoryDeed[]): Promise<Listed<MemoryReason>> {
    for (const { memory } of deeds) if (isDigest(memory)) this.#named.add(memory);
    const { items, ...rest } = firstOf([...this.#named], REASONS);
    const reasons: MemoryReason[] = [];
    for (const memory of items) reasons.push(await reasonOf(store, memory));
    return { items: reasons, ...rest };
  }

  /** A result that names a memory: what was done to it stands in the space. */
  #told(seen: Seen, value: unknown): void {
    if (!isObject(value)) return;
    const version = value.version ?? value.memory;
    if (isDigest(version)) this.#deeds.add({ ...itemOf(seen), version });
    else if (Array.isArray(value.memories) && isDigest(value.head))
      this.#deeds.add({ ...itemOf(seen), version: value.head });
  }
}

/** A change of a memory, as the fact in its space says. */
function deedOf({ version, own, ...item }: Deed, fact: Fact, words: Words) {
  const said = fact as Fact & { readonly [field: string]: unknown };
  const { space, source, because } = said;
  return {
    ...item,
    facts: own === undefined ? [...item.facts, version] : item.facts,
    by: fact.by,
    type: fact.type,
    memory: fact.type === "memory-write" ? version : text(said.of ?? version),
    ...defined({
      space: typeof space === "string" ? space : undefined,
      text: words.maybe(said.text),
      why: words.maybe(said.why),
      source: typeof source === "string" ? source : undefined,
      scope: words.maybe(said.scope),
    }),
    because: Array.isArray(because) ? because.filter(isDigest).slice(0, HITS) : [],
  };
}

function isDeed(type: string): boolean {
  return type.startsWith("memory-") && type !== "memory-read" && type !== "memory-space";
}

async function reasonOf(store: Store, memory: FactId): Promise<MemoryReason> {
  try {
    return await whyOf(store, memory);
  } catch (error) {
    const problem = error instanceof Error ? firstLine(error.message) : "it cannot be looked up";
    return { memory, versions: [], grounds: [], more: false, problem };
  }
}

/** The versions of a memory and its final grounds: people, tools, validations, imports. */
async function whyOf(store: Store, memory: FactId) {
  const { space, versions, leaves, more } = await why(store, memory, { most: FOLLOWED });
  return {
    memory,
    space,
    versions: versions.slice(0, HITS).map(({ id, type, by, at, text: said }) => {
      return { fact: id, type, by, ...defined({ at: timeOf(at) }), text: brief(said, 400) };
    }),
    grounds: leaves.slice(0, HITS).map(({ id, type, ground = "", by, text: said }) => {
      return { fact: id, type, ground, ...defined({ by }), text: brief(said, 400) };
    }),
    more: more || leaves.length > HITS,
  };
}

export const memorySection: Section = {
  id: "memory",
  title: "Memory",
  total: ({ memory: { reads, deeds } }) => reads.total + deeds.total,
  note: ({ memory: { reads, deeds } }) => `${count(reads.total, "reading")}, ${count(deeds.total, "change")}`,
  body: ({ memory: { reads, deeds, reasons } }, anchors) => [
    ...items(reads, (read) => reading(read, anchors)),
    ...items(deeds, (deed) => done(deed, anchors)),
    reasons.total > 0 &&
      html`<p class="label">Why these memories exist</p>${items(reasons, (one) => reason(one, anchors))}`,
  ],
};

function reading(read: MemoryRead, anchors: Anchors): Html {
  return card(
    html`<h3 dir="auto">Read ${read.space}</h3> <span class="soft">${inline(read.query, 120)}</span>${line(
      count(read.hits.total, "memory found", "memories found"),
      read.branch,
      read.module?.join(" › ") ?? read.by,
      when(read.at, "clock"),
    )}`,
    html`${told(read.query, "Asked for", "plain")}${read.withheld !== undefined && told(read.withheld, "Found")}${items(
      read.hits,
      (hit) =>
        html`<div class="said"><span class="who">memory ${anchors.id(hit.memory)}${hit.score !== undefined && ` score ${rounded(hit.score)}`}</span>${told(hit.text, "", "plain")}</div>`,
    )}${told(read.shown, "Shown in the prompt", "plain")}${told(read.settings, "How it was looked for")}${pairs([["The space stood at", read.head && anchors.id(read.head)]])}`,
    anchors,
    read.facts,
  );
}

const DEEDS: ReadonlyMap<string, string> = new Map([
  ["memory-write", "Remembered"],
  ["memory-revise", "Revised"],
  ["memory-revoke", "Revoked"],
  ["memory-promote", "Promoted"],
  ["memory-expire", "Expired"],
  ["memory-link", "Linked"],
  ["memory-rollback", "Rolled back"],
]);

function done(deed: MemoryDeed, anchors: Anchors): Html {
  return card(
    html`<h3 dir="auto">${DEEDS.get(deed.type) ?? deed.type}${deed.space !== undefined && ` in ${deed.space}`}</h3> <span class="soft">${inline(deed.text, 160)}</span>${line(deed.branch, deed.by, when(deed.at, "clock"))}`,
    html`${told(deed.text, "", "plain")}${told(deed.why, "Why", "plain")}${pairs([
      ["Memory", anchors.id(deed.memory)],
      ["Learnt from", deed.source],
      ["Holds for", inline(deed.scope)],
      ["Because of", deed.because.length > 0 && deed.because.map((id) => html`${anchors.id(id)} `)],
    ])}`,
    anchors,
    deed.facts,
  );
}

function reason(one: MemoryReason, anchors: Anchors): Html {
  return html`<details class="item"><summary><h3>Memory ${anchors.id(one.memory)}</h3> <span class="soft">${one.versions[0]?.text}</span></summary><div class="body">${
    one.problem !== undefined && html`<p class="small warn">${one.problem}</p>`
  }<p class="label">Versions</p><ul>${one.versions.map(
    ({ fact, type, by, at, text }) =>
      html`<li dir="auto"><code>${type}</code> by ${by}, ${when(at)}: ${text} ${anchors.id(fact)}</li>`,
  )}</ul><p class="label">It rests on</p><ul>${one.grounds.map(
    ({ fact, type, ground, by, text }) =>
      html`<li dir="auto"><span class="tag">${ground}</span> <code>${type}</code>${by !== undefined && ` by ${by}`}: ${text} ${anchors.id(fact)}</li>`,
  )}</ul>${one.more && html`<p class="more">There is more behind it than was followed: <code>rath memory why</code>.</p>`}</div></details>`;
}
