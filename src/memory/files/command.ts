import { clip, compareText, defined } from "../../util/index.js";
import type { File, Folder } from "./folder.js";
import { foldersOf, isUnder, MemoryFileError, pathInside, pathOf } from "./path.js";

/** A command of the model, as it is documented for this tool. */
export type Command =
  | { readonly command: "view"; readonly path: string; readonly view_range?: readonly [number, number] }
  | { readonly command: "create"; readonly path: string; readonly file_text: string }
  | {
      readonly command: "str_replace";
      readonly path: string;
      readonly old_str: string;
      readonly new_str?: string;
    }
  | {
      readonly command: "insert";
      readonly path: string;
      readonly insert_line: number;
      readonly insert_text: string;
    }
  | { readonly command: "delete"; readonly path: string }
  | { readonly command: "rename"; readonly old_path: string; readonly new_path: string };

/** The fields that a command cannot do without. */
const NEEDED: { readonly [command in Command["command"]]: readonly string[] } = {
  view: ["path"],
  create: ["path", "file_text"],
  str_replace: ["path", "old_str"],
  insert: ["path", "insert_line", "insert_text"],
  delete: ["path"],
  rename: ["old_path", "new_path"],
};

/** Does a command, and says what the model reads. */
export async function perform(given: Command, folder: Folder): Promise<string> {
  const missing = NEEDED[given.command].filter((field) => (given as Fields)[field] === undefined);
  if (missing.length > 0)
    throw new MemoryFileError(
      "command",
      `Error: The command ${given.command} needs ${missing.join(" and ")}`,
      `call it again with ${NEEDED[given.command].join(", ")}`,
      { command: given.command, missing },
    );
  const act = COMMANDS[given.command] as (command: Command, folder: Folder) => Promise<string>;
  return act(given, folder);
}

const COMMANDS: {
  readonly [Name in Command["command"]]: (given: Of<Name>, folder: Folder) => Promise<string>;
} = { view, create, str_replace: replace, insert, delete: remove, rename };

type Fields = { readonly [field: string]: unknown };
type Of<Name extends Command["command"]> = Extract<Command, { readonly command: Name }>;

async function view({ path: given, view_range: range }: Of<"view">, folder: Folder): Promise<string> {
  const path = pathOf(given);
  const file = await folder.file(path);
  const head = await folder.head();
  if (file !== undefined) {
    const text = viewOf(file, range);
    folder.record(path, head, [file], true);
    return text;
  }
  if (!(await folder.isFolder(path))) throw noSuch(given);
  const files = await folder.under(path);
  folder.record(path, head, files, false);
  return listingOf(path, files);
}

async function create({ path: given, file_text: text }: Of<"create">, folder: Folder): Promise<string> {
  const path = pathInside(given, "create a file at");
  const there = await folder.file(path);
  const done = `File created successfully at: ${given}`;
  if (there !== undefined && folder.isDone(there.memory)) return done;
  if (there !== undefined || (await folder.isFolder(path))) throw exists(`File ${given}`, path);
  await requireFolders(path, folder);
  await folder.requireRoom();
  return said(done, await folder.write(path, text));
}

async function replace(
  { path: given, old_str: old, new_str: fresh = "" }: Of<"str_replace">,
  folder: Folder,
): Promise<string> {
  const file = await fileAt(given, folder);
  const edited = "The memory file has been edited.";
  if (folder.isDone(file.memory)) return edited;
  const first = old === "" ? -1 : file.text.indexOf(old);
  if (first < 0)
    throw new MemoryFileError(
      "text",
      `No replacement was performed, old_str \`${clip(old, 200)}\` did not appear verbatim in ${given}.`,
      "view the file, and copy old_str exactly",
    );
  const lines = occurrences(file.text, old);
  if (lines.length > 1)
    throw new MemoryFileError(
      "text",
      `No replacement was performed. Multiple occurrences of old_str \`${clip(old, 200)}\` in lines: ${lines.slice(0, 50).join(", ")}. Please ensure it is unique`,
      "copy more of what is around it",
      { lines: lines.slice(0, 50) },
    );
  const text = file.text.slice(0, first) + fresh + file.text.slice(first + old.length);
  const waits = await folder.revise(file, text, "words in it were replaced");
  const snippet = snippetOf(text, lineAt(text, first), linesOf(fresh).length || 1);
  return said(snippet === "" ? edited : `${edited}\n${snippet}`, waits);
}

async function insert({ path: given, insert_line: line, insert_text: added }: Of<"insert">, folder: Folder) {
  const file = await fileAt(given, folder);
  const edited = `The file ${given} has been edited.`;
  if (folder.isDone(file.memory)) return edited;
  const lines = linesOf(file.text);
  if (!Number.isSafeInteger(line) || line < 0 || line > lines.length)
    throw new MemoryFileError(
      "line",
      `Error: Invalid \`insert_line\` parameter: ${line}. It should be within the range of lines of the file: [0, ${lines.length}]`,
      "the number of the line before it, 0 for the beginning",
      { lines: lines.length },
    );
  if (added === "")
    throw new MemoryFileError("text", "Error: There is no insert_text to insert", "insert_text: a text");
  const ended = (text: string): string => (text === "" || text.endsWith("\n") ? text : `${text}\n`);
  const before = lines.slice(0, line).join("\n");
  const after = lines.slice(line).join("\n") + (file.text.endsWith("\n") && line < lines.length ? "\n" : "");
  // A line of its own: it ends what stands before it, and itself where something stands after it.
  const text = `${line === 0 ? "" : `${before}\n`}${line < lines.length || file.text.endsWith("\n") ? ended(added) : added}${after}`;
  return said(edited, await folder.revise(file, text, `something was inserted after line ${line}`));
}

async function remove({ path: given }: Of<"delete">, folder: Folder): Promise<string> {
  const path = pathInside(given, "delete");
  const files = await filesAt(path, folder);
  if (files.length === 0 && !(await folder.isGone(path))) throw noSuch(given);
  for (const file of files) await folder.remove(file, `${file.path} was deleted`);
  return `Successfully deleted ${given}`;
}

/** Each file is written at its new path because of what it was at the old one, and then taken away there. */
async function rename({ old_path: old, new_path: fresh }: Of<"rename">, folder: Folder): Promise<string> {
  const [from, to] = [pathInside(old, "rename"), pathInside(fresh, "rename something to")];
  const renamed = `Successfully renamed ${old} to ${fresh}`;
  const files = await filesAt(from, folder);
  const there = await filesAt(to, folder);
  if (files.length === 0 && there.some(({ memory }) => folder.isDone(memory))) return renamed;
  if (files.length === 0) throw noSuch(old);
  if (there.some(({ memory }) => !folder.isDone(memory))) throw exists(`The destination ${fresh}`, to);
  if (isUnder(to, from))
    throw new MemoryFileError(
      "path",
      `Error: Cannot rename ${old} to a path inside itself`,
      "another new_path",
    );
  const paths = files.map((file) => pathOf(to + file.path.slice(from.length)));
  await requireFolders(to, folder);
  let waits = false;
  for (const [place, file] of files.entries()) {
    const path = paths[place] as string;
    const { memory, text } = file;
    const held =
      there.find((one) => one.path === path) === undefined &&
      (await folder.write(path, text, {
        key: `to ${memory.id}`,
        because: memory.version,
        from: memory.id,
        ...defined({ importance: memory.importance }),
      }));
    // Until somebody agrees to the new one, the old one is all there is.
    if (held) waits = true;
    else await folder.remove(file, `${file.path} was renamed to ${path}`);
  }
  return said(renamed, waits);
}

async function fileAt(given: string, folder: Folder): Promise<File> {
  const file = await folder.file(pathInside(given, "edit"));
  if (file === undefined) throw noSuch(given);
  return file;
}

async function filesAt(path: string, folder: Folder): Promise<readonly File[]> {
  const file = await folder.file(path);
  return file === undefined ? folder.under(path) : [file];
}

/** Throws when a component of the path is a file. */
async function requireFolders(path: string, folder: Folder): Promise<void> {
  for (const above of foldersOf(path))
    if ((await folder.file(above)) !== undefined)
      throw new MemoryFileError("exists", `Error: ${above} is a file, not a directory`, "another path", {
        path: above,
      });
}

function said(text: string, waits: boolean): string {
  return waits ? `${text}\n[It waits for somebody to agree to it, and is not to be seen before.]` : text;
}

function noSuch(path: string): MemoryFileError {
  return new MemoryFileError(
    "missing",
    `Error: The path ${clip(path, 200)} does not exist. Please provide a valid path.`,
    "view /memories to see what is there",
    { path: clip(path, 200) },
  );
}

function exists(what: string, path: string): MemoryFileError {
  return new MemoryFileError("exists", `Error: ${what} already exists`, "edit it, or use another path", {
    path,
  });
}

/** The numbers of the lines in which a text begins. */
function occurrences(text: string, part: string): readonly number[] {
  const lines: number[] = [];
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length))
    lines.push(lineAt(text, at));
  return lines;
}

function lineAt(text: string, place: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < place; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}

/** Lines of a listing, and characters of a view: a model asks for the rest. */
const ENTRIES = 500;
const CHARACTERS = 60_000;
const DEEP = 2;
const AROUND = 4;

/** The content of a folder, two levels deep, in the documented form of this tool: a size and a path for each. */
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
  const isLine = (line: number): boolean =>
    Number.isSafeInteger(line) && line >= 1 && line <= Math.max(1, count);
  if (isLine(from) && isLine(end) && end >= from) return [from, Math.min(end, count)];
  throw new MemoryFileError(
    "line",
    `Error: Invalid \`view_range\` parameter: [${from}, ${to}]. It should be within the range of lines of the file: [1, ${count}]`,
    "view_range: [first, last], or [first, -1] up to the end",
    { lines: count },
  );
}

function numbered(lines: readonly string[], from: number, to: number) {
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
