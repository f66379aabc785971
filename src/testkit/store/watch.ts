import { deepStrictEqual, equal, ok } from "node:assert";
import { Session } from "../../session/index.js";
import type { Name, Store } from "../../store/index.js";
import { skip, within } from "../runner.js";
import { promise, type StoreCase } from "./case.js";

export const watchCases: readonly StoreCase[] = [
  promise("[S80] a watcher sees every move of its names, in order", async ({ store }) => {
    const stop = new AbortController();
    const all = listen(store, { signal: stop.signal });
    const one = listen(store, { name: "b", signal: stop.signal });
    let session = Session.start("hi");
    const expected: string[] = [];
    for (const name of ["a", "b", "a", "b"]) {
      session = session.say(name);
      await store.save(session, { name });
      expected.push(`${name} ${session.id}`);
    }
    await store.save(session.say("no name"));
    await store.lease("c");
    deepStrictEqual(await within("hearing of four moves", all.take(4)), expected);
    deepStrictEqual(await within("hearing of two moves", one.take(2)), [expected[1], expected[3]]);
    stop.abort();
    await within("the end of a stopped watch", Promise.all([all.end, one.end]));
    await store.save(session.say("after"), { name: "b" });
    equal(all.heard.length, 4);
  }),

  promise("[S81] closing a store ends the watches on it", async ({ store }) => {
    const all = listen(store, {});
    await store.save(Session.start("hi"), { name: "main" });
    await within("hearing of a move", all.take(1));
    await store.close();
    await within("the end of the watch", all.end);
  }),

  promise("[S82] a watcher sees moves of another process", async ({ store, second }) => {
    if (store.capabilities.writers === "one-process") skip("this store has one writer");
    const other = await second();
    const session = Session.start("hi");
    await store.save(session, { name: "main" });
    const stop = new AbortController();
    const all = listen(store, { signal: stop.signal });
    await other.save(session.say("theirs"), { name: "main" });
    deepStrictEqual(await within("hearing of another's move", all.take(1)), [
      `main ${await other.resolve("main")}`,
    ]);
    await other.save(Session.start("new"), { name: "new" });
    await within("hearing of another's new name", all.take(2));
    stop.abort();
    await within("the end of a stopped watch", all.end);
    equal(all.heard[1], `new ${await store.resolve("new")}`);
  }),

  promise("[S84] a watch sees moves from the moment it is made until it ends", async ({ store }) => {
    const session = Session.start("hi");
    const stop = new AbortController();
    const watches = [store.watch(), store.watch({ name: "main", signal: stop.signal })].map((watch) =>
      watch[Symbol.asyncIterator](),
    );
    await store.save(session, { name: "main" });
    for (const watch of watches) equal((await within("hearing", watch.next())).value?.id, session.id);
    const waiting = watches.map((watch) => watch.next());
    await within("the end by return()", watches[0]?.return?.() ?? Promise.reject(new Error("no return")));
    stop.abort();
    for (const end of await within("the end of those who wait", Promise.all(waiting))) equal(end.done, true);
    await store.save(session.say("after"), { name: "main" });
    for (const watch of watches) equal((await within("the end", watch.next())).done, true);
    const late = store.watch({ signal: AbortSignal.abort() })[Symbol.asyncIterator]();
    equal((await within("the end of a watch that was stopped before", late.next())).done, true);
  }),

  promise("[S87] a watcher sees names that move along, not those taken away", async ({ store, second }) => {
    const [one, two] = [Session.start("one"), Session.start("two")];
    const on = one.say("on");
    await store.save(one, { name: "main", also: { stays: one, goes: one } });
    const stop = new AbortController();
    const all = listen(store, { signal: stop.signal });
    const some = listen(store, { name: "other", signal: stop.signal });
    await store.save(on, { name: "main", also: { other: two, stays: one, goes: null } });
    const first = [`main ${on.id}`, `other ${two.id}`];
    deepStrictEqual(await within("hearing of two moves", all.take(2)), first);
    deepStrictEqual(await within("hearing of one move", some.take(1)), [first[1]]);
    if (store.capabilities.writers === "one-host") {
      const other = await second();
      await other.save(two, { name: "third", also: { other: one, fourth: two } });
      const heard = new Set(await within("hearing of another's moves", all.take(5)));
      for (const move of [`third ${two.id}`, `other ${one.id}`, `fourth ${two.id}`])
        ok(heard.has(move), `${move} was not told`);
    }
    stop.abort();
    await within("the end of stopped watches", Promise.all([all.end, some.end]));
  }),

  promise("[S85] of moves that nobody reads for long, the newest of each name is kept", async ({ store }) => {
    const moves = store.watch()[Symbol.asyncIterator]();
    let session = Session.start("hi");
    await store.save(session, { name: "first" });
    for (let step = 0; step < 60; step++) {
      const saves: Promise<unknown>[] = [];
      for (let many = 0; many < 20; many++) {
        session = session.say("on");
        saves.push(store.save(session, { name: "main" }));
      }
      await Promise.all(saves);
    }
    await store.save(session, { name: "last" });
    const heard: string[] = [];
    while (heard.at(-1) !== `last ${session.id}`) {
      const { value } = await within("hearing of the newest", moves.next());
      heard.push(`${value?.name} ${value?.id}`);
    }
    ok(heard.length <= 1002, `${heard.length} moves were kept`);
    ok(
      heard.includes(`main ${session.id}`) && heard[0]?.startsWith("first "),
      "the newest moves are missing",
    );
    await moves.return?.();
  }),
];

/** Starts listening at once and remembers what it hears. */
function listen(
  store: Store,
  options: { name?: string; signal?: AbortSignal },
): { heard: string[]; end: Promise<void>; take(count: number): Promise<string[]> } {
  const heard: string[] = [];
  let wake = (): void => {};
  const moves = store.watch(options)[Symbol.asyncIterator]();
  const listenOn = async (first: Promise<IteratorResult<Name>>): Promise<void> => {
    for (let move = await first; move.done !== true; move = await moves.next()) {
      heard.push(`${move.value.name} ${move.value.id}`);
      wake();
    }
  };
  const end = listenOn(moves.next());
  const take = async (count: number): Promise<string[]> => {
    while (heard.length < count) await new Promise<void>((resolve) => (wake = resolve));
    return heard.slice(0, count);
  };
  return { heard, end, take };
}
