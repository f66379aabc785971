import { entriesOf, PIECE_BYTES, type Trees } from "../../sandbox/index.js";
import { type Digest, digestOf, type TreeEntry, writeTree } from "../../session/index.js";

/** Files as a test writes them down. */
export type Files = { readonly [name: string]: Entry };
type Entry = string | Uint8Array | File | Link | Folder;
type File = { readonly mode: number; readonly content: string | Uint8Array };
type Link = { readonly link: string };
type Folder = { readonly mode?: number; readonly in: Files };

/** The id that a workspace of these files must have, worked out from the format alone. */
export function treeIdOf(files: Files, exclude?: readonly string[]): Digest {
  const entries = Object.entries(files).map(([name, entry]) => entryOf(name, entry));
  return digestOf(writeTree({ entries, ...(exclude !== undefined && { exclude }) }));
}

function entryOf(name: string, entry: Entry): TreeEntry {
  if (typeof entry === "string" || entry instanceof Uint8Array) return fileOf(name, entry, 0o644);
  if ("link" in entry) return { kind: "link", name, target: entry.link };
  if ("in" in entry) return { kind: "tree", name, mode: entry.mode ?? 0o755, digest: treeIdOf(entry.in) };
  return fileOf(name, entry.content, entry.mode);
}

function fileOf(name: string, content: string | Uint8Array, mode: number): TreeEntry {
  const bytes = Buffer.from(content as string);
  const size = bytes.length;
  if (size <= PIECE_BYTES) return { kind: "file", name, mode, size, digest: digestOf(bytes) };
  const parts: Digest[] = [];
  for (let at = 0; at < size; at += PIECE_BYTES) parts.push(digestOf(bytes.subarray(at, at + PIECE_BYTES)));
  return { kind: "parts", name, mode, size, digest: digestOf(JSON.stringify(parts)) };
}

/** Reads all of a tree, and counts it: throws where something that it names is not kept. */
export async function readAll(
  trees: Trees,
  id: Digest,
): Promise<{ files: number; bytes: number; trees: Set<Digest> }> {
  const total = { files: 0, bytes: 0, trees: new Set<Digest>([id]) };
  for await (const { entry } of entriesOf(trees, id)) {
    if (entry.kind === "tree") total.trees.add(entry.digest);
    else total.files += 1;
    if (entry.kind === "tree" || entry.kind === "link") continue;
    for await (const piece of trees.pieces(entry)) total.bytes += piece.length;
  }
  return total;
}
