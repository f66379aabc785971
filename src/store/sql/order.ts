import { type Chains, chainOf, type Past, type Place, type Range } from "./chain.js";

/** How many stretches of histories are kept for their next pages. */
const MOST = 300_000;
const COST = 1000;

/** A history as its stretches of chains: a place in it is found without reading what is before. */
export class Order {
  readonly key: string;
  readonly #stretches: Range[] = [];
  /** How many facts are before each stretch. */
  readonly #before: number[] = [];
  readonly #past: Past;
  #head: Place = -1;
  #count = 0;

  constructor(key: string, past: Past) {
    this.key = key;
    this.#past = past;
  }

  get size(): number {
    return this.#stretches.length;
  }

  /** Whether the history of a place is the beginning of this one, or goes on from it. */
  leadsTo(head: Place): boolean {
    return chainOf(head) === chainOf(this.#head);
  }

  /** How many facts the history of a head has; read on to it where it is new. */
  reach(chains: Chains, head: Place): number {
    // An earlier place of this chain that is not told is in the past that was left out.
    if (head <= this.#head) return (this.indexOf(head) ?? -1) + 1;
    for (const stretch of chains.ranges([head], this.#past)) {
      this.#stretches.push(stretch);
      this.#before.push(this.#count);
      this.#count += stretch.to - stretch.from + 1;
    }
    this.#head = head;
    return this.#count;
  }

  indexOf(place: Place): number | undefined {
    const at = this.#stretches.findIndex(({ from, to }) => from <= place && place <= to);
    return at < 0 ? undefined : (this.#before[at] as number) + place - (this.#stretches[at] as Range).from;
  }

  /** The stretches between two indexes. */
  *between(from: number, to: number): Generator<Range> {
    let [low, high] = [0, this.#before.length];
    while (low + 1 < high) {
      const middle = (low + high) >> 1;
      if ((this.#before[middle] as number) <= from) low = middle;
      else high = middle;
    }
    for (let at = low; at < this.#stretches.length && (this.#before[at] as number) < to; at++) {
      const stretch = this.#stretches[at] as Range;
      const begin = stretch.from - (this.#before[at] as number);
      yield { from: Math.max(stretch.from, begin + from), to: Math.min(stretch.to, begin + to - 1) };
    }
  }
}

/** The histories that were read lately, the last one first. */
export class Orders {
  #orders: Order[] = [];

  /** The order that a head is in, and how many facts come up to it. */
  of(
    chains: Chains,
    head: Place,
    without: readonly Place[],
  ): { readonly order: Order; readonly count: number } {
    const key = without.join();
    const known = this.#orders.find((order) => order.key === key && order.leadsTo(head));
    const order = known ?? new Order(key, chains.reach(without));
    const count = order.reach(chains, head);
    this.#orders = [order, ...this.#orders.filter((other) => other !== order)];
    while (this.#orders.length > 1 && this.#orders.reduce((sum, one) => sum + one.size + COST, 0) > MOST)
      this.#orders.pop();
    return { order, count };
  }

  forget(): void {
    this.#orders = [];
  }
}
