import { readSync } from "node:fs";
import { join } from "node:path";
import type { FactId } from "../session/index.js";
import type { NewFact } from "./commit.js";
import { DamageError } from "./error.js";
import { addLine, lineNumberAt, linesIn, problemOf, scanFacts } from "./file-lines.js";
import { LogFile } from "./file-log.js";
import type { Mark } from "./file-names.js";
import { FactIndex } from "./index-facts.js";

/** Neighbouring lines are read together, up to this many bytes. */
const TOGETHER = 1 << 20;

/** `facts.jsonl`: the record lines byte for byte, and where each of them begins. The lines stay on disk. */
export class FactsFile {
  readonly log: LogFile;
  readonly index = new FactIndex();
  #starts = new Float64Array(64);
  #lengths = new Uint32Array(64);

  private constructor(log: LogFile) {
    this.log = log;
  }

  /**
   * Reads the file up to what was acknowledged and checks that it is all there and as it was. Without a mark
   * (a crash while the file was being replaced) all of it counts as left behind.
   */
  static load(
    folder: string,
    writable: boolean,
    mark: Mark | null,
    named: () => Iterable<FactId>,
  ): FactsFile {
    const file = new FactsFile(new LogFile(join(folder, "facts.jsonl"), writable));
    try {
      if (mark !== null) {
        file.grow(mark);
        file.#verify(mark, named);
      }
    } catch (error) {
      file.log.close();
      throw error;
    }
    return file;
  }

  get mark(): Mark {
    return { bytes: this.log.size, count: this.index.count, xor: this.index.fingerprint() };
  }

  /**
   * Takes in what was acknowledged. Anything wrong there is damage. By count as well as by bytes: someone may
   * have put lines in twice, which is harmless but moves all that follows.
   */
  grow(mark: Mark): void {
    for (const { bytes, start, complete } of linesIn(this.log.fd, this.log.size, this.log.actualSize)) {
      if (start >= mark.bytes && this.index.count >= mark.count) break;
      const row = complete ? addLine(this.index, bytes) : "it is cut off: its newline is missing";
      if (typeof row === "string") throw this.#damage(start, row);
      this.#keep(row, start, bytes);
    }
  }

  /**
   * Takes in sound lines behind the mark, which a writer left there that died, and returns whether anything
   * is left behind them. Only for holders of the lock: else somebody may just be writing.
   */
  adopt(): boolean {
    const size = this.log.actualSize;
    for (const { bytes, start, complete } of linesIn(this.log.fd, this.log.size, size)) {
      const row = complete ? (problemOf(bytes) ?? addLine(this.index, bytes)) : "torn";
      if (typeof row === "string") break;
      this.#keep(row, start, bytes);
    }
    return this.log.size < size;
  }

  /** Puts new facts into the index, at the places where `append` will write them. */
  stage(fact: NewFact, start: number): Buffer {
    const bytes = Buffer.from(`${fact.line}\n`);
    const row = this.index.add(
      Buffer.from(fact.id, "hex"),
      fact.parents.map((parent) => this.index.row(parent)),
    );
    this.#place(row, start, bytes.length - 1);
    return bytes;
  }

  read(rows: ArrayLike<number>): string[] {
    const lines: string[] = [];
    for (let from = 0; from < rows.length; ) {
      const start = this.#start(rows, from);
      let to = from;
      let end = start;
      do {
        end = this.#start(rows, to) + this.#length(rows, to) + 1;
        to += 1;
      } while (to < rows.length && this.#start(rows, to) === end && end - start < TOGETHER);
      const bytes = this.#bytes(start, end);
      for (; from < to; from++) {
        const at = this.#start(rows, from) - start;
        lines.push(bytes.toString("utf8", at, at + this.#length(rows, from)));
      }
    }
    return lines;
  }

  /** The bytes of the lines that stay, for writing the file anew. */
  *staying(goes: Uint8Array): Generator<Buffer, void> {
    for (let row = 0; row < this.index.count; row++) {
      if (goes[row] === 1) continue;
      const start = this.#starts[row] as number;
      yield this.#bytes(start, start + (this.#lengths[row] as number) + 1);
    }
  }

  #keep(row: number, start: number, bytes: Buffer): void {
    // A line that is there twice says nothing new.
    if (row >= 0) this.#place(row, start, bytes.length);
    this.log.size = start + bytes.length + 1;
  }

  #place(row: number, start: number, length: number): void {
    if (row >= this.#starts.length) {
      const starts = new Float64Array(2 * row);
      starts.set(this.#starts);
      this.#starts = starts;
      const lengths = new Uint32Array(2 * row);
      lengths.set(this.#lengths);
      this.#lengths = lengths;
    }
    this.#starts[row] = start;
    this.#lengths[row] = length;
  }

  #start(rows: ArrayLike<number>, index: number): number {
    return this.#starts[rows[index] as number] as number;
  }

  #length(rows: ArrayLike<number>, index: number): number {
    return this.#lengths[rows[index] as number] as number;
  }

  #bytes(start: number, end: number): Buffer {
    const bytes = Buffer.allocUnsafe(end - start);
    for (let done = 0; done < bytes.length; ) {
      const length = readSync(this.log.fd, bytes, done, bytes.length - done, start + done);
      if (length === 0) throw this.#damage(start + done, "the file ends here, but more was written");
      done += length;
    }
    return bytes;
  }

  /** Compares what was read with what was acknowledged. Ids are hashes, so no altered byte goes unnoticed. */
  #verify(mark: Mark, named: () => Iterable<FactId>): void {
    const missing = mark.count - this.index.count;
    if (missing > 0)
      throw this.#damage(this.log.size, `${missing} of ${mark.count} facts that were written are missing`);
    if (this.index.fingerprintOf(mark.count) === mark.xor) return;
    // The lines hang together, so what was altered is a line that no other line refers to.
    const heads = new Set<number>();
    for (const id of named()) heads.add(this.index.row(id));
    const suspects: number[] = [];
    for (let row = 0; row < this.index.count; row++)
      if (this.index.isLeaf(row) && !heads.has(row)) suspects.push(row);
    const broken = suspects.find(
      (row) => problemOf(Buffer.from(this.read([row])[0] as string)) !== undefined,
    );
    const place = this.#starts[broken ?? suspects[0] ?? 0] as number;
    const others =
      suspects.length > 1 && broken === undefined
        ? `, or one of ${suspects.length - 1} lines after it that no other line refers to`
        : "";
    throw this.#damage(place, `the line is not the one that was written${others}`);
  }

  /** The first damaged line by number. A careful second reading often finds the cause before the first symptom. */
  #damage(place: number, problem: string): DamageError {
    for (const scanned of scanFacts(this.log.path)) {
      if (scanned.problem !== undefined) return new DamageError(scanned.place, scanned.problem);
    }
    return new DamageError(`facts.jsonl:${lineNumberAt(this.log.fd, place)}`, problem);
  }
}
