import { lstatSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { type Digest, EMPTY_TREE } from "../../session/index.js";
import { defined, firstLine } from "../../util/index.js";
import { SandboxLostError, SnapshotLimitError } from "../error.js";
import type { SandboxFiles, Snapshot } from "../sandbox.js";
import type { Trees } from "../trees.js";
import { capture, captureOverlay } from "../workspace/capture.js";
import { checkout } from "../workspace/checkout.js";
import { Directory, removePath } from "../workspace/directory.js";
import { Folder } from "../workspace/folder.js";
import { type Frozen, frozen } from "../workspace/frozen.js";
import { StatCache } from "../workspace/stat-cache.js";
import { WORKSPACE } from "./arguments.js";
import { programOf, runProgram } from "./probe.js";

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
    await checkout(path, trees, tree, { cache, from: null, alone: true, ...defined({ signal }) });
  return {
    files: new Folder(path),
    bound: path,
    written: path,
    before: [],
    attach: () => {},
    snapshot: () => capture(path, trees, { cache, limit, ...defined({ exclude }) }),
    restore: (to) => checkout(path, trees, to, { cache }),
    release: async () => {},
  };
}

/** Words that the options of a mount cannot hold as they are. */
const AWKWARD = /[^A-Za-z0-9/._@+-]/;

/**
 * A workspace as an overlay over a shared checkout: it opens in milliseconds, and changed files are copied
 * first. The mount exists only inside the sandbox; the host sees it through process 1.
 */
export async function overlaidWorkspace(
  options: WorkspaceOptions & { readonly tree: Digest; readonly shelf: string },
): Promise<Workspace> {
  const { folder, trees, tree, exclude, limit, signal, shelf } = options;
  const lower = await frozen(shelf, trees, tree, signal === undefined ? {} : { signal });
  try {
    return new Overlaid({ folder, trees, tree, exclude, limit, lower });
  } catch (error) {
    await lower.release();
    throw error;
  }
}

type OverlaidOptions = Pick<WorkspaceOptions, "folder" | "trees" | "exclude" | "limit"> & {
  readonly tree: Digest;
  readonly lower: Frozen;
};

class Overlaid implements Workspace {
  readonly bound: string;
  readonly written: string;
  readonly before: readonly string[];
  readonly #options: OverlaidOptions;
  readonly #cache = new StatCache();
  #merged: { readonly directory: Directory; readonly files: SandboxFiles } | undefined;

  constructor(options: OverlaidOptions) {
    this.#options = options;
    const { folder, lower } = options;
    this.bound = join(folder, "merged");
    this.written = join(folder, "upper");
    const work = join(folder, "work");
    // The mode of the workspace's root is that of the upper layer.
    for (const path of [this.bound, this.written, work]) mkdirSync(path, { mode: 0o755 });
    this.before = mounting(lower.path, this.written, work, this.bound);
  }

  get files(): SandboxFiles {
    return this.#there().files;
  }

  attach(process: number): void {
    // Held open from here on: its number may be another process's one day, and the files outlive process 1 this way.
    const directory = Directory.at(`/proc/${process}/root${WORKSPACE}`);
    this.#merged = { directory, files: new Folder(directory.path) };
  }

  snapshot(): Promise<Snapshot> {
    const { trees, tree, exclude, limit } = this.#options;
    const { path: merged } = this.#there().directory;
    const layers = { upper: this.written, merged, base: tree };
    return captureOverlay({ ...layers, trees, cache: this.#cache, limit, ...defined({ exclude }) });
  }

  async restore(to: Digest | null): Promise<void> {
    const { trees } = this.#options;
    const { path } = this.#there().directory;
    // A snapshot costs only what changed, and then only differences need be touched.
    const from = await this.snapshot().then(
      ({ tree }) => tree,
      // There is too much of it to be known: everything is looked at instead.
      (error: unknown) => {
        if (error instanceof SnapshotLimitError) return undefined;
        throw error;
      },
    );
    await checkout(path, trees, to, { cache: new StatCache(), ...(from !== undefined && { from }) });
    // Unless something inside went on changing it meanwhile.
    const { tree } = await this.snapshot();
    if (tree !== (to ?? EMPTY_TREE)) await checkout(path, trees, to, { cache: new StatCache() });
  }

  async release(): Promise<void> {
    this.#merged?.directory.close();
    this.#merged = undefined;
    await this.#options.lower.release();
  }

  #there(): { readonly directory: Directory; readonly files: SandboxFiles } {
    if (this.#merged !== undefined) return this.#merged;
    throw new SandboxLostError(basename(this.#options.folder), "its files were part of it");
  }
}

/** Mounts in a view of the file system of our own, then becomes what follows. */
const SCRIPT = '"$1" -t overlay overlay -o "$2" "$3" && shift 3 && exec "$@"';

function mounting(lower: string, upper: string, work: string, merged: string): readonly string[] {
  const [unshare = "", mount = ""] = [programOf("unshare"), programOf("mount")];
  // In a user namespace, root or not: whatever the kernel does on behalf of the mount is done without powers on the host.
  // It does not sync: what must last is in the store, not here. With `userxattr`, directories are not redirected.
  const settings = `lowerdir=${lower},upperdir=${upper},workdir=${work},userxattr,volatile`;
  return [
    ...[unshare, "--user", "--map-root-user", "--mount", "--"],
    ...["/bin/sh", "-c", SCRIPT, "openrath-overlay", mount, settings, merged],
  ];
}

/** Why workspaces in this folder cannot be layers; undefined if they can. Found out by making one. */
export async function overlayObstacle(root: string): Promise<string | undefined> {
  if (AWKWARD.test(root)) return "the path of the state directory has characters that a mount does not take";
  if (programOf("unshare") === undefined || programOf("mount") === undefined)
    return "there is no unshare or mount";
  const folder = mkdtempSync(join(root, "overlay-"));
  try {
    const [lower, upper, work, merged] = ["lower", "upper", "work", "merged"].map((name) => {
      mkdirSync(join(folder, name));
      return join(folder, name);
    }) as [string, string, string, string];
    writeFileSync(join(lower, "old"), "old");
    const trial = 'cd "$1" && test -f old && rm old && echo new >new';
    const [program = "", ...words] = mounting(lower, upper, work, merged);
    const { error, output } = await runProgram(program, [...words, "/bin/sh", "-c", trial, "trial", merged]);
    if (error !== null) return firstLine(output);
    const made = lstatSync(join(upper, "new"), { throwIfNoEntry: false })?.isFile() === true;
    const hidden = lstatSync(join(upper, "old"), { throwIfNoEntry: false })?.isCharacterDevice() === true;
    return made && hidden ? undefined : "the upper layer does not show what was changed";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await removePath(folder).catch(() => {});
  }
}
