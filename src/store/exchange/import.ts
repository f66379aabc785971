import {
  type BlobRef,
  checkLine,
  type Digest,
  digestOf,
  digestsOf,
  type FactId,
  MAX_DEPTH,
  parentsOf,
  RecordError,
  readFact,
  refsOf,
} from "../../session/index.js";
import { parseJson, showValue } from "../../util/index.js";
import { addReached, treesIn } from "../care/tree-walk.js";
import { misuse } from "../error.js";
import type { Erasure, Shelf } from "../shelf.js";
import type { Imported, ImportOptions } from "../store.js";
import { agreement, soundBlob } from "./export.js";
import { readBlobLine, readErasureLine } from "./lines.js";

const FACTS_PER_COMMIT = 1000;
const BLOB_BYTES_PER_COMMIT = 32 * 1024 * 1024;

/**
 * Takes in lines in the order they come. A line that cannot be trusted stops the import with its number;
 * the lines before it stay, and importing again passes over it.
 */
export async function importLines(
  shelf: Shelf,
  source: string | Iterable<string> | AsyncIterable<string>,
  options: ImportOptions,
): Promise<{ report: Imported; last: FactId | undefined }> {
  const intake = new Intake(shelf, options);
  try {
    for await (const raw of linesOf(source)) {
      intake.number += 1;
      if (typeof raw !== "string")
        throw located(new RecordError(`it is not text but ${showValue(raw)}`), intake.number);
      const line = raw.endsWith("\n") ? raw.slice(0, -1) : raw;
      // A text that ends with a newline splits into one empty piece more than it has lines.
      if (line !== "") await intake.take(line);
    }
  } catch (error) {
    // Earlier lines stay. If something is wrong with one of those, that comes first.
    await intake.finish().catch((earlier: unknown) => {
      throw earlier instanceof RecordError ? earlier : error;
    });
    throw error;
  }
  await intake.finish();
  if (options.head !== undefined && !intake.met.has(options.head)) {
    throw new RecordError(
      `the lines end without the session ${options.head}`,
      { head: options.head, line: intake.number },
      "the file was cut off or is another one; its lines are imported",
    );
  }
  return { report: intake.report(), last: intake.last };
}

/** Lines from outside, before anyone looked at them. */
export function linesOf(
  source: string | Iterable<string> | AsyncIterable<string>,
): Iterable<unknown> | AsyncIterable<unknown> {
  if (typeof source === "string") return source.split("\n");
  if (typeof source === "object" && source !== null)
    if (Symbol.iterator in source || Symbol.asyncIterator in source) return source;
  throw misuse(`import ${showValue(source)}`, "give lines: store.import(readLines(path))");
}

class Intake {
  number = 0;
  last: FactId | undefined;
  /** Every id among the lines, and whether some line comes from it. */
  readonly met = new Map<FactId, boolean>();
  readonly #shelf: Shelf;
  readonly #options: ImportOptions;
  #facts: { id: FactId; line: string; number: number }[] = [];
  #blobs = new Map<Digest, Uint8Array>();
  /** Held to the end: the fact that erased comes after what it erased, and both must say the same. */
  readonly #erasures: { readonly erasure: Erasure; readonly number: number }[] = [];
  #bytes = 0;
  /** References of lines to blobs that were found true since the last commit. */
  readonly #checked = new Set<string>();
  readonly #counts = { written: 0, known: 0, blobs: 0, refused: 0, unproved: 0 };

  constructor(shelf: Shelf, options: ImportOptions) {
    this.#shelf = shelf;
    this.#options = options;
  }

  async take(line: string): Promise<void> {
    try {
      if (line.startsWith('{"blob":')) this.#takeBlob(line);
      else if (line.startsWith('{"erased":')) this.#takeErasure(line);
      else this.#takeFact(line);
    } catch (error) {
      throw located(error, this.number);
    }
    if (this.#facts.length >= FACTS_PER_COMMIT || this.#bytes > BLOB_BYTES_PER_COMMIT) await this.flush();
  }

  #takeFact(line: string): void {
    checkLine(line);
    this.#checkContent(line);
    const id = digestOf(line);
    for (const parent of parentsOf(line)) if (this.met.has(parent)) this.met.set(parent, true);
    if (this.met.has(id))
      throw new RecordError(
        `the fact ${id} was there before`,
        { id },
        "each fact stands once; import files one after the other instead of joining them",
      );
    this.met.set(id, false);
    this.last = id;
    this.#facts.push({ id, line, number: this.number });
  }

  /** Content must be what the line says of it, or readers would fail at it later, or see different things. */
  #checkContent(line: string): void {
    for (const ref of Object.values(refsOf(line))) {
      const told = JSON.stringify(ref);
      if (this.#checked.has(told)) continue;
      this.#checked.add(told);
      const bytes = this.#blobs.get(ref.digest) ?? this.#shelf.blobs.get(ref.digest);
      const flaw = bytes && flawOf(ref, bytes);
      // A blob that was damaged here says nothing about the line.
      if (flaw && digestOf(bytes) === ref.digest)
        throw new RecordError(`its blob ${ref.digest} ${flaw}`, { blob: ref.digest });
    }
  }

  #takeBlob(line: string): void {
    const { digest, bytes } = readBlobLine(line);
    this.#bytes += bytes.length;
    this.#counts.blobs += 1;
    if (this.#shelf.blobs.erased(digest) !== undefined) this.#counts.refused += 1;
    this.#blobs.set(digest, bytes);
  }

  #takeErasure(line: string): void {
    const erasure = readErasureLine(line);
    // It tells why content is missing; it does not ask to erase what is here.
    if (this.#shelf.blobs.get(erasure.digest) === undefined)
      this.#erasures.push({ erasure, number: this.number });
  }

  async finish(): Promise<void> {
    await this.flush();
    const erasures = this.#erasures.splice(0);
    if (erasures.length === 0) return;
    const lines = this.#shelf.lines(erasures.map(({ erasure }) => erasure.fact));
    const agrees = agreement((digest) => soundBlob(this.#shelf, digest));
    for (const [index, { erasure, number }] of erasures.entries()) {
      if (!agrees(erasure, lines[index]))
        throw located(
          new RecordError(`the erasure of ${erasure.digest} is not what the fact ${erasure.fact} says`, {
            fact: erasure.fact,
          }),
          number,
        );
    }
    // An erasure line is not hashed: the fact that it names is the proof. Without the fact, the content is simply missing here,
    // and a check says so for as long as neither of them comes.
    const proved = erasures.filter((_, index) => lines[index] !== undefined);
    this.#counts.unproved = erasures.length - proved.length;
    if (proved.length === 0) return;
    await this.#shelf.commit({ facts: [], blobs: [], erase: proved.map(({ erasure }) => erasure) });
  }

  async flush(): Promise<void> {
    const facts = this.#facts;
    if (facts.length === 0 && this.#blobs.size === 0) return;
    const brought = this.#blobs;
    const blobs = [...brought].map(([digest, bytes]) => ({ digest, bytes }));
    this.#facts = [];
    this.#blobs = new Map();
    this.#checked.clear();
    this.#bytes = 0;
    const committed = await this.#shelf.commit({ facts, blobs, keys: this.#keysOf(facts) });
    if (committed.outcome === "orphan") {
      const index = facts.findIndex((fact) => fact.id === committed.id);
      // Earlier lines stay, but for a line that no other names and whose content is not there: it is the altered one.
      const named = new Set(facts.flatMap(({ line }) => parentsOf(line)));
      const isThere = (digest: Digest): boolean =>
        brought.has(digest) || this.#shelf.blobs.get(digest) !== undefined;
      const before = facts
        .slice(0, index)
        .filter(({ id, line }) => named.has(id) || digestsOf(line).every(isThere));
      const lines = before.map(({ line }) => line);
      const needed = new Set(lines.flatMap(digestsOf));
      const read = (digest: Digest): Uint8Array | undefined =>
        brought.get(digest) ?? soundBlob(this.#shelf, digest);
      await addReached(lines.flatMap(treesIn), read, needed);
      await this.#shelf.commit({ facts: before, blobs: blobs.filter(({ digest }) => needed.has(digest)) });
      const number = facts[index]?.number ?? 0;
      throw new RecordError(
        `line ${number} comes from ${committed.parent}, which is not there: an earlier line was altered, left out or moved`,
        { line: number, parent: committed.parent },
        "import a whole export, parents before children; recover(url, target) saves what is intact",
      );
    }
    if (committed.outcome === "done") {
      this.#counts.written += committed.written;
      this.#counts.known += facts.length - committed.written;
    }
    this.#options.progress?.(this.#counts.written + this.#counts.known);
  }

  /** The keys that beginnings among these lines name. */
  #keysOf(facts: readonly { readonly line: string }[]): readonly { id: string; secret: Uint8Array }[] {
    const { keys } = this.#options;
    if (keys === undefined || keys.size === 0) return [];
    return facts.flatMap(({ line }) => {
      const id = keyIn(line) ?? "";
      const secret = keys.get(id);
      return secret === undefined ? [] : [{ id, secret }];
    });
  }

  report(): Imported {
    return { ...this.#counts, heads: [...this.met].filter(([, extended]) => !extended).map(([id]) => id) };
  }
}

/** The difference between content and the reference of its line. */
function flawOf(ref: BlobRef, bytes: Uint8Array): string | undefined {
  if (bytes.length !== ref.size) return `has ${bytes.length} bytes, and the line says ${ref.size}`;
  if (ref.media !== "application/json") return undefined;
  const value = parseJson(Buffer.from(bytes).toString("utf8", ref.salt ?? 0));
  if (value === undefined) return "is not the JSON that the line says";
  let level = [value];
  for (let depth = 0; depth <= MAX_DEPTH && level.length > 0; depth++)
    level = level.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []));
  return level.length > 0 ? `is nested deeper than ${MAX_DEPTH} levels` : undefined;
}

/** The key that a beginning names. */
export function keyIn(line: string): string | undefined {
  if (parentsOf(line).length > 0) return undefined;
  const { key } = readFact(line, undefined) as { readonly key?: unknown };
  return typeof key === "string" ? key : undefined;
}

function located(error: unknown, number: number): unknown {
  if (!(error instanceof RecordError)) return error;
  return new RecordError(
    `line ${number}: ${String(error.data.reason)}`,
    { ...error.data, line: number },
    error.hint,
  );
}
