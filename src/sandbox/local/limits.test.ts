import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { missing } from "./testing/bwrap.js";
import { folder } from "./testing/folder.js";
import { open, run } from "./testing/open.js";

const why = missing();
const MEGABYTE = 1024 ** 2;
const python = existsSync("/usr/bin/python3");

describe.skipIf(why !== undefined)(
  `limits of a local sandbox${why === undefined ? "" : ` (skipped: ${why})`}`,
  () => {
    it("[R1] gives a process no more memory than the limit, and lets large programs start", async (context) => {
      if (!python) context.skip("no python3 here to use memory with");
      const box = await open({ limits: { memory: 128 * MEGABYTE } });
      expect(await run(box, ["python3", "-c", "print(len(bytearray(16 * 2**20)))"])).toMatchObject({
        out: `${16 * MEGABYTE}\n`,
      });
      const { out } = await run(box, [
        "python3",
        "-c",
        "try:\n  bytearray(400 * 2**20)\nexcept MemoryError: print('refused')",
      ]);
      expect(out).toBe("refused\n");
      expect((await run(box, ["node", "-p", "6 * 7"])).out).toBe("42\n");
    });

    it("[R2] gives all processes together no more memory than the limit", async (context) => {
      const box = await open({ limits: { memory: 96 * MEGABYTE, scratch: 8 * MEGABYTE } });
      if (
        box.capabilities.detail?.cgroups === undefined ||
        typeof box.capabilities.detail.cgroups === "string"
      )
        context.skip("no control groups that this user may make");
      if (!python) context.skip("no python3 here to use memory with");
      const hog = "import time; data = bytearray(60 * 2**20); time.sleep(20)";
      await box.files.write("hog.py", hog);
      const result = await run(
        box,
        "python3 hog.py & python3 hog.py & python3 hog.py & python3 hog.py & wait -n; exit 9",
        { wall: 20_000 },
      );
      expect(result).toMatchObject({ outcome: "oom", code: 9 });
      expect(await run(box, "echo on")).toMatchObject({ outcome: "ok", out: "on\n" });
      // Scratch space that is full leaves enough to go on.
      await run(
        box,
        "head -c 200M /dev/zero > /tmp/x; head -c 200M /dev/zero > ~/x; head -c 200M /dev/zero > /dev/shm/x",
      );
      expect(await run(box, "exit 3")).toMatchObject({ outcome: "error", code: 3 });
    });

    it("[R3] holds a fork bomb at the limit of processes, and ends it with the sandbox", async (context) => {
      const box = await open();
      if (!box.capabilities.limits.includes("pids")) context.skip("processes cannot be counted here");
      const small = await open({ limits: { pids: 40 } });
      const count =
        "(for i in $(seq 200); do sleep 5 & done) 2>/dev/null & sleep 1; set -- /proc/[0-9]*; echo $#";
      const { out } = await run(small, count, { wall: 20_000 });
      expect(Number(out)).toBeGreaterThan(20);
      expect(Number(out)).toBeLessThan(64);
      expect(await run(small, ":(){ :|:& };: ; sleep 30", { wall: 1000 })).toMatchObject({
        outcome: "timeout",
      });
      // What breeds faster than it is killed may go on inside; never outside, and never longer than the sandbox.
      await small.destroy();
      expect((await run(box, "echo on")).out).toBe("on\n");
    });

    it("[R4] ends a process that uses too much of the processor", async () => {
      const box = await open({ limits: { cpu: 1000 } });
      expect(await run(box, ["bash", "-c", "while :; do :; done"], { wall: 30_000 })).toMatchObject({
        code: null,
        signal: "SIGXCPU",
      });
      expect((await run(box, "echo on")).out).toBe("on\n");
    });

    it("[R5] lets no file grow beyond the limit", async () => {
      const box = await open({ limits: { file: MEGABYTE } });
      expect((await run(box, "head -c 3M /dev/zero > large")).outcome).toBe("error");
      expect((await box.files.stat("large"))?.size).toBe(MEGABYTE);
      expect((await run(box, "head -c 1M /dev/zero > fits")).outcome).toBe("ok");
    });

    it("[R6] ends a command that fills the disk", async () => {
      const box = await open({ limits: { disk: 30 * MEGABYTE } });
      const fill = "for i in $(seq 400); do head -c 1M /dev/zero > fill$i; sleep 0.01; done";
      expect(await run(box, fill, { wall: 30_000 })).toMatchObject({ outcome: "disk" });
      expect((await box.files.list()).length).toBeLessThan(400);
      await run(box, "rm -f fill*");
      const unnamed =
        "exec 5> hidden; rm hidden; for i in $(seq 400); do head -c 1M /dev/zero >&5; sleep 0.01; done";
      expect(await run(box, unnamed, { wall: 30_000 })).toMatchObject({ outcome: "disk" });
      expect((await run(box, "head -c 10M /dev/zero > fits; sleep 0.5")).outcome).toBe("ok");
    });

    it("[R9] refuses a snapshot of more than the limit, with holes, and can be restored", async () => {
      for (const files of [20, 400]) {
        const box = await open({ limits: { disk: 30 * MEGABYTE } });
        await run(box, `for i in $(seq ${files}); do echo $i > f$i; done`);
        const { tree } = await box.snapshot();
        const forked = await box.fork({ id: `${box.ref.id}-fork` });
        expect(await run(forked, "truncate -s 20M a; truncate -s 20M b")).toMatchObject({ outcome: "ok" });
        await expect(forked.snapshot()).rejects.toMatchObject({
          code: "snapshot-too-large",
          data: { limit: 30 * MEGABYTE, bytes: 40 * MEGABYTE },
        });
        await forked.restore(tree);
        expect((await forked.snapshot()).tree).toBe(tree);
        expect(await run(forked, "ls | wc -l")).toMatchObject({ out: `${files}\n` });
        await forked.destroy();
      }
    });

    it("[R6] does not mind others that use the disk", async () => {
      const box = await open({ limits: { disk: 10 * MEGABYTE } });
      const other = join(folder(), "other");
      const execution = box.exec("sleep 1.2; echo on");
      await wait(100);
      writeFileSync(other, Buffer.alloc(100 * MEGABYTE));
      expect(await execution.result).toMatchObject({ outcome: "ok" });
      rmSync(other);
    });

    it("[R7] has scratch space of a size, and no other memory to write to", async () => {
      const box = await open({ limits: { scratch: 8 * MEGABYTE } });
      const { out } = await run(
        box,
        "for at in /tmp ~ /dev/shm; do head -c 20M /dev/zero 2>/dev/null > $at/x; stat -c %s $at/x; rm $at/x; done; df -B1 --output=size /tmp /home /dev/shm | tail -n +2",
      );
      const numbers = out.trim().split("\n").map(Number);
      expect(numbers.slice(0, 3).every((size) => size > 0 && size <= 8 * MEGABYTE)).toBe(true);
      expect(numbers.slice(3).reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(8 * MEGABYTE);
      const writable =
        "find / -xdev -writable -not -type l 2>/dev/null; find /dev /etc /run /proc/sys -writable -type d 2>/dev/null | sort";
      expect(
        (await run(box, writable)).out
          .trim()
          .split("\n")
          .filter((path) => !/^\/(|dev|home|tmp|var|run|root|etc|proc|workspace|usr)$/.test(path)),
      ).toEqual(["/dev/pts", "/dev/shm"]);
      for (const path of ["/", "/dev", "/var", "/run", "/root", "/etc"])
        expect((await run(box, ["touch", join(path, "x")])).code).toBe(1);
    });

    it("[R8] says which limits hold", async () => {
      const box = await open();
      expect(box.capabilities.limits).toEqual(
        expect.arrayContaining(["wall", "memory", "cpu", "file", "disk", "output", "scratch"]),
      );
      if (!box.capabilities.limits.includes("pids"))
        await expect(open({ limits: { pids: 10 } })).rejects.toThrow("cannot limit it here");
      await expect(open({ limits: { memory: -1 } })).rejects.toThrow("limits.memory");
    });
  },
);
