import type { Lease, Store } from "../../store/index.js";
import { RunClosedError } from "../error.js";

/** How often a lease is renewed at once before a run gives up. */
const RENEWALS = 20;

const RENEWED_EVERY = 10_000;

/** The addition of a worker to the lease of a run: its own lease, which many runs share, and whether it wants to be rid of the run. */
export type WorkerHold = {
  /** Taken before the run was read. */
  readonly lease: Lease;
  readonly worker: Pick<Lease, "isFresh" | "renew">;
  /** Aborted when the run is to be left to another worker at the next effect, with what was begun brought to its end. */
  readonly leave: AbortSignal;
};

/** The right of this process, and of no other, to write a run. */
export class RunLease {
  readonly #run: string;
  readonly #failed: (error: unknown) => void;
  #lease: Lease | undefined;
  #worker: WorkerHold["worker"] | undefined;
  #leave: AbortSignal | undefined;
  #renewal: NodeJS.Timeout | undefined;

  /** @param failed called when the lease is lost: the run cannot go on */
  constructor(run: string, failed: (error: unknown) => void) {
    this.#run = run;
    this.#failed = failed;
  }

  /** @param given one that was taken before the tape was read */
  async take(
    store: Store,
    name: string,
    given: Lease | undefined,
    hold?: Omit<WorkerHold, "lease">,
  ): Promise<Lease> {
    const lease = given ?? (await store.lease(name));
    this.#lease = lease;
    this.#worker = hold?.worker;
    this.#leave = hold?.leave;
    this.#renewal = setInterval(() => {
      this.#lease?.renew().catch(this.#failed);
    }, RENEWED_EVERY);
    this.#renewal.unref();
    return lease;
  }

  /** Whether this process certainly is the only one that runs this. */
  get isHeld(): boolean {
    return this.#lease?.isFresh !== false && this.#worker?.isFresh !== false;
  }

  /** Whether no effect is to begin here any longer: another worker goes on. */
  get isLeaving(): boolean {
    return this.#leave?.aborted === true;
  }

  /** Makes sure of that: who was stopped for longer than a lease lasts may have been replaced, and then gives up. */
  async hold(): Promise<void> {
    for (let asked = 0; !this.isHeld; asked++) {
      try {
        // A lease that ends while it is being renewed cannot be held.
        if (asked === RENEWALS)
          throw new RunClosedError(this.#run, "its lease expires before it can be renewed");
        if (this.#worker?.isFresh === false) await this.#worker.renew();
        if (this.#lease?.isFresh === false) await this.#lease.renew();
      } catch (error) {
        this.#failed(error);
        throw error;
      }
    }
  }

  async release(): Promise<void> {
    clearInterval(this.#renewal);
    const lease = this.#lease;
    this.#lease = undefined;
    // A store that is gone keeps the lease until it ends by itself.
    await lease?.release().catch(() => {});
  }
}
