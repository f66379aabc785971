import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";

const examples = fileURLToPath(new URL("../examples/", import.meta.url));
const programs = readdirSync(examples, { recursive: true, encoding: "utf8" }).filter(
  (file) => file.endsWith(".mjs") && !/^(demo|fixtures)\b/.test(file),
);

const bwrap = spawnSync("bwrap", ["--ro-bind", "/", "/", "true"]).status === 0;
/** What needs a sandbox cannot be shown without one. */
const NEEDS_SANDBOX = new Set(["repair.mjs"]);

// As users run them: a process of its own. Each checks what it shows and fails where that is not so.
it.for(programs)(
  "[R17] examples/%s runs offline and finds everything as it says",
  { timeout: 120_000 },
  async (file, context) => {
    if (NEEDS_SANDBOX.has(file) && !bwrap) context.skip("bubblewrap is missing");
    const folder = mkdtempSync(join(tmpdir(), "openrath-example-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const { code, stdout, stderr } = await ran(join(examples, file), folder);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.not.stringContaining("Error") });
    expect(stdout).toMatch(/same id|ledger\.txt has 1 line$/im);
  },
);

function ran(path: string, cwd: string): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [path], { cwd }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}
