import { chmodSync, lstatSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

const made: string[] = [];

/** A directory of its own for a test; gone when the file's tests are done. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "openrath-local-"));
  made.push(path);
  return path;
}

afterAll(() => {
  for (const path of made.splice(0)) {
    open(path);
    rmSync(path, { recursive: true, force: true });
  }
});

/** A test may have left directories that nobody can look into. */
function open(path: string): void {
  try {
    if (!lstatSync(path).isDirectory()) return;
    chmodSync(path, 0o700);
    for (const name of readdirSync(path)) open(join(path, name));
  } catch {
    // Gone already.
  }
}
