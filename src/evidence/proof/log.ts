import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { type FactId, isDigest } from "../../session/index.js";
import { isDead } from "../../store/index.js";
import { type Checkpoint, readCheckpoint } from "./checkpoint.js";
import { ProofError, reasonOf } from "./error.js";
import { appendAt, replaceFile, sizeOf, textOf } from "./file.js";
import type { InclusionProof } from "./inclusion.js";
import { BLOCK, Leaves } from "./leaves.js";
import { lockFile } from "./lock.js";
import { consistencyPath, EMPTY_ROOT, HASH_BYTES, inclusionPath } from "./merkle.js";
import { notesIn } from "./note.js";
import { type Release, readReleases } from "./release.js";

/** Something that is not as a log must be, and where: file and byte. */
export type LogFlaw = { readonly file: string; readonly offset: number; readonly problem: string };

/** The state of the files of a log: reading mends nothing. */
export type LogState = {
  readonly checkpoints: readonly (Checkpoint & { readonly offset: number })[];
  readonly newest: Checkpoint | undefined;
  readonly releases: readonly Release[];
  readonly flaws: readonly LogFlaw[];
};

/** The sessions whose whole past is in the log. Without it all names are walked again, which gives the same. */
type Covered = { readonly size: number; readonly heads: readonly FactId[]; readonly whole: boolean };

/**
 * The log of a store: every fact covered by a checkpoint, in fixed order, and the signed checkpoints. Its files beside
 * the store only grow: `leaves`, `roots`, `checkpoints`, `releases`, and the cache `covered.json`.
 */
export class CheckpointLog {
  readonly folder: string;
  readonly leaves: Leaves;

  constructor(folder: string) {
    this.folder = folder;
    this.leaves = new Leaves(folder);
  }

  get exists(): boolean {
    return existsSync(this.#file("checkpoints")) || existsSync(this.#file("leaves"));
  }

  /** Reads everything but the leaves. */
  read(): LogState {
    const flaws: LogFlaw[] = [];
    const checkpoints: (Checkpoint & { offset: number })[] = [];
    for (const { from, text } of notesIn(this.#bytes("checkpoints"))) {
      try {
        if (text === undefined) throw new Error("the file ends in the middle of a checkpoint");
        const checkpoint = { ...readCheckpoint(text), offset: from };
        const before = checkpoints.at(-1);
        if (before !== undefined && (before.origin !== checkpoint.origin || before.size > checkpoint.size))
          throw new Error("it does not follow the checkpoint before it");
        checkpoints.push(checkpoint);
      } catch (error) {
        flaws.push({ file: "checkpoints", offset: from, problem: reasonOf(error) });
        break;
      }
    }
    const newest = checkpoints.at(-1);
    const releases = readReleases(this.#bytes("releases"), newest?.origin, flaws);
    return { checkpoints, newest, releases, flaws: [...flaws, ...this.#tails(newest?.size ?? 0)] };
  }

  /** Bytes behind the newest checkpoint, or missing before it. */
  *#tails(size: number): Iterable<LogFlaw> {
    const { count, blocks, torn } = this.leaves;
    const left = "a checkpoint that was not finished leaves that; so does one that was taken away";
    const leaves = { file: "leaves", offset: Math.min(count, size) * HASH_BYTES };
    if (count < size)
      yield { ...leaves, problem: `it ends after ${count} ids, and the newest checkpoint has ${size}` };
    else if (count > size || torn.leaves > 0)
      yield { ...leaves, problem: `it goes on behind the ${size} ids of the newest checkpoint: ${left}` };
    const whole = Math.floor(size / BLOCK);
    if (blocks !== whole || torn.roots > 0)
      yield {
        file: "roots",
        offset: Math.min(blocks, whole) * HASH_BYTES,
        problem: `it has ${blocks} roots of blocks, and the newest checkpoint needs ${whole}: ${left}`,
      };
  }

  /** The root at a size of the log, by what is on disk. */
  rootAt(size: number): Buffer {
    return size === 0 ? EMPTY_ROOT : this.leaves.subtree(0, size);
  }

  /** Proves that a fact is in the log, at its newest checkpoint; undefined when it is not. */
  prove(id: FactId): { readonly proof: InclusionProof; readonly checkpoint: Checkpoint } | undefined {
    const { newest } = this.read();
    const index = newest && this.leaves.indexOf(id, newest.size);
    if (newest === undefined || index === undefined) return undefined;
    const { origin, size, note } = newest;
    const path = inclusionPath(index, size, this.leaves.subtree);
    return { proof: { origin, index, size, path, signatures: note.signatures }, checkpoint: newest };
  }

  /** The hashes that show that this log goes on from what it was at an earlier size. */
  proveConsistency(earlier: number, size: number): readonly Buffer[] {
    return consistencyPath(earlier, size, this.leaves.subtree);
  }

  covered(size: number): Covered | undefined {
    try {
      const covered = JSON.parse(textOf(this.#file("covered.json")) ?? "") as Covered;
      const heads: unknown = covered.heads;
      const isFit = covered.size === size && typeof covered.whole === "boolean" && Array.isArray(heads);
      return isFit && (heads as unknown[]).every(isDigest) ? covered : undefined;
    } catch {
      return undefined;
    }
  }

  /** Moves the remains of an unfinished checkpoint to a file. Lost ids of a finished one throw. */
  mend(): readonly string[] {
    const { newest, flaws } = this.read();
    const size = newest?.size ?? 0;
    const { count } = this.leaves;
    if (count < size) throw this.#damaged(flaws);
    const done: string[] = [];
    const good = this.#goodLength();
    const whole = sizeOf(this.#file("checkpoints"));
    if (whole > good) {
      const rest = readFileSync(this.#file("checkpoints")).subarray(good);
      // Only what a crash can leave: the beginning of a note, at the very end.
      if ([...notesIn(rest)].some(({ text }) => text !== undefined)) throw this.#damaged(flaws);
      this.#moveAside("checkpoints", rest, good);
      done.push(`the last ${rest.length} bytes of checkpoints were not a whole note`);
    }
    if (flaws.some(({ file }) => file === "leaves")) {
      const extra = count - size;
      this.#moveAside("leaves", this.leaves.read(size, count), size * HASH_BYTES);
      done.push(`${extra} ids behind the newest checkpoint belonged to one that was not finished`);
    }
    if (flaws.some(({ file }) => file === "roots")) {
      this.leaves.rebuild(size);
      done.push("the roots of blocks were made again from the leaves");
    }
    const wrong = flaws.filter(({ file }) => file === "releases");
    if (wrong.length > 0) throw this.#damaged(wrong);
    return done;
  }

  /** Puts ids behind the first `size`. They count when a checkpoint covers them. */
  extend(size: number, ids: Buffer): void {
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    this.leaves.append(size, ids);
  }

  /** Puts a checkpoint behind the others. Its ids must be there: a note that is there covers ids that are there. */
  seal(checkpoint: Checkpoint, covered: Omit<Covered, "size">): void {
    this.#add("checkpoints", checkpoint.text);
    replaceFile(this.#file("covered.json"), `${JSON.stringify({ size: checkpoint.size, ...covered })}\n`);
  }

  addRelease(note: string): void {
    this.#add("releases", note);
  }

  #add(file: string, note: string): void {
    appendAt(this.#file(file), Buffer.from(`${note}\n`), sizeOf(this.#file(file)));
  }

  /** Keeps others from adding at the same time. Answers with the way to let them. */
  lock(): () => void {
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    const file = this.#file("lock");
    return lockFile(file, {
      busy: (holder) =>
        new ProofError(
          "log-busy",
          "Somebody else is adding to this log right now.",
          `try again in a moment; if nobody is, take the file away: rm ${JSON.stringify(file)}`,
          { data: { holder } },
        ),
    });
  }

  /** Whether somebody is adding to it right now. */
  get isBusy(): boolean {
    const owner = textOf(this.#file("lock"));
    return owner !== undefined && owner !== "" && !isDead(owner);
  }

  #goodLength(): number {
    const last = this.read().checkpoints.at(-1);
    return last === undefined ? 0 : last.offset + Buffer.byteLength(last.text) + 1;
  }

  #moveAside(file: string, rest: Uint8Array, good: number): void {
    replaceFile(
      join(this.folder, `torn-${file}-${new Date().toISOString().replace(/[:.]/g, "-")}`),
      Buffer.from(rest).toString(file === "leaves" ? "hex" : "utf8"),
    );
    appendAt(this.#file(file), Buffer.alloc(0), good);
  }

  #damaged(flaws: readonly LogFlaw[]): ProofError {
    const [first] = flaws;
    return new ProofError(
      "log-damaged",
      `The log ${basename(this.folder)} is damaged at ${first?.file} byte ${first?.offset}: ${first?.problem}.`,
      "nothing was changed; rath verify says more, and a backup of the folder brings it back",
      { data: { flaws: flaws.slice(0, 20).map((flaw) => ({ ...flaw })) } },
    );
  }

  #bytes(name: string): Buffer {
    return existsSync(this.#file(name)) ? readFileSync(this.#file(name)) : Buffer.alloc(0);
  }

  #file(name: string): string {
    return join(this.folder, name);
  }
}
