import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import type { Session } from "../../session/index.js";
import { unkeyed } from "../../testkit/store/case.js";
import { StoreError } from "../error.js";
import { MemoryShelf } from "../memory/shelf.js";
import { openStore } from "../open.js";
import { recover } from "../recover/recover.js";
import { openDatabase } from "../sqlite/driver.js";
import type { Line } from "../store.js";
import { folder } from "../testing/folder.js";
import { ShelfStore } from "./shelf-store.js";

const AT = "2026-01-01T00:00:00.000Z";

function long(length: number): Session {
  let session = unkeyed("hi");
  for (let step = 0; step < length; step++) session = session.say(`line ${step}`, { at: AT });
  return session;
}

/** Changes some text where the store keeps it, under the store that is open. */
function alter(path: string, from: string, to: string): void {
  const database = openDatabase(path);
  for (const table of ["packs SET lines = replace(lines", "fresh SET line = replace(line"])
    database.prepare(`UPDATE ${table}, ?, ?)`).run(from, to);
  database.close();
}

describe("ShelfStore", () => {
  it("[S18] what callers do to bytes that they put, or were given, does not reach the store", async () => {
    for (const url of ["memory:", `sqlite:${join(folder(), "rath.db")}`]) {
      const store = await openStore(url);
      const mine = ["one", "two"].map((text) => Buffer.from(text));
      const putting = store.putBlobs(mine);
      for (const bytes of mine) bytes.fill(0);
      const digests = [...(await putting)];
      const put = Buffer.from("three");
      digests.push(await store.putBlob(put));
      put.fill(0);
      for (let time = 0; time < 2; time++) {
        const texts: string[] = [];
        for (const digest of digests) {
          const bytes = (await store.blob(digest)) as Uint8Array;
          texts.push(Buffer.from(bytes).toString());
          bytes.fill(0);
        }
        expect(texts, url).toEqual(["one", "two", "three"]);
      }
      await store.close();
    }
  });

  it("[S49] what is prepared only saves time: it is small, and failing at it fails nothing", async () => {
    const shelf = new MemoryShelf();
    const store = new ShelfStore(shelf);
    const preparing = vi.spyOn(shelf, "saveSnapshot");
    const session = long(6000);
    let written = 0;
    for (const one of session.history()) {
      written += one.line.length;
      if (one.depth % 100 === 99) await store.save(one, { name: "main" });
    }
    const prepared = preparing.mock.calls.reduce((sum, [, snapshot]) => sum + snapshot.length, 0);
    expect(preparing).toHaveBeenCalled();
    expect(prepared / written).toBeLessThan(0.05);
    preparing.mockRejectedValue(new StoreError("full", "The disk is full.", "make room"));
    await store.save(long(5000), { name: "other" });
    await store.load("main", { horizon: 10 });
    await store.import(store.export("other"));
    expect((await store.check()).findings).toEqual([]);
  });

  it("[S59] a synchronisation that finds nothing new writes nothing", async () => {
    const shelf = new MemoryShelf();
    const [from, to] = [await openStore("memory:"), new ShelfStore(shelf)];
    await from.save(long(3).say("long ".repeat(2000)), { name: "main" });
    await to.sync(from);
    const writing = vi.spyOn(shelf, "commit");
    await to.sync(from);
    expect(writing).not.toHaveBeenCalled();
  });

  it("[S108] lines holds every line against its id: an altered one is damage, wherever it stands", async () => {
    const session = long(2500);
    for (const altered of ["line 7", "line 1499", "line 2499"]) {
      const path = join(folder(), "rath");
      const store = await openStore(`sqlite:${path}`);
      await store.save(session, { name: "main" });
      const all = async (): Promise<Line[]> => {
        const lines: Line[] = [];
        for await (const batch of store.lines("main")) lines.push(...batch);
        return lines;
      };
      expect(await all()).toEqual([...session.history()].map(({ id, line }) => ({ id, line })));
      alter(path, `"${altered}"`, `"${altered.replace("line", "lime")}"`);
      await expect(all()).rejects.toMatchObject({ code: "store-damaged" });
      await store.close().catch(() => {});
    }
  });

  it("[S19] what is no url, no lines and no store is refused by name", async () => {
    const store = await openStore("memory:");
    for (const url of [null, 5, 5n, Symbol("url"), {}, new URL("file:///nowhere")])
      await expect(openStore(url as string)).rejects.toMatchObject({ code: "store-url" });
    await expect(openStore("./rath.db")).rejects.toMatchObject({
      hint: expect.stringContaining('"sqlite:./rath.db"'),
    });
    for (const source of [undefined, null, 5, {}])
      await expect(recover(source as string, store)).rejects.toMatchObject({ code: "store-failed" });
    await expect(recover([], undefined as never)).rejects.toMatchObject({ code: "store-failed" });
    expect((await recover([5] as never, store)).findings).toHaveLength(1);
  });
});
