import { randomInt } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";

/** A number that nobody else sleeps for: by it, a process is found on the host. */
export function longTime(): number {
  return randomInt(100_000_000, 999_999_999);
}

/** The processes of this machine that have a word among their arguments; undefined where that cannot be seen. */
export function processesWith(word: string | number): readonly number[] | undefined {
  let names: readonly string[];
  try {
    names = readdirSync("/proc");
  } catch {
    return undefined;
  }
  return names.filter((name) => /^\d+$/.test(name) && argumentsOf(name).includes(`${word}`)).map(Number);
}

function argumentsOf(process: string): readonly string[] {
  try {
    return readFileSync(`/proc/${process}/cmdline`, "utf8").split("\0");
  } catch {
    // It ended meanwhile, or is not ours to look at.
    return [];
  }
}
