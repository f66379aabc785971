import { deepStrictEqual, equal, ok } from "node:assert";
import { Session } from "../../session/index.js";
import type { NameMove, Store } from "../../store/index.js";
import { skip, within } from "../runner.js";
import { promise, refused, type StoreCase } from "./case.js";
import { chain, Dice } from "./graph.js";

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

  promise("[S87] a watcher sees names that move along, and those taken away", async ({ store, second }) => {
    const [one, two] = [Session.start("one"), Session.start("two")];
    const on = one.say("on");
    await store.save(one, { name: "main", also: { stays: one, goes: one } });
    const stop = new AbortController();
    const all = listen(store, { signal: stop.signal });
    const some = listen(store, { name: "other", signal: stop.signal });
    await store.save(on, { name: "main", also: { other: two, stays: one, goes: null } });
    const first = [`main ${on.id}`, `other ${two.id}`, "goes null"];
    deepStrictEqual(await within("hearing of three moves", all.take(3)), first);
    deepStrictEqual(await within("hearing of one move", some.take(1)), [first[1]]);
    await store.forget("other");
    deepStrictEqual(await within("hearing of a name that goes", some.take(2)), [first[1], "other null"]);
    if (store.capabilities.writers === "one-host") {
      const other = await second();
      await other.save(two, { name: "third", also: { other: one, fourth: two } });
      const heard = new Set(await within("hearing of another's moves", all.take(7)));
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
  promise("[S141] names come in pages, by name or the newest change first", async ({ store }) => {
    const dice = new Dice(141);
    const standing = new Map<string, Session>();
    const order: string[] = [];
    const save = async (name: string): Promise<void> => {
      const session = (standing.get(name) ?? Session.start(name)).say("on");
      await store.save(session, { name });
      standing.set(name, session);
      if (order.includes(name)) order.splice(order.indexOf(name), 1);
      order.unshift(name);
    };
    const named = ["", "a/", "b/"].flatMap((under) =>
      Array.from({ length: 9 }, (_, n) => `${under}${n} é😀`),
    );
    for (const name of dice.shuffled(named)) await save(name);
    for (let moves = 0; moves < 20; moves++) await save(dice.pick(named));
    for (const name of ["3 é😀", "a/3 é😀"]) {
      await store.forget(name);
      order.splice(order.indexOf(name), 1);
    }
    await store.lease("leased");
    for (const under of ["", "a/", "none/"])
      for (const limit of [1, 4, 100]) {
        const wanted = order.filter((name) => name.startsWith(under));
        for (const by of ["name", "changed"] as const) {
          const expected = by === "name" ? [...wanted].sort() : wanted;
          const told: string[] = [];
          for (let after: string | undefined; ; ) {
            const page = await store.names({
              under,
              order: by,
              limit,
              ...(after !== undefined && { after }),
            });
            ok(page.length <= limit, "a page is longer than its limit");
            for (const { name, id } of page) equal(id, standing.get(name)?.id);
            told.push(...page.map(({ name }) => name));
            const last = page.at(-1);
            if (last === undefined) break;
            after = by === "name" ? last.name : last.token;
          }
          deepStrictEqual(told, expected);
        }
        deepStrictEqual(
          (await store.names({ under })).map(({ name }) => name),
          [...wanted].sort(),
        );
      }
    // A name that moves between two pages comes first; the others still come once.
    const [first] = await store.names({ order: "changed", limit: 1 });
    const rest = order.slice(1);
    await save(order.at(-1) as string);
    const later = await store.names({ order: "changed", after: first?.token as string });
    deepStrictEqual(
      later.map(({ name }) => name),
      rest.slice(0, -1),
    );
    for (const wrong of [
      { limit: 0 },
      { limit: 1.5 },
      { order: "size" },
      { after: 3 },
      { order: "changed", after: "x y" },
    ])
      await refused("store-failed", store.names(wrong as never));
  }),

  promise("[S142] every move gives a name a new token, and nothing else does", async ({ store, reopen }) => {
    const session = Session.start("hi");
    const tokenOf = async (at: Store): Promise<string> =>
      (await at.names()).find(({ name }) => name === "main")?.token ?? "";
    await store.save(session, { name: "main" });
    const first = await tokenOf(store);
    await store.save(session, { name: "main" });
    await (await store.lease("main")).release();
    await store.save(session, { name: "other" });
    equal(await tokenOf(store), first);
    const on = session.say("on");
    await store.save(on, { name: "main" });
    const second = await tokenOf(store);
    ok(second !== first, "a move gave no new token");
    await store.forget("main");
    await store.point("main", on.id);
    const third = await tokenOf(store);
    ok(third !== second && third !== first, "a name that came again has its old token");
    if (store.capabilities.durability !== "memory") equal(await tokenOf(await reopen()), third);
  }),

  promise("[S143] a watch from a token tells what followed it, once and in order", async (bench) => {
    let { store } = bench;
    const dice = new Dice(143);
    const start = store.watch();
    const tokens: string[] = [start.token];
    const moves: string[] = [];
    const standing = new Map<string, Session>();
    const lasts = !(store.capabilities.durability === "memory");
    const move = async (): Promise<void> => {
      const name = dice.pick(["a", "b", "c"]);
      const before = standing.get(name);
      const after =
        before !== undefined && dice.roll(4) === 0 ? undefined : (before ?? Session.start(name)).say("on");
      if (after === undefined) await store.forget(name);
      else await store.save(after, { name });
      if (after === undefined) standing.delete(name);
      else standing.set(name, after);
      moves.push(`${name} ${before?.id ?? null} ${after?.id ?? null}`);
      tokens.push(store.watch().token);
    };
    const told = async (at: Store, from: string, name?: string): Promise<string[]> => {
      const watch = at.watch({ from, ...(name !== undefined && { name }) });
      const heard: string[] = [];
      // Reads as far as is known: then the watch has nothing to tell.
      const count = moves
        .slice(tokens.indexOf(from))
        .filter((one) => name === undefined || one[0] === name).length;
      for await (const one of count === 0 ? [] : watch) {
        heard.push(`${one.name} ${one.before} ${one.id}`);
        equal(tokens.includes(one.token), true, "a token that no watch had");
        if (heard.length === count) break;
      }
      return heard;
    };
    for (let round = 0; round < 30; round++) {
      for (let many = dice.roll(4); many >= 0; many--) await move();
      if (lasts && dice.roll(5) === 0) store = await bench.reopen();
      const at =
        store.capabilities.writers === "one-host" && dice.roll(5) === 0 ? await bench.second() : store;
      const from = dice.pick(tokens);
      const rest = moves.slice(tokens.indexOf(from));
      deepStrictEqual(await told(at, from), rest);
      deepStrictEqual(
        await told(at, from, "b"),
        rest.filter((one) => one.startsWith("b ")),
      );
      for (const { name, token, id } of await store.names())
        ok(
          moves[tokens.indexOf(token) - 1]?.endsWith(` ${id}`),
          `the token of ${name} is not that of its move`,
        );
    }
    equal(store.watch().token, tokens.at(-1));
    // A watch that begins in the past goes on with what comes.
    const on = store.watch({ from: tokens.at(-2) as string })[Symbol.asyncIterator]();
    await within("hearing of the last move", on.next());
    const next = on.next();
    await move();
    equal((await within("hearing of a new move", next)).value?.token, tokens.at(-1));
    await on.return?.();
    // Where many wait those of one name arrive as one, unless each was asked for.
    const from = store.watch().token;
    let session = Session.start("many");
    for (let count = 0; count < 1_001; count++) {
      session = session.say("on");
      await store.save(session, { name: "many" });
    }
    for (const each of [false, true]) {
      let count = 0;
      for await (const { id } of store.watch({ from, each })) {
        count += 1;
        if (id === session.id) break;
      }
      equal(count, each ? 1_001 : 2);
    }
  }),

  promise("[S144] a token that the store did not give is refused", async ({ store, fresh }) => {
    const session = chain(Session.start("hi"), 3);
    const other = await fresh();
    await store.save(session, { name: "main" });
    for (const name of ["main", "side"]) await other.save(Session.start("other"), { name });
    const tokens = (await other.names()).map(({ token }) => token);
    for (const from of tokens)
      equal((await refused("store-token-old", () => store.watch({ from }))).data.token, from);
    for (const from of ["", "x", "1", "-1-", "zzzz-zz", 7, null])
      await refused("store-failed", () => store.watch({ from: from as string }));
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
  const listenOn = async (first: Promise<IteratorResult<NameMove>>): Promise<void> => {
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
