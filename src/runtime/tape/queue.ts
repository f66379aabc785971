/** Returns the item with the lowest order first. */
export class Queue<Item> {
  /** Highest order first: the next item is taken from the end. */
  readonly #items: { readonly order: number; readonly item: Item }[] = [];

  get first(): Item | undefined {
    return this.#items.at(-1)?.item;
  }

  add(order: number, item: Item): void {
    let from = 0;
    let to = this.#items.length;
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((this.#items[middle]?.order as number) > order) from = middle + 1;
      else to = middle;
    }
    this.#items.splice(from, 0, { order, item });
  }

  /** Removes the first item. */
  shift(): void {
    this.#items.pop();
  }
}
