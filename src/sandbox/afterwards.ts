import type { Readable } from "node:stream";

/** More than a pipe or a socket holds: what a command wrote before it ended is always read. */
export const AFTERWARDS_BYTES: number = 1024 ** 2;
const PAUSE_MILLISECONDS = 1_000;

/**
 * From now on reads a stream of output slowly, because its command is over. A process that the command left behind and that
 * writes without end then waits for us most of the time; it neither keeps us busy nor dies of writing into nothing.
 */
export function readSlowly(stream: Readable): void {
  let count = 0;
  stream.on("data", (bytes: Buffer) => {
    count += bytes.length;
    if (count < AFTERWARDS_BYTES) return;
    count = 0;
    stream.pause();
    setTimeout(() => stream.resume(), PAUSE_MILLISECONDS).unref();
  });
}
