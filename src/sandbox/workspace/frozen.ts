import { mkdir, readdir, readFile, rename, rm, rmdir, stat, utimes, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Digest } from "../../session/index.js";
import { identityOf, isDead, newOwner, thisProcess } from "../../store/index.js";
import { FileError } from "../error.js";
import type { Trees } from "../trees.js";
import { checkout } from "./checkout.js";
import { ATTEMPTS, codeOf, Directory, removeEntry, removePath } from "./directory.js";
import { totalsOf } from "./entries.js";
import { StatCache } from "./stat-cache.js";

/** A checkout of a tree that many workspaces are made from, and nobody writes to. It stays until it is released. */
export type Frozen = { readonly path: string; release(): Promise<void> };

export type FrozenOptions = {
  /** How many checkouts are kept, and how many bytes in all; those in use are kept in any case. */
  readonly keep?: { readonly count?: number; readonly bytes?: number };
  readonly signal?: AbortSignal;
};

const KEEP = { count: 16, bytes: 8 * 1024 ** 3 };

/**
 * A tree checked out once for all processes. It is made elsewhere and moved, so it is whole. Checkouts from
 * before the last boot are not used, since a power cut can lose bytes.
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

const PATIENCE_MS = 30_000;
const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * The shared checkouts: `trees/<id>`, and `sizes/<id>` with the size, touched at each use. A process that
 * uses or removes one has a file `use/<id>/<owner>` or `going/<id>/<owner>`; dead owners do not count. Work
 * in progress is in `new/<owner>`.
 */
export class FrozenShelf {
  readonly #path: string;
  readonly #host: string | undefined;

  constructor(cacheDirectory: string) {
    const here = thisProcess();
    this.#host = here === undefined ? undefined : plain(here.host);
    this.#path = join(cacheDirectory, `${this.#host ?? "here"}-${plain(here?.boot ?? "any")}`);
  }

  pathOf(tree: Digest): string {
    return join(this.#path, "trees", tree);
  }

  async prepare(): Promise<void> {
    const isNew = !(await exists(join(this.#path, "new")));
    for (const name of ["trees", "sizes", "use", "going", "new"])
      await mkdir(join(this.#path, name), { recursive: true, mode: 0o700 });
    if (isNew) await this.#forgetOthers();
  }

  has(tree: Digest): Promise<boolean> {
    return exists(this.pathOf(tree));
  }

  /** A file that says that this process does something with a tree. */
  async sign(what: "use" | "going", tree: Digest): Promise<string> {
    const folder = join(this.#path, what, tree);
    const path = join(folder, nameOf(newOwner()));
    for (let attempt = 1; ; attempt++) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      try {
        await writeFile(path, "", { flag: "wx" });
        return path;
      } catch (error) {
        // Anyone who removed the tree took the empty folder along.
        if (codeOf(error) !== "ENOENT" || attempt === ATTEMPTS) throw error;
      }
    }
  }

  /** Waits until nobody is about to remove a tree. */
  async wait(tree: Digest): Promise<void> {
    const until = Date.now() + PATIENCE_MS;
    while (await this.#isSigned("going", tree)) {
      if (Date.now() > until)
        throw new FileError("failed", this.pathOf(tree), "another process does not finish removing it");
      await sleep(5);
    }
  }

  async touch(tree: Digest): Promise<void> {
    const now = new Date();
    await utimes(join(this.#path, "sizes", tree), now, now).catch(() => undefined);
  }

  async make(trees: Trees, tree: Digest, signal: AbortSignal | undefined): Promise<void> {
    const name = nameOf(newOwner());
    const path = join(this.#path, "new", name);
    await mkdir(path, { mode: 0o755 });
    try {
      const options = { cache: new StatCache(), alone: true, ...(signal !== undefined && { signal }) };
      await checkout(path, trees, tree, options);
      const sizes = JSON.stringify(await totalsOf(trees, tree));
      await writeFile(join(this.#path, "sizes", tree), sizes);
      await rename(path, this.pathOf(tree));
    } catch (error) {
      await this.#discard(name);
      // Another process was first.
      if (codeOf(error) !== "ENOTEMPTY" && codeOf(error) !== "EEXIST") throw error;
    }
  }

  /** Removes checkouts that nobody uses, those first that were used longest ago, until few enough are left. */
  async trim(spared: Digest, keep: { readonly count: number; readonly bytes: number }): Promise<void> {
    for (const name of await listed(join(this.#path, "new")))
      if (isDead(ownerOf(name))) await this.#discard(name);
    const found = await Promise.all(
      (await listed(join(this.#path, "sizes"))).map((tree) => this.#sizeOf(tree)),
    );
    const sizes = found.filter((size) => size !== undefined).sort((one, other) => one.used - other.used);
    let count = sizes.length;
    let bytes = sizes.reduce((sum, size) => sum + size.bytes, 0);
    for (const size of sizes) {
      if (count <= keep.count && bytes <= keep.bytes) return;
      if (size.tree === spared || !(await this.#remove(size.tree))) continue;
      count -= 1;
      bytes -= size.bytes;
    }
  }

  /** Removes a checkout unless someone uses it. */
  async #remove(tree: Digest): Promise<boolean> {
    // Said before it is looked for users. Of a user and a remover at the same time, one sees the other.
    const going = await this.sign("going", tree);
    const name = nameOf(newOwner());
    try {
      if (await this.#isSigned("use", tree)) return false;
      await rename(this.pathOf(tree), join(this.#path, "new", name)).catch(unlessMissing);
      await rm(join(this.#path, "sizes", tree), { force: true });
    } finally {
      await rm(going, { force: true });
    }
    for (const what of ["use", "going"]) await rmdir(join(this.#path, what, tree)).catch(() => undefined);
    await this.#discard(name);
    return true;
  }

  /** Whether someone who may be alive does something with a tree. */
  async #isSigned(what: "use" | "going", tree: Digest): Promise<boolean> {
    const folder = join(this.#path, what, tree);
    let isSigned = false;
    for (const name of await listed(folder)) {
      if (isDead(ownerOf(name))) await rm(join(folder, name), { force: true });
      else isSigned = true;
    }
    return isSigned;
  }

  async #sizeOf(tree: Digest): Promise<{ tree: Digest; bytes: number; used: number } | undefined> {
    const path = join(this.#path, "sizes", tree);
    try {
      const { mtimeMs } = await stat(path);
      const { bytes } = JSON.parse(await readFile(path, "utf8")) as { bytes: number };
      return { tree, bytes, used: mtimeMs };
    } catch {
      // Gone, or being written by someone who uses it.
      return undefined;
    }
  }

  #discard(name: string): Promise<void> {
    return removePath(join(this.#path, "new", name));
  }

  /** Checkouts from before the last start of this machine, if nobody touched it for a day (another one may share the folder). */
  async #forgetOthers(): Promise<void> {
    if (this.#host === undefined) return;
    const folder = dirname(this.#path);
    for (const name of await listed(folder)) {
      if (name === basename(this.#path) || !isOfHost(name, this.#host)) continue;
      const { mtimeMs } = await stat(join(folder, name, "sizes")).catch(() => ({ mtimeMs: 0 }));
      if (Date.now() - mtimeMs > DAY_MS) await removePath(join(folder, name));
    }
  }
}

const BOOT = /^-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function isOfHost(name: string, host: string): boolean {
  return name.startsWith(host) && BOOT.test(name.slice(host.length));
}

function plain(text: string): string {
  return text.replace(/[^A-Za-z0-9.-]/g, "_");
}

/** An owner as the name of a file: then it is there whole or not at all. */
function nameOf(owner: string): string {
  return Buffer.from(owner, "utf8").toString("base64url");
}

export function ownerOf(name: string): string {
  return Buffer.from(name, "base64url").toString("utf8");
}

async function listed(folder: string): Promise<readonly string[]> {
  return (await readdir(folder).catch(unlessMissing)) ?? [];
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(unlessMissing)) !== undefined;
}

function unlessMissing(error: unknown): undefined {
  if (codeOf(error) !== "ENOENT") throw error;
}

const HOUR_MS = 60 * 60 * 1000;

/**
 * Removes what dead processes left in a state directory: unfinished checkouts, attempted mounts, drafts of
 * `/etc`. Drafts without a known owner go after an hour. Follows no link and returns the removed paths.
 */
export async function sweepWorkspaces(root: string): Promise<readonly string[]> {
  const removed: string[] = [];
  await inside(undefined, root, async (state) => {
    for (const name of state.names()) {
      const isDraft = /^(overlay-[A-Za-z0-9]{6}|etc-draft-[0-9a-f]{12})$/.test(name);
      if (isDraft && isOlder(state, name, HOUR_MS) && (await isRemoved(state, name))) removed.push(name);
    }
    await inside(state, "frozen", async (frozen) => {
      for (const shelf of frozen.names())
        await inside(frozen, shelf, (one) =>
          inside(one, "new", async (drafts) => {
            for (const name of drafts.names())
              if (isLeft(drafts, name) && (await isRemoved(drafts, name)))
                removed.push(`frozen/${shelf}/new/${name}`);
          }),
        );
    });
  });
  return removed;
}

/** Whether what is made under the name of an owner is made no longer. */
function isLeft(directory: Directory, name: string): boolean {
  const owner = ownerOf(name);
  if (isDead(owner)) return true;
  const [identity, here] = [identityOf(owner), thisProcess()];
  // It lives, however long it takes.
  if (identity !== undefined && identity.boot === here?.boot && identity.space === here.space) return false;
  return isOlder(directory, name, HOUR_MS);
}

/** Whether nothing was done to an entry for so long, as far as it tells itself. */
function isOlder(directory: Directory, name: string, age: number): boolean {
  const stats = directory.look(name);
  return stats !== undefined && Date.now() - Math.max(stats.mtimeMs, stats.ctimeMs) > age;
}

async function isRemoved(directory: Directory, name: string): Promise<boolean> {
  try {
    await removeEntry(directory, name);
    return true;
  } catch {
    // It belongs to another user, or somebody is filling it: there is a next time.
    return false;
  }
}

/** Works in a directory; does nothing where it is missing, or something else such as a link. */
async function inside(
  parent: Directory | undefined,
  name: string,
  work: (directory: Directory) => Promise<void>,
): Promise<void> {
  let directory: Directory;
  try {
    directory = parent === undefined ? Directory.at(name) : parent.open(name);
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return;
  }
  try {
    await work(directory);
  } catch (error) {
    // A directory that cannot be read is left as it is.
    if (codeOf(error) === undefined) throw error;
  } finally {
    directory.close();
  }
}
