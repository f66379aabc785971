import { IndexingError } from "../indexing.js";

/**
 * Questions that need an index of the whole store. Where it has to take in more facts than a question waits for, all that wait are
 * refused with the code `indexing`, and it goes on beside them.
 */
export class Soon {
  readonly #patience: number;
  readonly #waiting = new Set<(error: IndexingError) => void>();
  /** How many facts the index has taken in that is being made. */
  #taken: number | undefined;

  constructor(patience: number) {
    this.#patience = patience;
  }

  ask<Answer>(work: (progress?: (facts: number) => void) => Promise<Answer>): Promise<Answer> {
    if (this.#patience === Number.POSITIVE_INFINITY) return work();
    return new Promise((resolve, reject) => {
      if (this.#taken !== undefined) return reject(this.#refusal());
      let isLong = false;
      const progress = (facts: number): void => {
        if (facts <= this.#patience) return;
        isLong = true;
        this.#taken = facts;
        for (const refuse of this.#waiting) refuse(this.#refusal());
        this.#waiting.clear();
      };
      this.#waiting.add(reject);
      work(progress)
        .then(resolve, reject)
        .finally(() => {
          this.#waiting.delete(reject);
          if (isLong) this.#taken = undefined;
        });
    });
  }

  #refusal(): IndexingError {
    return new IndexingError("memories", this.#taken ?? 0, undefined);
  }
}
