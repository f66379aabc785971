import { bytesOfName } from "../path.js";
import { type Directory, entriesOf, type Node, WORKSPACE } from "./space.js";

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
type Reached = Found & { readonly node: Node };

const MOST_LINKS = 40;
const LONGEST_NAME = 255;
const LONGEST_PATH = 4096;

/** Follows a path as a kernel does. Only its last name may be missing. Throws `Unread` where needed. */
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

/** The same for an entry that must exist. */
export function walkTo(root: Directory, path: string, operation: string, follow: boolean): Reached {
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

/** One thing takes the place of another: nothing stands for nothing. */
export type Change = {
  readonly names: readonly string[];
  readonly before: Node | undefined;
  readonly after: Node | undefined;
};

/** The changes of a copy. A directory is shared until one side changes, or merged into an existing one. */
export function copied(
  root: Directory,
  source: string,
  target: string,
  recursive: boolean,
  now: number,
): readonly Change[] {
  const from = walkTo(root, source, "cp", !recursive);
  const to = walk(root, target, "cp", from.node.kind !== "link");
  if (from.node.kind !== "directory") {
    if (to.node?.kind === "directory") throw new PathError("EISDIR", "cp", target);
    return [{ names: to.names, before: to.node, after: { ...from.node, mtime: now } }];
  }
  if (!recursive) throw new PathError("EISDIR", "cp", source);
  if (isWithin(from.names, to.names)) throw new PathError("EINVAL", "cp", target);
  if (to.node === undefined) return [{ names: to.names, before: undefined, after: from.node }];
  const changes: Change[] = [];
  const todo: [Directory, readonly string[], Node][] = [[from.node, to.names, to.node]];
  for (let one = todo.pop(); one !== undefined; one = todo.pop()) {
    const [directory, names, there] = one;
    if (there.kind !== "directory") throw new PathError("ENOTDIR", "cp", target);
    for (const [name, after] of entriesOf(directory)) {
      const before = entriesOf(there).get(name);
      if (after.kind === "directory" && before !== undefined) todo.push([after, [...names, name], before]);
      else if (before?.kind === "directory") throw new PathError("EISDIR", "cp", target);
      else changes.push({ names: [...names, name], before, after });
    }
  }
  return changes;
}

export function moved(root: Directory, source: string, target: string): readonly Change[] {
  const from = walkTo(root, source, "mv", false);
  const to = walk(root, target, "mv", false);
  if (from.names.length === to.names.length && isWithin(from.names, to.names)) return [];
  if (isFixed(from.names) || isFixed(to.names)) throw new PathError("EBUSY", "mv", source);
  if (from.node.kind === "directory") {
    if (isWithin(from.names, to.names)) throw new PathError("EINVAL", "mv", target);
    if (to.node !== undefined && to.node.kind !== "directory") throw new PathError("ENOTDIR", "mv", target);
    if (to.node !== undefined && entriesOf(to.node).size > 0) throw new PathError("ENOTEMPTY", "mv", target);
  } else if (to.node?.kind === "directory") throw new PathError("EISDIR", "mv", target);
  return [
    { names: from.names, before: from.node, after: undefined },
    { names: to.names, before: to.node, after: from.node },
  ];
}

/** The changes of a removal, in the order in which they are tried. */
export function removed(
  root: Directory,
  path: string,
  recursive: boolean,
  force: boolean,
): readonly (readonly Change[])[] {
  const found = foundAt(root, path, force);
  if (found?.node === undefined) {
    if (force) return [];
    throw new PathError("ENOENT", "rm", path);
  }
  const { names, node } = found;
  const whole: Change = { names, before: node, after: undefined };
  if (node.kind !== "directory") return [[whole]];
  if (!recursive && entriesOf(node).size > 0) throw new PathError("ENOTEMPTY", "rm", path);
  if (names.length === 0 || !isFixed(names)) return [[whole]];
  // As with a mount: it can be emptied, but it stays.
  const inside = [...entriesOf(node)].map(
    ([name, before]): Change => ({ names: [...names, name], before, after: undefined }),
  );
  return [inside, [whole]];
}

/** The entry at a path; with `force`, a path that leads nowhere is not an error. */
function foundAt(root: Directory, path: string, force: boolean): Found | undefined {
  try {
    return walk(root, path, "rm", false);
  } catch (error) {
    if (force && error instanceof PathError && error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** The root and the workspace cannot be taken away from under a sandbox. */
export function isFixed(names: readonly string[]): boolean {
  return names.length === 0 || (names.length === 1 && names[0] === WORKSPACE);
}

export function isWithin(outer: readonly string[], inner: readonly string[]): boolean {
  return outer.every((name, place) => inner[place] === name);
}
