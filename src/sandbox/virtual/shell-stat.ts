import type { Node } from "./node.js";

/** What a path is, in the words of the shell. */
export type ShellStat = {
  isFile: boolean;
  isDirectory: boolean;
  isSymbolicLink: boolean;
  mode: number;
  size: number;
  mtime: Date;
  identity: string;
};

export function statOf({
  names,
  node,
}: {
  readonly names: readonly string[];
  readonly node: Node;
}): ShellStat {
  const { kind } = node;
  return {
    isFile: kind === "file",
    isDirectory: kind === "directory",
    isSymbolicLink: kind === "link",
    mode: kind === "link" ? 0o777 : node.mode,
    size: kind === "file" ? node.content.size : kind === "link" ? Buffer.byteLength(node.target) : 0,
    mtime: new Date(node.mtime),
    // Every file has one name here, so its name is what it is known by.
    identity: `/${names.join("/")}`,
  };
}

/** An entry of a directory, in the words of the shell. */
export type ShellEntry = { name: string; isFile: boolean; isDirectory: boolean; isSymbolicLink: boolean };

export function shellEntryOf(name: string, { kind }: Node): ShellEntry {
  return {
    name,
    isFile: kind === "file",
    isDirectory: kind === "directory",
    isSymbolicLink: kind === "link",
  };
}

type Encoding = "utf8" | "utf-8" | "ascii" | "binary" | "base64" | "hex" | "latin1";
export type EncodingOption = { readonly encoding?: Encoding | null } | Encoding | undefined;

export function encodingOf(options: EncodingOption): BufferEncoding {
  return (typeof options === "string" ? options : options?.encoding) ?? "utf8";
}

export function bytesOf(content: string | Uint8Array, encoding: BufferEncoding): Uint8Array {
  // A copy: what a command does with its buffer later is not written.
  return typeof content === "string" ? Buffer.from(content, encoding) : new Uint8Array(content);
}
