import { readdirSync, readFileSync } from "node:fs";

/** The state of a process, as the kernel describes it in `/proc/<pid>/stat`. */
export type ProcessStat = {
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** When it began, in the kernel's ticks. Its number alone may belong to another process later. */
  readonly start: number;
};

/** The numbers of all processes; empty where the system does not list them. `root` is the `/proc` of a sandbox. */
export function processIds(root = "/proc"): readonly number[] {
  return namesIn(root)
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** undefined when the process is gone, or the system does not tell. */
export function processStat(pid: number, root = "/proc"): ProcessStat | undefined {
  const text = textIn(`${root}/${pid}/stat`);
  if (text === "") return undefined;
  // The process chooses its own name, which is in parentheses; the kernel wrote everything after the last one.
  const [state = "", ...numbers] = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [parent = 0, group = 0, session = 0] = numbers.map(Number);
  return { state, parent, group, session, start: Number(numbers[18]) };
}

/** The text of a file; empty when it cannot be read. */
export function textIn(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** The names in a directory; empty when it cannot be read. */
export function namesIn(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
