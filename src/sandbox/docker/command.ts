import { constants as system } from "node:os";
import { bytesOfName, namesOf } from "../path.js";
import { WORKSPACE } from "./script.js";

/** Where a command runs, as a path of the container. */
export function directoryOf(directory: string | undefined): Uint8Array {
  if (directory?.startsWith("/") === true) return bytesOfName(directory);
  return bytesOfName([WORKSPACE, ...namesOf(directory ?? "")].join("/"));
}

/** The signal that a command died of, as the engine tells it: or the command has chosen a code that looks so. */
export function signalIn(code: number): string | undefined {
  if (code <= 128) return undefined;
  return Object.entries(system.signals).find(([, number]) => number === code - 128)?.[0];
}
