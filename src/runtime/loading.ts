import { AsyncLocalStorage } from "node:async_hooks";
import { RefusedError } from "./given.js";

const loading = new AsyncLocalStorage<string>();

/**
 * Loads a program that is to be replayed. Nothing that it begins by itself, now or later, can open a runtime: that would call
 * models and tools, and change the record that is replayed.
 */
export function loadedForReplay<Loaded>(file: string, load: () => Promise<Loaded>): Promise<Loaded> {
  return loading.run(file, load);
}

/** Refuses to open a runtime in a program that was loaded to be replayed. */
export function requireOpenable(): void {
  const file = loading.getStore();
  if (file === undefined) return;
  throw new RefusedError(
    "open a runtime",
    `${file} was loaded to be replayed, and would run by itself`,
    "export the module, and begin its runs in another file: export default clerk",
  );
}
