import { compareText } from "../../util/index.js";
import type { File } from "./folder.js";
import { isUnder, MemoryFileError } from "./path.js";

/** Lines of a listing, and characters of a view: a model asks for the rest. */
const ENTRIES = 500;
const CHARACTERS = 60_000;
const DEEP = 2;
const AROUND = 4;

/** What is in a folder, two levels deep, as it is documented for this tool: a size and a path for each. */
export function listingOf(folder: string, files: readonly File[]): string {
  const sizes = new Map<string, number>([[folder, 0]]);
  for (const { path, text } of files) {
    if (!isUnder(path, folder)) continue;
    const names = path.slice(folder.length + 1).split("/");
    if (names.some((name) => name.startsWith(".") || name === "node_modules")) continue;
    const bytes = Buffer.byteLength(text);
    sizes.set(folder, (sizes.get(folder) ?? 0) + bytes);
    for (let deep = 1; deep <= Math.min(DEEP, names.length); deep++) {
      const at = `${folder}/${names.slice(0, deep).join("/")}`;
      sizes.set(at, (sizes.get(at) ?? 0) + bytes);
    }
  }
  const [first, ...rest] = [...sizes].map(([path, bytes]) => `${sizeOf(bytes)}\t${path}`);
  const entries = rest.sort((one, other) =>
    compareText(one.split("\t")[1] ?? "", other.split("\t")[1] ?? ""),
  );
  const left = entries.length - ENTRIES;
  return [
    `Here're the files and directories up to ${DEEP} levels deep in ${folder}, excluding hidden items and node_modules:`,
    first,
    ...entries.slice(0, ENTRIES),
    ...(left > 0 ? [`[${left} more are not shown: view a directory in it.]`] : []),
  ].join("\n");
}

function sizeOf(bytes: number): string {
  if (bytes < 1024) return `${bytes}`;
  return bytes < 1024 ** 2 ? `${(bytes / 1024).toFixed(1)}K` : `${(bytes / 1024 ** 2).toFixed(1)}M`;
}

/** The lines of a text. A line end at the end ends the last line and begins none. */
export function linesOf(text: string): readonly string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  return text.endsWith("\n") ? lines.slice(0, -1) : lines;
}

/** A file with the numbers of its lines, or those of a range. */
export function viewOf({ path, text }: File, range?: readonly [number, number]): string {
  const lines = linesOf(text);
  const [from, to] = range === undefined ? [1, lines.length] : within(range, lines.length);
  const { shown, last } = numbered(lines, from, to);
  const left = last < to ? [`[Lines ${last + 1} to ${to} are not shown: view them with view_range.]`] : [];
  return [`Here's the content of ${path} with line numbers:`, ...shown, ...left].join("\n");
}

/** The lines around a change, for who made it. */
export function snippetOf(text: string, line: number, changed: number): string {
  const lines = linesOf(text);
  const { shown } = numbered(
    lines,
    Math.max(1, line - AROUND),
    Math.min(lines.length, line + changed - 1 + AROUND),
  );
  return shown.join("\n");
}

function within([from, to]: readonly [number, number], count: number): readonly [number, number] {
  const end = to === -1 ? count : to;
  if (
    Number.isSafeInteger(from) &&
    Number.isSafeInteger(end) &&
    from >= 1 &&
    from <= Math.max(1, count) &&
    end >= from &&
    end <= Math.max(1, count)
  )
    return [from, Math.min(end, count)];
  throw new MemoryFileError(
    "line",
    `Error: Invalid \`view_range\` parameter: [${from}, ${to}]. It should be within the range of lines of the file: [1, ${count}]`,
    "view_range: [first, last], or [first, -1] up to the end",
    { lines: count },
  );
}

function numbered(
  lines: readonly string[],
  from: number,
  to: number,
): { readonly shown: readonly string[]; readonly last: number } {
  const shown: string[] = [];
  let room = CHARACTERS;
  let last = from - 1;
  for (let number = from; number <= to; number++) {
    const line = `${String(number).padStart(6)}\t${lines[number - 1] ?? ""}`;
    room -= line.length + 1;
    if (room < 0 && shown.length > 0) break;
    shown.push(line);
    last = number;
  }
  return { shown, last };
}
