import { mkdir } from "node:fs/promises";
import type { Digest } from "../../session/index.js";
import type { SandboxFiles, Snapshot } from "../sandbox.js";
import { DEFAULT_LIMITS } from "../spec.js";
import type { Trees } from "../trees.js";
import { capture } from "../workspace/capture.js";
import { checkout } from "../workspace/checkout.js";
import { Folder } from "../workspace/folder.js";
import { StatCache } from "../workspace/stat-cache.js";

/** A directory of the host that is a workspace, with a copy of every file. */
export class HostWorkspace {
  readonly path: string;
  readonly files: SandboxFiles;
  readonly #trees: Trees;
  readonly #exclude: readonly string[] | undefined;
  readonly #cache = new StatCache();

  private constructor(path: string, trees: Trees, exclude: readonly string[] | undefined) {
    this.path = path;
    this.files = new Folder(path);
    this.#trees = trees;
    this.#exclude = exclude;
  }

  /** Makes the directory, with what the tree holds. */
  static async make(options: {
    readonly path: string;
    readonly trees: Trees;
    readonly tree: Digest | null;
    readonly exclude: readonly string[] | undefined;
  }): Promise<HostWorkspace> {
    const { path, trees, tree, exclude } = options;
    await mkdir(path, { mode: 0o755 });
    const workspace = new HostWorkspace(path, trees, exclude);
    if (tree !== null) await workspace.restore(tree);
    return workspace;
  }

  snapshot(): Promise<Snapshot> {
    const exclude = this.#exclude;
    return capture(this.path, this.#trees, {
      cache: this.#cache,
      limit: DEFAULT_LIMITS.disk,
      ...(exclude !== undefined && { exclude }),
    });
  }

  async restore(tree: Digest | null): Promise<void> {
    await checkout(this.path, this.#trees, tree, { cache: this.#cache });
  }
}
