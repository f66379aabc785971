import { namesOf, PathRefusedError } from "../../../sandbox/index.js";

/** Where the workspace lies inside a sandbox. */
const ROOT = "/workspace";

/**
 * A path of the workspace as the files of a sandbox take it: "" is the workspace itself. Models also write absolute
 * paths, "./a" and "a/../b"; what leads out of the workspace is a `PathRefusedError`.
 */
export function placeOf(path: string): string {
  let inner = path;
  if (path === ROOT || path.startsWith(`${ROOT}/`)) inner = path.slice(ROOT.length + 1);
  else if (path.startsWith("/"))
    throw new PathRefusedError(path, `it is not in ${ROOT}, where the files are`);
  const names: string[] = [];
  for (const name of inner.split("/")) {
    if (name === "" || name === ".") continue;
    if (name !== "..") names.push(name);
    else if (names.pop() === undefined) throw new PathRefusedError(path, "it leads out of the workspace");
  }
  return namesOf(names.join("/")).join("/");
}

/** How a place is shown. */
export function shownPlace(place: string): string {
  return place === "" ? "." : place;
}
