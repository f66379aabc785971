import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import type { Digest, FactId } from "../session/index.js";
import { breath } from "./breath.js";
import { StoreError } from "./error.js";
import { BlobFolder, namesIn } from "./file-blobs.js";
import { fileError } from "./file-error.js";
import {
  makeFolder,
  markAsStore,
  replaceFile,
  syncFile,
  syncFolder,
  together,
  writeAll,
} from "./file-folder.js";
import { lineOf } from "./file-keys.js";
import { type Mark, writeLog } from "./file-names.js";
import type { Change } from "./index-names.js";

/** All that a store holds, as it goes into a folder. */
export type Contents = {
  readonly facts: Iterable<Uint8Array>;
  readonly mark: Mark;
  readonly changes: Iterable<Change>;
  readonly blobs: Iterable<readonly [Digest, Uint8Array]>;
  readonly keys: Iterable<readonly [string, Uint8Array]>;
  readonly snapshots: Iterable<readonly [FactId, string]>;
};

/** Writes a new file store. What makes it one (`store.json`) comes last, so half a copy never opens as a store. */
export async function writeFileStore(path: string, contents: Contents): Promise<void> {
  try {
    if (namesIn(path).length > 0) {
      throw new StoreError(
        "not-a-store",
        `Cannot write a copy to ${path}: something is there.`,
        "give a path that does not exist",
        { data: { path } },
      );
    }
    makeFolder(path);
    makeFolder(join(path, "blobs"));
    makeFolder(join(path, "snapshots"));
    await writeFacts(join(path, "facts.jsonl"), contents.facts);
    const blobs = new BlobFolder(join(path, "blobs"));
    for (const [digest, bytes] of contents.blobs) {
      blobs.write([{ digest, bytes }]);
      await breath();
    }
    const keys = [...contents.keys].map(([id, secret]) => lineOf(id, secret));
    if (keys.length > 0) replaceFile(join(path, "keys.jsonl"), keys, 0o600);
    for (const [id, snapshot] of contents.snapshots)
      replaceFile(join(path, "snapshots", `${id}.json`), [Buffer.from(snapshot)]);
    const changes = [...contents.changes];
    const erased = changes.flatMap((change) =>
      "erased" in change ? [Buffer.from(`${JSON.stringify(change.erased)}\n`)] : [],
    );
    if (erased.length > 0) replaceFile(join(path, "erased.jsonl"), erased);
    replaceFile(join(path, "names.jsonl"), writeLog(contents.mark, changes));
    syncFolder(path);
    markAsStore(path);
  } catch (error) {
    throw fileError(error, path);
  }
}

async function writeFacts(path: string, chunks: Iterable<Uint8Array>): Promise<void> {
  const fd = openSync(path, "wx");
  try {
    let size = 0;
    for (const chunk of together(chunks)) {
      writeAll(fd, chunk, size);
      size += chunk.length;
      await breath();
    }
    syncFile(fd);
  } finally {
    closeSync(fd);
  }
}
