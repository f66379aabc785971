import type { Fact, FactId, FactOf, FactType } from "../../session/index.js";
import { defined } from "../../util/index.js";
import type { Item, Listed, Told, Words } from "./words.js";

/** A fact of the record with its place in the graph, as those who collect are shown it. */
export type Seen = {
  readonly id: FactId;
  readonly parents: readonly FactId[];
  readonly fact: Fact;
  readonly line: string;
  readonly branch: { readonly name: string; readonly index: number };
  /** Is not in the past of the session that the dossier is about. */
  readonly elsewhere: boolean;
  /** The name of the call that it is about, where that is known. */
  readonly tool?: string;
};

/** The time of facts whose source has none. */
const NO_TIME = "1970-01-01T00:00:00.000Z";

/** A time that was really told. */
export function timeOf(at: string): string | undefined {
  return at === NO_TIME || Number.isNaN(Date.parse(at)) ? undefined : at;
}

/** The fields of every item: its proof, its time, its author, its branch. */
export function itemOf({ id, fact, branch }: Seen): Item {
  return { facts: [id], ...defined({ at: timeOf(fact.at) }), by: fact.by, branch: branch.name };
}

/** A field of a fact; with a star its content is shown as text of bounded length. */
type Field<Type extends FactType> = (keyof FactOf<Type> & string) | `${keyof FactOf<Type> & string}*`;
type Names<Text extends string> = Text extends `${infer Name} ${infer Rest}` ? Name | Names<Rest> : Text;
type Row<Fact, Name extends string> = {
  readonly [Key in keyof Fact as Key extends string
    ? Key extends Name
      ? Key
      : `${Key}*` extends Name
        ? Key
        : never
    : never]: Key extends Name ? Fact[Key] : Told;
};

/** How facts of one type become items of a list. */
export type Shape<Type extends FactType, Shown> = {
  readonly type: Type;
  readonly of: (seen: Seen, words: Words) => Shown;
};
export type ItemOf<One> = One extends Shape<FactType, infer Shown> ? Shown : never;

/** Declares a list of the dossier: fact types, copied fields (a star bounds a text), and more. */
export function shape<Type extends FactType, Text extends string, More extends object = object>(
  type: Type,
  fields: Text & (Names<Text> extends Field<Type> ? unknown : never),
  more?: (fact: FactOf<Type>, words: Words, seen: Seen) => More,
): Shape<Type, Item & Omit<Row<FactOf<Type>, Names<Text>>, keyof More> & More> {
  const names = (fields as string)
    .split(" ")
    .map((name) => [name.replace("*", ""), name.endsWith("*")] as const);
  return {
    type,
    of: (seen, words) => {
      const fact = seen.fact as Fact & { readonly [field: string]: unknown };
      const own = names.map(([name, isText]) => [name, isText ? words.maybe(fact[name]) : fact[name]]);
      const item = {
        ...itemOf(seen),
        ...Object.fromEntries(own),
        ...more?.(fact as FactOf<Type>, words, seen),
      };
      return defined(item) as Item & Omit<Row<FactOf<Type>, Names<Text>>, keyof More> & More;
    },
  };
}

/** The first of a list, with the number of all. */
export function firstOf<Item>(all: readonly Item[], most: number): Listed<Item> {
  return { items: all.slice(0, most), total: all.length, ...(all.length > most && { gap: most }) };
}

/** Some of many: keeps the first and the last of what it is given, and counts all. */
export class Sample<Item> {
  readonly #most: number;
  readonly #dropped: ((item: Item) => void) | undefined;
  readonly #first: Item[] = [];
  /** A ring: the place of the oldest moves on. */
  readonly #last: Item[] = [];
  #oldest = 0;
  #total = 0;

  constructor(most: number, dropped?: (item: Item) => void) {
    this.#most = Math.max(2, most);
    this.#dropped = dropped;
  }

  get total(): number {
    return this.#total;
  }

  add(item: Item): Item {
    this.#total += 1;
    const half = Math.ceil(this.#most / 2);
    if (this.#first.length < half) this.#first.push(item);
    else if (this.#last.length < this.#most - half) this.#last.push(item);
    else {
      const gone = this.#last[this.#oldest] as Item;
      this.#last[this.#oldest] = item;
      this.#oldest = (this.#oldest + 1) % this.#last.length;
      this.#dropped?.(gone);
    }
    return item;
  }

  /** The kept items, in order. */
  get items(): readonly Item[] {
    return [...this.#first, ...this.#last.slice(this.#oldest), ...this.#last.slice(0, this.#oldest)];
  }

  listed(): Listed<Item> {
    return this.listedAs((item) => item);
  }

  listedAs<Shown>(show: (item: Item) => Shown): Listed<Shown> {
    const items = this.items.map(show);
    return { items, total: this.#total, ...(items.length < this.#total && { gap: this.#first.length }) };
  }
}
