import type { Session } from "../../session/index.js";
import type { SaveOptions, Store } from "../../store/index.js";

/** How a store dies: before the write, after it and before anybody hears of it, or without a word. */
export type Death = "before" | "after" | "hang";

export type Fragile = Store & {
  /** How many times something was to be saved. */
  readonly saves: () => number;
  readonly died: Promise<void>;
  /** The ids that a finished save has made durable. */
  readonly kept: ReadonlySet<string>;
};

/**
 * The same store, as a process sees it that dies at save number `at`: nothing is written later. Leases are taken as one
 * owner, so that whoever comes after the crash need not wait for the dead.
 */
export function fragile(store: Store, at = Number.POSITIVE_INFINITY, how: Death = "before"): Fragile {
  let saves = 0;
  let dead = false;
  let die!: () => void;
  const died = new Promise<void>((resolve) => {
    die = resolve;
  });
  const kept = new Set<string>();
  const crash = (): Promise<never> => {
    dead = true;
    die();
    return how === "hang" ? new Promise(() => {}) : Promise.reject(new Error("the machine is gone"));
  };
  const save = async (session: Session, options?: SaveOptions) => {
    if (dead) return crash();
    saves += 1;
    if (saves === at && how !== "after") return crash();
    const saved = await store.save(session, options);
    if (saves >= at) return crash();
    for (const head of [session, ...Object.values(options?.also ?? {})])
      if (head !== null) for (const { id } of head.history()) kept.add(id);
    return saved;
  };
  const own: { readonly [name: string]: unknown } = {
    save,
    saves: () => saves,
    died,
    kept,
    lease: (name: string) => store.lease(name, { owner: "tester" }),
    close: async () => {},
  };
  return new Proxy(store, {
    get(target, key) {
      if (typeof key === "string" && Object.hasOwn(own, key)) return own[key];
      const value = Reflect.get(target, key, target) as unknown;
      return typeof value === "function" ? value.bind(target) : value;
    },
  }) as Fragile;
}
