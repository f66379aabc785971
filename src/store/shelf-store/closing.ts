import type { Store } from "../store.js";

const waiting = new WeakMap<Store, Set<() => Promise<void>>>();

/** Does something when a store is closed, before it is: whatever was derived from it closes its files too. */
export function beforeClosing(store: Store, act: () => Promise<void>): void {
  const acts = waiting.get(store) ?? new Set();
  waiting.set(store, acts.add(act));
}

/** Does all that waits for the closing of a store. A failure is ignored: what is closed here is derived. */
export async function closeDerived(store: Store): Promise<void> {
  const acts = [...(waiting.get(store) ?? [])];
  waiting.delete(store);
  await Promise.allSettled(acts.map((act) => act()));
}
