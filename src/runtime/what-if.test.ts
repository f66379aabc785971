import { describe, expect, it } from "vitest";
import type { Session } from "../session/index.js";
import { type Module, perform, performAll, type Rath, RunFailedError, waitFor } from "./index.js";
import { fragile } from "./testing/fragile.js";
import { moduleOf } from "./testing/module.js";
import { blind, clockOf, rathOf, storeOf, urlOf } from "./testing/rath.js";
import { all, factsOf, made, only, typesOf } from "./testing/record.js";
import { gate, signalIn, until, valueIn, World } from "./testing/world.js";

type Version = { readonly word: string };

/** Five effects in a row; after the second one it says a word, which the version chooses. */
function program(world: World, version: () => Version): Module {
  let number = 0;
  return moduleOf("m", async (session) => {
    let next = session;
    for (const name of ["a", "b", "c", "d", "e"]) {
      next = await perform(next, world.step(name, { effect: "write", give: () => `${name}${++number}` }));
      if (name === "b") next = next.say(version().word);
    }
    return next;
  });
}

const verified = async (rath: Rath, what: string, module: Module): Promise<string> =>
  (await blind(await rath.store()).replay(what, module, { mode: "verify" })).id;

describe("a what-if", () => {
  it("[T10] names who begins it, and has a policy of its own for what it does anew", async () => {
    const rath = rathOf();
    const world = new World();
    const module = program(world, () => ({ word: "same" }));
    const old = await rath.run(module, rath.start("go", { by: "user:ada" }), { name: "old" });
    const from = made(old, "step-call")[3]?.id as string;
    const policy = {
      name: "again",
      version: "1",
      covers: () => true,
      decide: ({ session }: { readonly session: Session }) =>
        session.id === from
          ? ({ verdict: "deny", rules: ["no"] } as const)
          : ({ verdict: "allow", rules: [] } as const),
    };
    const settings = { mode: "what-if", name: "new", from, by: "user:bea", policy } as const;
    const other = await rath.replay("old", module, settings);
    expect(all(other, "step-failure")).toMatchObject([{ of: from, error: { code: "policy-denied" } }]);
    expect(world.calls).toEqual(["a", "b", "c", "d", "e", "e"]);
    expect(all(other, "run-start").at(-1)).toMatchObject({
      by: "user:bea",
      for: "user:ada",
    });
    for (const option of [{ by: "user:bea" as const }, { policy }])
      await expect(rath.replay("old", module, option)).rejects.toMatchObject({ code: "run-refused" });
  });

  it("[T10] takes over what still fits, goes its own way where it does not, and uses finished effects again", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    let word = "old";
    const module = program(world, () => ({ word }));
    const old = await rath.run(module, rath.start("go"), { name: "old" });
    const names = await store.names();
    word = "new";
    const other = await rath.replay("old", module, { mode: "what-if", name: "new" });
    expect(world.calls).toEqual(["a", "b", "c", "d", "e"]);
    expect(other.id).not.toBe(old.id);
    expect(other.transcript.some((message) => "content" in message && message.content === "new")).toBe(true);
    const results = made(other, "step-result");
    // The first two are the very facts of the old run.
    const before = made(old, "step-result").map(({ id }) => id);
    expect(results.slice(0, 2).map(({ id }) => id)).toEqual(before.slice(0, 2));
    // The later ones say where they come from, and have the same value.
    expect(results.slice(2).map(({ fact }) => (fact as { from?: string }).from)).toEqual(before.slice(2));
    expect(results.map(valueIn)).toEqual(made(old, "step-result").map(valueIn));
    expect(all(other, "effect-start")).toHaveLength(2);
    // A run of its own that names the old one.
    const starts = all(other, "run-start");
    expect(starts).toHaveLength(2);
    expect(starts[1]).toMatchObject({
      name: "new",
      from: { run: old.fact.run, start: made(old, "run-start")[0]?.id, leaves: [old.id] },
    });
    expect(other.fact.run).not.toBe(old.fact.run);
    // The old run stays as it was.
    expect((await store.names()).filter(({ name }) => name !== "new")).toEqual(names);
    expect(await verified(rath, "new", module)).toBe(other.id);
    word = "old";
    expect(await verified(rath, "old", module)).toBe(old.id);
    expect(world.calls).toHaveLength(5);
    expect(await rath.unfinished()).toEqual([]);
  });

  it("[T10] a new request is really done, and an outcome is used only once", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    let changed = false;
    let number = 0;
    const module = moduleOf("m", async (session) => {
      let next = session.say(changed ? "new" : "old");
      const names = changed ? ["a", "a", "a", "x", "b"] : ["a", "a", "b"];
      for (const name of names) next = await perform(next, world.step(name, { give: () => ++number }));
      return next;
    });
    await rath.run(module, rath.start("go"), { name: "old" });
    changed = true;
    const other = await rath.replay("old", module, { mode: "what-if", name: "new" });
    expect(world.calls).toEqual(["a", "a", "b", "a", "x"]);
    expect(made(other, "step-result").map(valueIn)).toEqual([1, 2, 4, 5, 3]);
    expect(await verified(rath, "new", module)).toBe(other.id);
  });

  it("[T10] failures are tried again, other inputs are other requests", async () => {
    const rath = rathOf();
    const world = new World();
    let changed = false;
    const module = moduleOf("m", async (session) => {
      const one = await perform(
        session.say(changed ? "n" : "o"),
        world.step("bad", { give: () => (changed ? "fine" : Promise.reject(new Error("no"))) }),
      );
      return perform(one, world.step("in", { input: changed ? { x: 2 } : { x: 1 } }));
    });
    await rath.run(module, rath.start("go"), { name: "old" });
    changed = true;
    const other = await rath.replay("old", module, { mode: "what-if", name: "new" });
    expect(world.calls).toEqual(["bad", "in", "bad", "in"]);
    expect(all(other, "step-failure")).toEqual([]);
    expect(await verified(rath, "new", module)).toBe(other.id);
  });

  it("[T10] of an unchanged program is the old run", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const module = program(world, () => ({ word: "same" }));
    const old = await rath.run(module, rath.start("go"), { name: "old" });
    const { facts } = await store.check();
    const other = await rath.replay("old", module, { mode: "what-if", name: "new" });
    expect(other.id).toBe(old.id);
    expect((await store.check()).facts).toBe(facts);
    expect(world.calls).toHaveLength(5);
  });

  it("[T10] another module or configuration may go through the old beginning, and its own is recorded", async () => {
    const rath = rathOf();
    const world = new World();
    const make = (model: string): Module =>
      moduleOf(
        "m",
        async (session) => {
          const one = await perform(session, world.step("same"));
          return perform(one, world.step("ask", { input: model }));
        },
        { state: { model } },
      );
    const old = await rath.run(make("one"), rath.start("go"), { name: "old" });
    const other = await rath.replay("old", make("two"), { mode: "what-if", name: "new" });
    expect(world.calls).toEqual(["same", "ask", "ask"]);
    const [first, second] = all(other, "run-start");
    expect(first?.digests).not.toEqual(second?.digests);
    expect(await verified(rath, "new", make("two"))).toBe(other.id);
    await expect(rath.replay("new", make("one"), { mode: "verify" })).rejects.toMatchObject({
      code: "divergence",
    });
    expect(await verified(rath, "old", make("one"))).toBe(old.id);
  });

  it("[T10] in parallel branches only the changed one goes its own way; nothing that fits is done again", async () => {
    for (const which of ["a", "b", "c"]) {
      const rath = rathOf();
      const world = new World();
      let changed = "";
      const module = moduleOf("m", async (session) => {
        const ends = await Promise.all(
          ["a", "b", "c"].map(async (name) => {
            let next: Session = await perform(
              session.fork(name),
              world.step(`${name}1`, { takes: name === "b" ? 3 : 1 }),
            );
            if (changed === name) next = next.say("changed");
            return perform(next, world.step(`${name}2`, { takes: 2 }));
          }),
        );
        return (ends[0] as Session).merge(ends.slice(1)).say("end");
      });
      const old = await rath.run(module, rath.start("go"), { name: "old" });
      changed = which;
      const other = await rath.replay("old", module, { mode: "what-if", name: "new" });
      expect(world.calls).toHaveLength(6);
      expect(all(other, "step-result")).toHaveLength(6);
      expect(await verified(rath, "new", module)).toBe(other.id);
      changed = "";
      expect(await verified(rath, "old", module)).toBe(old.id);
    }
  });

  it("[T10] goes its own way in a module inside, in a tool that is a module, at the beginning and at the end", async () => {
    for (const place of ["start", "inner", "tool", "end", "result"]) {
      const rath = rathOf();
      const world = new World();
      let changed = false;
      const at = (session: Session, here: string): Session =>
        changed && here === place ? session.say(`changed ${here}`) : session;
      const inner = moduleOf("inner", async (session) =>
        at(await perform(session, world.step("in")), "inner"),
      );
      const tool = moduleOf("tool", async (session) =>
        at(await perform(session, world.step("tool")), "tool"),
      );
      const module = moduleOf("m", async (session) => {
        const one = await inner.forward(at(session, "start"));
        const two = await performAll(one, [
          {
            fact: { type: "tool-call", name: "t", input: null },
            effect: "pure",
            act: () => Promise.reject(new Error("no")),
            failed: (error) => ({ type: "tool-failure", error }),
            inside: {
              branch: "t",
              body: (given) => tool.forward(given),
              outcome: () => ({ type: "tool-result", output: 1 }),
            },
          },
          world.step("beside", { takes: 2 }),
        ]);
        const end = at(two, "end");
        return changed && place === "result" ? one : end;
      });
      const old = await rath.run(module, rath.start("go"), { name: "old" });
      changed = true;
      const other = await rath.replay("old", module, { mode: "what-if", name: "new" });
      expect([place, world.calls.length]).toEqual([place, 3]);
      expect([place, other.id === old.id]).toEqual([place, false]);
      expect([place, await verified(rath, "new", module)]).toEqual([place, other.id]);
      changed = false;
      expect([place, await verified(rath, "old", module)]).toEqual([place, old.id]);
    }
  });

  it("[T10] that throws, or of a run that threw, is recorded and verified like any other", async () => {
    const rath = rathOf();
    const world = new World();
    let fails = true;
    const module = moduleOf("m", async (session) => {
      const one = await perform(session, world.step("a", { effect: "write" }));
      if (fails) throw new Error("no");
      return perform(one, world.step("b", { effect: "write" }));
    });
    const failed = (await rath
      .run(module, rath.start("go"), { name: "old" })
      .catch((error: unknown) => error)) as RunFailedError;
    fails = false;
    const fixed = await rath.replay("old", module, { mode: "what-if", name: "fixed" });
    expect(world.calls).toEqual(["a", "b"]);
    expect(await verified(rath, "fixed", module)).toBe(fixed.id);
    fails = true;
    expect(await verified(rath, "old", module)).toBe(failed.session.id);
    const again = (await rath
      .replay("fixed", module, { mode: "what-if", name: "broken" })
      .catch((error: unknown) => error)) as RunFailedError;
    expect(again).toBeInstanceOf(RunFailedError);
    expect(again.session.fact).toMatchObject({ error: { message: "no" } });
    expect(await verified(rath, "broken", module)).toBe(again.session.id);
    expect(world.calls).toEqual(["a", "b"]);
  });

  it("[T10] of a suspended run waits by itself, and both can be answered and go on", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    let word = "old";
    const module = moduleOf("m", async (session) => {
      const one = await perform(session, world.step("a", { effect: "write" }));
      const given = await waitFor(one.say(word), { type: "signal-await", name: "s" });
      return perform(given, world.step("b", { effect: "write", input: signalIn(given) }));
    });
    const old = await rath.run(module, rath.start("go"), { name: "old" });
    word = "new";
    const other = await rath.replay("old", module, { mode: "what-if", name: "new" });
    expect(other.fact.type).toBe("run-suspend");
    expect(await verified(rath, "new", module)).toBe(other.id);
    expect((await rath.unfinished()).map(({ name }) => name).sort()).toEqual(["new", "old"]);
    await rath.signal("new", "s", 2, "user:ada");
    const ended = await rath.resume("new", module);
    expect(ended.fact.type).toBe("run-end");
    expect(await verified(rath, "new", module)).toBe(ended.id);
    word = "old";
    expect(await verified(rath, "old", module)).toBe(old.id);
    await rath.signal("old", "s", 1, "user:ada");
    const first = await rath.resume("old", module);
    expect(first.fact.type).toBe("run-end");
    expect(await verified(rath, "old", module)).toBe(first.id);
    expect(world.calls).toEqual(["a", "b", "b"]);
    expect((await store.names()).map(({ name }) => name).sort()).toEqual(["new", "old"]);
  });

  it("[T10] of a suspended run with the same program is a suspension of its own that goes on by itself", async () => {
    for (const leaf of [false, true]) {
      const store = await storeOf();
      const rath = rathOf({ store });
      const world = new World();
      const module = moduleOf("m", async (session) => {
        const one = await perform(session, world.step("a", { effect: "write" }));
        // A leaf that nobody goes on from, and that comes first.
        if (leaf) one.fork("leaf").say("aside");
        const given = await waitFor(leaf ? one.fork("main") : one, { type: "signal-await", name: "s" });
        return perform(given, world.step("b", { effect: "write" }));
      });
      const old = await rath.run(module, rath.start("go"), { name: "old" });
      const other = await rath.replay("old", module, { mode: "what-if", name: "new" });
      expect([leaf, other.fact.type]).toEqual([leaf, "run-suspend"]);
      expect(await store.resolve("old")).toBe(old.id);
      expect([leaf, (await rath.resume("new", module)).id]).toEqual([leaf, other.id]);
      await rath.signal("new", "s", 2, "user:ada");
      const ended = await rath.resume("new", module);
      expect([leaf, ended.fact.type]).toEqual([leaf, "run-end"]);
      expect([leaf, await verified(rath, "new", module)]).toEqual([leaf, ended.id]);
      // The old one waits on, for the same request.
      expect(await verified(rath, "old", module)).toBe(old.id);
      const first = await rath.resume("old", module);
      if (first.fact.type === "run-suspend") {
        await rath.signal("old", "s", 1, "user:ada");
        expect((await rath.resume("old", module)).fact.type).toBe("run-end");
      }
      expect(await verified(rath, "old", module)).toBe(await store.resolve("old"));
    }
  });

  it("[T10] of a run that was cut off goes on by itself, wherever that was", async () => {
    const make = (world: World): Module =>
      moduleOf("m", async (session) => {
        const both = await performAll(session, [
          world.step("a", { effect: "idempotent" }),
          world.step("b", { effect: "idempotent" }),
        ]);
        const next = await perform(both.say("x"), world.step("c", { effect: "idempotent" }));
        return next.say("end");
      });
    const probe = fragile(await storeOf());
    const whole = rathOf({ store: probe });
    await whole.run(make(new World()), whole.start("go"));
    for (let at = 2; at <= probe.saves(); at++)
      for (const how of ["before", "after"] as const) {
        const store = await storeOf();
        const world = new World();
        const module = make(world);
        const dying = rathOf({ store: fragile(store, at, how) });
        await dying.run(module, dying.start("go"), { name: "old" }).catch(() => {});
        const rath = rathOf({ store: fragile(store) });
        const other = await rath.replay("old", module, { mode: "what-if", name: "new" });
        expect([at, how, other.fact.type]).toEqual([at, how, "run-end"]);
        if (at < probe.saves())
          expect([at, how, await verified(rath, "new", module)]).toEqual([at, how, other.id]);
        expect([at, how, await verified(rath, other.id, module)]).toEqual([at, how, other.id]);
        const old = await rath.resume("old", module);
        expect([at, how, await verified(rath, "old", module)]).toEqual([at, how, old.id]);
      }
  });

  it("[T10] of a cancelled run, and one that is cancelled itself, replay to the same id", async () => {
    const rath = rathOf();
    const world = new World();
    const hold = gate();
    let stuck = true;
    let word = "old";
    const module = moduleOf("m", async (session) => {
      const one = await perform(session, world.step("a", { effect: "write" }));
      return perform(one.say(word), world.step("slow", { give: () => (stuck ? hold.passed : 1) }));
    });
    const stop = async (running: Promise<Session>, name: string, count: number): Promise<Session> => {
      const error = running.then(
        () => undefined,
        (thrown: { session?: Session }) => thrown,
      );
      await until(() => world.count("slow") >= count);
      rath.cancel(name, "enough");
      return (await error)?.session as Session;
    };
    const old = await stop(rath.run(module, rath.start("go"), { name: "old" }), "old", 1);
    expect(await verified(rath, "old", module)).toBe(old.id);
    const again = rathOf({ store: await rath.store() });
    word = "new";
    const running = rath.replay("old", module, { mode: "what-if", name: "new" }).then(
      (session) => ({ session }),
      (error: { session?: Session }) => error,
    );
    const { session } = await Promise.race([
      running,
      (async () => {
        await until(() => world.count("slow") >= 2);
        rath.cancel("new", "this too");
        return running;
      })(),
    ]);
    expect(session?.fact.type).toBe("run-end");
    expect(await verified(again, "new", module)).toBe(session?.id);
    stuck = false;
    word = "old";
    expect(await verified(rath, "old", module)).toBe(old.id);
  });

  it("[T10] can itself be resumed after a crash at any write, and verified", async () => {
    const probe = fragile(await storeOf());
    let word = "old";
    const reference = new World();
    {
      const rath = rathOf({ store: probe });
      const module = changing(reference, () => word);
      await rath.run(module, rath.start("go"), { name: "old" });
      word = "new";
      const before = probe.saves();
      await rath.replay("old", module, { mode: "what-if", name: "new" });
      expect(probe.saves() - before).toBeGreaterThan(3);
      for (let at = 1; at <= probe.saves() - before; at++)
        for (const how of ["before", "after", "hang"] as const) await crashAndResume(at, how);
    }
    async function crashAndResume(at: number, how: "before" | "after" | "hang"): Promise<void> {
      const store = await storeOf();
      const world = new World();
      word = "old";
      const module = changing(world, () => word);
      const first = rathOf({ store: fragile(store) });
      const old = await first.run(module, first.start("go"), { name: "old" });
      word = "new";
      const dyingStore = fragile(store, at, how);
      const dying = rathOf({ store: dyingStore });
      const attempt = dying.replay("old", module, { mode: "what-if", name: "new" }).catch(() => undefined);
      await Promise.race([attempt, dyingStore.died]);
      for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
      const rath = rathOf({ store: fragile(store) });
      const exists = (await store.names()).some(({ name }) => name === "new");
      const ended = exists
        ? await rath.resume("new", module)
        : await rath.replay("old", module, { mode: "what-if", name: "new" });
      expect([at, how, ended.fact.type]).toEqual([at, how, "run-end"]);
      expect([at, how, await verified(rath, "new", module)]).toEqual([at, how, ended.id]);
      for (const name of ["a", "b", "c"])
        expect([at, how, name, world.count(name)]).toEqual([at, how, name, 1]);
      expect(typesOf(ended).filter((type) => type === "run-start")).toHaveLength(2);
      word = "old";
      expect([at, how, await verified(rath, "old", module)]).toEqual([at, how, old.id]);
      expect((await store.names()).map(({ name }) => name).sort()).toEqual(["new", "old"]);
    }
  });

  it("[T10] of a what-if, several deep, takes over all of it and leaves the others alone", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const words: string[] = ["one", "one", "one", "one"];
    const module = moduleOf("m", async (session) => {
      let next = session;
      for (const [index, name] of ["a", "b", "c", "d"].entries())
        next = (await perform(next, world.step(name, { effect: "write" }))).say(`${name} ${words[index]}`);
      return next;
    });
    const ends: [string, string[], Session][] = [];
    const keep = (name: string, session: Session): void => {
      ends.push([name, [...words], session]);
    };
    keep("v0", await rath.run(module, rath.start("go"), { name: "v0" }));
    words[2] = "two";
    keep("v1", await rath.replay("v0", module, { mode: "what-if", name: "v1" }));
    words[3] = "three";
    keep("v2", await rath.replay("v1", module, { mode: "what-if", name: "v2" }));
    words[0] = "four";
    keep("v3", await rath.replay("v2", module, { mode: "what-if", name: "v3" }));
    expect(world.calls).toEqual(["a", "b", "c", "d"]);
    expect(new Set(ends.map(([, , { id }]) => id)).size).toBe(4);
    for (const [name, then, session] of ends) {
      words.splice(0, 4, ...then);
      expect([name, (await blind(store).replay(name, module, { mode: "verify" })).id]).toEqual([
        name,
        session.id,
      ]);
      expect([name, (await rath.resume(name, module)).id]).toEqual([name, session.id]);
      expect(
        factsOf(session)
          .filter(({ type }) => type === "message-say")
          .map((fact) => (fact as { content: string }).content),
      ).toEqual(["a", "b", "c", "d"].map((letter, index) => `${letter} ${then[index]}`));
    }
    // What v1 had said is in v2 as the very same facts.
    const [, , v1] = ends[1] as [string, string[], Session];
    const [, , v2] = ends[2] as [string, string[], Session];
    const said = (session: Session, text: string): string =>
      only(made(session, "message-say").filter(({ fact }) => (fact as { content: string }).content === text))
        .id;
    expect(said(v2, "c two")).toBe(said(v1, "c two"));
  });

  it("[T10] under a name that is taken is refused before anything is done, and the old run is untouched", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    let word = "old";
    const module = program(world, () => ({ word }));
    const old = await rath.run(module, rath.start("go"), { name: "old" });
    await rath.save(rath.start("something else"), "taken");
    word = "new";
    await expect(rath.replay("old", module, { mode: "what-if", name: "taken" })).rejects.toMatchObject({
      code: "name-conflict",
    });
    await expect(rath.replay("old", module, { mode: "what-if", name: "old" })).rejects.toMatchObject({
      code: "name-conflict",
    });
    expect(await store.resolve("old")).toBe(old.id);
    expect(world.calls).toHaveLength(5);
    word = "old";
    expect(await verified(rath, "old", module)).toBe(old.id);
  });

  it("[T10] that was cut off before it did anything of its own is resumed as itself", async () => {
    const store = await storeOf();
    const world = new World();
    const module = program(world, () => ({ word: "same" }));
    const dying = rathOf({ store: fragile(store, 4) });
    await dying.run(module, dying.start("go"), { name: "old" }).catch(() => {});
    const again = rathOf({ store: fragile(store, 2) });
    await expect(again.replay("old", module, { mode: "what-if", name: "new" })).rejects.toThrow("gone");
    const rath = rathOf({ store: fragile(store) });
    const settle = async (name: string): Promise<Session> => {
      const there = await rath.resume(name, module);
      if (there.fact.type !== "run-suspend") return there;
      await rath.settle(name, { by: "user:ada", decision: "done", value: 1 });
      return rath.resume(name, module);
    };
    const other = await settle("new");
    expect(await verified(rath, "new", module)).toBe(other.id);
    const old = await settle("old");
    expect(await verified(rath, "old", module)).toBe(old.id);
    expect(other.fact.run).not.toBe(old.fact.run);
    expect(await rath.unfinished()).toEqual([]);
  });

  it("[T10] verifies where nothing but its own session was brought, from any of its sessions", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    let word = "old";
    const module = program(world, () => ({ word }));
    const old = await rath.run(module, rath.start("go"), { name: "old" });
    word = "new";
    const other = await rath.replay("old", module, { mode: "what-if" });
    const lines: string[] = [];
    for await (const line of store.export(other.id)) lines.push(line);
    const there = await storeOf();
    await there.import(lines, { head: other.id });
    expect(await there.line(old.id)).toBeUndefined();
    expect(await verified(rathOf({ store: there }), other.id, module)).toBe(other.id);
    for (const { id } of made(other, "step-result").slice(2))
      expect(await verified(rath, id, module)).toBe(other.id);
  });

  it("[T10] that is resumed does not use an outcome again that it has used before", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    let changed = false;
    let number = 0;
    const module = moduleOf("m", async (session) => {
      let next = session.say(changed ? "new" : "old");
      next = await perform(next, world.step("a", { effect: "write", give: () => ++number }));
      if (changed) next = await waitFor(next, { type: "signal-await", name: "s" });
      return changed ? perform(next, world.step("a", { effect: "write", give: () => ++number })) : next;
    });
    await rath.run(module, rath.start("go"), { name: "old" });
    changed = true;
    await rath.replay("old", module, { mode: "what-if", name: "new" });
    await rath.signal("new", "s", 1, "user:ada");
    const ended = await rath.resume("new", module);
    expect(made(ended, "step-result").map(valueIn)).toEqual([1, 2]);
    expect(world.calls).toEqual(["a", "a"]);
    expect(await verified(rath, "new", module)).toBe(ended.id);
  });

  it("[T10] keeps its budget and asks again for approvals that nobody gave to it", async () => {
    const url = urlOf("sqlite");
    const world = new World();
    let word = "old";
    const module = moduleOf("m", async (session) => {
      const one = await perform(
        session,
        world.step("a", { effect: "write", approval: { what: "a" }, spend: { steps: 1 } }),
      );
      return perform(
        one.say(word),
        world.step("b", { effect: "write", approval: { what: "b" }, spend: { steps: 1 } }),
      );
    });
    const rath = rathOf({ store: url });
    await rath.run(module, rath.start("go"), { name: "old", budget: { steps: 2 } });
    for (let turn = 0; turn < 2; turn++) {
      await rath.approve("old", { by: "user:ada" });
      await rath.resume("old", module);
    }
    expect(world.calls).toEqual(["a", "b"]);
    word = "new";
    const other = await rath.replay("old", module, { mode: "what-if", name: "new" });
    // The first approval is taken over with what it belongs to. The second was for another moment.
    expect(other.fact.type).toBe("run-suspend");
    await rath.approve("new", { by: "user:bob" });
    const ended = await rath.resume("new", module);
    expect(ended.fact).not.toHaveProperty("error");
    expect(all(ended, "approval-give").map(({ by }) => by)).toEqual(["user:ada", "user:bob"]);
    expect(world.calls).toEqual(["a", "b"]);
    expect(await verified(rath, "new", module)).toBe(ended.id);
  });
});

describe("a retry", () => {
  it("[T13] does again what made a run fail, and nothing that was finished or that the program went on from", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    let down = true;
    const module = moduleOf("m", async (session) => {
      const charged = await perform(session, world.step("charge", { effect: "write" }));
      const tried = await perform(
        charged,
        world.step("optional", { give: () => Promise.reject(new Error("no")) }),
      );
      const shipped = await perform(
        tried.say("went on without it"),
        world.step("ship", {
          effect: "write",
          give: () => (down ? Promise.reject(new Error("503")) : "shipped"),
        }),
      );
      if (shipped.fact.type === "step-failure") throw new Error("could not ship");
      return shipped.say("done");
    });
    const failed = (await rath
      .run(module, rath.start("go"), { name: "order" })
      .catch((error: unknown) => error)) as RunFailedError;
    const again = (await rath
      .retry("order", module, { name: "order 2" })
      .catch((error: unknown) => error)) as RunFailedError;
    expect(again).toBeInstanceOf(RunFailedError);
    down = false;
    const ended = await rath.retry("order 2", module, { name: "order 3" });
    expect(world.calls).toEqual(["charge", "optional", "ship", "ship", "ship"]);
    expect(ended.transcript.at(-1)).toMatchObject({ content: "done" });
    expect(all(ended, "run-start").at(-1)).toMatchObject({
      from: { run: again.session.fact.run, again: true },
    });
    expect(await verified(rath, "order 3", module)).toBe(ended.id);
    down = true;
    for (const [name, run] of [
      ["order", failed],
      ["order 2", again],
    ] as const)
      expect(await verified(rath, name, module)).toBe(run.session.id);
    const lines: string[] = [];
    for await (const line of store.export(ended.id)) lines.push(line);
    const there = await storeOf();
    await there.import(lines, { head: ended.id });
    expect(await verified(rathOf({ store: there }), ended.id, module)).toBe(ended.id);
  });

  it("[T13] goes on where it was cancelled, on every branch, also after a crash", async () => {
    const store = await storeOf();
    const world = new World();
    const hold = gate();
    let stuck = true;
    const module = moduleOf("m", async (session) => {
      const one = await perform(session, world.step("first", { effect: "write" }));
      const ends = await Promise.all([
        perform(one.fork("a"), world.step("a", { give: () => (stuck ? hold.passed : 1) })),
        perform(one.fork("b"), world.step("b", { effect: "write", approval: { what: "b" } })),
        perform(one.fork("c"), world.step("c", { effect: "write" })),
      ]);
      return ends[0].merge(ends.slice(1));
    });
    const first = rathOf({ store });
    const running = first.run(module, first.start("go"), { name: "n" }).catch((error: unknown) => error);
    await until(() => world.count("a") > 0 && world.count("c") > 0);
    first.cancel("n", "enough");
    expect(await running).toMatchObject({ code: "cancelled" });
    stuck = false;
    const dying = rathOf({ store: fragile(store, 2) });
    await expect(dying.retry("n", module, { name: "m" })).rejects.toThrow("gone");
    const rath = rathOf({ store: fragile(store) });
    const waiting = await rath.resume("m", module);
    expect(waiting.fact.type).toBe("run-suspend");
    await rath.approve("m", { by: "user:ada" });
    const ended = await rath.resume("m", module);
    expect(ended.fact).not.toHaveProperty("error");
    expect([world.count("first"), world.count("b"), world.count("c")]).toEqual([1, 1, 1]);
    expect(await verified(rath, "m", module)).toBe(ended.id);
  });

  it("[T13] asks again where somebody said no", async () => {
    const rath = rathOf();
    const world = new World();
    const module = moduleOf("m", async (session) => {
      const paid = await perform(session, world.step("pay", { effect: "write", approval: { what: "pay" } }));
      if (paid.fact.type === "step-failure") throw new Error("not paid");
      return paid;
    });
    await rath.run(module, rath.start("go"), { name: "n" });
    await rath.reject("n", { by: "user:ada", why: "too early" });
    await expect(rath.resume("n", module)).rejects.toBeInstanceOf(RunFailedError);
    const waiting = await rath.retry("n", module, { name: "m" });
    expect(waiting.pending.map(({ type, what }) => [type, what])).toContainEqual(["approval-ask", "pay"]);
    await rath.approve("m", { by: "user:ada" });
    const ended = await rath.resume("m", module);
    expect(world.calls).toEqual(["pay"]);
    expect(await verified(rath, "m", module)).toBe(ended.id);
  });

  it("[T13] does not count the time between the two runs", async () => {
    const { clock, pass } = clockOf();
    const rath = rathOf({ clock });
    const world = new World();
    let down = true;
    const inner = moduleOf("inner", async (session) => {
      const one = await perform(session, world.step("a", { give: () => pass(100) ?? null }));
      if (down) throw new Error("down");
      return perform(one, world.step("b", { give: () => pass(100) ?? null }));
    });
    await expect(
      rath.run(inner, rath.start("go"), { name: "n", budget: { milliseconds: 250 } }),
    ).rejects.toBeInstanceOf(RunFailedError);
    pass(3_600_000);
    await expect(rath.retry("n", inner, { name: "m" })).rejects.toBeInstanceOf(RunFailedError);
    pass(3_600_000);
    down = false;
    const ended = await rath.retry("m", inner, { name: "o" });
    expect(ended.fact).not.toHaveProperty("error");
    expect(world.calls).toEqual(["a", "b"]);
    expect(await verified(rath, "o", inner)).toBe(ended.id);
  });

  it("[T13] of what has not failed is refused with what to do instead", async () => {
    const rath = rathOf();
    const module = moduleOf("m", async (session) => session);
    const waits = moduleOf("w", async (session) => waitFor(session, { type: "signal-await", name: "s" }));
    await rath.run(module, rath.start("go"), { name: "fine" });
    await rath.run(waits, rath.start("go"), { name: "waits" });
    await rath.save(rath.start("go"), "no run");
    await expect(rath.retry("fine", module)).rejects.toMatchObject({
      code: "run-refused",
      message: expect.stringContaining("it has not failed"),
    });
    await expect(rath.retry("waits", waits)).rejects.toMatchObject({
      code: "run-refused",
      hint: expect.stringContaining("rath.resume"),
    });
    await expect(rath.retry("no run", module)).rejects.toMatchObject({ code: "not-a-run" });
  });
});

/** Two branches and a tail; the word in the middle is chosen from outside. All of it may be sent again with its key. */
function changing(world: World, word: () => string): Module {
  return moduleOf("m", async (session) => {
    const one = await perform(session, world.step("a", { effect: "idempotent" }));
    const said = one.say(word());
    const ends = await Promise.all([
      perform(said.fork("l"), world.step("b", { effect: "idempotent" })).then((next) => next.say("l")),
      perform(said.fork("r"), world.step("c", { effect: "idempotent" })).then((next) =>
        perform(next, world.step(`own ${word()}`, { effect: "idempotent" })),
      ),
    ]);
    return perform(ends[0].merge(ends[1]), world.step(`last ${word()}`, { effect: "idempotent" }));
  });
}
