import { rm } from "node:fs/promises";
import type { Digest } from "../../session/index.js";
import { FileError } from "../error.js";
import type { Trees } from "../trees.js";
import { codeOf } from "./directory.js";
import { FrozenShelf } from "./frozen-shelf.js";

/** A checkout of a tree that many workspaces are made from, and nobody writes to. It stays until it is released. */
export type Frozen = { readonly path: string; release(): Promise<void> };

export type FrozenOptions = {
  /** How many checkouts are kept, and how many bytes in all; those in use are kept in any case. */
  readonly keep?: { readonly count?: number; readonly bytes?: number };
  readonly signal?: AbortSignal;
};

const KEEP = { count: 16, bytes: 8 * 1024 ** 3 };

/**
 * A tree checked out under a directory of the host, once, for all processes that ask for it. It is whole or not there: it is
 * made elsewhere and moved. What was made before the machine was last started is not used, since a power cut can leave
 * files without their bytes.
 */
export async function frozen(
  cacheDirectory: string,
  trees: Trees,
  tree: Digest,
  options: FrozenOptions = {},
): Promise<Frozen> {
  const shelf = new FrozenShelf(cacheDirectory);
  let lease: string | undefined;
  try {
    await shelf.prepare();
    // Told before anything is looked at: anyone who removes a tree says so first, and then looks for this.
    lease = await shelf.sign("use", tree);
    await shelf.wait(tree);
    if (await shelf.has(tree)) await shelf.touch(tree);
    else {
      await shelf.make(trees, tree, options.signal);
      await shelf.trim(tree, { ...KEEP, ...options.keep });
    }
    const signed = lease;
    return { path: shelf.pathOf(tree), release: () => rm(signed, { force: true }) };
  } catch (error) {
    if (lease !== undefined) await rm(lease, { force: true });
    const code = codeOf(error);
    if (code === undefined) throw error;
    throw new FileError("failed", cacheDirectory, `no tree can be kept there (${code})`, error);
  }
}
