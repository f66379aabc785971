import { execFile } from "node:child_process";
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FactId, Session } from "../../session/index.js";
import { openStore, type Store } from "../../store/index.js";
import { openDatabase } from "../../store/sqlite/driver.js";
import { folder } from "../../store/testing/folder.js";
import { fileOf } from "./database.js";
import { SpaceIndex } from "./space-index.js";
import { dumped } from "./testing/dump.js";
import { hashingEmbedder } from "./testing/embedder.js";
import { emptySpace, SPACE, saved, write, writeAll } from "./testing/space.js";

const NOW = "2026-11-02T00:00:00.000Z";
const NOTES = Array.from({ length: 300 }, (_, at) => `note ${at} about thing ${at % 17} and place ${at % 5}`);
const script = fileURLToPath(new URL("./testing/tasks.mjs", import.meta.url));
const source = fileURLToPath(new URL("../../", import.meta.url));
// Inside node_modules, so that the packages the sources need are found.
const built = join(source, "..", "node_modules", ".cache", "openrath-search", String(process.pid));

const ask = (index: SpaceIndex): Promise<unknown> =>
  index.find("thing 7 place 2", { limit: 8, threshold: 0, now: NOW });

describe("the file of an index", () => {
  it("[S4] whatever is done to it, it is made anew and answers the same", async () => {
    const [place, store, embedder] = [folder(), await openStore("memory:"), hashingEmbedder()];
    const head = await saved(store, writeAll(emptySpace(), NOTES));
    const path = fileOf(place, SPACE);
    const open = (): SpaceIndex => new SpaceIndex({ folder: place, space: SPACE, embedder });
    const first = open();
    await first.sync(store, head);
    const right = await ask(first);
    first.close();
    const harms: readonly (() => void)[] = [
      () => rmSync(path),
      () => writeFileSync(path, "not a database at all ".repeat(500)),
      () => truncateSync(path, 20_000),
      () => {
        const bytes = readFileSync(path);
        bytes.fill(0xa5, 8_192, bytes.length - 4_096);
        writeFileSync(path, bytes);
      },
      () => harmed(path, "PRAGMA user_version = 7"),
      () => harmed(path, "PRAGMA application_id = 7"),
      () => harmed(path, "UPDATE state SET space = 'memory/other'"),
      () => harmed(path, "DROP TABLE sketch"),
      () => harmed(path, "DELETE FROM state"),
      () => harmed(path, "UPDATE fact SET body = 'no JSON', row = row"),
      () => {
        rmSync(path);
        harmed(path, "CREATE TABLE somebody (other)");
      },
    ];
    for (const harm of harms) {
      harm();
      const index = open();
      await index.sync(store, head);
      // Some harm shows only when a row is read: then it is noticed there, and made good.
      const answer = await ask(index);
      expect(answer).toEqual(right);
      expect(index.head).toBe(head);
      expect(index.list().length).toBe(NOTES.length);
      index.close();
    }
    expect(existsSync(path)).toBe(true);
  });

  it("[S4] where no file can be written, it is held in memory", async () => {
    const place = folder();
    const store = await openStore("memory:");
    const head = await saved(store, writeAll(emptySpace(), NOTES.slice(0, 20)));
    writeFileSync(join(place, "taken"), "a file where the folder should be");
    const index = new SpaceIndex({
      folder: join(place, "taken"),
      space: SPACE,
      embedder: hashingEmbedder(),
    });
    await index.sync(store, head);
    expect(index.list().length).toBe(20);
    index.close();
    chmodSync(join(place, "taken"), 0o600);
    expect(readFileSync(join(place, "taken"), "utf8")).toBe("a file where the folder should be");
  });

  it("[S4] spaces whose names differ only in what a file cannot be called have files of their own", () => {
    const names = ["memory/a", "memory-a", "memory/a/", "memory/ä", "memory/ö", `memory/${"x".repeat(300)}`];
    const files = names.map((name) => fileOf("", name));
    expect(new Set(files).size).toBe(names.length);
    for (const file of files) expect(file).toMatch(/^[A-Za-z0-9._-]{1,90}\.sqlite$/);
  });

  it("[S8] a text is embedded once for all readers, and other embedders have vectors of their own", async () => {
    const [place, store] = [folder(), await openStore("memory:")];
    const head = await saved(store, writeAll(emptySpace(), NOTES.slice(0, 50)));
    const used = async (embedder: ReturnType<typeof hashingEmbedder>): Promise<unknown> => {
      const index = new SpaceIndex({ folder: place, space: SPACE, embedder });
      await index.sync(store, head);
      const answer = await index.find("thing 7", { limit: 3, threshold: 0, now: NOW, mode: "meaning" });
      index.close();
      expect(answer.length).toBe(3);
      return answer;
    };
    const [one, two, other, longer] = [
      hashingEmbedder(),
      hashingEmbedder(),
      hashingEmbedder("other-1"),
      hashingEmbedder("hashing-1", 96),
    ];
    const first = await used(one);
    expect(await used(two)).toEqual(first);
    expect([one.embedded, two.embedded]).toEqual([51, 1]);
    await used(other);
    expect(other.embedded).toBe(51);
    // The same name with longer vectors: those that were kept are of no use any more.
    await used(longer);
    expect(longer.embedded).toBe(51);
    expect(await used(hashingEmbedder())).toEqual(first);
  });

  it("[S7] long content is found, and gone from the file when it was erased from the store", async () => {
    const [place, store] = [folder(), await openStore("memory:")];
    let space = write(emptySpace(), `the launch code is xylophone ${"and so on ".repeat(600)}`);
    space = write(space, `the kitchen has a kettle ${"and so forth ".repeat(600)}`);
    await saved(store, space);
    const index = new SpaceIndex({ folder: place, space: SPACE, embedder: hashingEmbedder() });
    await index.sync(store, space.id);
    const options = { limit: 5, threshold: 0, now: NOW, mode: "words" } as const;
    expect((await index.find("xylophone", options)).length).toBe(1);
    const first = index.list()[0];
    const line = (await store.line(first?.id as FactId)) as string;
    const digest = /"digest":"([0-9a-f]{64})"/.exec(line)?.[1] as string;
    const erased = await store.erase(SPACE, { digests: [digest], why: "secret", by: "user:ada" });
    await index.sync(store, erased.id);
    expect(await index.find("xylophone", options)).toEqual([]);
    expect(index.get(first?.id as FactId)?.text).toBe("");
    expect((await index.find("kettle", options)).length).toBe(1);
    index.close();
    for (const file of readdirSync(place))
      expect(readFileSync(join(place, file)).includes("xylophone")).toBe(false);
  });

  it("[S7] content that was not here at first is found when it has come", async () => {
    const [store, whole] = [await openStore("memory:"), await openStore("memory:")];
    const space = write(emptySpace(), `bring a xylophone ${"and so on ".repeat(600)}`);
    await saved(whole, space);
    const lines: string[] = [];
    for await (const line of whole.export(space.id, { blobs: false })) lines.push(line);
    await store.import(lines);
    const index = new SpaceIndex({ folder: undefined, space: SPACE, embedder: hashingEmbedder() });
    const options = { limit: 5, threshold: 0, now: NOW, mode: "words" } as const;
    await index.sync(store, space.id);
    expect(await index.find("xylophone", options)).toEqual([]);
    await store.sync(whole);
    await index.sync(store, space.id);
    expect((await index.find("xylophone", options)).length).toBe(1);
  });

  it("[S6] a long way leaves others their turns, says how far it is, and can be cancelled", async () => {
    const [place, store] = [folder(), await openStore("memory:")];
    const short = writeAll(emptySpace(), NOTES.slice(0, 10));
    const long = writeAll(
      short,
      Array.from({ length: 3_000 }, (_, at) => `later ${at} thing ${at % 9}`),
    );
    await saved(store, short);
    await saved(store, long);
    const index = new SpaceIndex({ folder: place, space: SPACE, embedder: hashingEmbedder() });
    await index.sync(store, short.id);
    const before = await ask(index);
    const stop = new AbortController();
    const cancelled = index.sync(store, long.id, {
      signal: stop.signal,
      progress: (done) => done > 500 && stop.abort(new Error("enough")),
    });
    await expect(cancelled).rejects.toThrow("enough");
    expect([index.head, await ask(index)]).toEqual([short.id, before]);
    const progress: number[] = [];
    let turns = 0;
    const clock = setInterval(() => {
      turns += 1;
      // Whoever reads meanwhile reads as of before.
      if (progress.length > 0 && index.head === short.id) expect(index.list().length).toBe(10);
    }, 1);
    await index.sync(store, long.id, { progress: (done) => progress.push(done) });
    clearInterval(clock);
    expect(turns).toBeGreaterThan(5);
    expect(progress.length).toBeGreaterThan(5);
    expect(progress).toContain(3_000);
    expect(index.list().length).toBe(3_010);
    index.close();
  });
});

describe("several processes and one file", () => {
  // Node 20 reads no TypeScript, and the index is not an entry point of the package.
  beforeAll(async () => {
    const input = { store: `${source}store/index.ts`, index: `${source}memory/search/space-index.ts` };
    const bundled = await rolldown({ input, external: /^[^./]/, platform: "node" });
    await bundled.write({ dir: built });
    await bundled.close();
  });
  afterAll(() => rmSync(built, { recursive: true, force: true }));

  const run = (options: object): Promise<{ told: unknown; killed: boolean }> =>
    new Promise((done) => {
      execFile(
        process.execPath,
        [script, JSON.stringify({ built, space: SPACE, query: "thing 7 place 2", ...options })],
        { timeout: 50_000 },
        (error, stdout) =>
          done({
            told: stdout === "" ? error?.message : JSON.parse(stdout),
            killed: error?.signal === "SIGKILL",
          }),
      );
    });

  async function made(): Promise<{ url: string; heads: FactId[]; store: Store; place: string }> {
    const place = folder();
    const url = `sqlite:${join(place, "rath")}`;
    const store = await openStore(url);
    const trunk = writeAll(emptySpace(), NOTES);
    const heads: FactId[] = [];
    for (const branch of [trunk, trunk.fork("a"), trunk.fork("b")]) {
      const end: Session =
        branch === trunk ? trunk : writeAll(branch, [`thing 7 of ${branch.id.slice(0, 4)}`]);
      await store.save(end);
      heads.push(end.id);
    }
    return { url, heads, store, place };
  }

  it("[S5] each ends with what its own id says", async () => {
    const { url, heads, store, place } = await made();
    const shared = join(place, "index");
    const alone = await Promise.all(
      heads.map((head, at) => run({ url, folder: join(place, `alone${at}`), heads: [head], rounds: 1 })),
    );
    const right = new Map(
      alone
        .flatMap(({ told }) => told as { head: FactId; found: unknown }[])
        .map((one) => [one.head, one.found]),
    );
    expect(right.size).toBe(3);
    const together = await Promise.all(
      heads.map((_, at) =>
        run({ url, folder: shared, heads: [...heads.slice(at), ...heads.slice(0, at)], rounds: 9 }),
      ),
    );
    for (const { told } of together) {
      expect(told).toHaveLength(9);
      for (const { head, found } of told as { head: FactId; found: unknown }[])
        expect(found).toEqual(right.get(head));
    }
    await store.close();
  });

  it("[S5] one that is killed on the way leaves it as it was", async () => {
    const { url, heads, store, place } = await made();
    const [head] = heads as [FactId];
    const shared = join(place, "index");
    const killed = await run({ url, folder: shared, heads: [head], rounds: 1, die: 100 });
    expect(killed.killed).toBe(true);
    const options = { folder: shared, space: SPACE, embedder: hashingEmbedder() };
    const index = new SpaceIndex(options);
    await index.sync(store, head);
    const fresh = new SpaceIndex({ ...options, folder: join(place, "fresh") });
    await fresh.sync(store, head);
    expect(await ask(index)).toEqual(await ask(fresh));
    index.close();
    fresh.close();
    expect(dumped(fileOf(shared, SPACE))).toEqual(dumped(fileOf(join(place, "fresh"), SPACE)));
    await store.close();
  });
});

function harmed(path: string, sql: string): void {
  const database = openDatabase(path);
  try {
    database.exec(sql);
  } finally {
    database.close();
  }
}
