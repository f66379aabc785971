import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

export const hasGit: boolean = spawnSync("git", ["--version"], { stdio: "ignore" }).status === 0;

/** A folder of the running test, gone when the test is. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "openrath-workspace-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Runs git as a user without any configuration would, and answers with what it says. */
export function git(directory: string, ...args: readonly string[]): string {
  return gitBytes(directory, args).toString("utf8");
}

export function gitBytes(directory: string, args: readonly string[], input?: string | Uint8Array): Buffer {
  return execFileSync("git", ["-C", directory, ...args], {
    env: {
      PATH: process.env.PATH ?? "",
      HOME: directory,
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_AUTHOR_NAME: "Ada",
      GIT_AUTHOR_EMAIL: "ada@example.com",
      GIT_AUTHOR_DATE: "1700000000 +0000",
      GIT_COMMITTER_NAME: "Ada",
      GIT_COMMITTER_EMAIL: "ada@example.com",
      GIT_COMMITTER_DATE: "1700000000 +0000",
    },
    stdio: ["pipe", "pipe", "pipe"],
    ...(input !== undefined && { input }),
  });
}
