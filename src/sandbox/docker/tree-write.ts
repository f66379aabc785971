import { posix } from "node:path";
import { type Digest, RecordError } from "../../session/index.js";
import { bytesOfName } from "../path.js";
import type { Trees } from "../trees.js";
import { WORKSPACE } from "./script.js";
import { fillOf, TAR_END, tarHeader } from "./tar-write.js";
import type { Owner } from "./user.js";

export type TreeArchive = {
  readonly tree: Digest | null;
  readonly trees: Trees;
  readonly owner: Owner;
  /** The name of the directory that everything is put into, written first; "" for none. */
  readonly under: string;
};

const NOTHING = Buffer.alloc(0);

/** The archive of a tree: directories before what is in them, everything owned by one. */
export async function* writeTree({
  tree,
  trees,
  owner,
  under,
}: TreeArchive): AsyncGenerator<Uint8Array, void, void> {
  const common = { ...owner, mtime: Math.floor(Date.now() / 1000), target: NOTHING, size: 0 };
  const root = Buffer.from(under);
  if (root.length > 0) yield tarHeader({ ...common, kind: "directory", name: root, mode: 0o755 });
  const todo: { readonly digest: Digest | null; readonly name: Buffer }[] = [{ digest: tree, name: root }];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    for (const entry of (await trees.tree(next.digest)).entries) {
      const own = bytesOfName(entry.name);
      const name = next.name.length === 0 ? own : Buffer.concat([next.name, Buffer.from("/"), own]);
      if (entry.kind === "tree") {
        yield tarHeader({ ...common, kind: "directory", name, mode: entry.mode });
        todo.push({ digest: entry.digest, name });
      } else if (entry.kind === "link") {
        yield tarHeader({ ...common, kind: "link", name, mode: 0o777, target: bytesOfName(entry.target) });
      } else {
        yield tarHeader({ ...common, kind: "file", name, mode: entry.mode, size: entry.size });
        let left = entry.size;
        for await (const piece of trees.pieces({ kind: entry.kind, digest: entry.digest })) {
          left -= piece.length;
          yield piece;
        }
        // Every name that follows would be read from the wrong place.
        if (left !== 0)
          throw new RecordError(`the file ${JSON.stringify(entry.name)} is not as long as its tree says`);
        yield fillOf(entry.size);
      }
    }
  }
  yield TAR_END;
}

/**
 * Whether a tree has links that lead out of the workspace. They are as good as others, since they are never followed from
 * outside; but engines refuse to unpack them unless they unpack into the root.
 */
export async function leadsOut(tree: Digest | null, trees: Trees): Promise<boolean> {
  const todo: { readonly digest: Digest | null; readonly path: string }[] = [
    { digest: tree, path: WORKSPACE },
  ];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    for (const entry of (await trees.tree(next.digest)).entries) {
      if (entry.kind === "tree") todo.push({ digest: entry.digest, path: `${next.path}/${entry.name}` });
      else if (entry.kind === "link") {
        const end = posix.join(next.path, entry.target);
        if (end !== WORKSPACE && !end.startsWith(`${WORKSPACE}/`)) return true;
      }
    }
  }
  return false;
}
