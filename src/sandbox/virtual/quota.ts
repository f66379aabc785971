import type { Limits } from "../spec.js";
import type { Node } from "./node.js";
import { WORKSPACE } from "./space.js";
import type { Change } from "./transfer.js";
import { PathError } from "./walk.js";

/** How much is used outside of the workspace of a sandbox, by all its commands. */
export type Scratch = { used: number };

/** What one command may write. */
export class Quota {
  readonly #limits: Required<Limits>;
  readonly #scratch: Scratch;
  readonly #full: () => void;
  #grown = 0;

  /** @param full is told when the workspace may not grow */
  constructor(limits: Required<Limits>, scratch: Scratch, full: () => void) {
    this.#limits = limits;
    this.#scratch = scratch;
    this.#full = full;
  }

  /** Refuses a file that would become too long. */
  checkFile(size: number, path: string): void {
    if (size > this.#limits.file) throw new PathError("EFBIG", "write", path);
  }

  /** Counts changes that are made together, or refuses them. Called right before they are made. */
  take(changes: readonly Change[], path: string): void {
    let [inside, outside] = [0, 0];
    for (const { names, before, after } of changes) {
      const growth = weight(after) - weight(before);
      if (names[0] === WORKSPACE) inside += growth;
      else outside += growth;
    }
    if (inside > 0 && this.#grown + inside > this.#limits.disk) {
      this.#full();
      throw new PathError("ENOSPC", "write", path);
    }
    if (outside > 0 && this.#scratch.used + outside > this.#limits.scratch)
      throw new PathError("ENOSPC", "write", path);
    this.#grown += inside;
    this.#scratch.used = Math.max(0, this.#scratch.used + outside);
  }
}

/** The bytes of what is here. A directory that was not read takes no room, wherever it is put. */
function weight(node: Node | undefined): number {
  if (node === undefined || node.kind === "link") return 0;
  if (node.kind === "file") return node.content.size;
  let sum = 0;
  const todo: Node[] = [node];
  for (let one = todo.pop(); one !== undefined; one = todo.pop()) {
    if (one.kind === "file") sum += one.content.size;
    else if (one.kind === "directory") for (const child of one.entries?.values() ?? []) todo.push(child);
  }
  return sum;
}
