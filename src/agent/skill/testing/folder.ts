import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";

/** A folder of the running test with these files, gone when the test is. */
export function folderOf(files: { readonly [path: string]: string | Uint8Array }): string {
  const folder = mkdtempSync(join(tmpdir(), "openrath-skill-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}

/** A SKILL.md. */
export function skillFile(name: string, more = "", body = `Do ${name}.`): string {
  return `---\nname: ${name}\ndescription: What ${name} is for.\n${more}---\n${body}\n`;
}
