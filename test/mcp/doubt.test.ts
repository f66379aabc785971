import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const program = fileURLToPath(new URL("./doubt.mjs", import.meta.url));
const evil = fileURLToPath(new URL("../../src/connect/mcp/testing/evil.mjs", import.meta.url));

it("[Q4] a process that is killed in the middle of a write leaves a doubt, and nothing is done twice", async () => {
  const folder = mkdtempSync(join(tmpdir(), "openrath-mcp-"));
  const file = join(folder, "heard");
  const args = [`sqlite:${join(folder, "rath.db")}`, evil, file];
  const calls = (): number =>
    existsSync(file)
      ? readFileSync(file, "utf8")
          .split("\n")
          .filter((line) => line === "call").length
      : 0;
  const child = spawn(process.execPath, [program, "begin", ...args], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const over = new Promise((resolve) => child.once("exit", (_, signal) => resolve(signal)));
  await expect.poll(calls, { timeout: 30_000 }).toBe(1);
  child.kill("SIGKILL");
  expect(await over).toBe("SIGKILL");
  const { stdout } = spawnSync(process.execPath, [program, "resume", ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    timeout: 60_000,
  });
  const [before, after] = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { [field: string]: unknown });
  expect(before).toMatchObject({ waiting: "run-suspend", pending: { doubt: true } });
  expect(after).toMatchObject({ ended: "run-end" });
  expect(after?.facts).toContain("effect-settle");
  expect(calls()).toBe(1);
});
