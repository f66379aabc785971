import {
  chmodSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Session } from "../../session/index.js";
import { openStore } from "../open.js";
import type { Store } from "../store.js";
import { folder, makeOlder, openFiles, smallDisk } from "../testing/folder.js";
import { Connection } from "./connection.js";
import { openDatabase } from "./driver.js";
import { examineTables } from "./examine.js";
import { Lines } from "./lines.js";
import { Names } from "./names.js";
import { openToRead, SCHEMA } from "./schema.js";

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
    for (const url of ["", "sqlite:", "mysql://host/db", "rath.db", "MEMORY:"])
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

  it("[S91] the names of an older store have an order of change and tokens from then on, and can be listed without", async () => {
    const path = join(folder(), "rath.db");
    const names = ["b", "a", "c"];
    const store = await openStore(`sqlite:${path}`);
    for (const name of names) await store.save(Session.start(name), { name });
    await store.lease("none");
    await store.close();
    makeOlder(path, 3);
    const listed = async (one: Store, limit: number): Promise<string[]> =>
      (await one.names({ order: "changed", limit })).map(({ name }) => name);
    const database = openToRead(path);
    const reading = new Names(new Connection(path, database), () => 0);
    const page = { under: "", order: "changed", before: 9, limit: 2 } as const;
    expect(reading.page(page).map(({ name }) => name)).toEqual(["c", "b"]);
    expect([reading.moves(0, 9), reading.newestMove()]).toEqual([[], 0]);
    expect([...examineTables(database, new Lines(database))]).toEqual([]);
    database.close();
    const again = await openStore(`sqlite:${path}`);
    const [{ token } = { token: "" }] = await again.names({ under: "b" });
    expect(await listed(again, 9)).toEqual(["c", "b", "a"]);
    await again.save((await again.load("a")).say("on"), { name: "a" });
    expect(await listed(again, 2)).toEqual(["a", "c"]);
    const told: string[] = [];
    for await (const { name } of again.watch({ from: token })) if (told.push(name) === 2) break;
    expect(told).toEqual(["c", "a"]);
    expect((await again.check()).findings).toEqual([]);
    await again.close();
  });

  it("[S136] copies share an identity, other stores have another, and one of version 0.1 gets its own", async () => {
    const path = folder();
    const identityOf = async (file: string): Promise<unknown> => {
      const store = await openStore(`sqlite:${join(path, file)}`);
      const { identity } = store;
      await store.close();
      return identity;
    };
    const first = await identityOf("first.db");
    expect(first).toMatch(/^[0-9a-f]{32}$/);
    copyFileSync(join(path, "first.db"), join(path, "copy.db"));
    expect(await identityOf("copy.db")).toBe(first);
    expect(await identityOf("second.db")).not.toBe(first);
    makeOlder(join(path, "first.db"), 2);
    expect(await identityOf("first.db")).toMatch(/^[0-9a-f]{32}$/);
    expect(await identityOf("first.db")).not.toBe(first);
    expect((await openStore("memory:")).identity).toBeUndefined();
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

  it.each([
    ["closed", true],
    ["left with a log", false],
  ])("[S134] a store that was %s is read from a medium that cannot be written", async (_how, closed) => {
    const disk = smallDisk(3000);
    if (disk === undefined) return;
    const path = folder();
    const store = await openStore(urlIn(path));
    const session = Session.start("hi", { inline: 0 }).say("more");
    await store.save(session, { name: "main" });
    if (closed) await store.close();
    for (const name of readdirSync(path).filter((file) => !file.endsWith("-shm")))
      copyFileSync(join(path, name), join(disk.path, name));
    disk.remount("ro");
    const before = readdirSync(disk.path);
    const temporary = folder();
    vi.stubEnv("TMPDIR", temporary);
    onTestFinished(() => void vi.unstubAllEnvs());
    const reader = await openStore(urlIn(disk.path));
    // Not even while it is open: a process that is killed must leave no copy of a store.
    expect(readdirSync(temporary)).toEqual([]);
    expect((await reader.names()).map(({ name, id }) => [name, id])).toEqual([["main", session.id]]);
    expect((await reader.load("main", { horizon: 1 })).id).toBe(session.id);
    expect((await reader.load("main")).transcript).toHaveLength(2);
    expect(await reader.check()).toMatchObject({ facts: 2, findings: [] });
    const lines: string[] = [];
    for await (const line of reader.export("main")) lines.push(line);
    expect(lines).toHaveLength(4);
    for (const attempt of [() => reader.save(session.say("x"), { name: "main" }), () => reader.lease("main")])
      expect(await codeOf(attempt())).toBe("store-read-only");
    await reader.close();
    expect(readdirSync(disk.path)).toEqual(before);
    if (!closed) await store.close();
  });

  it("[S131] a lease that a full disk kept from being given back does not keep its own process out", async (context) => {
    const disk = smallDisk(3000);
    if (disk === undefined) return context.skip("this user may not mount a small disk");
    const store = await openStore(urlIn(disk.path));
    const session = Session.start("hi");
    await store.save(session, { name: "main" });
    const lease = await store.lease("main");
    const ballast = join(disk.path, "ballast");
    writeFileSync(ballast, Buffer.alloc(statfsSync(disk.path).bavail * statfsSync(disk.path).bsize));
    let next = session;
    for (let step = 0; step < 50; step++) next = next.say(`${step} `.repeat(5000));
    expect(await codeOf(store.save(next, { name: "main", lease }))).toBe("store-full");
    expect(await codeOf(lease.release())).toBe("store-full");
    rmSync(ballast);
    const again = await store.lease("main");
    await store.save(next, { name: "main", lease: again });
    expect(await codeOf(store.save(next.say("late"), { name: "main", lease }))).toBe("name-fenced");
    await store.close();
  });

  it("[S132] too many open files are an error of their own, and the store opens once there is room", async (context) => {
    const path = folder();
    await (await openStore(urlIn(path))).close();
    const open: number[] = [];
    try {
      for (let count = 0; count < 100_000; count++) open.push(openSync("/dev/null", "r"));
    } catch {
      // That was the last one.
    }
    const code = await codeOf(openStore(urlIn(path)));
    for (const file of open) closeSync(file);
    if (open.length === 100_000) return context.skip("this process may open more than 100,000 files");
    expect(code).toBe("store-too-many-files");
    const store = await openStore(urlIn(path));
    expect((await store.check()).findings).toEqual([]);
    await store.close();
  });

  it.skipIf(process.platform !== "linux")("[S133] a closed store leaves no file open", async () => {
    const path = folder();
    const held = (): string[] => openFiles().filter((file) => file.startsWith(path));
    for (let count = 0; count < 12; count++) {
      const store = await openStore(`sqlite:${join(path, `rath-${count}.db`)}`);
      await store.save(Session.start("hi"), { name: "main" });
      expect((await store.check()).findings).toEqual([]);
      expect(held()).not.toEqual([]);
      await store.close();
    }
    await vi.waitFor(() => expect(held()).toEqual([]), { timeout: 240_000 });
  });
});
