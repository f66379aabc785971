import { mkdirSync } from "node:fs";
import { FileError, PathRefusedError } from "../error.js";
import { codeOf, type Directory } from "./directory.js";

export const DIRECTORY_MODE = 0o755;
/** How often something that changes under our hands is tried again. */
export const ATTEMPTS = 20;

/** A directory on the way, or what stands in the way. */
export function entered(parent: Directory, name: string, path: string): Directory {
  try {
    return parent.open(name);
  } catch (error) {
    const there = parent.look(name);
    if (there === undefined) throw missing(path, name);
    if (there.isSymbolicLink()) throw new PathRefusedError(path, `${JSON.stringify(name)} is a link`);
    if (!there.isDirectory())
      throw new FileError("not-a-directory", path, `${JSON.stringify(name)} is not a directory`);
    throw error;
  }
}

/** A directory on the way, made when it is not there. */
export function made(parent: Directory, name: string, path: string): Directory {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    try {
      return entered(parent, name, path);
    } catch (error) {
      if (!(error instanceof FileError) || error.code !== "file-missing") throw error;
    }
    try {
      mkdirSync(parent.to(name), { mode: DIRECTORY_MODE });
    } catch (error) {
      if (codeOf(error) === "EEXIST") continue;
      throw error;
    }
    const directory = entered(parent, name, path);
    try {
      directory.own(parent.stat());
      // Whatever the mask of this process is.
      directory.chmod(DIRECTORY_MODE);
    } catch (error) {
      directory.close();
      throw error;
    }
    return directory;
  }
  throw new FileError("failed", path, `${JSON.stringify(name)} comes and goes`);
}

export function missing(path: string, name?: string): FileError {
  return new FileError(
    "missing",
    path,
    name === undefined ? "nothing is there" : `there is no ${JSON.stringify(name)}`,
  );
}

/** A directory to look into; undefined when it is there no more, or why it cannot be looked into. */
export function opened(parent: Directory, name: string): Directory | { readonly why: string } | undefined {
  try {
    return parent.open(name);
  } catch (error) {
    return unlisted(error);
  }
}

/** What an error says of a directory that is looked into. */
export function unlisted(error: unknown): { readonly why: string } | undefined {
  const code = codeOf(error);
  if (code === "ENOENT" || code === "ENOTDIR" || code === "ELOOP") return undefined;
  if (code === "EACCES" || code === "EPERM" || code === "EIO" || code === "ESTALE")
    return { why: `it cannot be listed (${code})` };
  throw error;
}
