// @ts-check
// Checks the package as users will get it: packed into a tarball, not as it happens to lie in this folder.
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "./run.mjs";

const folder = mkdtempSync(join(tmpdir(), "openrath-package-"));
try {
  process.exitCode = check();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function check() {
  const packed = run("npm", ["pack", "--loglevel=error", "--pack-destination", folder]);
  const tarball = readdirSync(folder)[0];
  if (packed !== 0 || tarball === undefined) return 1;

  const path = join(folder, tarball);
  const publint = run("publint", [path, "--strict"]);
  // The package is ESM only, so the CommonJS columns do not apply.
  const types = run("attw", [path, "--profile", "esm-only"]);
  return publint === 0 && types === 0 ? 0 : 1;
}
