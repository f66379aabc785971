import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  type Digest,
  digestOf,
  EMPTY_TREE,
  filesView,
  Session,
  type TreeEntry,
  writeTree,
} from "../session/index.js";
import { MemoryShelf } from "./memory/shelf.js";
import { openStore } from "./open.js";
import { recover } from "./recover/recover.js";
import type { Shelf } from "./shelf.js";
import { ShelfStore } from "./shelf-store/shelf-store.js";
import { takeSnapshot } from "./shelf-store/snapshot.js";
import { openDatabase } from "./sqlite/driver.js";
import { SqliteShelf } from "./sqlite/shelf.js";
import type { Store } from "./store.js";
import { folder, makeOlder } from "./testing/folder.js";

const HOUR = 60 * 60 * 1000;
const kinds: { readonly [scheme: string]: () => Promise<Shelf> } = {
  memory: async () => new MemoryShelf(),
  sqlite: async () => SqliteShelf.open(join(folder(), "rath.db")),
};
const file = (name: string, text: string): TreeEntry => ({
  kind: "file",
  name,
  mode: 0o644,
  size: Buffer.byteLength(text),
  digest: digestOf(text),
});

/** A folder of two files, one of them a level down, and its blobs. */
function made(text: string): { readonly tree: Digest; readonly bytes: readonly Buffer[] } {
  const inner = writeTree({ entries: [file("deep.txt", `deep ${text}`)] });
  const root = writeTree({
    entries: [file("a.txt", text), { kind: "tree", name: "src", mode: 0o755, digest: digestOf(inner) }],
  });
  return { tree: digestOf(root), bytes: [text, `deep ${text}`, inner, root].map((one) => Buffer.from(one)) };
}
const importOf = (session: Session, tree: Digest): Session =>
  session.append({ type: "workspace-import", source: "./work", after: tree, files: 2, bytes: 9 });
async function gone(store: Store, bytes: readonly Buffer[]): Promise<number> {
  let count = 0;
  for (const one of bytes) if ((await store.blob(digestOf(one))) === undefined) count += 1;
  return count;
}

afterEach(() => {
  vi.useRealTimers();
});

describe.each(Object.entries(kinds))("files in a %s: store", (_, open) => {
  it("[S116] what was put and got no fact is spared for a day, from when it was put last", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const shelf = await open();
    const store = new ShelfStore(shelf);
    const [one, two] = [made("one"), made("two")];
    await store.putBlobs(one.bytes);
    await store.putBlobs(two.bytes);
    vi.setSystemTime(Date.now() + 23 * HOUR);
    expect(await store.gc()).toMatchObject({ blobs: 0, spared: 8 });
    // Nothing new is written, and yet somebody relies on it from now on.
    await store.putBlobs(one.bytes);
    vi.setSystemTime(Date.now() + 2 * HOUR);
    expect(await store.gc({ dryRun: true })).toMatchObject({ blobs: 4, spared: 4 });
    expect(await store.gc()).toMatchObject({ blobs: 4, spared: 4 });
    expect([await gone(store, one.bytes), await gone(store, two.bytes)]).toEqual([0, 4]);
    await store.save(importOf(Session.start(), one.tree), { name: "main" });
    vi.setSystemTime(Date.now() + 48 * HOUR);
    expect(await store.gc()).toMatchObject({ blobs: 0, spared: 0 });
    // What is noted of such blobs does not grow for ever.
    await store.putBlob(Buffer.from("another"));
    await store.gc({ all: true });
    const noted = new Set(await shelf.blobs.putSince(0));
    expect([...one.bytes, ...two.bytes].some((bytes) => noted.has(digestOf(bytes)))).toBe(false);
    await store.close();
  });

  it("[S128] what a recent tree leads to is spared with it, however old it is, unless all shall go", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const shelf = await open();
    const store = new ShelfStore(shelf);
    const [known, other] = [made("known"), made("other")];
    const pieces = ["piece one", "piece two"].map((one) => Buffer.from(one));
    const list = Buffer.from(JSON.stringify(pieces.map((piece) => digestOf(piece))));
    await store.putBlobs([...known.bytes, ...other.bytes, ...pieces, list]);
    vi.setSystemTime(Date.now() + 48 * HOUR);
    // Whoever captures files puts what is new: the directory above, and nothing of what it knows to be here.
    const long: TreeEntry = { kind: "parts", name: "long", mode: 0o644, size: 18, digest: digestOf(list) };
    const above = Buffer.from(
      writeTree({ entries: [long, { kind: "tree", name: "sub", mode: 0o755, digest: known.tree }] }),
    );
    // A text that only begins like a tree leads nowhere, and is no reason to stop.
    const strange = Buffer.from(`{"tree":1,"entries":[["x","tree","755","${other.tree}"]],"more":1}`);
    await store.putBlobs([above, strange]);
    expect(await store.gc()).toMatchObject({ blobs: 4, spared: 9 });
    expect(await gone(store, [above, strange, ...known.bytes, ...pieces, list])).toBe(0);
    expect(await gone(store, other.bytes)).toBe(4);
    await store.save(importOf(Session.start(), digestOf(above)), { name: "main" });
    expect((await store.check()).findings).toEqual([]);
    await store.forget("main");
    vi.setSystemTime(Date.now() + 1);
    expect(await store.gc({ all: true })).toMatchObject({ facts: 2, blobs: 9, spared: 0 });
    expect(await gone(store, [above, strange, ...known.bytes, ...pieces, list])).toBe(9);
    await store.close();
  });

  it("[S128] also what a tree leads to that was put while gc was counting", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const shelf = await open();
    const store = new ShelfStore(shelf);
    const [known, other] = [made("known"), made("other")];
    await store.putBlobs([...known.bytes, ...other.bytes]);
    vi.setSystemTime(Date.now() + 48 * HOUR);
    const above = Buffer.from(
      writeTree({ entries: [{ kind: "tree", name: "sub", mode: 0o755, digest: known.tree }] }),
    );
    const remove = shelf.remove.bind(shelf);
    shelf.remove = async (what) => {
      shelf.remove = remove;
      expect(what.digests?.length).toBe(8);
      vi.setSystemTime(Date.now() + 5);
      await store.putBlob(above);
      return remove(what);
    };
    await store.gc({ all: true });
    expect([await gone(store, [above, ...known.bytes]), await gone(store, other.bytes)]).toEqual([0, 4]);
    await store.close();
  });

  it("[S129] the same bytes may be a directory, a file and, wrongly, the parts of one: each is followed as what it is", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const store = new ShelfStore(await open());
    const { tree, bytes } = made("twice");
    const text = bytes.at(-1) as Buffer;
    const both = (wrong: boolean): Buffer =>
      Buffer.from(
        writeTree({
          entries: [
            { kind: "file", name: "a-file", mode: 0o644, size: text.length, digest: tree },
            ...(wrong ? ([{ kind: "parts", name: "b", mode: 0o644, size: 1, digest: tree }] as const) : []),
            { kind: "tree", name: "c-tree", mode: 0o755, digest: tree },
          ],
        }),
      );
    for (const wrong of [false, true]) {
      const root = both(wrong);
      await store.putBlobs([...bytes, root]);
      const session = importOf(Session.start(), digestOf(root));
      await store.save(session, { name: "main", force: true });
      vi.setSystemTime(Date.now() + 48 * HOUR);
      await store.gc();
      expect(await gone(store, [...bytes, root]), String(wrong)).toBe(0);
      const problems = (await store.check()).findings.map(({ problem }) => problem);
      if (wrong) expect(problems.join()).toContain("parts of a file");
      else expect(problems).toEqual([]);
    }
    const first = importOf(Session.start(), digestOf(both(false)));
    await store.putBlobs([...bytes, both(false)]);
    await store.save(first, { name: "whole" });
    const other = await openStore("memory:");
    await other.import(store.export("whole"));
    expect(await gone(other, [...bytes, both(false)])).toBe(0);
    expect((await other.check()).findings).toEqual([]);
    await other.close();
    await store.close();
  });

  it("[S123] what a fact came to lead to while gc was counting stays", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const shelf = await open();
    const store = new ShelfStore(shelf);
    const [old, loose] = [made("old"), made("loose")];
    await store.putBlobs([...old.bytes, ...loose.bytes]);
    const session = importOf(Session.start(), old.tree);
    await store.save(session, { name: "main" });
    await store.forget("main");
    vi.setSystemTime(Date.now() + 48 * HOUR);
    const remove = shelf.remove.bind(shelf);
    let seen: readonly Digest[] = [];
    shelf.remove = async (what) => {
      shelf.remove = remove;
      seen = what.digests ?? [];
      // Another writer goes on from the session, without putting again what it knows to be here, and puts one that it needs.
      await store.putBlob(Buffer.from("loose"));
      await store.save(session.say("on"), { name: "main" });
      return remove(what);
    };
    await store.gc();
    expect(seen.length).toBe(8);
    expect(await gone(store, old.bytes)).toBe(0);
    expect(await gone(store, loose.bytes)).toBe(3);
    expect((await store.check()).findings).toEqual([]);
    await store.close();
  });

  it("[S125] a snapshot of an older version is passed over and taken anew", async () => {
    const shelf = await open();
    const store = new ShelfStore(shelf);
    const { tree, bytes } = made("x");
    await store.putBlobs(bytes);
    let session = importOf(Session.start(), tree);
    for (let step = 0; step < 40; step++) session = session.say(`${step}`);
    await store.save(session, { name: "main" });
    const { of: _, seal: __, ...before } = JSON.parse(takeSnapshot(session)) as { [key: string]: unknown };
    const body = JSON.stringify(before);
    await shelf.saveSnapshot(session.id, `{"seal":"${digestOf(session.id + body)}",${body.slice(1)}`);
    const later = session.say("a").say("b");
    await store.save(later, { name: "main" });
    for (let time = 0; time < 3; time++) {
      const loaded = await new ShelfStore(shelf).load("main", { horizon: 10 });
      expect(loaded.view(filesView)).toEqual({ tree });
      // The first loading reads everything; then there is a place to begin at again.
      if (time > 0) expect(() => [...loaded.history()]).toThrow("not loaded");
    }
    expect((await store.check()).findings).toEqual([]);
    await store.close();
  });

  it("[S52] of lines that end in one that cannot be trusted, what came before stays with its files", async () => {
    const store = new ShelfStore(await open());
    const [one, two] = [made("one"), made("two")];
    const source = await openStore("memory:");
    await source.putBlobs([...one.bytes, ...two.bytes]);
    const first = importOf(Session.start(), one.tree);
    await source.save(importOf(first.fork("x"), two.tree).say("y"), { name: "main" });
    const lines: string[] = [];
    for await (const line of source.export("main")) lines.push(line);
    const harmed = lines.map((line) => line.replace('"name":"x"', '"name":"z"'));
    await expect(store.import(harmed)).rejects.toMatchObject({ code: "record-refused" });
    expect(await store.has(first.id)).toBe(true);
    expect(await gone(store, one.bytes)).toBe(0);
    expect((await store.check()).findings).toEqual([]);
    await source.close();
    await store.close();
  });
});

describe.each(Object.entries(kinds))("reading a %s: store while it is collected", (_, open) => {
  it("[S14] finds whole sessions, or not those that are gone, and never an error without a name", async () => {
    const shelf = await open();
    const store = new ShelfStore(shelf);
    let session = Session.start();
    for (let step = 0; step < 2500; step++) session = session.say(`${step}`);
    await store.save(session);
    await store.save(Session.start(), { name: "main" });
    const [whole, all] = [shelf.history([session.id]), shelf.every()].map((lines) =>
      lines[Symbol.iterator](),
    );
    for (const lines of [whole, all]) expect(lines?.next().value.length).toBeGreaterThan(0);
    expect((await store.gc()).facts).toBe(2501);
    const notFound = expect.objectContaining({ code: "not-found" });
    expect(() => whole?.next()).toThrow(notFound);
    const rest: string[] = [];
    for (let next = all?.next(); next?.done === false; next = all?.next()) rest.push(...next.value);
    expect(rest.filter((line) => line.includes('"gone"'))).toEqual([]);
    expect(() => shelf.count(session.id)).toThrow(notFound);
    expect(() => shelf.tail(session.id, 5)).toThrow(notFound);
    await store.close();
  });
});

/** Alters a blob of a closed store, or loses it. */
function alter(path: string, digest: Digest, bytes: Buffer | undefined): void {
  const database = openDatabase(path);
  const key = Buffer.from(digest, "hex");
  if (bytes === undefined) database.prepare("DELETE FROM blobs WHERE digest = ?").run(key);
  else database.prepare("UPDATE blobs SET bytes = ? WHERE digest = ?").run(bytes, key);
  database.close();
}

describe("damaged files in a sqlite: store", () => {
  const { tree, bytes } = made("some text");
  const [text, deep, inner, root] = bytes.map((one) => digestOf(one)) as [Digest, Digest, Digest, Digest];
  const paths = new Map([
    [text, '"a.txt"'],
    [deep, '"src/deep.txt"'],
    [inner, '"src"'],
    [root, "the tree"],
  ]);

  async function harmed(digest: Digest, lost: boolean): Promise<{ url: string; session: Session }> {
    const path = join(folder(), "rath.db");
    const url = `sqlite:${path}`;
    const store = await openStore(url);
    await store.putBlobs(bytes);
    const session = importOf(Session.start(), tree);
    await store.save(session, { name: "main" });
    await store.close();
    const whole = bytes.find((one) => digestOf(one) === digest) as Buffer;
    // Still a proper tree, if it was one: only its digest tells.
    alter(path, digest, lost ? undefined : Buffer.from(whole.toString().replace("e", "f")));
    return { url, session };
  }

  it.each([...paths])(
    "[S120] check finds %s altered or missing, and names fact, path and digest",
    async (digest, path) => {
      for (const lost of [false, true]) {
        const { url, session } = await harmed(digest, lost);
        const store = await openStore(url);
        const { findings } = await store.check();
        const told = findings.find(({ problem }) => problem.includes(session.id));
        expect(told?.place).toBe(`blob ${digest}`);
        expect(told?.problem).toContain(path);
        expect(told?.problem).toContain(tree);
        expect(told?.problem).toMatch(lost ? "missing" : "not those that were written");
        await store.close();
      }
    },
  );

  it("[S126] an altered tree stops gc and export; an altered file stops only export", async () => {
    for (const digest of [root, inner, text]) {
      const { url } = await harmed(digest, false);
      const store = await openStore(url);
      await store.save(Session.start());
      const collecting = store.gc({ all: true });
      if (digest === text) expect((await collecting).blobs).toBe(0);
      else await expect(collecting).rejects.toMatchObject({ code: "store-damaged" });
      await expect(
        (async () => {
          for await (const _line of store.export("main"));
        })(),
      ).rejects.toMatchObject({ code: "store-damaged" });
      await store.close();
    }
  });

  it("[K17] a recovery brings files, and names what is damaged", async () => {
    for (const [digest, saved] of [
      [text, 3],
      [deep, 3],
      [inner, 2],
      [root, 0],
    ] as const)
      for (const lost of [false, true]) {
        const { url, session } = await harmed(digest, lost);
        const target = await openStore("memory:");
        const { facts, blobs, findings } = await recover(url, target);
        expect([facts, blobs]).toEqual([2, saved]);
        expect(findings.some((finding) => finding.place === `blob ${digest}`)).toBe(true);
        expect((await target.load(session.id)).files.tree).toBe(tree);
        expect(await gone(target, bytes)).toBe(4 - saved);
        await target.close();
      }
  });
});

describe("a store of an older version", () => {
  it("[S91] learns to note what is put", async () => {
    const path = join(folder(), "rath.db");
    const first = await openStore(`sqlite:${path}`);
    await first.save(Session.start(), { name: "main" });
    await first.close();
    makeOlder(path, 1);
    const store = await openStore(`sqlite:${path}`);
    await store.putBlob(Buffer.from("x"));
    expect(await store.gc()).toMatchObject({ blobs: 0, spared: 1, keptFacts: 1 });
    await store.close();
  });
});

const verifier = fileURLToPath(new URL("../../tools/verify.py", import.meta.url));
const hasPython = spawnSync("python3", ["--version"]).status === 0;

describe.skipIf(!hasPython)("tools/verify.py (needs python3)", () => {
  const { tree, bytes } = made("some text");
  const pieces = ["piece one ", "piece two"].map((one) => Buffer.from(one));
  const list = Buffer.from(JSON.stringify(pieces.map((piece) => digestOf(piece))));
  const long: TreeEntry = { kind: "parts", name: "long", mode: 0o644, size: 19, digest: digestOf(list) };
  const around = Buffer.from(
    writeTree({
      entries: [
        { kind: "tree", name: "empty", mode: 0o755, digest: EMPTY_TREE },
        { kind: "link", name: "link", target: "../out/of/it" },
        long,
        { kind: "tree", name: "work", mode: 0o755, digest: tree },
        file("\u{1f600}\ud800", "some text"),
      ],
    }),
  );
  const all = [...bytes, ...pieces, list, around];

  async function lines(): Promise<{ session: Session; export: string[]; erased: string[]; rest: string[] }> {
    const store = await openStore("memory:");
    await store.putBlobs(all);
    const first = importOf(Session.start(), tree);
    const session = first
      .append({ type: "workspace-change", before: tree, after: digestOf(around), paths: [] })
      .detach()
      .append({ type: "workspace-change", before: digestOf(around), after: EMPTY_TREE, paths: [] });
    await store.save(session, { name: "main" });
    await store.save(first, { name: "first" });
    const told = async (name: string, without: readonly string[] = []): Promise<string[]> => {
      const found: string[] = [];
      for await (const line of store.export(name, { without })) found.push(line);
      return found;
    };
    const made = { session, export: await told("main") };
    await store.save(session.merge(first, { adopt: "ours" }), { name: "main" });
    const rest = await told("main", ["first"]);
    await store.erase("main", { digests: [digestOf(bytes[1] as Buffer), digestOf(list)], why: "asked" });
    const erased = await told("main");
    await store.close();
    return { ...made, erased, rest };
  }
  const verify = (given: readonly string[], ...args: string[]): { code: number | null; told: string } => {
    const input = given.map((line) => `${line}\n`).join("");
    const { status, stdout, stderr } = spawnSync("python3", [verifier, ...args], { input, encoding: "utf8" });
    return { code: status, told: stdout + stderr };
  };

  it("[S127] accepts what a store exports, erased files and parts of a record included", async () => {
    const { session, export: whole, erased, rest } = await lines();
    expect(verify(whole, "--head", session.id)).toEqual({
      code: 0,
      told: `ok: 2 facts, 9 blobs, 0 erased, 1 heads\nhead ${session.id}\n`,
    });
    expect(verify(erased)).toMatchObject({ code: 0, told: expect.stringContaining("2 erased, 1 heads") });
    expect(verify(rest, "--partial").code).toBe(0);
  });

  it("[S127] finds each blob of a tree that was removed, and each that stands below its fact", async () => {
    const { export: whole } = await lines();
    for (const [index, line] of whole.entries()) {
      const [, digest] = /^\{"blob":"(\w+)"/.exec(line) ?? [];
      if (digest === undefined) continue;
      expect(verify(whole.toSpliced(index, 1))).toEqual({
        code: 3,
        told: expect.stringMatching(`line \\d+: blob ${digest} is missing`),
      });
      expect(verify([...whole.toSpliced(index, 1), line]).code).toBe(3);
    }
  });

  it("[S127] finds a tree that is none, or says something else than its blobs", () => {
    const start = Session.start();
    const blob = (content: Buffer): string =>
      JSON.stringify({ blob: digestOf(content), data: content.toString("base64") });
    const [text] = bytes as [Buffer];
    const row = (name: string, more = `"file","644",9,"${digestOf(text)}"`): string => `["${name}",${more}]`;
    const tried = (content: string): { code: number | null; told: string } => {
      const tree = Buffer.from(content);
      const named = importOf(start, digestOf(tree));
      return verify([blob(text), blob(tree), start.line, named.line]);
    };
    const of = (...rows: string[]): string => `{"tree":1,"entries":[${rows.join()}]}`;
    expect(tried(of(row("a"), row("b"))).code).toBe(0);
    for (const bad of [
      "no tree",
      "[]",
      '{"tree":1,"entries":1}',
      '{"tree":1,"entries":[1]}',
      '{"tree":1,"entries":[[1]]}',
      '{"tree":1,"entries":[{}]}',
      '{"tree":1, "entries":[]}',
      '{"tree":2,"entries":[]}',
      of(row("a"), row("a")),
      of(row("..")),
      of(row("a/b")),
      of(row("")),
      of(row("a", `"file","644",8,"${digestOf(text)}"`)),
      of(row("a", `"file","644",9,["${digestOf(text)}"]`)),
      of(row("a", `"file","644",9,"${"0".repeat(64)}"`)),
      of(row("a", `"tree","755","${digestOf(text)}"`)),
      of(row("a", `"parts","644",9,"${digestOf(text)}"`)),
    ])
      expect(tried(bad), bad).toEqual({ code: 3, told: expect.stringMatching(/^line 4: /) });
  });
});
