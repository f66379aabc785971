import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { bytesOfName, textOfName } from "../../path.js";

/** What is at a path, as simply as it can be said. */
export type Thing =
  | { readonly kind: "file"; readonly mode: number; readonly text: string }
  | { readonly kind: "link"; readonly target: string }
  | { readonly kind: "directory"; readonly mode: number };
/** A workspace as a map from path to thing. */
export type Model = ReadonlyMap<string, Thing>;

/** A directory of the host, read in the plainest way. */
export function modelOf(root: string): Model {
  const found = new Map<string, Thing>();
  const visit = (path: Buffer, way: string): void => {
    for (const name of readdirSync(path, { encoding: "buffer" })) {
      const at = Buffer.concat([path, Buffer.from("/"), name]);
      const key = `${way}${textOfName(name)}`;
      const stats = lstatSync(at);
      const mode = stats.mode & 0o777;
      if (stats.isSymbolicLink()) {
        const target = textOfName(readlinkSync(at, { encoding: "buffer" }));
        found.set(key, { kind: "link", target });
      } else if (stats.isDirectory()) {
        found.set(key, { kind: "directory", mode });
        visit(at, `${key}/`);
      } else if (stats.isFile())
        found.set(key, { kind: "file", mode, text: readFileSync(at).toString("latin1") });
    }
  };
  visit(Buffer.from(root), "");
  return new Map([...found].sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** Makes one thing in a directory of the host; what was there is gone. */
export function put(root: string, path: string, thing: Thing): void {
  const at = placeOf(root, path);
  rmSync(at, { recursive: true, force: true });
  if (thing.kind === "link") symlinkSync(bytesOfName(thing.target), at);
  else {
    if (thing.kind === "directory") mkdirSync(at);
    else writeFileSync(at, Buffer.from(thing.text, "latin1"));
    chmodSync(at, thing.mode);
  }
}

export function placeOf(root: string, path: string): Buffer {
  return Buffer.concat([Buffer.from(`${root}/`), ...parts(path)]);
}

function parts(path: string): Buffer[] {
  return path
    .split("/")
    .flatMap((name, index) => [...(index > 0 ? [Buffer.from("/")] : []), bytesOfName(name)]);
}
