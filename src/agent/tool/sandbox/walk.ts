import type { FileEntry, SandboxFiles } from "../../../sandbox/index.js";

/** Entries that a walk looks at before it gives up: a model learns nothing from more. */
const ENTRIES = 200_000;

export type Walked = {
  readonly path: string;
  readonly entry: FileEntry;
  /** How many directories it is below the one where the walk began; 1 is in it. */
  readonly depth: number;
  /** Why a directory was not looked into. */
  readonly closed?: "skipped" | "deep" | "unreadable";
};

export type WalkOptions = {
  /** Names of directories that are not looked into. */
  readonly skip: readonly string[];
  readonly depth?: number;
  readonly signal?: AbortSignal;
  /** Entries instead of 200,000. */
  readonly most?: number;
};

/**
 * The entries below a directory, sorted, each directory before what is in it; `cut` when there are too many. No link is
 * followed.
 */
export async function walk(
  files: SandboxFiles,
  root: string,
  { skip, depth = Number.POSITIVE_INFINITY, signal, most = ENTRIES }: WalkOptions,
): Promise<{ readonly entries: readonly Walked[]; readonly cut: boolean }> {
  const found: Walked[] = [];
  const waiting: Walked[] = [];
  const open = async (path: string, level: number): Promise<void> => {
    signal?.throwIfAborted();
    const entries = await files.list(path);
    for (const entry of [...entries].reverse())
      waiting.push({ path: path === "" ? entry.name : `${path}/${entry.name}`, entry, depth: level });
  };
  await open(root, 1);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (found.length >= most) return { entries: found, cut: true };
    found.push(next);
    if (next.entry.kind !== "directory") continue;
    let closed: Walked["closed"];
    if (skip.includes(next.entry.name)) closed = "skipped";
    else if (next.depth >= depth) closed = "deep";
    else
      await open(next.path, next.depth + 1).catch(() => {
        signal?.throwIfAborted();
        closed = "unreadable";
      });
    if (closed !== undefined) found[found.length - 1] = { ...next, closed };
  }
  return { entries: found, cut: false };
}
