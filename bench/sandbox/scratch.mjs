// @ts-check
// Where the measurements keep their files. One place for all, so that they meet the same disk.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Trees } from "openrath/sandbox";
import { openStore } from "openrath/store";

export const scratch = mkdtempSync(join(tmpdir(), "openrath-bench-"));

let stores = 0;

/** A store as users have it, and the trees in it. */
export async function freshTrees() {
  const store = await openStore(`sqlite:${join(scratch, `store-${++stores}.db`)}`);
  return { store, trees: new Trees(store) };
}
