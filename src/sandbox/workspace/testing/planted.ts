import { type Digest, digestOf, type TreeEntry } from "../../../session/index.js";
import { type BlobSpace, Trees } from "../../trees.js";
import { Deposit, entriesOf } from "../entries.js";

/** Blobs in memory. */
export class MemorySpace implements BlobSpace {
  readonly blobs = new Map<Digest, Uint8Array>();

  async putBlobs(blobs: readonly Uint8Array[]): Promise<readonly Digest[]> {
    return blobs.map((bytes) => {
      const digest = digestOf(bytes);
      this.blobs.set(digest, Uint8Array.from(bytes));
      return digest;
    });
  }

  async blob(digest: Digest): Promise<Uint8Array | undefined> {
    return this.blobs.get(digest);
  }
}

export function memoryTrees(): Trees {
  return new Trees(new MemorySpace());
}

/** What to plant: a file by its text or bytes, a link, a directory with what is in it. */
export type Plant =
  | string
  | Uint8Array
  | { readonly file: string | Uint8Array; readonly mode: number }
  | { readonly link: string }
  | { readonly tree: Garden; readonly mode?: number };
export type Garden = { readonly [name: string]: Plant };

/** The tree of some files. */
export async function planted(trees: Trees, garden: Garden, exclude?: readonly string[]): Promise<Digest> {
  const deposit = new Deposit(trees);
  const plant = async (plants: Garden): Promise<TreeEntry[]> => {
    const entries: TreeEntry[] = [];
    for (const [name, one] of Object.entries(plants)) {
      if (typeof one === "string" || one instanceof Uint8Array)
        entries.push(await deposit.file(name, 0o644, bytes(one)));
      else if ("file" in one) entries.push(await deposit.file(name, one.mode, bytes(one.file)));
      else if ("link" in one) entries.push({ kind: "link", name, target: one.link });
      else
        entries.push({
          kind: "tree",
          name,
          mode: one.mode ?? 0o755,
          digest: await deposit.tree({ entries: await plant(one.tree) }),
        });
    }
    return entries;
  };
  const id = await deposit.tree({ entries: await plant(garden), ...(exclude && { exclude }) });
  await deposit.finish();
  return id;
}

/** What is in a tree, one line a path: for reading and comparing. */
export async function listed(trees: Trees, tree: Digest | null): Promise<readonly string[]> {
  const lines: string[] = [];
  for await (const { path, entry } of entriesOf(trees, tree)) {
    if (entry.kind === "link") lines.push(`${path} -> ${entry.target}`);
    else if (entry.kind === "tree") lines.push(`${path}/ ${entry.mode.toString(8)}`);
    else {
      const text = [];
      for await (const piece of trees.pieces(entry)) text.push(Buffer.from(piece));
      lines.push(
        `${path} ${entry.mode.toString(8)} ${JSON.stringify(Buffer.concat(text).toString("latin1"))}`,
      );
    }
  }
  return lines;
}

function bytes(of: string | Uint8Array): Uint8Array {
  return typeof of === "string" ? Buffer.from(of, "utf8") : of;
}
