import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { FactId } from "../session/index.js";
import { namesIn } from "./file-blobs.js";
import { errnoOf } from "./file-error.js";
import { identityOf, makeFolder, replaceFile } from "./file-folder.js";

const SNAPSHOT = /^([0-9a-f]{64})\.json$/;

/** Snapshots of views, one file each. Derived: whoever deletes them only makes long sessions open slower. */
export class SnapshotFolder {
  readonly path: string;
  #ids: readonly FactId[] = [];
  #listed = -1n;

  constructor(path: string) {
    this.path = path;
  }

  ids(): readonly FactId[] {
    let changed: bigint;
    try {
      changed = identityOf(this.path).changed;
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return [];
      throw error;
    }
    if (changed === this.#listed) return this.#ids;
    this.#ids = namesIn(this.path).flatMap((name) => SNAPSHOT.exec(name)?.[1] ?? []);
    // The clock of a file system is coarse: a listing of just now may miss what happened within the same tick.
    this.#listed = BigInt(Date.now()) * 1_000_000n - changed > 1_000_000_000n ? changed : -1n;
    return this.#ids;
  }

  read(id: FactId): string | undefined {
    try {
      return readFileSync(join(this.path, `${id}.json`), "utf8");
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  write(id: FactId, snapshot: string): void {
    makeFolder(this.path);
    replaceFile(join(this.path, `${id}.json`), [Buffer.from(snapshot)]);
    this.#listed = -1n;
  }

  drop(ids: Iterable<FactId>): void {
    for (const id of ids) rmSync(join(this.path, `${id}.json`), { force: true });
    this.#listed = -1n;
  }
}
