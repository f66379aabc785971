/** Gives back what is first in order, however many there are. */
export class Queue<Item> {
  readonly #heap: { readonly order: number; readonly item: Item }[] = [];

  get first(): Item | undefined {
    return this.#heap[0]?.item;
  }

  add(order: number, item: Item): void {
    const heap = this.#heap;
    const added = { order, item };
    let place = heap.push(added) - 1;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const other = heap[above] as (typeof heap)[number];
      if (other.order <= order) break;
      heap[place] = other;
      place = above;
    }
    heap[place] = added;
  }

  /** Takes away the first one. */
  shift(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let place = 0;
    for (;;) {
      const left = 2 * place + 1;
      const right = left + 1;
      const under =
        (heap[right]?.order ?? Number.POSITIVE_INFINITY) < (heap[left]?.order ?? 0) ? right : left;
      const other = heap[under];
      if (other === undefined || other.order >= last.order) break;
      heap[place] = other;
      place = under;
    }
    heap[place] = last;
  }
}
