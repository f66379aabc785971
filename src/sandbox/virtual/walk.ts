import { bytesOfName } from "../path.js";
import { type Directory, entriesOf, type Node } from "./node.js";

/** An error as file systems have them; the shell looks at the first word. */
export class PathError extends Error {
  readonly code: string;

  constructor(code: keyof typeof texts, operation: string, path: string) {
    super(`${code}: ${texts[code]}, ${operation} '${path}'`);
    this.name = "PathError";
    this.code = code;
  }
}

const texts = {
  ENOENT: "no such file or directory",
  ENOTDIR: "not a directory",
  EISDIR: "illegal operation on a directory",
  EEXIST: "file already exists",
  ENOTEMPTY: "directory not empty",
  EINVAL: "invalid argument",
  ELOOP: "too many levels of symbolic links",
  ENAMETOOLONG: "name too long",
  EBUSY: "resource busy",
  EFBIG: "file too large",
  ENOSPC: "no space left on device",
  EPERM: "operation not permitted",
} as const;

/** Where a path leads: the names from the root, none of them a link, and what is there. */
export type Found = { readonly names: readonly string[]; readonly node: Node | undefined };

const MOST_LINKS = 40;
const LONGEST_NAME = 255;
const LONGEST_PATH = 4096;

/**
 * Follows a path as a kernel would, through links and `..`. The last name may be missing; one on the way may not.
 * Throws `Unread` where it comes to a directory that was not read yet.
 */
export function walk(root: Directory, path: string, operation: string, follow: boolean): Found {
  if (path.includes("\0")) throw new PathError("ENOENT", operation, path);
  if (path.length > LONGEST_PATH) throw new PathError("ENAMETOOLONG", operation, path);
  const directories: Directory[] = [root];
  const names: string[] = [];
  const todo = partsOf(path);
  let links = 0;
  for (let name = todo.pop(); name !== undefined; name = todo.pop()) {
    if (name === "..") {
      if (names.pop() !== undefined) directories.pop();
      continue;
    }
    if (name.length * 3 > LONGEST_NAME && byteLength(name) > LONGEST_NAME)
      throw new PathError("ENAMETOOLONG", operation, path);
    const node = entriesOf(directories.at(-1) ?? root).get(name);
    const isLast = todo.length === 0;
    if (node?.kind === "link" && (follow || !isLast)) {
      links += 1;
      if (links > MOST_LINKS) throw new PathError("ELOOP", operation, path);
      if (node.target.startsWith("/")) {
        directories.length = 1;
        names.length = 0;
      }
      todo.push(...partsOf(node.target));
      continue;
    }
    if (isLast && node?.kind !== "directory") return { names: [...names, name], node };
    if (node === undefined) throw new PathError("ENOENT", operation, path);
    if (node.kind !== "directory") throw new PathError("ENOTDIR", operation, path);
    names.push(name);
    directories.push(node);
  }
  return { names, node: directories.at(-1) };
}

/** What must be there. */
export function walkTo(
  root: Directory,
  path: string,
  operation: string,
  follow: boolean,
): { readonly names: readonly string[]; readonly node: Node } {
  const { names, node } = walk(root, path, operation, follow);
  if (node === undefined) throw new PathError("ENOENT", operation, path);
  return { names, node };
}

/** The names of a path, the first one last. */
function partsOf(path: string): string[] {
  return path
    .split("/")
    .filter((name) => name !== "" && name !== ".")
    .reverse();
}

function byteLength(name: string): number {
  try {
    return bytesOfName(name).length;
  } catch {
    // Half a character, which only a command can make: it counts as the three bytes that stand for it.
    return Buffer.byteLength(name, "utf8");
  }
}
