import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { CrashWriter, Ledger, numbersFrom, SEED } from "../testing/crash.js";
import { folder } from "../testing/folder.js";

const CUTS = Number(process.env.OPENRATH_CRASH_ROUNDS ?? 1);

const possible = canMount();
if (!possible)
  process.stdout.write("no power cuts: making and mounting a disk image takes Linux, root and ext4\n");

// A kill alone leaves everything in the memory of the system, synced or not. Here the disk is an image: a copy of
// it, taken without a sync, is what a machine without power would find.
it.skipIf(!possible)(
  `[K15] ${CUTS} power cuts under a writing store (seed ${SEED}): nothing that was acknowledged is lost`,
  async () => {
    const random = numbersFrom(SEED);
    let acknowledged = 0;
    for (let cut = 0; cut < CUTS; cut++) {
      const home = folder();
      const image = join(home, "disk.img");
      run("truncate", "-s", "256M", image);
      run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=1,lazy_journal_init=1", image);
      const disk = mounted(image, join(home, "disk"));
      const writer = new CrashWriter(`sqlite:${join(disk.path, "rath")}`, {
        seed: SEED + cut,
        writers: 3,
      });
      try {
        await writer.acknowledges();
        await new Promise((done) => setTimeout(done, 100 + random(500)));
      } finally {
        await writer.kill();
      }
      const copy = join(home, "copy.img");
      run("cp", "--sparse=always", image, copy);
      disk.unmount();
      const { told } = writer;
      expect(told.filter((one) => one.error !== undefined)).toEqual([]);
      const ledger = new Ledger();
      ledger.take(told);
      acknowledged += ledger.size;
      const after = mounted(copy, join(home, "after"));
      try {
        await ledger.verify(`sqlite:${join(after.path, "rath")}`);
      } finally {
        after.unmount();
      }
    }
    if (process.env.OPENRATH_CRASH_ROUNDS !== undefined)
      process.stdout.write(`${CUTS} power cuts, ${acknowledged} acknowledged saves, none lost\n`);
    expect(acknowledged).toBeGreaterThan(0);
  },
);

/** A mounted image; taken away again also when the test fails. */
function mounted(image: string, path: string): { readonly path: string; readonly unmount: () => void } {
  mkdirSync(path);
  run("mount", "-o", "loop", image, path);
  let there = true;
  const unmount = (): void => {
    if (!there) return;
    there = false;
    // On Node 20 a closed database keeps its file open until its statements are collected; then a lazy one ends by itself.
    if (!works("umount", path)) run("umount", "--lazy", path);
  };
  onTestFinished(() => {
    if (there) works("umount", "--lazy", path);
  });
  return { path, unmount };
}

function run(program: string, ...args: readonly string[]): void {
  const { status, stderr } = spawnSync(program, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")}: ${stderr}`);
}

function works(program: string, ...args: readonly string[]): boolean {
  return spawnSync(program, args, { stdio: "ignore" }).status === 0;
}

function canMount(): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  const home = probe();
  const image = join(home, "probe.img");
  const tried = [
    ["truncate", "-s", "8M", image],
    ["mkfs.ext4", "-q", "-F", image],
    ["mount", "-o", "loop", image, home],
  ].every(([program = "", ...args]) => works(program, ...args));
  if (tried) works("umount", home);
  rmSync(home, { recursive: true, force: true });
  return tried;
}

function probe(): string {
  return mkdtempSync(join(tmpdir(), "openrath-probe-"));
}
