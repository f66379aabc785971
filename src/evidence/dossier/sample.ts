import type { Listed } from "./dossier.js";

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

  /** What is kept, in order. */
  get items(): readonly Item[] {
    return [...this.#first, ...this.#last.slice(this.#oldest), ...this.#last.slice(0, this.#oldest)];
  }

  listed<Shown = Item>(show: (item: Item) => Shown = (item) => item as unknown as Shown): Listed<Shown> {
    const items = this.items.map(show);
    return { items, total: this.#total, ...(items.length < this.#total && { gap: this.#first.length }) };
  }
}
