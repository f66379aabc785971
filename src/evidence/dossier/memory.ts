import { why } from "../../memory/index.js";
import { type Digest, type Fact, type FactId, type FactOf, readFact, refsOf } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { defined, firstLine, isObject } from "../../util/index.js";
import type { Dossier } from "./dossier.js";
import { type Html, html } from "./html/html.js";
import { type Anchors, count, inline, items, line, pairs, told, when } from "./html/words.js";
import { itemOf, Sample, type Seen, timeOf } from "./item.js";
import { brief, type Item, isId, type Listed, rounded, type Told, text, type Words } from "./words.js";

export type MemoryRead = Item & {
  /** The modules in which it was read, the outermost first; a run of version 0.1 does not say. */
  readonly module?: readonly string[];
  readonly space: string;
  readonly head?: FactId;
  readonly query: Told;
  readonly settings?: Told;
  readonly shown?: Told;
  readonly hits: Listed<{ readonly memory: string; readonly score?: number; readonly text?: Told }>;
  readonly withheld?: Told;
};

export type MemoryDeed = Item & {
  readonly type: string;
  readonly space?: string;
  readonly memory: string;
  readonly text?: Told;
  readonly why?: Told;
  readonly source?: string;
  readonly scope?: Told;
  readonly because: readonly FactId[];
};

export type MemoryReason = {
  readonly memory: FactId;
  readonly space?: string;
  readonly versions: readonly {
    readonly fact: FactId;
    readonly type: string;
    readonly by: string;
    readonly at?: string;
    readonly text: string;
  }[];
  /** What it rests on in the end: people, tools, validations, imports. */
  readonly grounds: readonly {
    readonly fact: FactId;
    readonly type: string;
    readonly ground: string;
    readonly by?: string;
    readonly text: string;
  }[];
  readonly more: boolean;
  readonly problem?: string;
};

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
      ...defined({ settings, shown }),
      hits: {
        items: (hits ?? [])
          .slice(0, HITS)
          .filter(isObject)
          .map((hit) => {
            return {
              memory: text(hit.memory),
              ...(typeof hit.score === "number" && { score: hit.score }),
              ...defined({ text: words.maybe(hit.text) }),
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
      ...defined({ text: told, why: reason }),
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
    const problem = error instanceof Error ? firstLine(error.message) : "it cannot be looked up";
    return { memory, versions: [], grounds: [], more: false, problem };
  }
}

/** What was recalled, what was remembered, and why those memories are there. */
export function memorySection({ memory }: Dossier, anchors: Anchors): Html {
  const { reads, deeds, reasons } = memory;
  if (reads.total + deeds.total === 0) return html``;
  return html`<section id="memory" aria-labelledby="memory-h"><h2 id="memory-h">Memory <span class="n">${count(reads.total, "reading")}, ${count(deeds.total, "change")}</span></h2>
${items(reads, (read) => reading(read, anchors))}${items(deeds, (deed) => done(deed, anchors))}${
  reasons.total > 0 &&
  html`<p class="label">Why these memories exist</p>${items(reasons, (one) => reason(one, anchors))}`
}</section>`;
}

function reading(read: MemoryRead, anchors: Anchors): Html {
  return html`<details class="item"><summary><h3 dir="auto">Read ${read.space}</h3> <span class="soft">${inline(read.query, 120)}</span>${line(
    count(read.hits.total, "memory found", "memories found"),
    read.branch,
    read.module?.join(" › ") ?? read.by,
    when(read.at, "clock"),
  )}</summary><div class="body">${told(read.query, "Asked for", "plain")}${read.withheld !== undefined && told(read.withheld, "Found")}${items(
    read.hits,
    (hit) =>
      html`<div class="said"><span class="who">memory ${anchors.id(hit.memory)}${hit.score !== undefined && ` score ${rounded(hit.score)}`}</span>${told(hit.text, "", "plain")}</div>`,
  )}${told(read.shown, "Shown in the prompt", "plain")}${told(read.settings, "How it was looked for")}${pairs([["The space stood at", read.head && anchors.id(read.head)]])}${anchors.proofs(read.facts)}</div></details>`;
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
  return html`<details class="item"><summary><h3 dir="auto">${DEEDS.get(deed.type) ?? deed.type}${deed.space !== undefined && ` in ${deed.space}`}</h3> <span class="soft">${inline(deed.text, 160)}</span>${line(deed.branch, deed.by, when(deed.at, "clock"))}</summary><div class="body">${told(deed.text, "", "plain")}${told(deed.why, "Why", "plain")}${pairs(
    [
      ["Memory", anchors.id(deed.memory)],
      ["Learnt from", deed.source],
      ["Holds for", inline(deed.scope)],
      ["Because of", deed.because.length > 0 && deed.because.map((id) => html`${anchors.id(id)} `)],
    ],
  )}${anchors.proofs(deed.facts)}</div></details>`;
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

/** A fact by its id, with its content; undefined when it is not in the store. */
export async function factAt(
  store: Store,
  id: FactId,
  erased: ReadonlySet<Digest>,
): Promise<Fact | undefined> {
  const line = await store.line(id);
  if (line === undefined) return undefined;
  const blobs = new Map<Digest, Uint8Array>();
  for (const { digest } of Object.values(refsOf(line))) {
    const bytes = await store.blob(digest).catch(() => undefined);
    if (bytes !== undefined) blobs.set(digest, bytes);
  }
  return readFact(line, {
    read: (digest) => blobs.get(digest) ?? (erased.has(digest) ? "erased" : undefined),
  });
}
