import { describe, expect, it } from "vitest";
import { openRath } from "../runtime/index.js";
import type { Session } from "../session/index.js";
import { workflow } from "../workflow/index.js";
import { consolidating } from "./care/consolidate.js";
import { forgetting } from "./care/forget.js";
import { memory } from "./index.js";
import { world } from "./testing/world.js";

const by = "user:bob";

describe("a narrow scope", () => {
  it("[B11] changes nothing of a wider one, by no way there is", async () => {
    const { store, space, said, passed } = await world();
    const rath = openRath({ store });
    const bob = memory({ name: "notes", scope: ["project:rath", "user:bob"] });
    const because = [said] as const;
    const draft = (text: string) => ({ text, because, source: "human-correction", by }) as const;
    const before = (await space.write(draft("The first note of all."))).head;
    const { memory: wide } = await space.write(draft("Releases are made on Fridays."));
    const { memory: own } = await space.write({ ...draft("Bob likes tea."), scope: bob.scope });
    const ways: { readonly [way: string]: (session: Session) => Promise<{ readonly session: Session }> } = {
      write: (session) => bob.write(session, { ...draft("For all."), scope: "project:rath" }),
      merge: (session) => bob.write(session, { ...draft("Instead."), merges: [wide] }),
      revise: (session) => bob.revise(session, wide, { text: "Never.", because, by }),
      revoke: (session) => bob.revoke(session, wide, { why: "so", by }),
      expire: (session) => bob.expire(session, wide, { why: "so", by }),
      promote: (session) => bob.promote(session, own, { because: [passed], by, to: "project:rath" }),
      link: (session) => bob.link(session, wide, { to: own, relation: "supports", by }),
      rollback: (session) => bob.rollback(session, { to: before, why: "so", by }),
    };
    const head = await space.head();
    for (const [way, act] of Object.entries(ways)) {
      const body = workflow(way, async (session) => (await act(session)).session);
      await expect(rath.run(body, rath.start("?", { by })), way).rejects.toThrow(
        "project:rath, and this scope may only write for project:rath / user:bob",
      );
    }
    expect(await space.head()).toBe(head);
    // What is its own it changes, and who looks after the space changes all of it.
    const revise = workflow("own", async (session) => {
      const { session: told } = await bob.revise(session, own, { text: "Bob likes coffee.", because, by });
      return (await bob.link(told, own, { to: wide, relation: "supports", by })).session;
    });
    await rath.run(revise, rath.start("?", { by }));
    await bob.open(store).revoke(wide, { why: "so", by });
    expect((await space.list()).map(({ text }) => text)).toEqual([
      "The first note of all.",
      "Bob likes coffee.",
    ]);
    await store.close();
  });

  it("[B11] changes nothing of a scope beside it, and takes no care of it", async () => {
    const { store, space, said } = await world();
    const rath = openRath({ store });
    const because = [said] as const;
    const texts = ["Tea is served at four.", "Tea is served at four!"];
    const [first] = await Promise.all(
      texts.map((text) => space.write({ text, because, source: "human-correction", by, importance: 1 })),
    );
    for (const scope of ["user:bob", "project:other"] as const) {
      const beside = memory({ name: "notes", scope });
      const ways: readonly ((session: Session) => Promise<{ readonly session: Session }>)[] = [
        (session) => beside.revise(session, first?.memory as string, { text: "Never.", because, by }),
        (session) => beside.revoke(session, first?.memory as string, { why: "so", by }),
        (session) =>
          beside.write(session, { text: "All.", because, source: "reflection", by, scope: "project:rath" }),
      ];
      for (const act of ways) {
        const body = workflow("beside", async (session) => (await act(session)).session);
        await expect(rath.run(body, rath.start("?", { by }))).rejects.toThrow(`may only write for ${scope}`);
      }
      await rath.run(consolidating("merge", { memory: beside }), rath.start("?"));
      await rath.run(forgetting("forget", { memory: beside, importanceBelow: 3 }), rath.start("?"));
    }
    expect((await space.list()).map(({ text }) => text).sort()).toEqual(texts.sort());
    await store.close();
  });

  it("[B11] takes no care of a wider one", async () => {
    const { store, space, said } = await world();
    const rath = openRath({ store });
    const bob = memory({ name: "notes", scope: ["project:rath", "user:bob"] });
    for (const scope of ["project:rath", bob.scope] as const)
      for (const text of ["Tea is served at four.", "Tea is served at four!"])
        await space.write({ text, because: [said], source: "human-correction", by, scope, importance: 1 });
    const live = async () => (await space.list()).map(({ scope }) => scope.length);
    await rath.run(consolidating("merge", { memory: bob }), rath.start("?"));
    expect(await live()).toEqual([1, 1, 2]);
    await rath.run(forgetting("forget", { memory: bob, importanceBelow: 3 }), rath.start("?"));
    expect(await live()).toEqual([1, 1]);
    await store.close();
  });
});
