import fs, { appendFileSync, cpSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { digestOf, type RathError } from "../session/index.js";
import { FileShelf } from "./file.js";
import { collect, example, findings, folder, one, root, save, two } from "./testing/example.js";
import { smallDisk } from "./testing/folder.js";

describe("a disk that fails", () => {
  it("[FS15] after a failed sync nothing more is written until the store is opened again", async () => {
    const path = folder();
    const shelf = await FileShelf.open(path);
    await shelf.commit(save(one, {}));
    const sync = fs.fdatasyncSync;
    fs.fdatasyncSync = () => {
      throw Object.assign(new Error("i/o error"), { code: "EIO" });
    };
    syncBuiltinESMExports();
    const failed = await shelf.commit(save(two, {})).catch((error: RathError) => error.code);
    fs.fdatasyncSync = sync;
    syncBuiltinESMExports();
    expect(failed).toBe("store-failed");
    await expect(shelf.commit(save(two, {}))).rejects.toMatchObject({ code: "store-failed" });
    expect(await shelf.name("main")).toMatchObject({ head: one.id });
    await shelf.close();
    const again = await FileShelf.open(path);
    expect(await again.commit(save(two, {}))).toMatchObject({ outcome: "done" });
    await again.close();
  });

  it("[FS16] a full disk is an error of its own; nothing is lost and writing goes on when there is room", async (context) => {
    const disk = smallDisk(1024);
    if (disk === undefined) return context.skip("only root can mount a small file system");
    const path = join(disk.path, "store");
    const shelf = await FileShelf.open(path);
    await shelf.commit(save(one, {}));
    const ballast = join(disk.path, "ballast");
    let session = one;
    let full = 0;
    for (let round = 0; round < 500 && full < 5; round++) {
      const next = session.say("x".repeat(4000));
      const small = root.say(`small ${round}`);
      try {
        const [big] = await Promise.all([
          shelf.commit(save(next, {})),
          shelf.commit(save(small)).catch(() => undefined),
        ]);
        expect(big).toMatchObject({ outcome: "done" });
        session = next;
      } catch (error) {
        expect(error).toMatchObject({ code: "store-full" });
        full += 1;
        if (existsSync(ballast)) rmSync(ballast);
      }
      if (round === 20) {
        try {
          writeFileSync(ballast, Buffer.alloc(1 << 20));
        } catch {
          // As much as there is room for.
        }
      }
      expect(await shelf.name("main")).toMatchObject({ head: session.id });
    }
    expect(full).toBe(5);
    const blob = Buffer.alloc(2 << 20, 1);
    await expect(
      shelf.commit({ facts: [], blobs: [{ digest: digestOf(blob), bytes: blob }] }),
    ).rejects.toMatchObject({
      code: "store-full",
    });
    await shelf.close();
    const copy = folder();
    cpSync(path, copy, { recursive: true });
    const again = await FileShelf.open(copy);
    expect(await again.name("main")).toMatchObject({ head: session.id });
    expect(await again.count(session.id)).toBe(session.depth + 1);
    expect(await findings(again)).toEqual([]);
    await again.close();
  });

  it("[FS17] a medium that cannot be written can be read", async (context) => {
    const disk = smallDisk(4096);
    if (disk === undefined) return context.skip("only root can mount a read-only file system");
    const path = join(disk.path, "store");
    cpSync(await example(), path, { recursive: true });
    appendFileSync(join(path, "facts.jsonl"), '{"rath":1,"torn');
    disk.remount("ro");
    const shelf = await FileShelf.open(path);
    expect(await collect(shelf.history([two.id]))).toEqual([root.line, one.line, two.line]);
    expect(await shelf.name("main")).toMatchObject({ head: two.id });
    await expect(shelf.commit(save(two.say("x"), {}))).rejects.toMatchObject({ code: "store-read-only" });
    await expect(FileShelf.open(join(disk.path, "new"))).rejects.toMatchObject({ code: "store-read-only" });
    const copy = folder();
    await shelf.backup(copy);
    const copied = await FileShelf.open(copy);
    expect(await copied.count(two.id)).toBe(3);
    await Promise.all([shelf.close(), copied.close()]);
  });
});
