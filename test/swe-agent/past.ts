import type { Trajectory } from "./trajectory.js";

/** A stretch of a file as a recording shows it. */
export type Window = {
  readonly path: string;
  readonly total: number;
  readonly lines: ReadonlyMap<number, string>;
};

/** The windows in an observation, in the order they are printed: "[File: path (12 lines total)]", then "3:text". */
export function windowsIn(observation: string, root: string): readonly Window[] {
  const windows: { path: string; total: number; lines: Map<number, string> }[] = [];
  for (const line of observation.split("\n")) {
    const [, path, total] = /^\[File: (.*) \((\d+) lines total\)\]$/.exec(line) ?? [];
    const numbered = /^(\d+):(.*)$/.exec(line);
    if (path !== undefined)
      windows.push({ path: inside(path, root), total: Number(total), lines: new Map() });
    else if (numbered !== null) windows.at(-1)?.lines.set(Number(numbered[1]), numbered[2] ?? "");
  }
  return windows;
}

export function inside(path: string, root: string): string {
  return path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path;
}

/**
 * The lines of a file before anything was done to it, as far as a recording shows them: what was printed before the first
 * edit that was made, and what stands around the change in what was printed behind it, counted back by its hunk.
 */
export function linesBefore(
  { steps, root, submission, edited }: Trajectory,
  path: string,
): {
  readonly total: number;
  readonly lines: ReadonlyMap<number, string>;
} {
  const [, from, removed, , added] = (/^@@ -(\d+),(\d+) \+(\d+),(\d+) @@/m.exec(submission) ?? []).map(
    Number,
  );
  if (from === undefined || removed === undefined || added === undefined)
    throw new Error("the diff has no hunk");
  const lines = new Map<number, string>();
  let total = 0;
  let changed = false;
  const after = (number: number, text: string): void => {
    if (number < from) lines.set(number, text);
    else if (number >= from + added) lines.set(number - (added - removed), text);
  };
  for (const { action, observation } of steps) {
    const windows = windowsIn(observation, root).filter((window) => window.path === path);
    const refused = observation.includes("NOT been applied");
    const edits = action.type === "replace" || action.type === "lines";
    // Of an edit that was refused the last window is the file as it was.
    if (edits && !refused && windows.length > 0) changed = true;
    const window = windows.at(-1);
    if (window === undefined) continue;
    if (!changed) total = window.total;
    for (const [number, text] of window.lines) {
      if (changed) after(number, text);
      else lines.set(number, text);
    }
  }
  for (const view of edited)
    for (const [, number, text = ""] of view.matchAll(/^ *(\d+): ?(.*)$/gm)) after(Number(number), text);
  return { total, lines };
}

/**
 * A file made of the lines that are known. What is not known is a comment; lines that the recording does not show but that
 * must be there for the known ones to be a program, as they were, are given as `scaffold`.
 */
export function rebuilt(
  { total, lines }: { readonly total: number; readonly lines: ReadonlyMap<number, string> },
  scaffold: { readonly [line: number]: string },
): string {
  return Array.from({ length: total }, (_, at) => {
    const number = at + 1;
    const known = lines.get(number);
    if (known !== undefined && scaffold[number] !== undefined) throw new Error(`line ${number} is known`);
    return `${known ?? scaffold[number] ?? "# not in the recording"}\n`;
  }).join("");
}
