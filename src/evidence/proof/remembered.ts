import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { digestOf } from "../../session/index.js";
import { type Checkpoint, readCheckpoint } from "./checkpoint.js";
import { replaceFile, textOf } from "./file.js";

/** A checkpoint that was seen before, and which home and which store it was of. */
export type Remembered = { readonly home: string; readonly store?: string; readonly file: string } & (
  | { readonly checkpoint: Checkpoint }
  | { readonly problem: string }
);

/**
 * The newest checkpoint of each log that was seen, in the folder of the person and not in that of the store: whoever puts
 * an older copy of the whole store in its place does not reach it.
 */
export class CheckpointMemory {
  readonly #folder: string;

  constructor(config: string) {
    this.#folder = join(config, "checkpoints");
  }

  /** Keeps a checkpoint, unless one of the same log is kept already that is as new or newer. */
  keep(home: string, checkpoint: Checkpoint, store?: string): void {
    const file = join(this.#folder, `${digestOf(checkpoint.origin).slice(0, 16)}.json`);
    const before = this.#read(file);
    if (before !== undefined && "checkpoint" in before && before.checkpoint.size >= checkpoint.size) return;
    replaceFile(file, `${JSON.stringify({ home, store, note: checkpoint.text })}\n`);
  }

  list(): readonly Remembered[] {
    if (!existsSync(this.#folder)) return [];
    const files = readdirSync(this.#folder).filter((name) => name.endsWith(".json"));
    return files.sort().flatMap((name) => this.#read(join(this.#folder, name)) ?? []);
  }

  /**
   * The checkpoints of a store: those that were made in its home, those of its log, and those of a store with its
   * identity, wherever it lay then: an older copy of it under another path is the same store.
   */
  of(home: string, origin: string | undefined, store?: string): readonly Remembered[] {
    // One that cannot be read may be of any home.
    return this.list().filter(
      (one) =>
        "problem" in one ||
        one.home === home ||
        one.checkpoint.origin === origin ||
        (store !== undefined && one.store === store),
    );
  }

  #read(file: string): Remembered | undefined {
    const text = textOf(file);
    if (text === undefined) return undefined;
    try {
      const { home, store, note } = JSON.parse(text) as { home: unknown; store?: unknown; note: unknown };
      if (typeof home !== "string") throw new Error("it names no home");
      const checkpoint = readCheckpoint(note);
      return { home, file, checkpoint, ...(typeof store === "string" && { store }) };
    } catch (error) {
      const reason = error instanceof Error ? error.message.split("\n")[0] : String(error);
      return { home: "", file, problem: `what was remembered cannot be read: ${reason}` };
    }
  }
}
