import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Session } from "../session/index.js";
import { openStore } from "./open.js";
import { openDatabase } from "./sqlite-driver.js";
import { SCHEMA } from "./sqlite-schema.js";
import { folder, smallDisk } from "./testing/folder.js";

const urlIn = (path: string): string => `sqlite:${join(path, "rath.db")}`;
const codeOf = (attempt: Promise<unknown>): Promise<unknown> =>
  attempt.then(
    () => "done",
    (error: { code?: unknown }) => error.code,
  );

describe("what is in the way", () => {
  it("[S90] what is no store of ours is refused with a typed error and left as it was", async () => {
    const path = folder();
    mkdirSync(join(path, "directory"));
    writeFileSync(
      join(path, "text"),
      "just some text, long enough to be more than a header of a database file ".repeat(20),
    );
    const foreign = openDatabase(join(path, "foreign"));
    foreign.exec("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1);");
    foreign.close();
    for (const name of ["directory", "text", "foreign", "no/such/folder"])
      expect(await codeOf(openStore(`sqlite:${join(path, name)}`)), name).toBe("store-not-a-store");
    expect(readFileSync(join(path, "text"), "utf8")).toMatch(/^just some text/);
    const again = openDatabase(join(path, "foreign"));
    expect(again.prepare("SELECT a FROM theirs").all()).toHaveLength(1);
    expect(again.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "delete" });
    again.close();
    for (const url of ["", "sqlite:", "postgres://host/db", "rath.db", "MEMORY:"])
      expect(await codeOf(openStore(url)), url).toBe("store-url");
  });

  it("[S91] a store of a newer schema is refused and left alone; one of an older schema is brought up to date", async () => {
    const path = join(folder(), "rath.db");
    await (await openStore(`sqlite:${path}`)).close();
    const newer = openDatabase(path);
    newer.exec(`PRAGMA user_version = ${SCHEMA + 1}`);
    newer.close();
    expect(await codeOf(openStore(`sqlite:${path}`))).toBe("store-newer");
    const empty = join(folder(), "empty.db");
    writeFileSync(empty, "");
    const store = await openStore(`sqlite:${empty}`);
    await store.save(Session.start("hi"), { name: "main" });
    await store.close();
    const database = openDatabase(empty);
    expect(database.prepare("PRAGMA user_version").get()).toEqual({ user_version: SCHEMA });
    database.close();
  });

  it("[S92] while another process holds the database, reading goes on and writing ends in a typed error, then goes on", async () => {
    const path = join(folder(), "rath.db");
    const store = await openStore(`sqlite:${path}`);
    const session = Session.start("hi");
    await store.save(session, { name: "main" });
    const holder = openDatabase(path);
    holder.exec("BEGIN IMMEDIATE");
    const next = session.say("waits");
    const saving = codeOf(store.save(next, { name: "main" }));
    const reader = await openStore(`sqlite:${path}`);
    expect((await reader.load("main")).id).toBe(session.id);
    expect(await saving).toBe("store-locked");
    holder.exec("ROLLBACK");
    holder.close();
    expect((await store.save(next, { name: "main" })).written).toBe(1);
    await reader.close();
    await store.close();
  });

  it("[S93] a full disk is a typed error; nothing acknowledged is lost, and there is room again, saving goes on", async (context) => {
    const disk = smallDisk(3000);
    if (disk === undefined) return context.skip("this user may not mount a small disk");
    const store = await openStore(urlIn(disk.path));
    let session = Session.start("hi");
    await store.save(session, { name: "main" });
    // Leave some room, so that the disk fills up while facts are written.
    writeFileSync(join(disk.path, "ballast"), Buffer.alloc(1_000_000));
    let code: unknown = "done";
    for (let step = 0; code === "done" && step < 2000; step++) {
      const next = session.say(`${step} `.repeat(2000));
      code = await codeOf(store.save(next, { name: "main" }));
      if (code === "done") session = next;
    }
    expect(code).toBe("store-full");
    expect(statfsSync(disk.path).bavail).toBeLessThan(20);
    expect((await store.load("main")).id).toBe(session.id);
    rmSync(join(disk.path, "ballast"));
    const last = session.say("room again");
    await store.save(last, { name: "main" });
    await store.close();
    const again = await openStore(urlIn(disk.path));
    expect((await again.load("main")).id).toBe(last.id);
    expect((await again.check()).findings).toEqual([]);
    await again.close();
  });

  it("[S94] a medium that cannot be written is a typed error", async (context) => {
    const disk = smallDisk(3000);
    if (disk === undefined) return context.skip("this user may not mount a small disk");
    const session = Session.start("hi");
    const path = folder();
    const store = await openStore(urlIn(path));
    await store.save(session, { name: "main" });
    await store.close();
    copyFileSync(join(path, "rath.db"), join(disk.path, "rath.db"));
    disk.remount("ro");
    expect(await codeOf(openStore(urlIn(disk.path)).then((opened) => opened.save(session.say("x"))))).toBe(
      "store-read-only",
    );
    expect(await codeOf(openStore(`sqlite:${join(disk.path, "new.db")}`))).toMatch(
      /^store-(read-only|not-a-store)$/,
    );
    disk.remount("rw");
    const again = await openStore(urlIn(disk.path));
    expect((await again.load("main")).id).toBe(session.id);
    await again.close();
  });

  it("[S94] a file that may not be written is a typed error", async (context) => {
    if (process.getuid?.() === 0) return context.skip("permissions do not bind this user");
    const path = folder();
    await (await openStore(urlIn(path))).close();
    chmodSync(join(path, "rath.db"), 0o444);
    expect(await codeOf(openStore(urlIn(path)).then((store) => store.save(Session.start("hi"))))).toBe(
      "store-read-only",
    );
  });
});
