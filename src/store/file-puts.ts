import { closeSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import type { Digest } from "../session/index.js";
import { UNDER_WAY_MS } from "./commit.js";
import { errnoOf } from "./file-error.js";
import { replaceFile } from "./file-folder.js";

type Put = { readonly at: number; readonly digests: readonly Digest[] };

/**
 * Which blobs came without a fact, and when: `{"at":…,"digests":[…]}`, a line each time. It is not synced: a power cut
 * ends the work that it protects. For the same reason a line that is cut off is passed over.
 */
export class PutLog {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** Notes blobs, also those that were here before: whoever puts them relies on them now. For holders of the lock. */
  add(digests: readonly Digest[]): void {
    if (digests.length === 0) return;
    const fd = openSync(this.#path, "a");
    try {
      // A line of its own whatever stands before it: a full disk may have cut that off.
      writeSync(fd, `\n${JSON.stringify({ at: Date.now(), digests } satisfies Put)}`);
    } finally {
      closeSync(fd);
    }
  }

  *since(since: number): Generator<Digest, void> {
    for (const { at, digests } of this.#all()) if (at >= since) yield* digests;
  }

  /** Forgets what is as good as waste. For holders of the lock. */
  tidy(): void {
    const all = this.#all();
    const late = all.filter(({ at }) => at >= Date.now() - UNDER_WAY_MS);
    if (late.length === all.length) return;
    if (late.length === 0) rmSync(this.#path, { force: true });
    else
      replaceFile(
        this.#path,
        late.map((put) => Buffer.from(`\n${JSON.stringify(put)}`)),
      );
  }

  #all(): readonly Put[] {
    let text: string;
    try {
      text = readFileSync(this.#path, "utf8");
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return [];
      throw error;
    }
    return text.split("\n").flatMap((line) => putIn(line) ?? []);
  }
}

function putIn(line: string): Put | undefined {
  if (line === "") return undefined;
  try {
    const { at, digests } = JSON.parse(line) as { at?: unknown; digests?: unknown };
    return typeof at === "number" && Array.isArray(digests) ? { at, digests } : undefined;
  } catch {
    return undefined;
  }
}
