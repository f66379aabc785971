import { statfsSync, statSync } from "node:fs";
import { namesIn, processIds } from "../proc.js";
import { Directory } from "../workspace/directory.js";

/** A command, as far as the disk is concerned. */
export interface Consumer {
  stop(reason: { readonly outcome: "disk"; readonly why: string }): void;
}

const LOOK_MILLISECONDS = 200;
/** A look at every file is not begun before this many times as long has passed as the last one took. */
const REST = 5;

/**
 * Watches how much commands make a workspace grow. No file system here limits one directory, so the free space of the
 * disk is polled while a command runs; when it shrinks by more than the limit, the workspace itself is measured.
 */
export class DiskWatch {
  readonly #path: string;
  readonly #limit: number;
  readonly #held: () => number;
  readonly #since = new Map<Consumer, { readonly free: number; readonly at: number }>();
  #timer: NodeJS.Timeout | undefined;
  #measuring = false;
  #next = 0;

  /**
   * @param path what the workspace writes to, on the host
   * @param held bytes of files that have no name but are still open inside
   */
  constructor(path: string, limit: number, held: () => number) {
    this.#path = path;
    this.#limit = limit;
    this.#held = held;
  }

  begin(consumer: Consumer): void {
    this.#since.set(consumer, { free: this.#free(), at: Date.now() });
    this.#timer ??= setInterval(() => void this.#look(), LOOK_MILLISECONDS).unref();
  }

  end(consumer: Consumer): void {
    this.#since.delete(consumer);
    if (this.#since.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #look(): Promise<void> {
    const free = this.#free();
    const suspects = [...this.#since].filter(([, begun]) => begun.free - free > this.#limit);
    if (suspects.length === 0 || this.#measuring || performance.now() < this.#next) return;
    this.#measuring = true;
    const began = performance.now();
    try {
      for (const [consumer, { at }] of suspects) {
        const grown = (await writtenSince(this.#path, at)) + this.#held();
        if (grown > this.#limit)
          consumer.stop({
            outcome: "disk",
            why: `it made the workspace grow by more than ${this.#limit} bytes`,
          });
      }
    } catch {
      // It is being removed.
    } finally {
      this.#measuring = false;
      this.#next = performance.now() + REST * (performance.now() - began);
    }
  }

  #free(): number {
    try {
      const { bfree, bsize } = statfsSync(this.#path);
      return bfree * bsize;
    } catch {
      return Number.POSITIVE_INFINITY;
    }
  }
}

/** How much the files take on disk that were changed since a time. No link is followed. */
async function writtenSince(path: string, since: number): Promise<number> {
  // Times of files are those of the kernel's last tick.
  const from = since - 50;
  const seen = new Set<number>();
  const root = Directory.at(path);
  try {
    return await below(root, 0);
  } finally {
    root.close();
  }

  async function below(directory: Directory, depth: number): Promise<number> {
    let bytes = 0;
    for (const name of directory.names()) {
      const found = directory.look(name);
      if (found === undefined) continue;
      if (found.ctimeMs >= from && (found.nlink < 2 || found.isDirectory() || !seen.has(found.ino))) {
        seen.add(found.ino);
        bytes += found.blocks * 512;
      }
      if (!found.isDirectory() || depth > 200) continue;
      await new Promise((resolve) => setImmediate(resolve));
      try {
        const inside = directory.open(name);
        try {
          bytes += await below(inside, depth + 1);
        } finally {
          inside.close();
        }
      } catch {
        // It went away, or it is something else by now.
      }
    }
    return bytes;
  }
}

/** The bytes of files that processes of a sandbox hold open and that have no name. */
export function heldBy(first: number): number {
  const root = `/proc/${first}/root/proc`;
  const seen = new Map<string, number>();
  for (const process of processIds(root))
    for (const descriptor of namesIn(`${root}/${process}/fd`)) {
      try {
        const found = statSync(`${root}/${process}/fd/${descriptor}`);
        if (found.isFile() && found.nlink === 0) seen.set(`${found.dev}:${found.ino}`, found.blocks * 512);
      } catch {
        // Closed meanwhile.
      }
    }
  return [...seen.values()].reduce((sum, bytes) => sum + bytes, 0);
}
