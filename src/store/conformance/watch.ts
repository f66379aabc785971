import { deepStrictEqual, equal } from "node:assert";
import { Session } from "../../session/index.js";
import type { Name, Store } from "../store.js";
import { type ConformanceCase, promise, within } from "./case.js";

export const watchCases: readonly ConformanceCase[] = [
  promise(
    "[S80] a watcher is told of every move of its names, in order, until it is stopped",
    async ({ store }) => {
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
    },
  ),

  promise("[S81] closing a store ends the watches on it", async ({ store }) => {
    const all = listen(store, {});
    await store.save(Session.start("hi"), { name: "main" });
    await within("hearing of a move", all.take(1));
    await store.close();
    await within("the end of the watch", all.end);
  }),

  promise(
    "[S82] a watcher hears of moves made through another way into the same store",
    async ({ store, second }) => {
      if (store.capabilities.writers === "one-process") return "this store has one writer";
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
      return undefined;
    },
  ),
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
