/**
 * An immutable list that grows at its end in constant time. Lists grown one from the other share one stretch
 * of items; a second list grown from the same place begins a stretch of its own and shares what is before it.
 * So a fold over a million facts makes one stretch, and a branch costs what it adds.
 */
export class List<Item> implements Iterable<Item> {
  static readonly empty: List<never> = new List<never>({ before: undefined, start: 0, items: [] }, 0);

  readonly length: number;
  readonly #stretch: Stretch<Item>;

  private constructor(stretch: Stretch<Item>, length: number) {
    this.#stretch = stretch;
    this.length = length;
    Object.freeze(this);
  }

  static of<Item>(items: Iterable<Item>): List<Item> {
    const all = [...items];
    return all.length === 0 ? List.empty : new List({ before: undefined, start: 0, items: all }, all.length);
  }

  push(item: Item): List<Item> {
    const { start, items } = this.#stretch;
    // `empty` is shared by everyone, so it is never grown in place.
    if (this.length > 0 && start + items.length === this.length) {
      items.push(item);
      return new List(this.#stretch, this.length + 1);
    }
    const before = this.length === 0 ? undefined : this.#stretch;
    return new List({ before, start: this.length, items: [item] }, this.length + 1);
  }

  at(index: number): Item | undefined {
    const place = index < 0 ? this.length + index : index;
    if (place < 0 || place >= this.length) return undefined;
    let stretch = this.#stretch;
    while (stretch.start > place) stretch = stretch.before as Stretch<Item>;
    return stretch.items[place - stretch.start];
  }

  /** How many leading items the two lists have in common because one grew from the other, or both from a third. */
  sharedWith(other: List<Item>): number {
    let ours: Stretch<Item> | undefined = this.#stretch;
    let theirs: Stretch<Item> | undefined = other.#stretch;
    let shared = Math.min(this.length, other.length);
    while (ours !== theirs) {
      if (ours === undefined || theirs === undefined) return 0;
      if (ours.start >= theirs.start) {
        shared = Math.min(shared, ours.start);
        ours = ours.before;
      } else {
        shared = Math.min(shared, theirs.start);
        theirs = theirs.before;
      }
    }
    return shared;
  }

  /** The items from a place on. */
  *from(index: number): Generator<Item, void> {
    const stretches: Stretch<Item>[] = [];
    for (let part: Stretch<Item> | undefined = this.#stretch; part !== undefined; part = part.before) {
      stretches.push(part);
      if (part.start <= index) break;
    }
    for (let number = stretches.length - 1; number >= 0; number--) {
      const { start, items } = stretches[number] as Stretch<Item>;
      const end = number === 0 ? this.length : (stretches[number - 1] as Stretch<Item>).start;
      for (let place = Math.max(start, index); place < end; place++) yield items[place - start] as Item;
    }
  }

  /** A new array of the same items: copied by the stretch, which is many times as quick as one by one. */
  toArray(): Item[] {
    const stretch = this.#stretch;
    if (stretch.before === undefined) return stretch.items.slice(0, this.length);
    const parts: Item[][] = [];
    let end = this.length;
    for (let part: Stretch<Item> | undefined = stretch; part !== undefined; part = part.before) {
      if (end > part.start) parts.push(part.items.slice(0, end - part.start));
      end = Math.min(end, part.start);
    }
    return ([] as Item[]).concat(...parts.reverse());
  }

  [Symbol.iterator](): Iterator<Item> {
    return this.from(0);
  }
}

/** Some items in a row, and the stretch that comes before them: its items up to `start`. */
type Stretch<Item> = {
  readonly before: Stretch<Item> | undefined;
  readonly start: number;
  readonly items: Item[];
};
