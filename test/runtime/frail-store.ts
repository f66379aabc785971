import type { Lease, Store } from "openrath/store";

/** When a process dies: at its n-th write, before or after that took effect, or it is closed in good order after it. */
export type Death = { readonly at: number; readonly when: "before" | "after" | "close" };

export class DeadError extends Error {
  override readonly name = "DeadError";
  constructor() {
    super("the process died");
  }
}

/**
 * A store as a process sees it that dies at one of its writes: nothing it does from then on reaches the store, and
 * nothing the store says reaches it. Its leases are given back, as those of a process that is certainly dead are.
 */
export class FrailStore {
  readonly store: Store;
  saves = 0;
  dead = false;
  readonly #leases: Lease[] = [];

  constructor(real: Store, death: Death | undefined, died: (when: Death["when"]) => void) {
    const alive = (): void => {
      if (this.dead) throw new DeadError();
    };
    const die = async (when: Death["when"]): Promise<void> => {
      if (when !== "close") {
        this.dead = true;
        for (const lease of this.#leases) await lease.release();
      }
      died(when);
    };
    const guarded: Partial<Store> = {
      save: async (session, options) => {
        alive();
        this.saves += 1;
        const last = this.saves === death?.at;
        if (last && death.when === "before") await die("before");
        alive();
        const saved = await real.save(session, options);
        if (last && death.when !== "before") await die(death.when);
        alive();
        return saved;
      },
      lease: async (name, options) => {
        alive();
        const lease = await real.lease(name, options);
        this.#leases.push(lease);
        return lease;
      },
    };
    this.store = new Proxy(real, {
      get: (target, name) => {
        const own = guarded[name as keyof Store];
        if (own !== undefined) return own;
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        return (...args: unknown[]): unknown => {
          alive();
          return Reflect.apply(value, target, args);
        };
      },
    });
  }
}
