import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** A folder with these files, and how to be rid of it. */
export function folderOf(files: { readonly [path: string]: string }, closing: (() => unknown)[]): string {
  const folder = mkdtempSync(join(tmpdir(), "openrath-adversary-"));
  closing.push(() => rmSync(folder, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}
