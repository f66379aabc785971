import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { digestsOf, Session } from "../../session/index.js";
import { Dice } from "../../testkit/store/graph.js";
import { openStore } from "../open.js";
import type { Store } from "../store.js";
import { folder } from "../testing/folder.js";
import { openDatabase } from "./driver.js";

const AT = "2026-01-01T00:00:00.000Z";

/** A store with something in every table. */
async function fullStore(path: string): Promise<Session> {
  const store = await openStore(`sqlite:${path}`);
  let trunk = Session.start("hi", { inline: 0 });
  for (let step = 0; step < 30; step++) trunk = trunk.say(`line ${step}`);
  const session = trunk.fork("x").merge(trunk.fork("y").say("long ".repeat(2000)));
  await store.save(session, { name: "main", key: "step" });
  await store.save(trunk.fork("z").say("3"), { name: "side" });
  for (let time = 0; time < 2; time++) await store.load("side", { horizon: 3 });
  await store.close();
  return session;
}

/** All that can be read from a store that holds `session`, as text. */
async function tell(store: Store, session: Session): Promise<string> {
  const told: unknown[] = [];
  for await (const line of store.export(["main", "side"])) told.push(line);
  for (const { id } of session.history()) told.push((await store.children(id)).toSorted());
  const { usage, lineage } = await store.load("side", { horizon: 3 });
  told.push(
    usage,
    lineage,
    (await store.load("side", { horizon: 3 })).recent(100),
    (await store.names()).map(({ name, id }) => [name, id]),
  );
  return JSON.stringify(told);
}

describe("the file of a sqlite: store", () => {
  it("[S65] an altered byte is a finding or a typed error, or changes nothing that can be read", async () => {
    const path = folder();
    const session = await fullStore(join(path, "good.db"));
    const good = readFileSync(join(path, "good.db"));
    const store = await openStore(`sqlite:${join(path, "good.db")}`);
    const expected = await tell(store, session);
    expect((await store.check()).findings).toEqual([]);
    await store.close();
    // Not the first page: it holds the schema as text, and what a column is called is no part of the record.
    const written = [...good.keys()].filter((at) => at >= 4096 && good[at] !== 0);
    const dice = new Dice(65);
    let found = 0;
    for (let round = 0; round < 300; round++) {
      const at = dice.pick(written);
      const altered = Buffer.from(good);
      altered[at] = (altered[at] as number) ^ (1 << dice.roll(8));
      const bad = join(path, "bad.db");
      for (const end of ["", "-wal", "-shm"]) rmSync(`${bad}${end}`, { force: true });
      writeFileSync(bad, altered);
      const outcome = await examine(`sqlite:${bad}`, session);
      if (outcome === "found") found += 1;
      else if (outcome !== expected) expect.fail(`byte ${at} altered: ${outcome.slice(0, 200)}`);
    }
    expect(found).toBeGreaterThan(200);
  });

  it("[S66] a file that was cut off, or whose pages are in each other's place, is a finding or a typed error", async () => {
    const path = folder();
    const session = await fullStore(join(path, "good.db"));
    const good = readFileSync(join(path, "good.db"));
    const store = await openStore(`sqlite:${join(path, "good.db")}`);
    const expected = await tell(store, session);
    await store.close();
    const dice = new Dice(66);
    const pages = good.length / 4096;
    for (let round = 0; round < 80; round++) {
      const [one, other] = [dice.roll(pages) * 4096, dice.roll(pages) * 4096];
      const swapped = Buffer.from(good);
      good.copy(swapped, one, other, other + 4096);
      if (round % 3 !== 0) good.copy(swapped, other, one, one + 4096);
      const bad = join(path, "bad.db");
      for (const end of ["", "-wal", "-shm"]) rmSync(`${bad}${end}`, { force: true });
      writeFileSync(bad, round % 2 === 0 ? swapped : good.subarray(0, 100 + dice.roll(good.length - 100)));
      const outcome = await examine(`sqlite:${bad}`, session);
      if (outcome !== "found" && outcome !== expected)
        expect.fail(`round ${round}: ${outcome.slice(0, 200)}`);
    }
  });

  it("[S65] a finding names its place: a line, a blob, an edge, a name, a snapshot", async () => {
    const path = folder();
    await fullStore(join(path, "good.db"));
    const harms: readonly (readonly [string, RegExp])[] = [
      [
        `UPDATE fresh SET line = replace(line, '"name":"x"', '"name":"y"'); UPDATE packs SET lines = replace(lines, '"name":"x"', '"name":"y"')`,
        /fact/,
      ],
      [
        "UPDATE blobs SET bytes = zeroblob(length(bytes)) WHERE rowid = (SELECT min(rowid) FROM blobs)",
        /blob [0-9a-f]{64}/,
      ],
      ["DELETE FROM blobs WHERE rowid = (SELECT min(rowid) FROM blobs)", /blob [0-9a-f]{64}/],
      ["UPDATE merges SET parent = parent - 1", /fact \d+\.\d+/],
      ["UPDATE chains SET base = base - 1 WHERE base IS NOT NULL", /fact \d+\.0/],
      [`UPDATE names SET id = '${"0".repeat(64)}' WHERE name = 'main'`, /name "main"/],
      [`UPDATE steps SET id = '${"0".repeat(64)}'`, /step "step" of "main"/],
      ["UPDATE snapshots SET snapshot = replace(snapshot, 'line', 'lime')", /snapshot/],
    ];
    for (const [sql, place] of harms) {
      const bad = join(path, "bad.db");
      for (const end of ["", "-wal", "-shm"]) rmSync(`${bad}${end}`, { force: true });
      copyFileSync(join(path, "good.db"), bad);
      const database = openDatabase(bad);
      database.exec(sql);
      database.close();
      const store = await openStore(`sqlite:${bad}`);
      expect((await store.check()).findings.map((finding) => finding.place).join("\n"), sql).toMatch(place);
      await store.close();
    }
  });

  it("[S64] a backup is a store of its own with everything in it, taken while others write", async () => {
    const path = folder();
    const session = await fullStore(join(path, "rath.db"));
    const store = await openStore(`sqlite:${join(path, "rath.db")}`);
    const expected = await tell(store, session);
    const writing = store.save(session.say("meanwhile"), { name: "other" });
    await store.backup(join(path, "copy.db"));
    await writing;
    await expect(store.backup(join(path, "copy.db"))).rejects.toMatchObject({ code: "store-not-a-store" });
    await store.save(session.say("later"), { name: "main" });
    await store.close();
    const copy = await openStore(`sqlite:${join(path, "copy.db")}`);
    await copy.forget("other").catch(() => {});
    expect(await tell(copy, session)).toBe(expected);
    expect((await copy.check()).findings).toEqual([]);
    const replayed = await copy.save(session, { name: "main", key: "step" });
    expect(replayed.replayed).toBe(true);
    await copy.close();
  });

  it("[S76] no byte of erased or collected content is left in any file, nor of the key of its salt", async () => {
    const path = folder();
    const secret = "Sesame Street 123";
    const store = await openStore(`sqlite:${join(path, "rath.db")}`);
    let session = Session.start("hi", { inline: 0 }).say(secret.repeat(1000)).say(secret);
    const digests = [...session.history()].slice(1).flatMap(({ line }) => digestsOf(line));
    for (let step = 0; step < 50; step++) session = session.say(`line ${step}`, { at: AT });
    await store.save(session, { name: "main" });
    const rival = Session.start(`collected ${secret}`).say(`${secret} `.repeat(500));
    await store.save(rival, { name: "rival" });
    for (let time = 0; time < 2; time++) await store.load("main", { horizon: 10 });
    const other = await openStore(`sqlite:${join(path, "rath.db")}`);
    await other.load("main");
    const key = keyOf(session);
    expect(bytesIn(path).includes(secret)).toBe(true);
    expect(bytesIn(path).includes(key)).toBe(true);
    await store.forget("rival");
    await store.gc();
    await store.erase("main", { digests, why: "asked", by: "user:ada" });
    expect(bytesIn(path).includes(secret)).toBe(false);
    expect(bytesIn(path).includes(key)).toBe(false);
    // Whoever still has it in memory goes on, and snapshots are taken: nothing of it comes back.
    let late = session;
    for (let step = 0; step < 4200; step++) late = late.say("x", { at: AT });
    await other.save(late, { name: "late" });
    for (let time = 0; time < 2; time++) await other.load("late", { horizon: 50 });
    expect(bytesIn(path).includes(secret)).toBe(false);
    expect((await other.check()).findings).toEqual([]);
    await other.close();
    await store.close();
    expect(bytesIn(path).includes(secret)).toBe(false);
  });

  it("[S77] a merged session's content cannot be tested against its digest once it is erased: every key of its roots is gone", async () => {
    const path = folder();
    const store = await openStore(`sqlite:${join(path, "rath.db")}`);
    const [ours, theirs] = [
      Session.start("ours", { inline: 0 }),
      Session.start("theirs", { inline: 0 }).say("their secret"),
    ];
    await store.save(ours.merge(theirs), { name: "main" });
    await store.erase("main", { digests: digestsOf(theirs.line), why: "asked" });
    for (const session of [ours, theirs]) expect(bytesIn(path).includes(keyOf(session))).toBe(false);
    await store.close();
  });

  it.each([
    [
      "deleted",
      (path: string) => {
        for (const end of ["", "-wal", "-shm"]) rmSync(`${path}${end}`, { force: true });
      },
    ],
    ["moved away", (path: string) => renameSync(path, `${path}.old`)],
    [
      "replaced by a copy",
      (path: string) => {
        copyFileSync(path, `${path}.copy`);
        renameSync(`${path}.copy`, path);
      },
    ],
    ["robbed of its log", (path: string) => rmSync(`${path}-wal`)],
  ])("[S130] a file that was %s while it is open takes no more commits", async (_how, damage) => {
    const path = join(folder(), "gone.db");
    const store = await openStore(`sqlite:${path}`);
    const one = Session.start("one");
    await store.save(one, { name: "one" });
    damage(path);
    const two = Session.start("two");
    for (const attempt of [
      () => store.save(two, { name: "two" }),
      () => store.save(two, { name: "two" }),
      () => store.lease("one"),
      () => store.putBlob(Buffer.from("three")),
    ])
      await expect(attempt()).rejects.toMatchObject({ code: "store-gone", data: { path } });
    await store.close();
  });

  it("[S130] what is put in the place of an open file is left alone by it", async () => {
    const path = join(folder(), "gone.db");
    const old = await openStore(`sqlite:${path}`);
    await old.save(Session.start("one"), { name: "one" });
    for (const end of ["", "-wal", "-shm"]) rmSync(`${path}${end}`, { force: true });
    const now = await openStore(`sqlite:${path}`);
    const two = Session.start("two");
    await now.save(two, { name: "two" });
    await expect(old.save(Session.start("three"))).rejects.toMatchObject({ code: "store-gone" });
    await old.close();
    await now.save(two.say("four"), { name: "two" });
    await now.close();
    const again = await openStore(`sqlite:${path}`);
    expect((await again.names()).map(({ name }) => name)).toEqual(["two"]);
    expect((await again.check()).findings).toEqual([]);
    await again.close();
  });
});

function keyOf(session: Session): Buffer {
  return Buffer.from(Session.realmOf(session).key?.secret ?? "no key at all");
}

async function examine(url: string, session: Session): Promise<string> {
  let store: Store | undefined;
  try {
    store = await openStore(url);
    if ((await store.check()).findings.length > 0) return "found";
    return await tell(store, session);
  } catch (error) {
    return /^(store-|record-)/.test(String((error as { code?: unknown }).code)) ? "found" : String(error);
  } finally {
    await store?.close();
  }
}

/** Everything that is in the files of a folder. */
function bytesIn(path: string): Buffer {
  mkdirSync(path, { recursive: true });
  return Buffer.concat(
    readdirSync(path).flatMap((name) =>
      existsSync(join(path, name)) ? [readFileSync(join(path, name))] : [],
    ),
  );
}
