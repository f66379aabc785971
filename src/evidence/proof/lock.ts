import { linkSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { isDead, newOwner } from "../../store/index.js";
import { textOf } from "./file.js";

type LockOptions = {
  /** The error for a file that somebody else holds. */
  readonly busy: (holder: string) => Error;
  /** Milliseconds to wait for somebody else. Default: none. */
  readonly patience?: number;
};

/** Makes this process the only one that holds a file. A holder that is certainly dead is replaced. */
export function lockFile(path: string, { busy, patience = 0 }: LockOptions): () => void {
  const owner = newOwner();
  const draft = `${path}.${process.pid}-${process.hrtime.bigint()}`;
  const until = Date.now() + patience;
  writeFileSync(draft, owner, { mode: 0o600 });
  try {
    for (let attempt = 1; !isLinked(draft, path); attempt++) {
      const holder = textOf(path);
      const isFree = holder === undefined || (isDead(holder) && removed(path, draft));
      if (isFree ? attempt > 3 && Date.now() > until : Date.now() >= until) throw busy(holder ?? "");
      if (!isFree) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5 + Math.random() * 10);
    }
    return () => {
      if (textOf(path) === owner) rmSync(path, { force: true });
    };
  } finally {
    unlinkSync(draft);
  }
}

/** A link is there whole or not at all, and never in place of another's. */
function isLinked(draft: string, path: string): boolean {
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST" || textOf(path) !== undefined) return false;
    throw error;
  }
}

/** Takes a dead holder away, as the only one that does: the next one to hold the file is not taken away with it. */
function removed(path: string, draft: string): boolean {
  const stale = `${path}.stale`;
  if (!isLinked(draft, stale)) return false;
  const holder = textOf(path);
  if (holder !== undefined && isDead(holder)) rmSync(path, { force: true });
  rmSync(stale);
  return true;
}
