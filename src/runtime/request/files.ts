import type { Run } from "../run/run.js";
import type { Chain } from "./chain.js";
import { beganWith, changeOf, rebased } from "./evidence.js";
import type { PendingRequest } from "./pending-request.js";

/** Outcomes that change files go on the chain one after the other: each is made ready for the files that are there then. */
export class FileLine {
  readonly #run: Run;
  readonly #chain: Chain;
  /** The end of the line. */
  #last: Promise<void> = Promise.resolve();

  constructor(run: Run, chain: Chain) {
    this.#run = run;
    this.#chain = chain;
  }

  inTurn(ready: () => Promise<void>, settle: () => void): void {
    const { turns } = this.#run;
    const release = turns.occupy();
    this.#last = this.#last
      .then(ready)
      .catch((error: unknown) => this.#run.fail(error))
      .then(
        () =>
          new Promise<void>((resolve) => {
            turns.soon(() => {
              try {
                settle();
              } finally {
                resolve();
              }
            });
            release();
          }),
      );
  }

  /** Merges the file changes of a call into the files that the chain has by now. */
  async rebase(item: PendingRequest): Promise<void> {
    const change = changeOf(item.evidence);
    const ours = this.#chain.tip.files.tree;
    if (change === undefined || beganWith(item.evidence) === ours) return;
    const [merge] = await this.#run.pool.join(change.base, ours, change.after);
    if (merge !== undefined) item.evidence = [...rebased(item.evidence, merge)];
  }
}
