import { exec, execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";

// The command as users run it: the built program, in a folder of its own. `npm test` builds before it tests.
const program = fileURLToPath(new URL("../dist/cli/rath.js", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "openrath-cli-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("rath", () => {
  it("[R11] demo keeps a session that another process reads back, and says where", async () => {
    const first = await rath("demo");
    expect(first.stdout).toContain("same id");
    expect(first.stdout).toContain("All as it should be.");
    expect(first.code).toBe(0);
    const second = await rath("demo", "--json");
    const { name, file, same, intact, id } = JSON.parse(second.stdout);
    expect({ name, same, intact }).toEqual({ name: "demo-2", same: true, intact: true });
    const verified = await rath("verify", file, "--json", "--head", id);
    expect(verified.code).toBe(0);
    expect(JSON.parse(verified.stdout)).toMatchObject({ intact: true, findings: [], heads: [id] });
  });

  it("[R11] verify exits with 3 and names the line when the record was changed or cut off", async () => {
    const { stdout } = await rath("demo", "--json");
    const { file, id } = JSON.parse(stdout);
    const text = readFileSync(file, "utf8");
    const changed = join(folder, "changed.jsonl");
    writeFileSync(changed, text.replace("I compute in cents", "I compute in cetns"));
    const broken = await rath("verify", changed);
    expect(broken.code).toBe(3);
    expect(broken.stdout).toMatch(/NOT intact: .*line \d+/s);
    writeFileSync(changed, text.split("\n").slice(0, -2).join("\n"));
    expect((await rath("verify", changed, "--head", id)).code).toBe(3);
    writeFileSync(changed, "");
    expect((await rath("verify", changed)).code).toBe(3);
  });

  it("[R11] a reader that has seen enough is no error", async () => {
    const { stderr } = await new Promise<{ stderr: string }>((resolve) => {
      exec(
        `"${process.execPath}" "${program}" demo | head -n 1`,
        { cwd: folder, env: { ...process.env, RATH_HOME: join(folder, "piped") } },
        (_error, _stdout, text) => resolve({ stderr: text }),
      );
    });
    expect(stderr).toBe("");
  });

  it("[R11] a wrong command line exits with 2, a missing file with 1, and both say what to do", async () => {
    expect(await rath("fly")).toMatchObject({ code: 2, stderr: expect.stringContaining("rath help") });
    expect(await rath("verify")).toMatchObject({ code: 2 });
    expect(await rath("--wings")).toMatchObject({ code: 2 });
    expect(await rath("verify", "not-there.jsonl")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("not-there.jsonl"),
    });
    expect(await rath("help")).toMatchObject({ code: 0, stdout: expect.stringContaining("Examples") });
    expect((await rath("--version")).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

function rath(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [program, ...args],
      { cwd: folder, env: { ...process.env, RATH_HOME: join(folder, "home") } },
      (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
      },
    );
  });
}
