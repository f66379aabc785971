import { type Json, RathError } from "../../session/index.js";

/** The folder that everything is in. */
export const ROOT = "/memories";

const LONGEST = 400;
const DEEPEST = 12;
const LONGEST_NAME = 128;
// Control characters, what turns the direction of writing, and what is not there to the eye: two paths that look the same.
const ODD = /[\ufffd\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]/u;

/** The canonical path of a file or folder under `/memories`. A path that may lead out is refused. */
export function pathOf(given: unknown): string {
  if (typeof given !== "string") throw refused(String(given), "it is not a text");
  if (given.length > LONGEST) throw refused(given, `it has more than ${LONGEST} characters`);
  if (!given.isWellFormed() || ODD.test(given)) throw refused(given, "it has characters that no name has");
  if (given.includes("\\")) throw refused(given, "it has a backslash");
  if (/%[0-9a-f]{2}/i.test(given)) throw refused(given, "it has an encoded character");
  const path = given.normalize("NFC").replace(/(?<=.)\/$/, "");
  if (path === ROOT) return path;
  if (!path.startsWith(`${ROOT}/`)) throw refused(given, `it is not under ${ROOT}`);
  const names = path.slice(ROOT.length + 1).split("/");
  if (names.length > DEEPEST) throw refused(given, `it is more than ${DEEPEST} folders deep`);
  for (const name of names) {
    if (name === "" || name === "." || name === "..")
      throw refused(given, `${JSON.stringify(name)} is not a name`);
    // As others read it: full-width dots and slashes become plain ones.
    const plain = name.normalize("NFKC");
    if (/[/\\]/.test(plain) || /^\.\.?$/.test(plain))
      throw refused(given, `${JSON.stringify(name)} is not a name`);
    if (name.length > LONGEST_NAME)
      throw refused(given, `a name in it has more than ${LONGEST_NAME} characters`);
    if (name.trim() !== name) throw refused(given, "a name in it begins or ends with a space");
  }
  return path;
}

/** The same, but not the folder that everything is in. */
export function pathInside(given: unknown, deed: string): string {
  const path = pathOf(given);
  if (path !== ROOT) return path;
  throw new MemoryFileError(
    "path",
    `Error: Cannot ${deed} the ${ROOT} directory itself`,
    `a path under ${ROOT}/`,
    { path },
  );
}

/** The folders that a path is in, the widest first, without the one that everything is in. */
export function foldersOf(path: string): readonly string[] {
  const names = path.slice(ROOT.length + 1).split("/");
  return names.slice(0, -1).map((_, place) => `${ROOT}/${names.slice(0, place + 1).join("/")}`);
}

export function isUnder(path: string, folder: string): boolean {
  return path.startsWith(`${folder}/`);
}

function refused(path: string, reason: string): MemoryFileError {
  const shown = path.slice(0, 100).toWellFormed();
  return new MemoryFileError(
    "path",
    `Error: ${JSON.stringify(shown)} is not a path of a memory file: ${reason}. Paths begin with ${ROOT}/`,
    `a path such as ${ROOT}/notes.md`,
    { path: shown, reason },
  );
}

/** Why a command on memory files was refused. */
export type FileFault = "path" | "missing" | "exists" | "command" | "text" | "line" | "size" | "count";

/** A command on memory files that cannot be done. Its message is what the model reads. Nothing was written. */
export class MemoryFileError extends RathError {
  constructor(fault: FileFault, message: string, hint: string, data: { readonly [key: string]: Json } = {}) {
    super(`memory-file-${fault}`, message, { hint, data });
  }
}
