import type { Store } from "../store/index.js";

/**
 * The folder for what is derived from a store: beside it, so that it can be deleted at any time and is made again. None
 * for a store that is not on a disk: then it is kept in memory.
 */
export function derivedFolderOf(store: Store): string | undefined {
  const { url } = store;
  const [, path] = /^sqlite:(.+)$/s.exec(url) ?? [];
  return path === undefined ? undefined : `${path}.memory`;
}
