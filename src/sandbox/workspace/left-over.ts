import { identityOf, isDead, thisProcess } from "../../store/index.js";
import { codeOf, Directory } from "./directory.js";
import { ownerOf } from "./frozen-shelf.js";
import { removeEntry } from "./remove.js";

const HOUR_MS = 60 * 60 * 1000;

/**
 * Removes what processes that died while they made something for workspaces have left in a state directory: checkouts
 * that were to be frozen, attempts at a mount, drafts of copies of `/etc`. What a living process makes stays; of those
 * that nobody can tell, what is older than an hour goes. No link is followed, and what cannot be removed stays. The answer
 * is what was removed, as paths in the directory.
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

/** Does something in a directory; nothing where there is none, or something else such as a link. */
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
