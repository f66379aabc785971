import { isAboutTheRecord } from "../../runtime/index.js";
import { type Digest, type FactId, refsOf, Withheld } from "../../session/index.js";
import type { Dossier } from "./dossier.js";
import { type Html, html } from "./html/html.js";
import type { Anchors, Section } from "./html/words.js";
import { column, count, items, leftOut, line, table, told, when } from "./html/words.js";
import { itemOf, Sample, type Seen, shape, timeOf } from "./item.js";
import { type Item, type Listed, saying, type Told, text, type Words } from "./words.js";

export type Counts = {
  /** Facts in the past of the session, and facts of other branches that nothing took in. */
  readonly facts: number;
  readonly elsewhere: number;
  readonly types: { readonly [type: string]: number };
  readonly branches: number;
  readonly rejected: number;
  readonly filesChanged: number;
  readonly testsPassed: number;
  readonly testsFailed: number;
  /** Pieces of content that are erased or not here. */
  readonly withheld: number;
};

export const IMPORT = shape("record-import", "format source* digest detail*");

export const ERASURE = shape("content-erase", "digests why", ({ digests }) => ({
  digests: (Array.isArray(digests) ? (digests as readonly Digest[]) : []).slice(0, ROOTS),
}));

/** Words that stand for themselves: messages, summaries, notes, signals, instructions of skills. */
export type Said = Item & { readonly type: string; readonly title: string; readonly text: Told };

export type Event = Item & { readonly type: string; readonly text: string };

const ROOTS = 100;
/** A line of so many characters is long. */
const LONG = 8_000;
/** The record itself: every fact in a line, how many there are, where they are from, who signed. */
export class RecordItself {
  readonly #words: Words;
  readonly #events: Sample<Event | Seen>;
  readonly #said: Sample<Said>;
  readonly #types = new Map<string, number>();
  readonly #blobs = new Set<string>();
  readonly roots: FactId[] = [];
  facts = 0;
  elsewhere = 0;
  bytes = 0;
  erased = 0;
  missing = 0;
  began: string | undefined;
  ended: string | undefined;
  #timeless = false;

  constructor(most: number, words: Words) {
    this.#words = words;
    this.#events = new Sample(most);
    this.#said = new Sample(most);
  }

  see(seen: Seen): void {
    const { id, fact, parents, elsewhere } = seen;
    if (elsewhere) this.elsewhere += 1;
    else this.facts += 1;
    this.#types.set(fact.type, (this.#types.get(fact.type) ?? 0) + 1);
    if (parents.length === 0 && this.roots.length < ROOTS) this.roots.push(id);
    this.#weigh(seen);
    const at = timeOf(fact.at);
    if (at === undefined) this.#timeless = true;
    else if (!elsewhere) {
      if (this.began === undefined || at < this.began) this.began = at;
      // Later signatures and erasures are work on the record, not on the task.
      if (!isAboutTheRecord(fact) && (this.ended === undefined || at > this.ended)) this.ended = at;
    }
    // Most are dropped again, so words are made of those that stay; long lines are not held for that.
    this.#events.add(seen.line.length > LONG || seen.line.includes('"blobs":') ? eventOf(seen) : seen);
    const said = saidIn(fact);
    if (said === undefined) return;
    const { title, value } = said;
    const text = this.#words.content(value) ?? this.#words.tell(value);
    this.#said.add({ ...itemOf(seen), type: fact.type, title, text });
  }

  /** In the order of time, where all of them have one. */
  get timeline(): Listed<Event> {
    const listed = this.#events.listedAs((one) => ("line" in one ? eventOf(one) : one));
    if (this.#timeless || listed.gap !== undefined) return listed;
    return {
      ...listed,
      items: [...listed.items].sort((one, other) =>
        (one.at ?? "") < (other.at ?? "") ? -1 : one.at === other.at ? 0 : 1,
      ),
    };
  }

  get words(): Listed<Said> {
    return this.#said.listed();
  }
  get blobs(): number {
    return this.#blobs.size;
  }
  /** How many facts of each type, most first. */
  get types(): Counts["types"] {
    return Object.fromEntries([...this.#types].sort(([, one], [, other]) => other - one).slice(0, 200));
  }

  /** Content outside of the line, once however often it is named. */
  #weigh({ line, fact }: Seen): void {
    for (const [field, { digest, size }] of Object.entries(refsOf(line))) {
      if (this.#blobs.has(digest)) continue;
      this.#blobs.add(digest);
      this.bytes += size;
      const value = (fact as typeof fact & { readonly [field: string]: unknown })[field];
      if (value instanceof Withheld) {
        if (value.reason === "erased") this.erased += 1;
        else this.missing += 1;
      }
    }
  }
}

function eventOf(seen: Seen): Event {
  return { ...itemOf(seen), type: seen.fact.type, text: saying(seen.fact) };
}

/** The words of a fact that stand for themselves, with a title. */
function saidIn(fact: Seen["fact"]): { readonly title: string; readonly value: unknown } | undefined {
  if (fact.type === "message-say") return { title: text(fact.role), value: fact.content };
  if (fact.type === "session-detach") return { title: "brought along", value: fact.messages };
  if (fact.type === "context-compress") return { title: "summary", value: fact.summary };
  if (fact.type === "signal-give") return { title: "signal", value: fact.value };
  if (fact.type === "skill-activate") return { title: `skill ${fact.name}`, value: fact.instructions };
  if (fact.type !== "note") return undefined;
  const stamps: ReadonlySet<string> = new Set(["type", "at", "by", "run", "seq", "kind"]);
  const value = Object.fromEntries(Object.entries(fact).filter(([field]) => !stamps.has(field)));
  return { title: fact.kind === undefined ? "note" : `note: ${text(fact.kind)}`, value };
}

/** Words of people, imports and notes. Those of models stand at their calls. */
export const saidSection: Section = {
  id: "words",
  title: "Messages and notes",
  total: ({ words }) => words.total,
  body: ({ words }, anchors) => {
    // Notes are for programs as a rule: they are there, and not in the way.
    const notes = words.items.filter(({ type }) => type === "note");
    return [
      ...items(words, (said) => (said.type === "note" ? html`` : item(said, anchors))),
      notes.length > 0 &&
        html`<details class="part"><summary>${count(notes.length, "note")}</summary>${notes.map((note) => item(note, anchors))}</details>`,
    ];
  },
};

function item(said: Said, anchors: Anchors): Html {
  return html`<div class="said"><span class="who">${said.title}</span>${line(
    said.by,
    said.branch,
    when(said.at, "clock"),
    anchors.id(said.facts[0] ?? ""),
  )}${told(said.text, "", said.type === "note" ? "code" : "plain")}</div>`;
}

/** Every fact in a line, in the order of time. Ids all over the page lead here. */
export const timelineSection: Section = {
  id: "timeline",
  title: "Timeline",
  total: ({ timeline }) => timeline.total,
  body: ({ timeline }) => {
    const rows = items(
      timeline,
      ({ facts: [id = ""], at, by, type, text, branch }) =>
        html`<tr id="f-${id.slice(0, 16)}"><td class="nowrap">${when(at, "clock")}</td><td><code>${type}</code></td><td class="words" dir="auto">${text}</td><td>${by}</td><td>${branch}</td><td><code class="id" title="${id}">${id.slice(0, 12)}</code></td></tr>`,
      leftOut(6),
    );
    return html`<details class="part"><summary>Every fact in a line</summary>${table("Every fact in a line", ["Time, UTC", "Type", "What", "By", "Branch", "Fact"].map(column), rows)}</details>`;
  },
};

/** Ids that are rows of the timeline. */
export function timelineIds({ timeline }: Dossier): readonly string[] {
  return timeline.items.map(({ facts: [id = ""] }) => id);
}
