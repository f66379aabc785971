import { execFile, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";

const examples = fileURLToPath(new URL("../examples/", import.meta.url));
const programs = readdirSync(examples, { recursive: true, encoding: "utf8" }).filter(
  (file) => file.endsWith(".mjs") && !/^(demo|fixtures)\b/.test(file),
);

/** Examples that need something which is not everywhere: the reason to skip them, if there is one. */
const missing: { readonly [file: string]: (() => string | undefined) | undefined } = {
  "repair.mjs": () =>
    spawnSync("bwrap", ["--ro-bind", "/", "/", "true"]).status === 0 ? undefined : "bubblewrap is missing",
  "browser.mjs": () => {
    const { status } = spawnSync(process.env.OPENRATH_CHROMIUM ?? "/usr/bin/chromium", ["--version"]);
    if (status !== 0) return "there is no Chromium: say where it is in OPENRATH_CHROMIUM";
    const server = new URL("../node_modules/@playwright/mcp/package.json", import.meta.url);
    return existsSync(server) ? undefined : "npm install --no-save @playwright/mcp";
  },
};

// As users run them: a process of its own. Each checks what it shows and fails where that is not so.
it.for(programs)(
  "[R17] examples/%s runs offline and finds everything as it says",
  { timeout: 120_000 },
  async (file, context) => {
    const reason = missing[file]?.();
    if (reason !== undefined) context.skip(reason);
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
