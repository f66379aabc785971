import { accessSync, constants, rmSync } from "node:fs";
import { join } from "node:path";
import type { Digest, FactId } from "../session/index.js";
import { StoreError } from "./error.js";
import { Batch } from "./file-batch.js";
import { BlobFolder } from "./file-blobs.js";
import { backUpFolder, examineFolder, type Parts, removeFrom } from "./file-care.js";
import { errnoOf, fileError, SyncFailure } from "./file-error.js";
import { makeFolder, markAsStore, replaceFile, whatIsAt } from "./file-folder.js";
import { KeyFile } from "./file-keys.js";
import { FileLock } from "./file-lock.js";
import { LogFile } from "./file-log.js";
import { PutLog } from "./file-puts.js";
import { SnapshotFolder } from "./file-snapshots.js";
import { FolderState } from "./file-state.js";
import type { FactIndex } from "./index-facts.js";
import type { NameIndex } from "./index-names.js";
import { type Draft, IndexShelf } from "./index-shelf.js";
import type { Finding, NameRecord, Removal } from "./shelf.js";

/** How long a writer waits for other processes before it gives up. */
const PATIENCE_MS = 10_000;
/** How often other processes' moves are looked for while someone listens. */
const POLL_MS = 100;

/** `alone`: not grouped with others, because it does its own writing. */
type Task = {
  readonly work: (draft: Draft) => unknown;
  readonly alone: boolean;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
};

/** A plain folder of JSON lines and blob files, for all processes of a machine. Durable at every commit. */
export class FileShelf extends IndexShelf {
  readonly url: string;
  readonly capabilities = { durability: "power-loss", writers: "one-host" } as const;
  readonly #path: string;
  readonly #state: FolderState;
  readonly #lock: FileLock | undefined;
  readonly #blobs: BlobFolder;
  readonly #puts: PutLog;
  readonly #keys: KeyFile;
  readonly #snapshots: SnapshotFolder;
  readonly #queue: Task[] = [];
  #draining: Promise<void> | undefined;
  #poll: NodeJS.Timeout | undefined;
  #closed = false;
  /** Why nothing can be written any more. */
  #stopped: StoreError | undefined;

  private constructor(path: string, url: string, state: FolderState, lock: FileLock | undefined) {
    super();
    this.#path = path;
    this.url = url;
    this.#state = state;
    this.#lock = lock;
    this.#blobs = new BlobFolder(join(path, "blobs"));
    this.#puts = new PutLog(join(path, "puts.jsonl"));
    this.#keys = new KeyFile(join(path, "keys.jsonl"));
    this.#snapshots = new SnapshotFolder(join(path, "snapshots"));
  }

  /** Opens a folder, or makes one. What cannot be written can still be read. */
  static async open(
    path: string,
    url = `file:${path}`,
    options: { readonly patience?: number } = {},
  ): Promise<FileShelf> {
    const lock = new FileLock(join(path, "lock"), options.patience ?? PATIENCE_MS);
    try {
      if (whatIsAt(path) === "store" && !isWritable(path))
        return new FileShelf(path, url, new FolderState(path, false), undefined);
      makeFolder(path);
      await lock.take();
      try {
        if (whatIsAt(path) === "room") markAsStore(path);
        for (const file of ["names.jsonl", "facts.jsonl"]) LogFile.create(join(path, file));
        for (const folder of ["blobs", "snapshots"]) makeFolder(join(path, folder));
        const shelf = new FileShelf(path, url, new FolderState(path, true), lock);
        shelf.#tidy();
        return shelf;
      } finally {
        lock.release();
      }
    } catch (error) {
      lock.close();
      throw fileError(error, path);
    }
  }

  protected get facts(): FactIndex {
    return this.#state.facts.index;
  }

  protected get book(): NameIndex {
    return this.#state.book;
  }

  protected refresh(): void {
    if (this.#closed) throw closedError(this.url);
    const moved = this.#guard(() => this.#state.refresh());
    // Later: whoever reads now does not expect listeners to run inside.
    if (moved.length > 0 && this.heard > 0) queueMicrotask(() => this.tell(moved));
  }

  protected read(rows: ArrayLike<number>): string[] {
    return this.#guard(() => this.#state.facts.read(rows));
  }

  protected transact<Result>(work: (draft: Draft) => Result): Promise<Result> {
    return this.#enqueue(work, false);
  }

  async saveSnapshot(id: FactId, snapshot: string): Promise<void> {
    await this.#enqueue(() => {
      if (this.facts.row(id) >= 0) this.#snapshots.write(id, snapshot);
    }, true);
  }

  protected snapshots(): Iterable<FactId> {
    return this.#guard(() => this.#snapshots.ids());
  }

  protected snapshot(id: FactId): string | undefined {
    return this.#guard(() => this.#snapshots.read(id));
  }

  blob(digest: Digest): Uint8Array | undefined {
    this.refresh();
    return this.book.erased.has(digest) ? undefined : this.#guard(() => this.#blobs.read(digest));
  }

  async *digests(): AsyncIterable<readonly Digest[]> {
    this.refresh();
    for (const files of this.#blobs.files()) {
      const digests = files.flatMap(({ digest }) => digest ?? []);
      if (digests.length > 0) yield digests;
    }
  }

  async putSince(since: number): Promise<Iterable<Digest>> {
    this.refresh();
    return this.#guard(() => [...this.#puts.since(since)]);
  }

  key(id: string): Uint8Array | undefined {
    this.refresh();
    const secret = this.#guard(() => this.#keys.all().get(id));
    return secret && Uint8Array.from(secret);
  }

  async remove(what: Removal): Promise<void> {
    await this.#enqueue(() => removeFrom(this.#parts(), what), true);
  }

  override listen(heard: (moved: readonly NameRecord[]) => void): () => void {
    const stop = super.listen(heard);
    this.#poll ??= setInterval(() => this.#look(), POLL_MS).unref();
    return () => {
      stop();
      if (this.heard > 0) return;
      clearInterval(this.#poll);
      this.#poll = undefined;
    };
  }

  async *examine(): AsyncIterable<Finding> {
    this.refresh();
    yield* examineFolder(this.#parts());
  }

  async backup(path: string): Promise<void> {
    this.refresh();
    // Only to know how much belongs to the copy is the lock needed: what is copied then never changes.
    const copy = await (this.#lock === undefined
      ? backUpFolder(this.#parts())
      : this.#enqueue(() => backUpFolder(this.#parts()), true));
    await copy(path);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#poll);
    while (this.#draining !== undefined) await this.#draining;
    this.#state.close();
    this.#lock?.close();
  }

  #enqueue<Result>(work: (draft: Draft) => Result, alone: boolean): Promise<Result> {
    if (this.#closed) return Promise.reject(closedError(this.url));
    if (this.#stopped !== undefined) return Promise.reject(this.#stopped);
    if (this.#lock === undefined)
      return Promise.reject(fileError(Object.assign(new Error("read-only"), { code: "EROFS" }), this.#path));
    return new Promise<Result>((resolve, reject) => {
      this.#queue.push({ work, alone, resolve: resolve as (result: unknown) => void, reject });
      // Not at once: what is queued in the same turn shares one lock and one sync.
      this.#draining ??= new Promise<void>((turn) => setImmediate(turn)).then(() => this.#drain());
    });
  }

  async #drain(): Promise<void> {
    const lock = this.#lock as FileLock;
    try {
      await lock.take();
    } catch (error) {
      for (const task of this.#queue.splice(0)) task.reject(error);
      this.#draining = undefined;
      return;
    }
    const tasks = this.#queue.splice(0);
    const settled: (() => void)[] = [];
    try {
      this.#runAll(tasks, settled);
    } finally {
      lock.release();
      this.#draining =
        this.#queue.length > 0
          ? new Promise<void>((turn) => setImmediate(turn)).then(() => this.#drain())
          : undefined;
      // Answered after the lock is released, so that nobody waits for what others do with the answer.
      for (const settle of settled) settle();
    }
  }

  #runAll(tasks: readonly Task[], settled: (() => void)[]): void {
    for (let from = 0; from < tasks.length; ) {
      let to = from + 1;
      if (!tasks[from]?.alone) while (to < tasks.length && !tasks[to]?.alone) to += 1;
      this.#runGroup(tasks.slice(from, to), settled);
      from = to;
    }
  }

  #runGroup(group: readonly Task[], settled: (() => void)[]): void {
    let batch: Batch | undefined;
    try {
      if (this.#stopped !== undefined) throw this.#stopped;
      const theirs = this.#state.refresh();
      settled.push(() => this.tell(theirs));
      this.#state.settle();
      batch = new Batch(this.#state);
      const { draft, moved } = batch;
      const answers = group.map(({ work }) => work(draft));
      this.#write(batch);
      settled.push(() => this.tell(moved));
      for (const [index, task] of group.entries()) settled.push(() => task.resolve(answers[index]));
    } catch (error) {
      this.#takeBack(batch, error);
      // One of them was too big for the disk, or was wrong; the others may still pass.
      if (batch !== undefined && group.length > 1 && this.#stopped === undefined)
        for (const task of group) this.#runGroup([task], settled);
      else for (const task of group) settled.push(() => task.reject(fileError(error, this.#path)));
    }
  }

  /** In this order, so that nothing is ever durable before what it refers to. */
  #write(batch: Batch): void {
    this.#puts.add(batch.puts);
    this.#blobs.write(batch.blobs);
    this.#keys.add(batch.keys);
    if (batch.lines.length > 0) this.#state.facts.log.append(Buffer.concat(batch.lines));
    if (batch.lines.length + batch.changes.length > 0) this.#state.append(batch.changes);
    batch.done = true;
    if (batch.changes.some((change) => "erased" in change || "revived" in change)) this.#finishErasures();
  }

  #takeBack(batch: Batch | undefined, error: unknown): void {
    try {
      if (batch?.done) throw error;
      batch?.undo();
    } catch (cause) {
      this.#stop(cause);
    }
    if (error instanceof SyncFailure) this.#stop(error);
  }

  #stop(cause: unknown): void {
    this.#stopped ??= new StoreError(
      "failed",
      `Writing to ${this.#path} failed at the disk.`,
      "reopen the store; everything acknowledged before is kept",
      { cause },
    );
  }

  /** The log has said what is erased; now the bytes go, and the list for human readers is written. */
  #finishErasures(): void {
    this.#blobs.drop(this.book.erased.keys());
    try {
      replaceFile(
        join(this.#path, "erased.jsonl"),
        [...this.book.erased.values()].map((erasure) => Buffer.from(`${JSON.stringify(erasure)}\n`)),
      );
    } catch (error) {
      // Nobody relies on the list, so a full disk does not make the erasure fail.
      if (errnoOf(error) !== "ENOSPC" && errnoOf(error) !== "EDQUOT") throw error;
    }
  }

  /** After a crash: finishes what was begun. For holders of the lock. */
  #tidy(): void {
    this.#state.settle();
    this.#state.compact();
    for (const file of [
      "facts.jsonl.tmp",
      "names.jsonl.tmp",
      "keys.jsonl.tmp",
      "erased.jsonl.tmp",
      "puts.jsonl.tmp",
      "blobs/blob.tmp",
    ])
      rmSync(join(this.#path, file), { force: true });
    if (this.book.erased.size > 0) this.#blobs.drop(this.book.erased.keys());
    this.#puts.tidy();
  }

  #look(): void {
    try {
      if (!this.#closed) this.refresh();
    } catch {
      // A listener cannot be told; whoever reads or writes next gets the error.
    }
  }

  #parts(): Parts {
    return {
      path: this.#path,
      state: this.#state,
      blobs: this.#blobs,
      puts: this.#puts,
      keys: this.#keys,
      snapshots: this.#snapshots,
    };
  }

  #guard<Result>(read: () => Result): Result {
    try {
      return read();
    } catch (error) {
      throw fileError(error, this.#path);
    }
  }
}

function closedError(url: string): StoreError {
  return new StoreError("closed", `The store ${url} is closed.`, "open it again with openStore(url)");
}

function isWritable(path: string): boolean {
  try {
    for (const part of ["", "names.jsonl", "facts.jsonl"]) accessSync(join(path, part), constants.W_OK);
    return true;
  } catch (error) {
    return errnoOf(error) === "ENOENT";
  }
}
