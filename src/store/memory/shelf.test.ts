import { describe, expect, it } from "vitest";
import { digestOf } from "../../session/index.js";
import { acquire, extend, forget } from "../commit.js";
import type { MoveRecord } from "../shelf.js";
import { takeSnapshot } from "../shelf-store/snapshot.js";
import { SqliteShelf } from "../sqlite/shelf.js";
import { collect, folder, one, other, root, save, saveKeyed, stepOf, two } from "../testing/example.js";
import { MemoryShelf } from "./shelf.js";

const erasure = (digest: string, fact: string) =>
  ({ digest, fact, by: "user", at: "2026-01-01T00:00:00.000Z", why: "asked" }) as const;
const open = (): MemoryShelf => new MemoryShelf();

describe("MemoryShelf", () => {
  it("[IX6] checks the fence first, then the step, then the head", async () => {
    const shelf = open();
    expect(await shelf.commit(save(one, { key: "1" }))).toMatchObject({ outcome: "done", written: 2 });
    const mine = await shelf.write(({ names }) => acquire(names, "main", "ada", 100, 0));
    expect(mine).toMatchObject({ epoch: 1, head: one.id });
    expect(await shelf.commit(save(two, { key: "1" }))).toMatchObject({
      outcome: "fenced",
      record: { owner: "ada" },
    });
    expect(await shelf.commit(save(two, { key: "1", epoch: 0 }))).toMatchObject({ outcome: "fenced" });
    expect(await shelf.commit(save(other, { key: "1", epoch: 1 }))).toEqual({
      outcome: "replayed",
      head: one.id,
    });
    expect(await shelf.commit(save(other, { key: "2", epoch: 1 }))).toMatchObject({
      outcome: "conflict",
      record: { head: one.id },
    });
    expect(await shelf.lines([other.id])).toEqual([undefined]);
    expect(await shelf.commit(save(two, { key: "2", now: 100 }))).toMatchObject({ outcome: "done" });
    expect(await stepOf(shelf, "2")).toBe(two.id);
    expect(await shelf.commit(save(two, { epoch: 1, name: "nobody" }))).toMatchObject({
      outcome: "fenced",
      record: { head: null },
    });
    await shelf.close();
  });

  it("[IX7] a name moves only from where it is expected", async () => {
    const shelf = open();
    expect(await shelf.commit(save(one, { expect: two.id }))).toEqual({
      outcome: "conflict",
      record: undefined,
    });
    expect(await shelf.commit(save(one, { expect: null }))).toMatchObject({ outcome: "done" });
    expect(await shelf.commit(save(two, { expect: null }))).toMatchObject({ outcome: "conflict" });
    expect(await shelf.commit(save(two, { expect: root.id }))).toMatchObject({ outcome: "conflict" });
    expect(await shelf.commit(save(two, { expect: one.id }))).toMatchObject({ outcome: "done" });
    expect(await shelf.commit(save(other, { expect: "any" }))).toMatchObject({ outcome: "done" });
    expect(await shelf.commit(save(other.merge(two), { expect: "past" }))).toMatchObject({ outcome: "done" });
    expect(
      await shelf.commit({
        facts: [{ id: two.id, line: two.line }],
        blobs: [],
        move: { name: "x", head: "f".repeat(64), expect: "any", now: 0 },
      }),
    ).toMatchObject({ outcome: "orphan" });
    expect(
      await shelf.commit({ facts: [{ id: two.say("x").id, line: other.say("y").say("z").line }], blobs: [] }),
    ).toMatchObject({ outcome: "orphan" });
    await shelf.close();
  });

  it("[IX13] names that move along are set or taken away with the move, or with none, and only to what is there", async () => {
    const shelf = open();
    const at = async (name: string): Promise<string | null | undefined> =>
      (await shelf.names.get(name))?.head;
    const nowhere = { name: "a", head: "f".repeat(64) };
    expect(await shelf.commit({ ...save(one, {}), also: [nowhere] })).toEqual({
      outcome: "orphan",
      id: nowhere.head,
      parent: nowhere.head,
    });
    expect([await at("main"), await at("a"), await shelf.lines([one.id])]).toEqual([
      undefined,
      undefined,
      [undefined],
    ]);
    const also = [
      { name: "a", head: root.id },
      { name: "b", head: one.id },
      { name: "c", head: null },
    ];
    expect(await shelf.commit({ ...save(one, {}), also })).toMatchObject({
      outcome: "done",
      written: 2,
      record: { name: "main", head: one.id },
    });
    expect([await at("a"), await at("b"), await at("c")]).toEqual([root.id, one.id, undefined]);
    expect(await shelf.commit({ ...save(other, {}), also: [{ name: "b", head: null }] })).toMatchObject({
      outcome: "conflict",
    });
    expect(await at("b")).toBe(one.id);
    expect(await shelf.commit({ facts: [], blobs: [], also: [{ name: "b", head: null }] })).toEqual({
      outcome: "done",
      written: 0,
    });
    expect((await at("b")) ?? null).toBeNull();
    await shelf.close();
  });

  it("[IX8] every taking of a lease raises the epoch, also after the name was forgotten", async () => {
    const shelf = open();
    expect(await shelf.write(({ names }) => acquire(names, "main", "ada", 100, 0))).toMatchObject({
      epoch: 1,
      head: null,
    });
    expect(await shelf.write(({ names }) => acquire(names, "main", "bob", 200, 50))).toBeUndefined();
    expect(await shelf.write(({ names }) => acquire(names, "main", "ada", 150, 50))).toMatchObject({
      epoch: 2,
    });
    expect(await shelf.write(({ names }) => extend(names, "main", 1, 300))).toBe(false);
    expect(await shelf.write(({ names }) => extend(names, "main", 2, 0))).toBe(true);
    expect(await shelf.names.get("main")).toMatchObject({ name: "main", head: null, epoch: 3, until: 0 });
    expect(await shelf.write(({ names }) => extend(names, "main", 2, 300))).toBe(false);
    expect(await shelf.commit(save(one, { epoch: 2 }))).toMatchObject({ outcome: "fenced" });
    expect(await shelf.write(({ names }) => acquire(names, "main", "bob", 100, 0))).toMatchObject({
      epoch: 4,
    });
    expect(await shelf.write(({ names }) => acquire(names, "main", "eve", 200, 100))).toMatchObject({
      epoch: 5,
      owner: "eve",
    });
    expect(await shelf.write(({ names }) => forget(names, "main"))).toBe("unknown");
    expect(await shelf.commit(save(one, { epoch: 5 }))).toMatchObject({ outcome: "done" });
    expect(await shelf.write(({ names }) => forget(names, "main", { now: 100 }))).toBe("fenced");
    expect(await shelf.write(({ names }) => forget(names, "main", { now: 100, epoch: 4 }))).toBe("fenced");
    expect(await shelf.write(({ names }) => forget(names, "main", { now: 100, epoch: 5 }))).toBe("done");
    expect(await shelf.write(({ names }) => forget(names, "main"))).toBe("unknown");
    expect(await shelf.commit(save(one, { epoch: 5 }))).toMatchObject({ outcome: "fenced" });
    expect(await shelf.commit(save(one, {}))).toMatchObject({ outcome: "done" });
    expect(await shelf.commit(save(two, { epoch: 5 }))).toMatchObject({ outcome: "fenced" });
    expect((await shelf.write(({ names }) => acquire(names, "main", "ada", 100, 0)))?.epoch).toBeGreaterThan(
      5,
    );
    await shelf.close();
  });

  it("[IX9] what was erased stays erased until it is recorded anew, a removed key does not come back, and bytes are the shelf's own", async () => {
    const shelf = open();
    const bytes = Buffer.from("secret");
    const digest = digestOf(bytes);
    const kept = { digest, bytes: Uint8Array.from(bytes) };
    const written = Promise.all([
      shelf.commit({ ...save(one), blobs: [kept] }),
      shelf.commit(saveKeyed("k", kept.bytes)),
    ]);
    kept.bytes.fill(0);
    await written;
    shelf.blobs.get(digest)?.fill(0);
    shelf.blobs.key("k")?.fill(0);
    expect(Buffer.from(shelf.blobs.get(digest) as Uint8Array).toString()).toBe("secret");
    expect(Buffer.from(shelf.blobs.key("k") as Uint8Array).toString()).toBe("secret");
    expect(await collect(shelf.blobs.digests())).toEqual([digest]);
    await shelf.commit({ ...save(two), erase: [erasure(digest, two.id)] });
    await shelf.commit({ facts: [], blobs: [{ digest, bytes }] });
    await shelf.commit({ ...save(two), blobs: [{ digest, bytes }] });
    expect([
      shelf.blobs.get(digest),
      shelf.blobs.erased(digest)?.why,
      await collect(shelf.blobs.digests()),
    ]).toEqual([undefined, "asked", []]);
    await shelf.commit({ ...save(two), blobs: [{ digest, bytes }], revive: true });
    expect(shelf.blobs.get(digest)).toBeUndefined();
    await shelf.commit({ facts: [], blobs: [{ digest, bytes }], revive: true });
    expect([
      Buffer.from(shelf.blobs.get(digest) as Uint8Array).toString(),
      shelf.blobs.erased(digest),
    ]).toEqual(["secret", undefined]);
    await shelf.remove({ keys: ["k"], digests: [digest] });
    await shelf.commit(saveKeyed("k", bytes));
    expect([shelf.blobs.get(digest), shelf.blobs.key("k")]).toEqual([undefined, undefined]);
    await shelf.close();
  });

  it("[IX10] removes only what nothing that stays has grown from", async () => {
    const shelf = open();
    const content = root.say("x".repeat(5000));
    const [blob] = [...content.blobs()].map(({ ref, bytes }) => ({ digest: ref.digest, bytes }));
    await shelf.commit({ ...save(content), blobs: [blob as never] });
    await shelf.commit(save(two, { key: "2" }));
    await shelf.commit(save(other.say("gone"), { name: "gone", key: "g" }));
    await shelf.saveSnapshot(other.id, "{}");
    await shelf.write(({ names }) => forget(names, "gone"));
    const history = shelf.history([two.id])[Symbol.iterator]();
    await shelf.remove({
      ids: [root.id, one.id, two.id, other.id, other.say("?").id],
      digests: [blob?.digest as string],
    });
    expect((await shelf.lines([root.id, one.id, two.id])).every((line) => line !== undefined)).toBe(true);
    expect(await shelf.lines([other.id])).toEqual([other.line]);
    expect(shelf.blobs.get(blob?.digest as string)).toBeDefined();
    const gone = (await collect(shelf.every()))
      .filter((line) => line.includes('"gone"'))
      .map((line) => digestOf(line));
    await shelf.remove({ ids: [...gone, other.id, content.id], digests: [blob?.digest as string] });
    expect(await collect(shelf.every())).toEqual([root.line, one.line, two.line]);
    expect([await shelf.tail(two.id, 10), shelf.blobs.get(blob?.digest as string)]).toEqual([
      undefined,
      undefined,
    ]);
    expect(history.next().value).toEqual([root.line, one.line, two.line]);
    expect(await stepOf(shelf, "2")).toBe(two.id);
    expect(await shelf.commit(save(other))).toMatchObject({ outcome: "done", written: 1 });
    expect(await collect(shelf.examine() as never)).toEqual([]);
    await shelf.close();
  });

  it("[IX11] tells listeners of every move, once", async () => {
    const shelf = open();
    const heard: MoveRecord[] = [];
    const stop = shelf.listen(() => {
      heard.push(...shelf.names.moves(heard.length, 10));
    });
    await shelf.write(({ names }) => acquire(names, "main", "ada", 0, 0));
    await Promise.all([shelf.commit(save(one)), shelf.commit(save(one, {})), shelf.commit(save(two, {}))]);
    await new Promise((done) => setTimeout(done, 250));
    stop();
    await shelf.commit(save(two.say("3"), {}));
    expect(heard.map(({ head }) => head)).toEqual([one.id, two.id]);
    await shelf.close();
  });

  it("[IX12] a backup opens as a store of its own with everything in it", async () => {
    const shelf = open();
    const bytes = Buffer.from("blob");
    await shelf.commit({
      ...save(two, { key: "2" }),
      blobs: [{ digest: digestOf(bytes), bytes }],
    });
    await shelf.commit({ ...save(other), erase: [erasure("e".repeat(64), other.id)] });
    await shelf.write(({ names }) => acquire(names, "main", "ada", 5, 0));
    await shelf.saveSnapshot(one.id, takeSnapshot(one));
    const keyed = saveKeyed("k", bytes);
    await shelf.commit(keyed);
    const path = folder();
    await shelf.backup(path);
    await expect(shelf.backup(path)).rejects.toMatchObject({ code: "store-not-a-store" });
    const copy = SqliteShelf.open(path);
    for (const each of [shelf, copy]) {
      expect(await collect(each.every())).toEqual([
        root.line,
        one.line,
        two.line,
        other.line,
        keyed.facts[0]?.line,
      ]);
      expect(await each.names.under("")).toEqual([
        { name: "main", head: two.id, epoch: 1, owner: "ada", until: 5, moved: 1 },
      ]);
      expect([await stepOf(each, "2"), await each.tail(two.id, 2)]).toEqual([
        two.id,
        { snapshot: takeSnapshot(one), lines: [one.line, two.line] },
      ]);
      expect([
        Buffer.from(each.blobs.get(digestOf(bytes)) as never).toString(),
        Buffer.from(each.blobs.key("k") as never).toString(),
      ]).toEqual(["blob", "blob"]);
      expect(await each.blobs.erasures()).toEqual([erasure("e".repeat(64), other.id)]);
      // The fact that this test names as the erasure's is another one.
      for await (const { place } of each.examine()) expect(place).toContain(`erasure ${"e".repeat(64)}`);
      await each.close();
    }
    expect(() => shelf.names.under("")).toThrow(expect.objectContaining({ code: "store-closed" }));
    await expect(shelf.commit(save(two))).rejects.toMatchObject({ code: "store-closed" });
  });
});
