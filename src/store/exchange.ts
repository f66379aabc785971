import {
  checkLine,
  type Digest,
  digestOf,
  digestsOf,
  type FactId,
  type Json,
  parentsOf,
  RathError,
  RecordError,
  readFact,
} from "../session/index.js";
import { DamageError } from "./error.js";
import type { Blob, Erasure, Shelf } from "./shelf.js";
import type { Imported, ImportOptions, Store } from "./store.js";

const FACTS_PER_COMMIT = 1000;
const BLOB_BYTES_PER_COMMIT = 32 * 1024 * 1024;
const ID = /^[0-9a-f]{64}$/;

/** The lines of `docs/format.md`: facts byte for byte, and each blob right before the first fact that needs it. */
export async function* exportLines(
  shelf: Shelf,
  heads: readonly FactId[],
  without: readonly FactId[],
  withBlobs: boolean,
): AsyncIterable<string> {
  const told = new Set<Digest>();
  for await (const lines of verified(shelf, heads, without)) {
    for (const line of lines) {
      for (const digest of withBlobs ? digestsOf(line) : []) {
        if (told.has(digest)) continue;
        told.add(digest);
        const bytes = soundBlob(shelf, digest);
        const erasure = bytes === undefined ? shelf.erased(digest) : undefined;
        if (erasure !== undefined && !agrees(erasure, (await shelf.lines([erasure.fact]))[0]))
          throw new DamageError(
            `the erasure of ${digest}`,
            "it does not say what the fact says that erased it",
          );
        if (bytes !== undefined)
          yield `{"blob":"${digest}","data":"${Buffer.from(bytes).toString("base64")}"}`;
        else if (erasure !== undefined)
          yield JSON.stringify({
            erased: digest,
            fact: erasure.fact,
            by: erasure.by,
            at: erasure.at,
            why: erasure.why,
          });
      }
      yield line;
    }
  }
}

/**
 * The history of a shelf, held against the ids that the facts and the heads name: a line that was altered or
 * left out is an error, not another history. The first bits of an id are enough to tell damage.
 */
export async function* verified(
  shelf: Shelf,
  heads: readonly FactId[],
  without: readonly FactId[] = [],
): AsyncIterable<readonly string[]> {
  const met = new Set<number>();
  for await (const lines of shelf.history(heads, without)) {
    for (const line of lines) {
      for (const parent of parentsOf(line))
        if (!met.has(bitsOf(parent))) await missing(shelf, parent, without);
      met.add(bitsOf(digestOf(line)));
    }
    yield lines;
  }
  for (const head of heads) if (!met.has(bitsOf(head))) await missing(shelf, head, without);
}

/** What is not among the lines must be in the past that was left out. */
async function missing(shelf: Shelf, id: FactId, without: readonly FactId[]): Promise<void> {
  if (without.length > 0 && (await shelf.lines([id]))[0] !== undefined) return;
  throw new DamageError(`the fact ${id}`, "it is missing or altered");
}

function bitsOf(id: FactId): number {
  return Number.parseInt(id.slice(0, 12), 16);
}

/** The bytes of a blob, as they were written. */
export function soundBlob(shelf: Shelf, digest: Digest): Uint8Array | undefined {
  const bytes = shelf.blob(digest);
  if (bytes !== undefined && digestOf(bytes) !== digest)
    throw new DamageError(`the blob ${digest}`, "its bytes are not those that were written");
  return bytes;
}

/**
 * Takes in lines in the order they come. A line that cannot be trusted stops the import with its number;
 * what came in earlier commits stays, and importing again passes over it.
 */
export async function importLines(
  shelf: Shelf,
  source: string | Iterable<string> | AsyncIterable<string>,
  options: ImportOptions,
): Promise<{ report: Imported; last: FactId | undefined }> {
  const intake = new Intake(shelf, options.progress);
  for await (const raw of typeof source === "string" ? source.split("\n") : source) {
    const line = raw.endsWith("\n") ? raw.slice(0, -1) : raw;
    intake.number += 1;
    // A text that ends with a newline splits into one empty piece more than it has lines.
    if (line !== "") await intake.take(line);
  }
  await intake.finish();
  if (options.head !== undefined && !intake.met.has(options.head)) {
    throw new RecordError(
      `the lines end without the session ${options.head}`,
      { head: options.head, line: intake.number },
      "the file was cut off or is another one; what it has is imported",
    );
  }
  return { report: intake.report(), last: intake.last };
}

class Intake {
  number = 0;
  last: FactId | undefined;
  /** Every id among the lines, and whether some line comes from it. */
  readonly met = new Map<FactId, boolean>();
  readonly #shelf: Shelf;
  readonly #progress: ((facts: number) => void) | undefined;
  #facts: { id: FactId; line: string; number: number }[] = [];
  #blobs: Blob[] = [];
  /** Held to the end: the fact that erased comes after what it erased, and both must say the same. */
  readonly #erasures: { readonly erasure: Erasure; readonly number: number }[] = [];
  #bytes = 0;
  readonly #counts = { written: 0, known: 0, blobs: 0, refused: 0 };

  constructor(shelf: Shelf, progress: ((facts: number) => void) | undefined) {
    this.#shelf = shelf;
    this.#progress = progress;
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

  #takeBlob(line: string): void {
    const { blob: digest, data } = parse(line);
    if (typeof digest !== "string" || !ID.test(digest) || typeof data !== "string")
      throw new RecordError("this blob line does not say blob and data");
    const bytes = Buffer.from(data, "base64");
    // Buffer passes over what is not base64; other readers may not.
    if (bytes.toString("base64") !== data)
      throw new RecordError(`the content of the blob ${digest} is not base64`, { blob: digest });
    if (digestOf(bytes) !== digest)
      throw new RecordError(`the content of the blob ${digest} is not what its digest says`, {
        blob: digest,
      });
    this.#bytes += bytes.length;
    this.#counts.blobs += 1;
    if (this.#shelf.erased(digest) !== undefined) this.#counts.refused += 1;
    this.#blobs.push({ digest, bytes });
  }

  #takeErasure(line: string): void {
    const { erased: digest, fact, by, at, why } = parse(line);
    if (
      typeof digest !== "string" ||
      !ID.test(digest) ||
      ![fact, by, at, why].every((field) => typeof field === "string")
    )
      throw new RecordError("this erasure line does not say erased, fact, by, at and why");
    // It tells why content is missing; it is no order to erase what is here.
    if (this.#shelf.blob(digest) === undefined)
      this.#erasures.push({ erasure: { digest, fact, by, at, why } as Erasure, number: this.number });
  }

  async finish(): Promise<void> {
    await this.flush();
    if (this.#erasures.length === 0) return;
    const lines = await this.#shelf.lines(this.#erasures.map(({ erasure }) => erasure.fact));
    for (const [index, { erasure, number }] of this.#erasures.entries()) {
      if (!agrees(erasure, lines[index]))
        throw located(
          new RecordError(`the erasure of ${erasure.digest} is not what the fact ${erasure.fact} says`, {
            fact: erasure.fact,
          }),
          number,
        );
    }
    await this.#shelf.commit({ facts: [], blobs: [], erase: this.#erasures.map(({ erasure }) => erasure) });
  }

  async flush(): Promise<void> {
    const facts = this.#facts;
    if (facts.length === 0 && this.#blobs.length === 0) return;
    const committed = await this.#shelf.commit({ facts, blobs: this.#blobs });
    this.#facts = [];
    this.#blobs = [];
    this.#bytes = 0;
    if (committed.outcome === "orphan") {
      const line = facts.find((fact) => fact.id === committed.id);
      throw new RecordError(
        `line ${line?.number} comes from ${committed.parent}, which is not there: an earlier line was altered, left out or moved`,
        { line: line?.number ?? 0, parent: committed.parent },
        "import a whole export, parents before children; recover(url, target) saves what is intact",
      );
    }
    if (committed.outcome === "done") {
      this.#counts.written += committed.written;
      this.#counts.known += facts.length - committed.written;
    }
    this.#progress?.(this.#counts.written + this.#counts.known);
  }

  report(): Imported {
    return { ...this.#counts, heads: [...this.met].filter(([, extended]) => !extended).map(([id]) => id) };
  }
}

/** Brings over what `from` has: the other side is told what is known here, so that only the rest travels. */
export async function syncStores(from: Store, to: Store, names: boolean): Promise<Imported> {
  const theirs = await from.names();
  const wanted: FactId[] = [];
  for (const { id } of theirs) if (!wanted.includes(id) && !(await to.has(id))) wanted.push(id);
  const shared: FactId[] = [];
  for (const { id } of await to.names()) if (await from.has(id)) shared.push(id);
  const report: Imported =
    wanted.length === 0
      ? { written: 0, known: 0, blobs: 0, refused: 0, heads: [] }
      : await to.import(from.export(wanted, { without: shared }));
  // A name moves only forward: where both sides went on, it stays, and the other side's head is in the report.
  for (const { name, id } of names ? theirs : []) {
    await to.point(name, id).catch((error: unknown) => {
      if (!(error instanceof RathError) || (error.code !== "name-conflict" && error.code !== "name-fenced"))
        throw error;
    });
  }
  return report;
}

/** Whether an erasure is what its fact says. The fact may be elsewhere; then the erasure is all there is to know. */
export function agrees(erasure: Erasure, line: string | undefined): boolean {
  if (line === undefined) return ID.test(erasure.fact);
  const fact = readFact(line, undefined) as {
    readonly type: string;
    readonly digests?: readonly Digest[];
    readonly why?: string;
    readonly by: string;
    readonly at: string;
  };
  return (
    fact.type === "content-erase" &&
    fact.by === erasure.by &&
    fact.at === erasure.at &&
    fact.why === erasure.why &&
    fact.digests?.includes(erasure.digest) === true
  );
}

function parse(line: string): { [field: string]: Json } {
  try {
    return JSON.parse(line);
  } catch {
    throw new RecordError("it is not JSON");
  }
}

function located(error: unknown, number: number): unknown {
  if (!(error instanceof RecordError)) return error;
  return new RecordError(
    `line ${number}: ${String(error.data.reason)}`,
    { ...error.data, line: number },
    error.hint,
  );
}
