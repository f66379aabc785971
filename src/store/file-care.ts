import { hash } from "node:crypto";
import { closeSync, openSync } from "node:fs";
import { type FactId, RathError } from "../session/index.js";
import { breath } from "./breath.js";
import { writeFileStore } from "./file-backup.js";
import { type BlobFolder, namesIn } from "./file-blobs.js";
import type { KeyFile } from "./file-keys.js";
import { linesIn, problemOf } from "./file-lines.js";
import type { PutLog } from "./file-puts.js";
import type { SnapshotFolder } from "./file-snapshots.js";
import type { FolderState } from "./file-state.js";
import { removable } from "./removal.js";
import type { Finding, Removal } from "./shelf.js";

/** What a file store is made of. */
export type Parts = {
  readonly path: string;
  readonly state: FolderState;
  readonly blobs: BlobFolder;
  readonly puts: PutLog;
  readonly keys: KeyFile;
  readonly snapshots: SnapshotFolder;
};

/**
 * Removes facts, blobs and keys. What something that stays still needs is kept: since the caller decided what
 * to remove, another process may have built on it. For holders of the lock.
 */
export function removeFrom(parts: Parts, what: Removal): void {
  const { state, blobs, puts, keys, snapshots } = parts;
  if (what.ids !== undefined && what.ids.length > 0) {
    const { index } = state.facts;
    const rowsOf = (ids: readonly (FactId | null)[]): number[] =>
      ids.map((id) => (id === null ? -1 : index.row(id))).filter((row) => row >= 0);
    const goes = index.removable(
      rowsOf(what.ids),
      rowsOf([...state.book.names.values()].map(({ head }) => head)),
    );
    if (goes.includes(1)) state.replaceFacts(goes);
    snapshots.drop(what.ids.filter((id) => state.facts.index.row(id) < 0));
  }
  if (what.digests !== undefined && what.digests.length > 0) {
    blobs.drop(
      removable(what, {
        lines: () => everyLine(state),
        blob: (digest) => blobs.read(digest),
        isErased: (digest) => state.book.erased.has(digest),
        putSince: (since) => puts.since(since),
      }),
    );
    puts.tidy();
  }
  if (what.keys !== undefined) keys.remove(what.keys);
  if (what.snapshots) snapshots.drop(snapshots.ids());
}

function* everyLine({ facts }: FolderState): Generator<string, void> {
  const { count } = facts.index;
  for (let row = 0; row < count; row += 1000)
    yield* facts.read(Array.from({ length: Math.min(1000, count - row) }, (_, offset) => row + offset));
}

/** Says what a copy holds now, and returns the way to write it, while the store goes on. */
export function backUpFolder(parts: Parts): (path: string) => Promise<void> {
  const { state, blobs, keys, snapshots } = parts;
  const fd = openSync(state.facts.log.path, "r");
  const { mark } = state;
  const changes = [...state.book.changes()];
  const secrets = [...keys.all()];
  const digests = [...blobs.files()].flat().flatMap(({ digest }) => digest ?? []);
  return async (path) => {
    try {
      await writeFileStore(path, {
        facts: linesOf(fd, mark.bytes),
        mark,
        changes,
        keys: secrets,
        blobs: pairs(digests, (digest) => blobs.read(digest)),
        snapshots: pairs([...snapshots.ids()], (id) => snapshots.read(id)),
      });
    } finally {
      closeSync(fd);
    }
  };
}

function* linesOf(fd: number, size: number): Generator<Uint8Array, void> {
  for (const { bytes } of linesIn(fd, 0, size)) yield Buffer.concat([bytes, Buffer.from("\n")]);
}

function* pairs<Value>(
  ids: readonly string[],
  read: (id: string) => Value | undefined,
): Generator<readonly [string, Value], void> {
  for (const id of ids) {
    const value = read(id);
    // Erased or collected since the copy began.
    if (value !== undefined) yield [id, value];
  }
}

const EXPECTED =
  /^((facts|names|erased|keys|puts)\.jsonl(\.tmp)?|store\.json(\.tmp)?|lock(-journal)?|blobs|snapshots|torn-.*\.txt)$/;

/** Reads every file again and compares it with what it was when it was written. */
export async function* examineFolder({
  path,
  state,
  blobs,
  keys,
  snapshots,
}: Parts): AsyncGenerator<Finding, void> {
  for (const name of namesIn(path))
    if (!EXPECTED.test(name)) yield { place: name, problem: "it does not belong to the store" };
  yield* examineFacts(state);
  yield* state.examineNames();
  for (const files of blobs.files()) {
    for (const { name, digest } of files) {
      const place = `blobs/${name}`;
      if (digest === undefined) {
        if (name !== "blob.tmp") yield { place, problem: "it does not belong to the store" };
        continue;
      }
      const bytes = blobs.read(digest);
      if (bytes !== undefined && hash("sha256", bytes, "hex") !== digest)
        yield { place, problem: "its content is not what was written" };
      if (bytes !== undefined && state.book.erased.has(digest))
        yield { place, problem: "it was erased, but is still there" };
    }
    await breath();
  }
  const listed = new Set(snapshots.ids().map((id) => `${id}.json`));
  for (const name of namesIn(snapshots.path))
    if (!listed.has(name) && !name.endsWith(".tmp"))
      yield { place: `snapshots/${name}`, problem: "it does not belong to the store" };
  try {
    keys.all();
  } catch (error) {
    if (!(error instanceof RathError)) throw error;
    yield { place: String(error.data.place), problem: String(error.data.problem) };
  }
}

async function* examineFacts(state: FolderState): AsyncGenerator<Finding, void> {
  const fd = openSync(state.facts.log.path, "r");
  const { index } = state.facts;
  try {
    const { mark } = state;
    let number = 0;
    let end = 0;
    for (const { bytes, start, complete } of linesIn(fd, 0, mark.bytes)) {
      number += 1;
      end = start + bytes.length + (complete ? 1 : 0);
      const known = index.rowOf(hash("sha256", bytes, "buffer")) >= 0;
      const problem = complete
        ? (problemOf(bytes) ?? (known ? undefined : "the line is not the one that was written"))
        : "it is cut off: its newline is missing";
      if (problem !== undefined) yield { place: `facts.jsonl:${number}`, problem };
      if (number % 1000 === 0) await breath();
    }
    if (end < mark.bytes)
      yield {
        place: `facts.jsonl:${number + 1}`,
        problem: `the last ${mark.bytes - end} bytes that were written are missing`,
      };
  } finally {
    closeSync(fd);
  }
}
