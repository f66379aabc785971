import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { Session } from "../../session/index.js";
import { openStore } from "../../store/index.js";
import { pages } from "./pages.js";
import { clock, step } from "./testing/steps.js";

const folders: string[] = [];

async function folderOf(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "openrath-graph-"));
  folders.push(folder);
  return folder;
}

describe("kept graphs", () => {
  afterEach(async () => {
    for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
  });

  it("[G8] a long graph is kept beside its store, continued by the next process, and read again where it is damaged", async () => {
    const folder = await folderOf();
    const url = `sqlite:${join(folder, "it.db")}`;
    let store = await openStore(url);
    const at = clock();
    let session = step(Session.start("Count.", { at: at() }), "edit", "ok", at);
    for (let number = 0; number < 20_500; number++)
      session = session.append({ type: "note", at: "2026-01-03T00:00:00.000Z" });
    session = session.fork("b", { at: "2026-01-04T00:00:00.000Z" });
    await store.save(session, { name: "it" });
    const told = async () => {
      const read = pages(store);
      const page = await read.graph("it", { level: "fact" });
      return [page, await read.summary("it"), await read.series("it"), await read.timeline("it")];
    };
    const first = await told();
    const [file = "", ...rest] = await readdir(`${join(folder, "it.db")}.graphs`);
    expect(rest).toEqual([]);
    const path = join(`${join(folder, "it.db")}.graphs`, file);
    await store.close();
    store = await openStore(url);
    expect(await told()).toEqual(first);
    const bytes = await readFile(path);
    session = step(await store.load("it"), "edit", "more", () => "2026-01-05T00:00:00.000Z");
    await store.save(session, { name: "it" });
    const grown = await told();
    expect(grown[1]).toMatchObject({ head: session.id, rows: { fact: 20_510 } });
    // Not written again for so little.
    expect((await readFile(path)).equals(bytes)).toBe(true);
    for (const damaged of [
      bytes.subarray(0, bytes.length / 2),
      Buffer.from("not a graph"),
      Buffer.alloc(0),
    ]) {
      await writeFile(path, damaged);
      expect(await told()).toEqual(grown);
    }
    expect((await readFile(path)).length).toBeGreaterThan(bytes.length / 2);
    await store.close();
  });
});
