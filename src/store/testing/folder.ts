import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { openDatabase } from "../sqlite/driver.js";
import { sumOfRow } from "../sqlite/names.js";

/** A folder of the running test, gone when the test is. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "openrath-store-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Takes from a database what later versions of its schema added. */
export function makeOlder(path: string, version: 1 | 2 | 3): void {
  const database = openDatabase(path);
  const added = [
    "DROP TABLE puts",
    "DROP TABLE identity",
    "DROP TABLE moves; DROP INDEX names_moved; ALTER TABLE names DROP COLUMN moved",
  ];
  for (const change of added.slice(version - 1)) database.exec(change);
  const cover = database.prepare("UPDATE names SET sum = ? WHERE name = ?");
  for (const { name, p, id, epoch, owner, until } of database.prepare("SELECT * FROM names").all())
    cover.run(sumOfRow(name, p, id, epoch, owner, until), name as string);
  database.exec(`PRAGMA user_version = ${version}`);
  database.close();
}

/** The files that this process has open, on Linux. */
export function openFiles(): string[] {
  return readdirSync("/proc/self/fd").flatMap((file) => {
    try {
      return [readlinkSync(`/proc/self/fd/${file}`)];
    } catch {
      // The one that the folder was read with.
      return [];
    }
  });
}

/** A small file system of the running test, or undefined where this user may not mount one. */
export function smallDisk(
  kilobytes: number,
): { readonly path: string; readonly remount: (mode: "ro" | "rw") => void } | undefined {
  const path = mkdtempSync(join(tmpdir(), "openrath-disk-"));
  const mounted =
    process.platform === "linux" && run("mount", "-t", "tmpfs", "-o", `size=${kilobytes}k`, "tmpfs", path);
  onTestFinished(() => {
    if (mounted) run("umount", "--lazy", path);
    rmSync(path, { recursive: true, force: true });
  });
  if (!mounted) return undefined;
  const remount = (mode: "ro" | "rw"): void => {
    if (!run("mount", "-o", `remount,${mode}`, path)) throw new Error(`cannot remount ${path} as ${mode}`);
  };
  return { path, remount };
}

function run(command: string, ...args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: "ignore" }).status === 0;
}
