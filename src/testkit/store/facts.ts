import { deepStrictEqual, equal, ok } from "node:assert";
import { Session } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { promise, refused, type StoreCase } from "./case.js";
import { chain, Dice, headsOf, randomGraph } from "./graph.js";

type Options = NonNullable<Parameters<Store["facts"]>[1]>;
type Item = Awaited<ReturnType<Store["facts"]>>["items"][number];

export const factsCases: readonly StoreCase[] = [
  promise("[S146] a history is read in pages, each fact once, from anywhere", async ({ store, reopen }) => {
    let at = store;
    const dice = new Dice(146);
    for (let round = 0; round < 6; round++) {
      const made = randomGraph(dice, 60);
      for (const head of dice.shuffled(headsOf(made))) await at.save(head);
      for (let many = 0; many < 8; many++) {
        const [head, other] = [dice.pick(made), dice.pick(made)];
        const history = [...head.history()];
        for (const reverse of [false, true]) {
          const expected = reverse ? [...history].reverse() : history;
          const told = await all(at, head.id, { reverse, limit: 1 + dice.roll(20) });
          deepStrictEqual(
            told.map(({ id, line, parents, index }) => [id, line, parents, index]),
            expected.map((one) => [one.id, one.line, one.parentIds, history.indexOf(one)]),
          );
          const place = dice.roll(expected.length);
          const { items } = await at.facts(head.id, {
            reverse,
            after: expected[place]?.id as string,
            limit: 3,
          });
          deepStrictEqual(idsIn(items), idsIn(expected.slice(place + 1, place + 4)));
        }
        const left = new Set([...other.history()].map(({ id }) => id));
        const { items, count } = await at.facts(head.id, { without: other.id, limit: 1000 });
        const rest = history.filter(({ id }) => !left.has(id));
        deepStrictEqual([idsIn(items), count], [idsIn(rest), rest.length]);
      }
      if (store.capabilities.durability !== "memory") at = await reopen();
    }
    // A cursor stays with its head, whatever the name came to lead to.
    const trunk = chain(Session.start("hi"), 20);
    await at.save(trunk, { name: "main" });
    const { next, head } = await at.facts("main", { limit: 5 });
    const on = Session.start("other").say("x").merge(trunk);
    await at.save(on, { name: "main", force: true });
    const rest = await at.facts("main", { after: next as string, limit: 1000 });
    deepStrictEqual([rest.head, idsIn(rest.items)], [trunk.id, idsIn([...trunk.history()].slice(5))]);
    equal(rest.next, null);
    const since = await at.facts("main", { without: head });
    equal(since.items.length, 3);
    equal(since.head, on.id);
    deepStrictEqual(Object.keys(rest.items[0] as Item).sort(), ["fact", "id", "index", "line", "parents"]);
    deepStrictEqual(since.items.at(-1)?.fact, on.fact);
  }),

  promise("[S147] pages tell facts of some types, or of a branch", async ({ store }) => {
    const dice = new Dice(147);
    const made = randomGraph(dice, 200);
    for (const head of headsOf(made)) await store.save(head);
    for (const head of dice.shuffled(headsOf(made)).slice(0, 4)) {
      const history = [...head.history()];
      const types = [...new Set(history.map(({ fact }) => fact.type))];
      const branches = [...new Set(history.map(({ branch }) => branch))];
      for (const reverse of [false, true])
        for (const type of [types[0] as string, types.slice(1, 3)]) {
          const told = await all(store, head.id, { type, reverse, limit: 7 });
          const wanted = history.filter(({ fact }) => [type].flat().includes(fact.type));
          deepStrictEqual(idsIn(told), idsIn(reverse ? wanted.reverse() : wanted));
        }
      for (const branch of [...branches.slice(0, 4), "nowhere"])
        for (const reverse of [false, true]) {
          const told = await all(store, head.id, { branch, reverse, limit: 5 });
          const wanted = history.filter((one) => one.branch === branch);
          deepStrictEqual(idsIn(told), idsIn(reverse ? wanted.reverse() : wanted));
        }
    }
    // Few facts that fit are far apart: a page ends before them, and the next one goes on.
    let session = Session.start("hi");
    for (let part = 0; part < 3; part++) session = chain(session, 2100).fork(`part ${part}`);
    await store.save(session, { name: "long" });
    const first = await store.facts("long", { type: "branch-fork", limit: 1000 });
    ok(first.items.length < 3 && first.next !== null, "a page looked at everything");
    equal((await all(store, "long", { type: "branch-fork" })).length, 3);
    const onPart = await store.facts("long", { branch: "part 1", reverse: true, limit: 2 });
    deepStrictEqual(
      onPart.items.map(({ index }) => index),
      [session.depth - 1, session.depth - 2],
    );
  }),

  promise("[S149] a cursor that no page gave is refused", async ({ store }) => {
    const session = chain(Session.start("hi"), 30);
    await store.save(session, { name: "main" });
    await store.save(Session.start("other"), { name: "other" });
    const { next } = await store.facts("main", { limit: 3, type: "message-say" });
    const after = next as string;
    equal((await store.facts("main", { after, type: "message-say" })).items.length, 23);
    for (const wrong of [
      { after: "x" },
      { after: Buffer.from("[1,2]").toString("base64url") },
      { after: await store.resolve("other") },
      { after: "0".repeat(64) },
      { after: 5 },
      { after, reverse: true },
      { after, branch: "main" },
      { after, type: "tool-call" },
      { limit: 0 },
      { limit: 1001 },
      { type: 3 },
      { reverse: "yes" },
      { branch: 1 },
      null,
    ])
      await refused("store-failed", store.facts("main", wrong as never));
    await refused("not-found", store.facts("nobody"));
    await refused("not-found", store.facts("main", { without: "nobody" }));
  }),
];

/** All facts, page by page. */
async function all(store: Store, head: string, options: Options): Promise<readonly Item[]> {
  const told: Item[] = [];
  for (let after: string | undefined; ; ) {
    const { items, next } = await store.facts(
      head,
      after === undefined ? options : { after, ...limitOf(options) },
    );
    ok(items.length <= (options.limit ?? 100), "a page is longer than its limit");
    told.push(...items);
    if (next === null) return told;
    after = next;
  }
}

function limitOf({ limit }: Options): Options {
  return limit === undefined ? {} : { limit };
}

function idsIn(items: readonly { readonly id: string }[]): readonly string[] {
  return items.map(({ id }) => id);
}
