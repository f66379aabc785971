import { appendFileSync, mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, describe, expect, it } from "vitest";
import { memory } from "../../memory/memory.js";
import { digestOf, Session } from "../../session/index.js";
import { openStore, type Store } from "../../store/index.js";
import { openDatabase } from "../../store/sqlite/driver.js";
import {
  checkExisting,
  indexExisting,
  type JsonlOptions,
  jsonlLogs,
  linksOf,
  moveOver,
  sqliteTable,
  tableOf,
  vectorsOf,
} from "./index.js";

const stores: Store[] = [];
afterEach(async () => {
  await Promise.all(stores.splice(0).map((one) => one.close()));
});
const opened = async (url = "memory:"): Promise<Store> => {
  const store = await openStore(url);
  stores.push(store);
  return store;
};
const folder = (): string => mkdtempSync(join(tmpdir(), "openrath-existing-"));
const FIELDS: JsonlOptions = { session: "chat", at: "time", role: "role", text: "content" };
const line = (chat: string, content: string, more = {}): string =>
  `${JSON.stringify({ chat, time: "2026-01-02T03:04:05Z", role: "user", content, ...more })}\n`;
const logs = (...lines: readonly string[]): string => {
  const path = join(folder(), "chat.jsonl");
  writeFileSync(path, lines.join(""));
  return path;
};
const by = "user:ada";
const listed = async <One>(all: AsyncIterable<One>): Promise<One[]> => {
  const list: One[] = [];
  for await (const one of all) list.push(one);
  return list;
};
const recordOf = async (store: Store, name: string): Promise<string> =>
  (await listed(store.export(name))).join("\n");

/** The bytes that are really held. */
const live = (): number => {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
};

describe("linking", () => {
  it("[X1] records are linked, and their texts stay where they are", async () => {
    const store = await opened();
    const path = logs(
      line("a", "the code is 4711"),
      line("b", "hello", { time: 1_767_323_045 }),
      "\n",
      line("a", "bye", { time: "whenever", role: 7 }),
    );
    const done = await indexExisting(store, { name: "chat", from: jsonlLogs(path, FIELDS), by });
    expect(done).toMatchObject({
      name: "existing/chat",
      records: 3,
      added: 3,
      changed: 0,
      vanished: 0,
      unchanged: 0,
      skipped: 0,
      skips: [],
    });
    const session = await store.load("existing/chat");
    expect(session.id).toBe(done.head);
    const facts = [...session.history()].map(({ fact }) => fact);
    expect(facts.map(({ type }) => type)).toEqual(["session-start", "note", "record-import"]);
    expect(facts[2]).toMatchObject({
      format: "jsonl",
      source: path,
      digest: digestOf(readFileSync(path)),
      by,
      detail: { records: 3 },
    });
    expect(facts[1]).toMatchObject({
      kind: "linked-record",
      by,
      source: path,
      links: [
        {
          key: "line 1",
          digest: digestOf(line("a", "the code is 4711").trimEnd()),
          session: "a",
          at: "2026-01-02T03:04:05.000Z",
          role: "user",
        },
        { key: "line 2", session: "b", at: "2026-01-02T03:04:05.000Z" },
        { key: "line 4", session: "a", role: "7" },
      ],
    });
    expect(await recordOf(store, "existing/chat")).not.toContain("4711");
    expect((await linksOf(store, { session: "a" }))[0]?.text).toBe(undefined);
    const copied = await indexExisting(store, {
      name: "copy",
      from: jsonlLogs(path, FIELDS),
      by,
      copy: true,
    });
    expect(copied.added).toBe(3);
    expect((await linksOf(store, { session: "a", name: "copy" })).map(({ text }) => text)).toEqual([
      "the code is 4711",
      "bye",
    ]);
  });

  it("[X2] again: what is new, what changed, what is gone, and otherwise nothing", async () => {
    const store = await opened();
    const path = logs(line("a", "one"), line("a", "two"), line("b", "three"));
    const index = () => indexExisting(store, { name: "chat", from: jsonlLogs(path, FIELDS), by });
    const first = await index();
    expect((await index()).head).toBe(first.head);
    appendFileSync(path, line("b", "four"));
    const second = await index();
    expect(second).toMatchObject({ added: 1, changed: 0, vanished: 0, unchanged: 3 });
    const before = (await linksOf(store, { record: "line 2" }))[0];
    writeFileSync(path, line("a", "one") + line("c", "TWO"));
    expect(await index()).toMatchObject({ added: 0, changed: 1, vanished: 2, unchanged: 1 });
    expect(await linksOf(store, { record: "line 2" })).toMatchObject([{ session: "c", was: before?.digest }]);
    expect(await linksOf(store, { record: "line 3" })).toEqual([]);
    // What was said about it before stands where it stood.
    expect(await store.has(before?.fact ?? "")).toBe(true);
    const third = await store.head("existing/chat");
    await index();
    expect(await store.head("existing/chat")).toBe(third);
    // Two sources under one name do not know of each other.
    const other = logs(line("a", "elsewhere"));
    expect(await indexExisting(store, { name: "chat", from: jsonlLogs(other, FIELDS), by })).toMatchObject({
      added: 1,
      vanished: 0,
    });
    expect(await linksOf(store, { record: "line 1" })).toHaveLength(2);
    expect(await linksOf(store, { record: "line 1", source: other })).toHaveLength(1);
  });

  it("[X3] one that was stopped is taken up again", async () => {
    const store = await opened();
    const path = logs(
      ...Array.from({ length: 12_000 }, (_, number) => line(`s${number % 7}`, `message ${number}`)),
    );
    const stop = new AbortController();
    const from = jsonlLogs(path, FIELDS);
    const stopping = indexExisting(store, {
      name: "chat",
      from,
      by,
      signal: stop.signal,
      progress: (records) => records >= 8_000 && stop.abort(),
    });
    await expect(stopping).rejects.toMatchObject({ code: "memory-existing", fault: "stopped" });
    const part = await linksOf(store, { session: "s0" });
    expect(part.length).toBeGreaterThan(0);
    expect(part[0]?.imported).toBe(undefined);
    expect(await listed(moveOver(store, part[0] as never, { from, scope: by as never, by }))).toMatchObject([
      { refused: expect.stringContaining("not finished") },
    ]);
    const done = await indexExisting(store, { name: "chat", from, by });
    expect(done.unchanged).toBe(5_000);
    expect(done.added).toBe(7_000);
    const all = await linksOf(store, { session: "s0" });
    expect(new Set(all.map(({ imported }) => imported)).size).toBe(1);
    expect(all).toHaveLength(Math.ceil(12_000 / 7));
    // One that came to its end otherwise than by a new link is finished too.
    expect((await indexExisting(store, { name: "chat", from, by })).head).toBe(done.head);
  });

  it("[X3] one that hangs can be stopped", async () => {
    const store = await opened();
    const silent = {
      async *list(): AsyncGenerator<never> {
        await new Promise<never>(() => {});
      },
    };
    const from = vectorsOf(silent, { source: "silent", session: "thread" });
    for (const work of [indexExisting, checkExisting] as const) {
      const stop = new AbortController();
      const waiting = work(store, {
        name: "silent",
        from,
        ...(work === indexExisting && { by }),
        signal: stop.signal,
      } as never);
      setTimeout(() => stop.abort(), 20);
      await expect(waiting).rejects.toMatchObject({ fault: "stopped" });
    }
  });

  it("[X3] two at a time do not mix", async () => {
    const store = await opened();
    const index = (path: string) => indexExisting(store, { name: "chat", from: jsonlLogs(path, FIELDS), by });
    const outcomes = await Promise.allSettled([index(logs(line("a", "one"))), index(logs(line("a", "two")))]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(outcomes.find((one) => one.status === "rejected")).toMatchObject({
      reason: { code: "name-conflict" },
    });
    expect(await linksOf(store, { session: "a" })).toHaveLength(1);
  });

  it("[X4] 100,000 lines, with little held", async () => {
    const store = await opened(`sqlite:${join(folder(), "store.db")}`);
    const path = join(folder(), "long.jsonl");
    for (let from = 0; from < 100_000; from += 10_000) {
      let lines = "";
      for (let number = from; number < from + 10_000; number++)
        lines += line(`s${number % 1_000}`, `message ${number} ${"words ".repeat(100)}`);
      appendFileSync(path, lines);
    }
    expect(statSync(path).size).toBeGreaterThan(60_000_000);
    const seen: number[] = [];
    let most = 0;
    const start = live();
    const progress = (records: number): void => {
      seen.push(records);
      if (records % 20_000 === 0) most = Math.max(most, live() - start);
    };
    const done = await indexExisting(store, { name: "long", from: jsonlLogs(path, FIELDS), by, progress });
    expect(done).toMatchObject({ records: 100_000, added: 100_000 });
    expect(seen.length).toBeGreaterThan(90);
    expect(seen.at(-1)).toBe(100_000);
    // Half of what the file has would be too much: keys and digests are held, and not what is said.
    expect(most).toBeLessThan(30_000_000);
    expect(await linksOf(store, { session: "s77" })).toHaveLength(100);
    expect(await indexExisting(store, { name: "long", from: jsonlLogs(path, FIELDS), by })).toMatchObject({
      unchanged: 100_000,
      head: done.head,
    });
  });

  it("[X5] garbage is counted and named, and never ends the reading", async () => {
    const store = await opened();
    const path = join(folder(), "bad.jsonl");
    const pieces = [
      Buffer.from(`\ufeff${line("a", "with a mark")}`),
      Buffer.from("{ half\n"),
      Buffer.from([0xff, 0xfe, 0x00, 0x80, 0x0a]),
      Buffer.from("[1,2]\n"),
      Buffer.from("null\n"),
      Buffer.from(`{"chat":"a","content":"${"x".repeat(10_000_000)}"}\n`),
      Buffer.from('{"chat":"\\ud800","content":"x"}\n'),
      Buffer.from('{"content":"no session"}\n'),
      Buffer.from(`${"[".repeat(100_000)}\n`),
      Buffer.from('{"__proto__":{"chat":"z"},"content":"x"}\n'),
      Buffer.from('{"chat":"a","content":"\\ud800 lone"}\r\n'),
      Buffer.from('{"chat":{"deep":1}}\n'),
      Buffer.from('{"chat":"a","content":"no newline"}'),
    ];
    writeFileSync(path, Buffer.concat(pieces));
    const done = await indexExisting(store, { name: "bad", from: jsonlLogs(path, FIELDS), by, copy: true });
    expect(done).toMatchObject({ records: 3, added: 3, skipped: 10 });
    expect(done.skips.map(({ where }) => where)).toEqual(
      [2, 3, 4, 5, 6, 7, 8, 9, 10, 12].map((number) => `line ${number}`),
    );
    expect(Object.fromEntries(done.skips.map(({ where, why }) => [where, why]))).toMatchObject({
      "line 2": "it is not JSON",
      "line 3": "it is not UTF-8 text",
      "line 4": "it is not an object",
      "line 6": "it has more than 4000000 bytes",
      "line 7": 'it has no session in "chat"',
    });
    expect((await linksOf(store, { session: "a" })).map(({ key, text }) => [key, text])).toEqual([
      ["line 1", "with a mark"],
      ["line 11", "\ufffd lone"],
      ["line 13", "no newline"],
    ]);
    const wide = await indexExisting(store, {
      name: "wide",
      from: jsonlLogs(path, { ...FIELDS, longest: 20_000_000 }),
      by,
    });
    expect(wide.records).toBe(4);
    const throwing = {
      session: (row: { chat?: string }) => (row.chat as string).trim(),
      key: () => "same",
    } as never;
    expect(
      (await indexExisting(store, { name: "throws", from: jsonlLogs(path, throwing), by })).skips.map(
        ({ why }) => why,
      ),
    ).toEqual(
      expect.arrayContaining([
        expect.stringContaining("cannot be read"),
        "another record with its key came before",
      ]),
    );
  });

  it("[X5] a source of which nothing can be read is an error, and nothing is written", async () => {
    const store = await opened();
    const path = logs(line("a", "one"));
    const wrong = indexExisting(store, { name: "chat", from: jsonlLogs(path, { session: "thread" }), by });
    await expect(wrong).rejects.toMatchObject({
      fault: "unreadable",
      message: expect.stringContaining('line 1: it has no session in "thread"'),
    });
    expect(await store.head("existing/chat")).toBe(undefined);
    expect(await indexExisting(store, { name: "empty", from: jsonlLogs(logs(), FIELDS), by })).toMatchObject({
      records: 0,
      skipped: 0,
    });
  });

  it("[X6] sources that are not there, or break off", async () => {
    const store = await opened();
    const place = folder();
    const junk = logs("no database at all, but long enough to be looked at as one".repeat(20));
    const good = join(place, "good.db");
    const database = openDatabase(good);
    database.exec(
      "create table messages (id integer primary key, thread text); insert into messages values (1, 't')",
    );
    database.exec("create view seen as select * from messages");
    database.close();
    const breaking = tableOf(
      async function* () {
        for (let number = 0; number < 6_000; number++) yield { id: number, thread: "t" };
        throw new Error("the connection was lost");
      },
      { source: "db", key: "id", session: "thread" },
    );
    const cases = [
      [jsonlLogs(join(place, "none.jsonl"), FIELDS), "missing", "none.jsonl"],
      [jsonlLogs(place, FIELDS), "missing", "EISDIR"],
      [sqliteTable(join(place, "none.db"), "messages", { session: "thread" }), "missing", "none.db"],
      [sqliteTable(place, "messages", { session: "thread" }), "missing", "not a file"],
      [sqliteTable(junk, "messages", { session: "thread" }), "unreadable", "not a database"],
      [sqliteTable(good, "mesages", { session: "thread" }), "columns", 'did you mean "messages"'],
      [sqliteTable(good, "messages", { session: "thraed" }), "columns", 'did you mean "thread"'],
      [
        sqliteTable(good, 'x"; drop table messages; --', { session: "thread" }),
        "columns",
        "there is no table",
      ],
      [sqliteTable(good, "seen", { session: "thread" }), "columns", "a view"],
      [breaking, "broken", "the connection was lost"],
      [tableOf(() => 7 as never, { source: "db", session: "thread" }), "broken", "it gives no rows"],
      [
        vectorsOf(
          { list: () => Promise.reject(new Error("refused")) as never },
          { source: "v", session: "t" },
        ),
        "broken",
        "refused",
      ],
    ] as const;
    for (const [from, fault, words] of cases) {
      const failed = indexExisting(store, { name: "x", from, by });
      await expect(failed).rejects.toMatchObject({
        code: "memory-existing",
        fault,
        message: expect.stringContaining(words),
      });
    }
    expect(await linksOf(store, { session: "t" })).toHaveLength(5_000);
  });

  it("[X7] rows, tables of SQLite and points are linked alike", async () => {
    const store = await opened();
    const path = join(folder(), "chat.db");
    const database = openDatabase(path);
    database.exec(`create table messages (thread text, at integer, role text, body text, blob blob, large integer);
      insert into messages values ('t1', 1767323045, 'user', 'hello', x'00ff', 9223372036854775807), ('t1', 1767323046, 'bot', 'hi', null, 1), (null, 1, 'user', 'lost', null, 2);
      create table parts (one text, two integer, thread text, primary key (one, two)) without rowid;
      insert into parts values ('a', 1, 't1'), ('a', 2, 't2');`);
    const table = sqliteTable(path, "messages", { session: "thread", at: "at", role: "role", text: "body" });
    const before = digestOf(readFileSync(path));
    expect(await indexExisting(store, { name: "sqlite", from: table, by })).toMatchObject({
      added: 2,
      skipped: 1,
      skips: [{ where: "row 3" }],
    });
    expect(digestOf(readFileSync(path))).toBe(before);
    expect(await linksOf(store, { session: "t1" })).toMatchObject([
      { key: "rowid 1", at: "2026-01-02T03:04:05.000Z", role: "user", source: `${path}#messages` },
      { key: "rowid 2", role: "bot" },
    ]);
    await indexExisting(store, {
      name: "parts",
      from: sqliteTable(path, "parts", { session: "thread" }),
      by,
    });
    expect((await linksOf(store, { session: "t2" })).map(({ key }) => key)).toEqual(['["a",2]']);
    database.exec("update messages set large = 9223372036854775806 where role = 'user'");
    expect(await checkExisting(store, { name: "sqlite", from: table })).toMatchObject({
      changed: 1,
      changes: [{ key: "rowid 1" }],
    });
    database.close();
    const loop: { [field: string]: unknown } = { id: 3, thread: "t3" };
    loop.self = loop;
    const rows = [{ id: 1n, thread: "t3", when: new Date(0) }, { thread: "t3", id: 2 }, loop, null, "text"];
    const from = tableOf(rows as never, { source: "chat.rows", session: "thread", key: "id", at: "when" });
    expect(await indexExisting(store, { name: "rows", from, by })).toMatchObject({ added: 2, skipped: 3 });
    expect(await linksOf(store, { session: "t3" })).toMatchObject([
      { key: "1", at: "1970-01-01T00:00:00.000Z" },
      { key: "2" },
    ]);
    const points = vectorsOf(
      {
        async *list() {
          yield { id: "p1", text: "a point", metadata: { thread: { id: "t4" }, at: "2026-01-01" } };
          yield { id: "p2", metadata: {} };
        },
      },
      { source: "vectors", session: "thread.id", at: "at" },
    );
    expect(await indexExisting(store, { name: "points", from: points, by, copy: true })).toMatchObject({
      added: 1,
      skipped: 1,
    });
    expect(await linksOf(store, { session: "t4" })).toMatchObject([
      { key: "p1", text: "a point", format: "vectors" },
    ]);
  });

  it("[X8] options are checked", async () => {
    const store = await opened();
    const from = jsonlLogs("x", FIELDS);
    expect(() => jsonlLogs("x", { sesion: "a" } as never)).toThrow('did you mean "session"?');
    expect(() => jsonlLogs("x", {} as never)).toThrow("what its sessions are called by");
    expect(() => jsonlLogs("x", { session: 7 } as never)).toThrow("its `session` is 7");
    expect(() => jsonlLogs("", FIELDS)).toThrow("the path must be a text");
    expect(() => jsonlLogs("x", { ...FIELDS, longest: 0 })).toThrow("its `longest` is");
    expect(() => tableOf([], { session: "a" } as never)).toThrow("where it is");
    expect(() => tableOf(7 as never, { session: "a", source: "x" })).toThrow("its `rows` is 7");
    expect(() => sqliteTable("", "t", { session: "a" })).toThrow("its path is");
    expect(() => vectorsOf({} as never, { session: "a", source: "x" })).toThrow("its `list` is");
    const bad: readonly [object, string][] = [
      [{ name: "../x", from, by }, "`name` must be a short name"],
      [{ name: "x", from: {}, by }, "must be a source of records"],
      [{ name: "x", from, by: "nobody" }, "its `by` is"],
      [{ name: "x", from, by, copy: 1 }, "its `copy` is"],
      [{ name: "x", from, by, copyy: true }, 'did you mean "copy"?'],
    ];
    for (const [options, words] of bad)
      await expect(indexExisting(store, options as never), words).rejects.toThrow(words);
    await expect(checkExisting(store, { name: "x", from: 1 } as never)).rejects.toThrow(
      "must be a source of records",
    );
    await expect(linksOf(store, {})).rejects.toThrow("it asks for nothing");
    await expect(linksOf(store, { session: 7 as never })).rejects.toThrow("its `session` is 7");
    await expect(listed(moveOver(store, [], { scope: "nowhere" as never, by }))).rejects.toThrow(
      "is not a step of a scope",
    );
  });
});

describe("asking", () => {
  it("[X9] by what both call a session", async () => {
    const store = await opened();
    const talk = Session.start("hello").say("one");
    const later = talk.say("two");
    await store.save(later, { name: "team/talk" });
    const path = logs(
      line("team/talk", "by name"),
      line(talk.id, "by an id of its past"),
      line(later.id, "by its id"),
      line("another", "not at all"),
      line("f".repeat(64), "an id of nobody"),
      line("odd name\n", "odd"),
    );
    await indexExisting(store, { name: "chat", from: jsonlLogs(path, FIELDS), by });
    const keys = async (session: string) => (await linksOf(store, { session })).map(({ key }) => key);
    expect(await keys("team/talk")).toEqual(["line 1", "line 2", "line 3"]);
    expect(await keys(later.id)).toEqual(["line 1", "line 2", "line 3"]);
    expect(await keys(talk.id)).toEqual(["line 2"]);
    expect(await keys("another")).toEqual(["line 4"]);
    expect(await keys("nobody")).toEqual([]);
    const sessions = async (record: string) =>
      (await linksOf(store, { record })).map((link) => link.sessions)[0];
    expect(await sessions("line 1")).toEqual([{ id: later.id, name: "team/talk" }]);
    expect(await sessions("line 2")).toEqual([{ id: talk.id }]);
    expect(await sessions("line 4")).toEqual([]);
    expect(await sessions("line 5")).toEqual([]);
    expect(await sessions("line 6")).toEqual([]);
    writeFileSync(path, readFileSync(path, "utf8").replace('"another"', '"team/talk"'));
    await indexExisting(store, { name: "chat", from: jsonlLogs(path, FIELDS), by });
    expect(await keys("another")).toEqual([]);
    expect(await keys("team/talk")).toEqual(["line 1", "line 2", "line 3", "line 4"]);
  });

  it("[X10] a check says what is not as it was linked, and writes nothing", async () => {
    const store = await opened();
    const path = logs(line("a", "one"), line("a", "two"), line("a", "three"));
    const from = jsonlLogs(path, { ...FIELDS, key: "content" });
    const { head } = await indexExisting(store, { name: "chat", from, by });
    const seen: number[] = [];
    expect(
      await checkExisting(store, { name: "chat", from, progress: (records) => seen.push(records) }),
    ).toMatchObject({ records: 3, unchanged: 3, changed: 0, vanished: 0 });
    expect(seen).toEqual([3]);
    writeFileSync(
      path,
      `${line("a", "three", { role: "bot" })}junk\n${line("a", "one")}${line("a", "four")}`,
    );
    expect(await checkExisting(store, { name: "chat", from })).toMatchObject({
      records: 3,
      unchanged: 1,
      changed: 1,
      vanished: 1,
      unlinked: 1,
      skipped: 1,
      changes: [{ key: "three", was: expect.any(String), now: expect.any(String) }],
      gone: [{ key: "two" }],
      skips: [{ where: "line 2" }],
    });
    expect(await store.head("existing/chat")).toBe(head);
    const stop = new AbortController();
    stop.abort();
    await expect(checkExisting(store, { name: "chat", from, signal: stop.signal })).rejects.toMatchObject({
      fault: "stopped",
    });
    expect(await checkExisting(store, { name: "nothing", from })).toMatchObject({ unlinked: 3, vanished: 0 });
  });

  it("[X11] the store verifies, and a copied text can be erased while its link stays", async () => {
    const url = `sqlite:${join(folder(), "store.db")}`;
    const store = await opened(url);
    const path = logs(line("a", `secret ${"s".repeat(5_000)}`), line("a", "more"));
    await indexExisting(store, { name: "chat", from: jsonlLogs(path, FIELDS), by, copy: true });
    expect((await store.check()).findings).toEqual([]);
    const [first] = await linksOf(store, { record: "line 1" });
    expect(first?.text).toContain("secret");
    const held = await store.line(first?.fact ?? "");
    const digest = (JSON.parse(held ?? "") as { blobs: { texts: { digest: string } } }).blobs.texts.digest;
    await store.erase("existing/chat", { digests: [digest], why: "asked for", by });
    const [after] = await linksOf(store, { record: "line 1" });
    expect(after).toMatchObject({ key: "line 1", digest: first?.digest });
    expect(after?.text).toBe(undefined);
    expect((await store.check()).findings).toEqual([]);
  });
});

describe("moving over", () => {
  it("[X12] drafts with the import as their evidence, from one reading", async () => {
    const store = await opened();
    let readings = 0;
    const rows = [
      { id: 1, thread: "t", body: "Ada likes tea" },
      {
        id: 2,
        thread: "t",
        body: [
          { type: "text", text: "Bob" },
          { type: "text", text: "likes coffee" },
        ],
      },
      { id: 3, thread: "u", body: "not asked for" },
    ];
    const from = tableOf(
      () => {
        readings += 1;
        return rows;
      },
      { source: "chat.rows", key: "id", session: "thread", text: "body" },
    );
    await indexExisting(store, { name: "rows", from, by });
    const links = await linksOf(store, { session: "t" });
    readings = 0;
    const moved = await listed(
      moveOver(store, links, {
        from,
        scope: ["project:rath", "user:ada"],
        by,
        subject: ({ key }) => (key === "1" ? "drinks" : undefined),
      }),
    );
    expect(readings).toBe(1);
    expect(moved.map((one) => "draft" in one && one.draft.text)).toEqual([
      "Ada likes tea",
      "Bob\nlikes coffee",
    ]);
    const [first] = moved;
    if (first === undefined || !("draft" in first)) throw new Error("there is no draft");
    expect(first.draft).toEqual({
      text: "Ada likes tea",
      scope: ["project:rath", "user:ada"],
      source: "import",
      because: [links[0]?.imported, links[0]?.fact],
      by,
      subject: "drinks",
      meta: {
        existing: {
          name: "rows",
          format: "table",
          source: "chat.rows",
          key: "1",
          digest: links[0]?.digest,
          session: "t",
        },
      },
    });
    const space = memory({ name: "drinks", scope: "project:rath" }).open(store);
    for (const one of moved) if ("draft" in one) await space.write(one.draft);
    expect(await space.list({ scope: ["project:rath", "user:ada"] })).toMatchObject([
      { text: "Ada likes tea", source: "import", trust: "untrusted" },
      { text: "Bob\nlikes coffee" },
    ]);
    await indexExisting(store, { name: "copies", from, by, copy: true });
    const copies = await linksOf(store, { record: "1", name: "copies" });
    expect(await listed(moveOver(store, copies, { scope: "user:ada", by }))).toMatchObject([
      { draft: { text: "Ada likes tea" } },
    ]);
  });

  it("[X13] a record that changed, is gone, or has no text gives a reason", async () => {
    const store = await opened();
    const path = logs(
      line("a", "one"),
      line("a", "two"),
      line("a", "three"),
      line("a", " "),
      line("a", "long ".repeat(10_000)),
    );
    const from = jsonlLogs(path, FIELDS);
    await indexExisting(store, { name: "chat", from, by });
    const links = await linksOf(store, { session: "a" });
    writeFileSync(
      path,
      `${line("a", "one")}${line("a", "TWO")}junk\n${line("a", " ")}${line("a", "long ".repeat(10_000))}`,
    );
    const reasons = await listed(moveOver(store, links, { from, scope: "user:ada", by }));
    expect(reasons.map((one) => [one.link.key, "draft" in one ? one.draft.text : one.refused])).toEqual([
      ["line 1", "one"],
      ["line 2", expect.stringContaining("another record")],
      ["line 4", expect.stringContaining("no text")],
      ["line 5", expect.stringContaining("50000 characters")],
      ["line 3", expect.stringContaining("no longer in the source")],
    ]);
    const [link] = links;
    expect(await listed(moveOver(store, link as never, { scope: "user:ada", by }))).toMatchObject([
      { refused: expect.stringContaining("give that as from") },
    ]);
    expect(
      await listed(moveOver(await opened(), link as never, { from, scope: "user:ada", by })),
    ).toMatchObject([{ refused: expect.stringContaining("not in this store") }]);
  });
});
