import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type Digest, digestOf } from "../../../session/index.js";
import { type BlobSpace, Trees } from "../../trees.js";

/** Blobs in memory, which can be counted and lost. */
export class Space implements BlobSpace {
  readonly blobs = new Map<Digest, Uint8Array>();
  /** How many blobs were given to it, known or not, and how many times. */
  given = 0;
  puts = 0;

  async putBlobs(blobs: readonly Uint8Array[]): Promise<readonly Digest[]> {
    this.puts += 1;
    this.given += blobs.length;
    return blobs.map((bytes) => {
      const digest = digestOf(bytes);
      this.blobs.set(digest, Uint8Array.from(bytes));
      return digest;
    });
  }

  async blob(digest: Digest): Promise<Uint8Array | undefined> {
    return this.blobs.get(digest);
  }

  /** Whether any blob holds these bytes. */
  holds(bytes: string): boolean {
    return [...this.blobs.values()].some((blob) => Buffer.from(blob).includes(bytes));
  }
}

/** How often others of this process got a turn while something was done. */
export async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    if (isOver) return;
    turns += 1;
    setImmediate(count);
  };
  setImmediate(count);
  await work();
  isOver = true;
  return turns;
}

export function newTrees(): { readonly space: Space; readonly trees: Trees } {
  const space = new Space();
  return { space, trees: new Trees(space) };
}

/** A folder of the running test, gone when the test is. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "openrath-workspace-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true, maxRetries: 5 }));
  return path;
}

/**
 * A folder on a file system that stamps by the tick of the kernel, milliseconds long; newer kernels stamp finer on most
 * others. A plain one where it cannot be mounted.
 */
export function coarseFolder(): string {
  const path = folder();
  if (process.platform !== "linux" || spawnSync("mount", ["-t", "ramfs", "ramfs", path]).status !== 0)
    return path;
  onTestFinished(() => void spawnSync("umount", ["--lazy", path]));
  return path;
}
