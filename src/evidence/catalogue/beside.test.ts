import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { digestsOf, Session } from "../../session/index.js";
import { type NameMove, openStore, type Recorded, type Store } from "../../store/index.js";
import { folder } from "../../store/testing/folder.js";
import { catalogue } from "./catalogue.js";

type Writable = { -readonly [Method in keyof Store]: Store[Method] };

/** Does something once, when the history of a head, or of the first one, was read and before all of it is used. */
function afterReading(store: Store, act: () => Promise<void>, head?: string): void {
  const history = store.history.bind(store);
  let isDone = false;
  (store as Writable).history = async function* (...args): AsyncIterable<Recorded> {
    yield* history(...args);
    if ((head ?? args[0]) !== args[0] || isDone) return;
    isDone = true;
    await act();
  };
}

/**
 * Has another process do something while our catalogue takes in a session, and begin to take it in: it reads that head until the
 * function that is given back is called.
 */
function whileReading(
  mine: Store,
  theirs: Store,
  act: () => Promise<unknown>,
  head?: string,
): () => Promise<void> {
  let [release, sync] = [() => {}, Promise.resolve()];
  const isOver = new Promise<void>((done) => {
    release = done;
  });
  afterReading(mine, async () => {
    await act();
    await new Promise<void>((reached) => {
      const stop = (): Promise<void> => {
        reached();
        return isOver;
      };
      afterReading(theirs, stop, head);
      sync = catalogue(theirs).sync();
    });
  });
  return () => {
    release();
    return sync;
  };
}

async function found(store: Store, text: string, within?: readonly string[]): Promise<readonly string[]> {
  const { items } = await catalogue(store).search({ text, ...(within && { within }) });
  return items.map(({ name }) => name);
}

function secret(text: string): { readonly session: Session; readonly digests: readonly string[] } {
  const session = Session.start(text, { inline: 0 }).say("harmless");
  return { session, digests: digestsOf((session.parents[0] as Session).line) };
}

describe("the catalogue beside others", () => {
  it("[CT11] a session that comes after one that was taken away is not given its facts", async () => {
    const store = await openStore("memory:");
    await store.save(Session.start("first"), { name: "open/a" });
    await store.save(Session.start("alpha"), { name: "secret/b" });
    expect(await found(store, "alpha")).toEqual(["secret/b"]);
    await store.forget("secret/b");
    await catalogue(store).sync();
    await store.save(Session.start("harmless"), { name: "open/c" });
    expect(await found(store, "harmless", ["open/*"])).toEqual(["open/c"]);
    expect(await found(store, "alpha", ["open/*"])).toEqual([]);
    await store.close();
  });
  it("[CT11] a name that was set elsewhere no longer shows what it led to", async () => {
    const store = await openStore("memory:");
    const trunk = Session.start("alpha");
    await store.save(trunk.say("bravo"), { name: "open/a" });
    expect(await found(store, "bravo", ["open/*"])).toEqual(["open/a"]);
    await store.save(trunk.say("charlie"), { name: "open/a", force: true });
    expect(await found(store, "charlie", ["open/*"])).toEqual(["open/a"]);
    expect(await found(store, "alpha", ["open/*"])).toEqual(["open/a"]);
    expect(await found(store, "bravo", ["open/*"])).toEqual([]);
    await store.close();
  });
  it("[CT5] words are forgotten also where other content came back", async () => {
    const path = join(folder(), "rath.db");
    const store = await openStore(`sqlite:${path}`);
    const [one, other] = [secret("the password is xylophone"), secret("the password is bassoon")];
    await store.save(one.session, { name: "one" });
    await store.save(other.session, { name: "other" });
    const content = (await store.blob(one.digests[0] as string)) as Uint8Array;
    await store.erase("one", { digests: one.digests, why: "asked" });
    expect(await found(store, "xylophone")).toEqual([]);
    await store.putBlobs([content]);
    await store.erase("other", { digests: other.digests, why: "asked" });
    expect((await store.erasures()).length).toBe(1);
    expect(await found(store, "bassoon")).toEqual([]);
    await store.close();
    for (const file of readdirSync(join(path, "..")))
      expect(readFileSync(join(path, "..", file)).includes("bassoon"), file).toBe(false);
  });
  it("[CT7] words that another process saw erased are not put back", async () => {
    const path = join(folder(), "rath.db");
    const [mine, theirs] = [await openStore(`sqlite:${path}`), await openStore(`sqlite:${path}`)];
    const { session, digests } = secret("the password is xylophone");
    await mine.save(session, { name: "main" });
    const theirSync = whileReading(mine, theirs, () => theirs.erase("main", { digests, why: "asked" }));
    await catalogue(mine).sync();
    await theirSync();
    for (const store of [mine, theirs]) {
      expect(await found(store, "xylophone")).toEqual([]);
      expect(await found(store, "harmless")).toEqual(["main"]);
      await store.close();
    }
    for (const file of readdirSync(join(path, "..")))
      expect(readFileSync(join(path, "..", file)).includes("xylophone"), file).toBe(false);
  });
  it("[CT7] a row does not go back to what a slower process read", async () => {
    const path = join(folder(), "rath.db");
    const [mine, theirs] = [await openStore(`sqlite:${path}`), await openStore(`sqlite:${path}`)];
    await catalogue(mine).sync();
    const [first, last] = [Session.start("first"), Session.start("last")];
    await mine.save(first, { name: "a" });
    const next = first.say("next");
    // Their catalogue has taken in "a", and is at "b" until ours is done.
    const theirSync = whileReading(
      mine,
      theirs,
      async () => {
        await theirs.save(next, { name: "a" });
        await theirs.save(last, { name: "b" });
      },
      last.id,
    );
    await catalogue(mine).sync();
    await theirSync();
    for (const store of [mine, theirs]) {
      const { items } = await catalogue(store).sessions();
      expect(items.map(({ name, head }) => [name, head]).sort()).toEqual([
        ["a", next.id],
        ["b", last.id],
      ]);
      await store.close();
    }
  });
  it("[CT12] a catalogue takes in moves while a name goes on moving, and no watch stays open", async () => {
    const store = await openStore("memory:");
    await catalogue(store).sync();
    const [session, other] = [Session.start("go"), Session.start("stay")];
    // With the one that follows, as many moves as the store reads at once.
    for (let move = 0; move < 999; move++)
      await store.save(move % 2 === 0 ? session : other, { name: "busy", force: true });
    const watch = store.watch.bind(store);
    type Watch = ReturnType<Store["watch"]> & Required<AsyncIterator<NameMove>>;
    const watches: Watch[] = [];
    (store as Writable).watch = (options = {}) => {
      const made = watch(options) as Watch;
      watches.push(made);
      const next = made.next.bind(made);
      let isFirst = options.from !== undefined;
      made.next = async () => {
        // It moves on after the end was looked up, and before it is read.
        if (isFirst) await store.save(session.say("one more"), { name: "busy" });
        isFirst = false;
        return next();
      };
      return made;
    };
    await catalogue(store).sync();
    expect(watches.length).toBeGreaterThan(1);
    const over = watches.map(({ next }, place) => next.call(watches[place]).then(({ done }) => done));
    const now = new Promise<"open">((done) => setImmediate(() => done("open")));
    for (const one of over) expect(await Promise.race([one, now])).toBe(true);
    await store.close();
  });
});
