import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { perform } from "../../runtime/index.js";
import { moduleOf } from "../../runtime/testing/module.js";
import { rathOf } from "../../runtime/testing/rath.js";
import { World } from "../../runtime/testing/world.js";
import { digestsOf, type Principal, Session } from "../../session/index.js";
import { openStore, type Store } from "../../store/index.js";
import { folder } from "../../store/testing/folder.js";
import { Dice } from "../../testkit/store/graph.js";
import { catalogue } from "./catalogue.js";
import type { PendingRow } from "./pending.js";

const AT = "2026-02-03T04:05:06.000Z";
const USAGE = { input: 10, output: 5 };

/** A run with a model call, a tool call that failed, and an answer. */
function worked(session: Session, model = "m-1", tool = "read_file"): Session {
  let next = session.append({ type: "model-call", model, by: "agent:ada", at: AT } as never);
  next = next.append({
    type: "model-reply",
    of: next.id,
    content: "the moon is round",
    finish: "stop",
    usage: USAGE,
    cost: 0.5,
  } as never);
  next = next.append({
    type: "tool-call",
    name: tool,
    input: { path: "notes/moon.md" },
    by: "agent:ada",
  } as never);
  return next.append({
    type: "tool-failure",
    of: next.id,
    error: { name: "Error", message: "there is no such file" },
  } as never);
}

type Page<Item> = { readonly items: readonly Item[]; readonly next: string | null };

async function all<Item>(page: (after: string | undefined) => Promise<Page<Item>>): Promise<readonly Item[]> {
  const items: Item[] = [];
  for (let after: string | undefined; ; ) {
    const one = await page(after);
    items.push(...one.items);
    if (one.next === null) return items;
    after = one.next;
  }
}

function from(after: string | undefined): { after?: string } {
  return after === undefined ? {} : { after };
}

/** All that a catalogue says of a store. */
async function said(store: Store): Promise<unknown> {
  const sessions = await all((after) => catalogue(store).sessions({ limit: 3, ...from(after) }));
  const hits = await all((after) => catalogue(store).search({ limit: 7, ...from(after) }));
  return {
    sessions: sessions.map(({ origin: _, ...row }) => row),
    hits: hits.map(({ name: _, ...hit }) => JSON.stringify(hit)).sort(),
  };
}

describe("the catalogue", () => {
  it("[CT1] [CT2] lists sessions by their last change, with their figures, in pages, by filters", async () => {
    const store = await openStore("memory:");
    const plain = Session.start("What is the moon?", { by: "user:eve", at: "2026-01-01T00:00:00.000Z" });
    await store.save(plain, { name: "old" });
    const done = worked(Session.start("Look at the moon", { by: "user:bob" }));
    await store.save(done, { name: "new", also: { "run/x": done } });
    const { items, next } = await catalogue(store).sessions();
    expect(next).toBeNull();
    expect(items.map(({ name }) => name)).toEqual(["new", "old"]);
    expect(items[0]).toMatchObject({
      ...{ name: "new", head: done.id, state: "open", title: "Look at the moon", text: "the moon is round" },
      ...{ facts: 5, branches: 1, tokens: 15, cost: 0.5, models: ["m-1"], tools: ["read_file"] },
      ...{ people: ["user:bob"], failures: 1, waits: 0, changedAt: done.fact.at },
    });
    const named = async (filter: object): Promise<string[]> =>
      (await catalogue(store).sessions(filter)).items.map(({ name }) => name);
    expect(await named({ failed: true })).toEqual(["new"]);
    expect(await named({ person: "user:eve" })).toEqual(["old"]);
    expect(await named({ model: "m-1", tool: "read_file" })).toEqual(["new"]);
    expect(await named({ model: "m-2" })).toEqual([]);
    expect(await named({ state: "open", text: "OL" })).toEqual(["old"]);
    expect(await named({ state: "waiting" })).toEqual([]);
    const first = await catalogue(store).sessions({ state: "open", limit: 1 });
    const second = await catalogue(store).sessions({ after: first.next as string, limit: 1 });
    expect(second.items.map(({ name }) => name)).toEqual(["old"]);
    for (const wrong of [{ after: "x" }, { limit: 0 }, { after: first.next, state: "waiting" }])
      await expect(catalogue(store).sessions(wrong as never)).rejects.toMatchObject({
        code: "question-refused",
      });
    await store.close();
  });

  it("[CT3] finds facts by words, type, actor, tool, model and time, each once", async () => {
    const store = await openStore("memory:");
    const done = worked(Session.start("Das Mädchen sah den Mond 月が丸い", { by: "user:bob" }));
    await store.save(done, { name: "one" });
    await store.save(worked(done.fork("side"), "m-2", "write_file"), { name: "two" });
    const found = async (options: object): Promise<string[]> =>
      (await catalogue(store).search(options)).items.map(({ type }) => type);
    expect(await found({ text: "moon round" })).toEqual(["model-reply", "model-reply"]);
    expect(await found({ text: "madchen" })).toEqual(["session-start"]);
    expect(await found({ text: "丸" })).toEqual(["session-start"]);
    expect(await found({ text: "rou" })).toHaveLength(2);
    expect(await found({ text: "moon", model: "m-2" })).toEqual(["model-reply"]);
    expect(await found({ tool: "write_file" })).toEqual(["tool-failure", "tool-call"]);
    expect(await found({ actor: "user:bob" })).toEqual(["session-start"]);
    expect(await found({ type: "branch-fork" })).toEqual(["branch-fork"]);
    expect(await found({ since: AT, until: AT, type: "model-call" })).toHaveLength(2);
    expect(await found({ until: "2020-01-01T00:00:00Z" })).toEqual([]);
    expect(await found({ text: "!?" })).toEqual([]);
    expect(await found({ text: '" OR text : *' })).toEqual([]);
    const every = await all((after) => catalogue(store).search({ limit: 2, ...from(after) }));
    expect(new Set(every.map(({ id }) => id)).size).toBe(every.length);
    expect(every).toHaveLength(10);
    const [hit] = (await catalogue(store).search({ text: "round" })).items;
    expect(hit).toMatchObject({ name: "two", snippet: ["the moon is ", "round", expect.any(String)] });
    await expect(catalogue(store).search({ since: "soon" })).rejects.toMatchObject({
      code: "question-refused",
    });
    await store.close();
  });

  it("[CT4] is after any moves what a new catalogue is", async () => {
    const path = join(folder(), "rath.db");
    const dice = new Dice(4);
    const [store, other] = [await openStore(`sqlite:${path}`), await openStore(`sqlite:${path}`)];
    const heads = new Map<string, Session>();
    for (let round = 0; round < 40; round++) {
      const name = `session ${dice.roll(8)}`;
      const head = heads.get(name);
      const at = dice.roll(3) === 0 ? other : store;
      const kind = head === undefined ? 0 : dice.roll(6);
      if (kind === 5) {
        await at.forget(name);
        heads.delete(name);
      } else {
        const base = kind === 4 ? (head?.parents[0] ?? head) : head;
        const from =
          base ??
          (dice.roll(2) === 0
            ? Session.start(name)
            : (([...heads.values()][0] ?? Session.start()).fork(name) as Session));
        const next = dice.roll(2) === 0 ? worked(from) : from.say(`round ${round}`);
        await at.save(next, { name, force: true });
        heads.set(name, next);
      }
      if (dice.roll(4) === 0) await catalogue(store).sync();
    }
    const kept = await said(store);
    await Promise.all([store.close(), other.close()]);
    for (const file of readdirSync(join(path, "..")))
      if (file.includes(".catalogue")) rmSync(join(path, "..", file));
    const again = await openStore(`sqlite:${path}`);
    const anew = (await said(again)) as { hits: string[] };
    expect((kept as { sessions: unknown }).sessions).toEqual(
      (anew as unknown as { sessions: unknown }).sessions,
    );
    // Facts that no name leads to stay until they are collected.
    for (const hit of anew.hits) expect((kept as { hits: string[] }).hits).toContain(hit);
    await again.close();
  });

  it("[CT5] erased words are neither found nor left in the file", async () => {
    const path = join(folder(), "rath.db");
    const store = await openStore(`sqlite:${path}`);
    const session = Session.start("the password is xylophone", { inline: 0 }).say("harmless");
    await store.save(session, { name: "main" });
    expect((await catalogue(store).search({ text: "xylophone" })).items).toHaveLength(1);
    const root = session.parents[0] as Session;
    await store.erase("main", { digests: digestsOf(root.line), why: "asked" });
    expect((await catalogue(store).search({ text: "xylophone" })).items).toEqual([]);
    expect((await catalogue(store).search({ text: "harmless" })).items).toHaveLength(1);
    expect((await catalogue(store).sessions()).items[0]?.title).toBe("");
    await store.close();
    for (const file of readdirSync(join(path, "..")))
      expect(readFileSync(join(path, "..", file)).includes("xylophone"), file).toBe(false);
  });

  it("[CT6] a file that is damaged or not ours is made anew", async () => {
    const path = join(folder(), "rath.db");
    const file = `${path}.catalogue`;
    const ask = async (): Promise<number> => {
      const store = await openStore(`sqlite:${path}`);
      const { items } = await catalogue(store).search({ text: "moon" });
      await store.close();
      return items.length;
    };
    const store = await openStore(`sqlite:${path}`);
    let session = worked(Session.start("Look at the moon"));
    for (let index = 0; index < 300; index++) session = session.say(`the moon ${index}`);
    await store.save(session, { name: "main" });
    await store.close();
    const wanted = await ask();
    const whole = readFileSync(file);
    const damages = [
      Buffer.from("something else"),
      Buffer.alloc(0),
      whole.subarray(0, 8192),
      Buffer.concat([whole.subarray(0, 4096), Buffer.alloc(whole.length - 4096, 7)]),
    ];
    for (const damaged of damages) {
      writeFileSync(file, damaged);
      expect(await ask()).toBe(wanted);
    }
    rmSync(file);
    expect(await ask()).toBe(wanted);
  });

  it("[CT7] two ways into a store share one catalogue", async () => {
    const path = join(folder(), "rath.db");
    const stores = [await openStore(`sqlite:${path}`), await openStore(`sqlite:${path}`)] as const;
    for (let round = 0; round < 10; round++) {
      for (const [index, store] of stores.entries())
        await store.save(worked(Session.start(`round ${round}`)), { name: `${round}-${index}` });
      const pages = await Promise.all(stores.map((store) => catalogue(store).sessions({ limit: 1000 })));
      for (const { items } of pages) expect(items).toHaveLength(2 * (round + 1));
    }
    const hits = await all((after) =>
      catalogue(stores[1]).search({ text: "round", limit: 6, ...from(after) }),
    );
    expect(hits.filter(({ type }) => type === "session-start")).toHaveLength(20);
    for (const store of stores) await store.close();
  });

  it("[CT9] lists what waits for a person, and not what is answered", async () => {
    const rath = rathOf();
    const ask = (name: string, to?: readonly Principal[]): Promise<unknown> =>
      rath.run(
        moduleOf("m", (session) => {
          const approval = { what: { name }, ...(to !== undefined && { terms: { from: to } }) };
          return perform(session, new World().step(name, { effect: "write", input: {}, approval }));
        }),
        rath.start("go"),
        { name },
      );
    await ask("open");
    await ask("hers", ["user:ada"]);
    await ask("his", ["user:bob"]);
    const shelf = catalogue(await rath.store());
    const rows = (person?: string): Promise<readonly PendingRow[]> =>
      all((after) => {
        const first = person === undefined ? {} : { person };
        return shelf.pending(rath, { limit: 1, ...(after === undefined ? first : { after }) });
      });
    const names = async (person?: string): Promise<string[]> => (await rows(person)).map(({ name }) => name);
    expect(await names()).toEqual(["his", "hers", "open"]);
    expect(await names("user:ada")).toEqual(["hers", "open"]);
    const [hers] = await rows("user:ada");
    const [told] = await rath.pending("hers");
    expect(hers).toMatchObject({ ...told, kind: "approval", since: expect.stringMatching(/^20/) });
    await rath.approve("hers", { by: "user:ada", digest: told?.digest as string });
    expect(await names("user:ada")).toEqual(["open"]);
    await rath.close();
  });

  it("[CT8] a session says from where it comes", async () => {
    const store = await openStore("memory:");
    const trunk = Session.start("trunk").say("on");
    await store.save(trunk, { name: "zebra" });
    await store.save(trunk.fork("a").say("aside"), { name: "apple" });
    await store.save(trunk.say("further"), { name: "zebra" });
    const { items } = await catalogue(store).sessions({ origin: "zebra" });
    expect(items.map(({ name, origin }) => [name, origin])).toEqual([
      ["apple", { kind: "fork", of: trunk.id, name: "zebra" }],
    ]);
    expect((await catalogue(store).sessions({ text: "zebra" })).items[0]?.origin).toBeUndefined();
    await store.close();
  });
});

it("[CT10] a question that is to be answered soon waits for few facts, and says that there are more", async () => {
  const store = await openStore("memory:");
  for (let name = 0; name < 1_200; name++)
    await store.save(Session.start(`s ${name}`), { name: `s/${name}` });
  const made = catalogue(store);
  const page = await made.sessions({ fresh: "soon", limit: 1000 });
  expect(page.indexing).toBe(true);
  expect(page.items.length).toBeGreaterThan(0);
  expect(page.items.length).toBeLessThan(1_000);
  await expect(made.session("s/1199", { fresh: "soon" })).rejects.toMatchObject({ code: "indexing" });
  await made.sync();
  expect(await made.sessions({ fresh: "soon", limit: 1000 })).not.toHaveProperty("indexing");
  expect(await made.session("s/1199", { fresh: "soon" })).toMatchObject({ name: "s/1199" });
  await store.close();
});
