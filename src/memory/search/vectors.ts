import { setImmediate as turn } from "node:timers/promises";
import { patiently } from "../derived-file.js";
import type { Embedder } from "../embedding/embedder.js";
import { refusing } from "../error.js";
import type { Connections } from "./database.js";
import { memoryFrom, textDigest } from "./fold.js";
import type { Live } from "./live.js";
import { MEANT_CHARACTERS, quantised } from "./nearest.js";
import type { SyncOptions } from "./sync.js";

/** Texts that an embedder is given at once. */
const BATCH = 32;

/** Embeds the live memories without a vector, and keeps it by text. No lock is held meanwhile. */
export async function fillVectors(
  { write, read }: Connections,
  live: Live,
  embedder: Embedder,
  { signal, progress }: SyncOptions,
): Promise<void> {
  const total = live.lacking.size;
  let done = 0;
  while (live.lacking.size > 0) {
    signal?.throwIfAborted();
    let batch = [...head(live.lacking, BATCH)].map(([row, digest]) => {
      const text = memoryFrom(read, live.ids[live.placeOf(row) as number] as string)?.text ?? "";
      // Not the text that is meant: another process has moved the file, and this row is loaded again with it.
      if (Buffer.compare(textDigest(text), digest) !== 0) live.lacking.delete(row);
      return { row, digest, text: text.slice(0, MEANT_CHARACTERS).toWellFormed() };
    });
    batch = batch.filter(({ row }) => live.lacking.has(row));
    if (batch.length === 0) continue;
    const vectors = await embedder.embed(
      batch.map(({ text }) => text),
      signal,
    );
    const values = batch.map((_, place) => bytesIn(quantised(vectors[place] ?? new Float32Array(0))));
    const length = values[0]?.byteLength ?? 0;
    if (length === 0 || values.some(({ byteLength }) => byteLength !== length))
      throw refusing(`tell what memories mean by "${embedder.name}"`)(
        "its vectors are not all of one length",
        "give each text a vector, all of the same length",
      );
    const known = live.neighbours.dimensions;
    if (known > 0 && length !== known) await forgetVectors({ write, read }, live, embedder, signal);
    await patiently(() => write.exec("BEGIN IMMEDIATE"), signal);
    batch.forEach(({ digest }, place) => {
      const sql = "INSERT OR IGNORE INTO vector (embedder, digest, value) VALUES (?, ?, ?)";
      write.run(sql, embedder.name, digest, values[place] as Uint8Array);
    });
    write.exec("COMMIT");
    batch.forEach(({ row }, place) => {
      live.give(row, values[place] as Uint8Array);
    });
    done += batch.length;
    progress?.(done, total);
    await turn();
  }
}

/** An embedder of the same name gives vectors of another length now: those that were kept are of no use. */
export async function forgetVectors(
  { write, read }: Pick<Connections, "write" | "read">,
  live: Live,
  embedder: Embedder,
  signal?: AbortSignal,
): Promise<void> {
  await patiently(() => write.run("DELETE FROM vector WHERE embedder = ?", embedder.name), signal);
  live.forget(read.all("SELECT row, digest FROM memory WHERE status = 'live'"));
}

function bytesIn(vector: Int8Array): Uint8Array {
  return new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
}

function* head<Key, Value>(map: ReadonlyMap<Key, Value>, most: number): Generator<[Key, Value]> {
  let count = 0;
  for (const one of map) {
    if (count++ >= most) return;
    yield one;
  }
}
