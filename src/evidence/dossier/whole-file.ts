import { createHash, randomBytes } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";

type Pieces = Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;

/** Lines of a record are short: so many bytes are written at once. */
const AT_ONCE = 1 << 20;

/**
 * Writes a file whole or not at all: under a secret name, synced, then moved. An existing name is not opened,
 * since it may be a planted link.
 */
export async function writeWhole(path: string, pieces: Pieces) {
  const aside = join(dirname(path), `rath-${randomBytes(12).toString("hex")}.part`);
  const hash = createHash("sha256");
  let bytes = 0;
  const file = await open(aside, "wx");
  try {
    try {
      let waiting: Uint8Array[] = [];
      let length = 0;
      const flush = async (): Promise<void> => {
        const buffer = Buffer.concat(waiting);
        hash.update(buffer);
        bytes += buffer.length;
        [waiting, length] = [[], 0];
        for (let from = 0; from < buffer.length; ) from += (await file.write(buffer, from)).bytesWritten;
      };
      for await (const piece of pieces) {
        const next = typeof piece === "string" ? Buffer.from(piece, "utf8") : piece;
        waiting.push(next);
        length += next.length;
        if (length > AT_ONCE) await flush();
      }
      await flush();
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(aside, path);
  } catch (error) {
    await rm(aside, { force: true });
    throw error;
  }
  return { bytes, digest: hash.digest("hex") };
}
