import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Digest } from "../../session/index.js";
import type { SandboxFiles, Snapshot } from "../sandbox.js";
import type { Trees } from "../trees.js";
import { capture } from "../workspace/capture.js";
import { checkout } from "../workspace/checkout.js";
import { Folder } from "../workspace/folder.js";
import { StatCache } from "../workspace/stat-cache.js";

/** The files of a sandbox, seen from the host. */
export interface Workspace {
  readonly files: SandboxFiles;
  /** The directory that is bound into the sandbox. */
  readonly bound: string;
  /** The directory that takes what is written inside. */
  readonly written: string;
  /** The words that make it ready to be bound, where that must be done in the sandbox's own view of the file system. */
  readonly before: readonly string[];
  /** Says what process 1 of the sandbox is. */
  attach(process: number): void;
  snapshot(): Promise<Snapshot>;
  restore(tree: Digest | null): Promise<void>;
  /** Gives back what it shares with others. */
  release(): Promise<void>;
}

export type WorkspaceOptions = {
  /** The folder of the sandbox. */
  readonly folder: string;
  readonly trees: Trees;
  readonly tree: Digest | null;
  readonly exclude: readonly string[] | undefined;
  /** Bytes that one snapshot may take in. */
  readonly limit: number;
  readonly signal: AbortSignal | undefined;
};

/** Where the files of a sandbox are that has a copy of every one. Made if it is not there. */
export function copyPath(folder: string): string {
  const path = join(folder, "workspace");
  mkdirSync(path, { mode: 0o755, recursive: true });
  return path;
}

/** A workspace that is a directory of its own, with a copy of every file. */
export async function copiedWorkspace(options: WorkspaceOptions): Promise<Workspace> {
  const { folder, trees, tree, exclude, limit, signal } = options;
  const path = copyPath(folder);
  const cache = new StatCache();
  if (tree !== null)
    await checkout(path, trees, tree, {
      cache,
      from: null,
      alone: true,
      ...(signal !== undefined && { signal }),
    });
  return {
    files: new Folder(path),
    bound: path,
    written: path,
    before: [],
    attach: () => {},
    snapshot: () => capture(path, trees, { cache, limit, ...(exclude !== undefined && { exclude }) }),
    restore: (to) => checkout(path, trees, to, { cache }),
    release: async () => {},
  };
}
