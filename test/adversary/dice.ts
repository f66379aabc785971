import { numbersFrom } from "../runtime/numbers.js";

/** Chance that a seed decides: the same seed throws the same scenario, on every machine. */
export class Dice {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = numbersFrom(seed);
    // Seeds that follow each other begin alike.
    for (let skipped = 0; skipped < 4; skipped++) this.#next();
  }

  below(end: number): number {
    return Math.floor(this.#next() * end);
  }

  pick<Value>(values: readonly Value[]): Value {
    return values[this.below(values.length)] as Value;
  }

  /** Whether it happens that happens so often, of 1. */
  happens(often: number): boolean {
    return this.#next() < often;
  }

  /** A word that nothing else has. */
  word(length = 8): string {
    return Array.from({ length }, () => "abcdefghijkmnpqrstuvwxyz23456789"[this.below(32)]).join("");
  }
}
