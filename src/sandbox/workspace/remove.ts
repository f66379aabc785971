import { randomBytes } from "node:crypto";
import { renameSync, rmdirSync, unlinkSync } from "node:fs";
import { FileError } from "../error.js";
import { codeOf, type Directory } from "./directory.js";
import { Pace } from "./pace.js";

/** How many directories are held open one in another. Deeper ones are moved up first: there is no limit to how deep they can be made. */
const DEEP = 64;
const PATIENCE_MS = 60_000;

/** A name that nothing in a workspace has. */
export function spareName(): string {
  return `.openrath-${randomBytes(9).toString("hex")}`;
}

/**
 * Removes an entry of a directory with all that is in it, without following a link anywhere. Nothing happens when it is
 * not there. What someone goes on filling while it is being emptied is a `FileError` in the end.
 */
export async function removeEntry(parent: Directory, name: string): Promise<void> {
  if (unlinked(parent, name)) return;
  const pace = new Pace();
  const until = performance.now() + PATIENCE_MS;
  const moved = [name];
  for (let next = moved.pop(); next !== undefined; next = moved.pop()) {
    while (!(await emptied(parent, next, 0))) {
      if (performance.now() > until)
        throw new FileError("failed", name, "something goes on filling it while it is removed");
    }
  }

  /** One attempt; false when something came in meanwhile. */
  async function emptied(directory: Directory, entry: string, depth: number): Promise<boolean> {
    let inside: Directory;
    try {
      inside = directory.open(entry);
    } catch (error) {
      if (codeOf(error) === "ENOENT") return true;
      // It was swapped for something that is not a directory.
      if (codeOf(error) === "ENOTDIR" || codeOf(error) === "ELOOP") return unlinked(directory, entry);
      throw error;
    }
    try {
      inside.unlock();
      for (const each of inside.names()) {
        if (pace.long) await pace.rest();
        if (performance.now() > until) return false;
        if (unlinked(inside, each)) continue;
        if (depth < DEEP) await emptied(inside, each, depth + 1);
        else moved.push(raised(inside, each));
      }
    } finally {
      inside.close();
    }
    try {
      rmdirSync(directory.to(entry));
    } catch (error) {
      const code = codeOf(error);
      if (code === "ENOENT") return true;
      if (code === "ENOTEMPTY" || code === "EEXIST" || code === "ENOTDIR") return false;
      throw error;
    }
    return true;
  }

  function raised(directory: Directory, entry: string): string {
    const spare = spareName();
    try {
      unlockEntry(directory, entry);
      renameSync(directory.to(entry), parent.to(spare));
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error;
    }
    return spare;
  }
}

/** A directory that its owner may not write to cannot be moved either: it holds the way up. */
function unlockEntry(directory: Directory, name: string): void {
  const inside = directory.open(name);
  try {
    inside.unlock();
  } finally {
    inside.close();
  }
}

/** Whether nothing is there; false for a directory. */
function unlinked(directory: Directory, name: string): boolean {
  for (let attempt = 0; ; attempt++) {
    try {
      unlinkSync(directory.to(name));
      return true;
    } catch (error) {
      const code = codeOf(error);
      if (code === "ENOENT") return true;
      if (code === "EISDIR" || (code === "EPERM" && directory.look(name)?.isDirectory() === true))
        return false;
      if (attempt > 0 || code !== "EACCES") throw error;
      directory.unlock();
    }
  }
}
