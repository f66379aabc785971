import { spawnSync } from "node:child_process";
import fs, {
  appendFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { digestOf } from "../session/index.js";
import { FileShelf } from "./file.js";
import type { NameRecord } from "./shelf.js";
import {
  collect,
  example,
  findings,
  folder,
  one,
  other,
  root,
  save,
  saveKeyed,
  stepOf,
  two,
} from "./testing/example.js";

describe("the files", () => {
  it("[FS1] hold the lines byte for byte, one each, and the SHA-256 of a line is its id", async () => {
    const path = await example();
    const lines = readFileSync(join(path, "facts.jsonl"), "utf8").split("\n");
    expect(lines).toEqual([root.line, one.line, other.line, two.line, ""]);
    expect(digestOf(lines[1] as string)).toBe(one.id);
    expect(JSON.parse(readFileSync(join(path, "store.json"), "utf8"))).toEqual({
      openrath: "store",
      version: 1,
    });
    const shelf = await FileShelf.open(path);
    expect(await shelf.name("main")).toMatchObject({ head: two.id });
    expect(await stepOf(shelf, "1")).toBe(one.id);
    expect(await findings(shelf)).toEqual([]);
    await shelf.close();
  });

  it("[FS2] keep secrets to their owner, and really forget removed ones", async () => {
    const path = folder();
    const shelf = await FileShelf.open(path);
    const watching = await FileShelf.open(path);
    const [a, b] = [Buffer.from("aaaaaaaa"), Buffer.from("bbbbbbbb")];
    await shelf.commit(saveKeyed("a", a));
    await shelf.commit(saveKeyed("b", b));
    expect(Buffer.from(watching.key("a") as Uint8Array)).toEqual(a);
    expect(statSync(join(path, "keys.jsonl")).mode & 0o777).toBe(0o600);
    await shelf.remove({ keys: ["a"] });
    expect(spawnSync("grep", ["-r", a.toString("hex"), path]).stdout.toString()).toBe("");
    expect([watching.key("a"), Buffer.from(watching.key("b") as Uint8Array)]).toEqual([undefined, b]);
    expect(statSync(join(path, "keys.jsonl")).mode & 0o777).toBe(0o600);
    appendFileSync(join(path, "keys.jsonl"), '{"id":"torn');
    await shelf.commit(saveKeyed("c", a));
    expect(Buffer.from(watching.key("c") as Uint8Array)).toEqual(a);
    await Promise.all([shelf.close(), watching.close()]);
  });

  it("[FS3] a path that is no store is refused and left alone", async () => {
    const path = folder();
    mkdirSync(path);
    writeFileSync(join(path, "mine.txt"), "mine");
    await expect(FileShelf.open(path)).rejects.toMatchObject({ code: "store-not-a-store" });
    expect(readdirSync(path)).toEqual(["mine.txt"]);
    await expect(FileShelf.open(join(path, "mine.txt"))).rejects.toMatchObject({ code: "store-not-a-store" });
    await expect(FileShelf.open(join(path, "mine.txt", "below"))).rejects.toMatchObject({
      code: "store-not-a-store",
    });
    const store = await example();
    writeFileSync(join(store, "store.json"), '{"openrath":"store","version":2}');
    await expect(FileShelf.open(store)).rejects.toMatchObject({ code: "store-newer" });
    writeFileSync(join(store, "store.json"), "{");
    await expect(FileShelf.open(store)).rejects.toMatchObject({
      code: "store-damaged",
      data: { place: "store.json" },
    });
  });

  it("[FS9] examine names every file that is not as it was written", async () => {
    const path = folder();
    const shelf = await FileShelf.open(path);
    const bytes = Buffer.from("blob");
    const digest = digestOf(bytes);
    await shelf.commit({ ...save(two, {}), blobs: [{ digest, bytes }] });
    writeFileSync(join(path, "blobs", digest.slice(0, 2), digest), "blub");
    writeFileSync(join(path, "blobs", digest.slice(0, 2), "x"), "");
    writeFileSync(join(path, "blobs", "y"), "");
    writeFileSync(join(path, "snapshots", "z"), "");
    writeFileSync(join(path, "notes.txt"), "");
    const whole = readFileSync(join(path, "facts.jsonl"), "utf8");
    fs.writeFileSync(join(path, "facts.jsonl"), whole.replace('"two"', '"tw0"'), { flag: "r+" });
    expect((await findings(shelf)).map(({ place }) => place)).toEqual([
      "notes.txt",
      "facts.jsonl:3",
      `blobs/${digest.slice(0, 2)}/${digest}`,
      `blobs/${digest.slice(0, 2)}/x`,
      "blobs/y",
      "snapshots/z",
    ]);
    await shelf.close();
  });

  it("[FS10] a log of names that says little at great length is written anew", async () => {
    const path = folder();
    const shelf = await FileShelf.open(path);
    const watching = await FileShelf.open(path);
    for (let round = 0; round < 300; round++) await shelf.acquire("main", "ada", round, 0);
    await shelf.close();
    const before = statSync(join(path, "names.jsonl")).size;
    const again = await FileShelf.open(path);
    expect(statSync(join(path, "names.jsonl")).size).toBeLessThan(before / 50);
    expect(await again.acquire("main", "ada", 1, 0)).toMatchObject({ epoch: 301 });
    expect(await watching.acquire("main", "ada", 1, 0)).toMatchObject({ epoch: 302 });
    expect(await again.name("main")).toMatchObject({ epoch: 302 });
    await Promise.all([again.close(), watching.close()]);
  });
});

describe("several shelves on one folder", () => {
  it("[FS11] see each other's commits, moves and erasures at once", async () => {
    const path = folder();
    const [a, b] = [await FileShelf.open(path), await FileShelf.open(path)];
    const heard: (string | null)[] = [];
    const stop = b.listen((moved: readonly NameRecord[]) => heard.push(...moved.map(({ head }) => head)));
    await a.commit(save(one, {}));
    await a.commit(save(two, {}));
    expect(await b.name("main")).toMatchObject({ head: two.id });
    expect(await b.commit(save(other, {}))).toMatchObject({ outcome: "conflict" });
    expect(await b.commit(save(two.say("b"), {}))).toMatchObject({ outcome: "done", written: 1 });
    expect(await collect(a.history([one.id]))).toEqual([root.line, one.line]);
    const bytes = Buffer.from("secret");
    const digest = digestOf(bytes);
    await a.commit({ ...save(two.merge(other)), blobs: [{ digest, bytes }] });
    expect(b.blob(digest)).toEqual(bytes);
    await a.commit({
      ...save(other),
      erase: [{ digest, fact: other.id, by: "user", at: "2026-01-01T00:00:00.000Z", why: "asked" }],
    });
    expect([b.blob(digest), b.erased(digest)?.why]).toEqual([undefined, "asked"]);
    await expect.poll(() => heard.length).toBe(3);
    stop();
    await Promise.all([a.close(), b.close()]);
  });

  it("[FS12] notice when one of them has written the facts anew", async () => {
    const path = folder();
    const [a, b] = [await FileShelf.open(path), await FileShelf.open(path)];
    await a.commit(save(two, {}));
    await b.commit(save(other));
    await a.remove({ ids: [other.id] });
    expect(await b.lines([other.id, two.id])).toEqual([undefined, two.line]);
    expect(await b.commit(save(other, { name: "other" }))).toMatchObject({ written: 1 });
    expect(await a.lines([other.id])).toEqual([other.line]);
    await Promise.all([a.close(), b.close()]);
  });

  it("[FS13] make the same new folder together", async () => {
    const path = folder();
    const shelves = await Promise.all(Array.from({ length: 6 }, () => FileShelf.open(path)));
    const outcomes = await Promise.all(
      shelves.map((shelf, index) => shelf.commit(save(root.say(`${index}`), { expect: null }))),
    );
    expect(outcomes.filter(({ outcome }) => outcome === "done")).toHaveLength(1);
    await Promise.all(shelves.map((shelf) => shelf.close()));
  });

  it("[FS14] a crash before any write, sync or rename leaves a store that is as before or as after", async () => {
    const path = folder();
    const shelf = await FileShelf.open(path);
    const bytes = Buffer.from("secret");
    const digest = digestOf(bytes);
    const gone = other.say("gone");
    const states: string[] = [];
    const hooked = [
      "writeSync",
      "ftruncateSync",
      "renameSync",
      "unlinkSync",
      "fdatasyncSync",
      "fsyncSync",
    ] as const;
    const originals = hooked.map((name) => fs[name]);
    const recorded = async <Result>(work: () => Promise<Result>): Promise<string[]> => {
      states.length = 0;
      let busy = false;
      for (const [index, name] of hooked.entries()) {
        (fs as { [name: string]: unknown })[name] = (...args: unknown[]) => {
          if (!busy) {
            busy = true;
            const copy = folder();
            // Not the lock: whoever closes it lets go of it.
            cpSync(path, copy, { recursive: true, filter: (from) => !from.endsWith("/lock") });
            states.push(copy);
            busy = false;
          }
          return (originals[index] as (...args: unknown[]) => unknown)(...args);
        };
      }
      syncBuiltinESMExports();
      try {
        await work();
      } finally {
        for (const [index, name] of hooked.entries())
          (fs as { [name: string]: unknown })[name] = originals[index];
        syncBuiltinESMExports();
      }
      return [...states, path];
    };
    const summary = async (at: string): Promise<unknown> => {
      const opened = await FileShelf.open(at);
      const found = await findings(opened);
      // A blob or a key may be there before the fact that needs it; a fact, a name and its step come together.
      const state = {
        names: await opened.names(),
        steps: [await stepOf(opened, "1"), await stepOf(opened, "2")],
        erased: (await opened.erasures()).length,
      };
      const lines = new Set(await collect(opened.every()));
      for (const record of state.names)
        if (record.head !== null) expect(await opened.count(record.head)).toBeGreaterThan(0);
      if (state.names[0]?.head === one.id)
        expect(opened.blob(digest) !== undefined || state.erased > 0).toBe(true);
      await opened.close();
      expect(found).toEqual([]);
      return { ...state, gone: lines.has(gone.line) };
    };
    const works: (() => Promise<unknown>)[] = [
      () => shelf.commit({ ...save(one, { key: "1" }), blobs: [{ digest, bytes }] }),
      () => shelf.commit(saveKeyed("k", bytes)),
      () => shelf.commit(save(gone)),
      () =>
        shelf.commit({
          ...save(two, { key: "2" }),
          erase: [{ digest, fact: two.id, by: "user", at: "2026-01-01T00:00:00.000Z", why: "asked" }],
        }),
      () => shelf.remove({ ids: [other.id, gone.id], keys: ["k"] }),
      () => shelf.forget("main"),
    ];
    for (const work of works) {
      const before = JSON.stringify(await summary(path));
      const points = await recorded(work);
      expect(points.length).toBeGreaterThan(2);
      const after = JSON.stringify(await summary(path));
      for (const point of points) expect([before, after]).toContain(JSON.stringify(await summary(point)));
    }
    await shelf.close();
  });
});
