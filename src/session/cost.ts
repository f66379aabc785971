/** The cost of all calls together, in dollars. Null as soon as one of them has no price: a sum of the others would look like all of it. */
export type Cost = number | null;

/** The sum with the price of one more call. */
export function costWith(sum: Cost, price: number | undefined): Cost {
  return sum === null || price === undefined ? null : sum + price;
}

/** An amount with as many digits as it needs to be seen; the same words wherever it is not known. */
export function costText(cost: Cost): string {
  if (cost === null) return "unknown";
  return `$${cost === 0 || cost >= 0.01 ? cost.toFixed(2) : cost.toPrecision(2)}`;
}
