import type { Limits } from "../spec.js";

/**
 * What sets the limits of one process and all it starts, in words of the shell. Data instead of address space: programs
 * reserve addresses by the gigabyte, and Node does not even start under such a limit.
 */
export function ulimits(limits: Required<Limits>, pids: boolean): string {
  const kilobytes = (bytes: number) => Math.max(1, Math.floor(bytes / 1024));
  const seconds = Math.max(1, Math.ceil(limits.cpu / 1000));
  return [
    `ulimit -c 0 -d ${kilobytes(limits.memory)} -f ${Math.floor(limits.file / 1024)}`,
    // First a signal that tells why; a second later one that cannot be caught.
    `ulimit -St ${seconds}; ulimit -Ht ${seconds + 1}`,
    // Process 1, the worker and what reports are counted too.
    ...(pids ? [`ulimit -u ${limits.pids + OWN_PROCESSES}`] : []),
  ].join("; ");
}

/** Processes of a sandbox that are ours. */
export const OWN_PROCESSES = 3;
