import { deepStrictEqual, equal, ok } from "node:assert";
import type { Digest, FactInput, Session, TreeEntry } from "../../session/index.js";
import { digestOf, EMPTY_TREE, readTree, sandboxView, writeTree } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { collected } from "../runner.js";
import type { StoreCase } from "./case.js";
import { AT, linesOf, promise, refused, same, unkeyed, whileCollecting } from "./case.js";
import { chain } from "./graph.js";

/** A folder to be: text is a file, a list is a file in pieces, and the rest are folders. */
type Folder = { readonly [name: string]: string | readonly string[] | Folder };
/** A tree in a store: its id, and every blob that it needs by the path where it is. */
type Kept = { readonly tree: Digest; readonly blobs: ReadonlyMap<string, Digest> };

/** Puts a folder as a sandbox would: all of its blobs at once, before any fact names them. */
async function putFolder(store: Store, folder: Folder): Promise<Kept> {
  const blobs = new Map<string, Buffer>();
  const made = (path: string, bytes: Buffer): Digest => {
    blobs.set(path, bytes);
    return digestOf(bytes);
  };
  const treeOf = (inside: Folder, prefix: string): Digest => {
    const entries = Object.entries(inside).map(([name, what]): TreeEntry => {
      const path = `${prefix}${name}`;
      if (typeof what === "string") {
        const digest = made(path, Buffer.from(what));
        return { kind: "file", name, mode: 0o644, size: Buffer.byteLength(what), digest };
      }
      if (!Array.isArray(what))
        return { kind: "tree", name, mode: 0o755, digest: treeOf(what as Folder, `${path}/`) };
      const pieces = what.map((piece, index) => made(`${path}#${index}`, Buffer.from(piece)));
      return {
        kind: "parts",
        name,
        mode: 0o644,
        size: Buffer.byteLength(what.join("")),
        digest: made(path, Buffer.from(JSON.stringify(pieces))),
      };
    });
    return made(prefix, Buffer.from(writeTree({ entries })));
  };
  const tree = treeOf(folder, "");
  const digests = await store.putBlobs([...blobs.values()]);
  return { tree, blobs: new Map([...blobs.keys()].map((path, index) => [path, digests[index] as Digest])) };
}

const imported = (after: Digest): FactInput => ({
  type: "workspace-import",
  source: "./work",
  after,
  files: 1,
  bytes: 1,
  at: AT,
});
const changed = (before: Digest | null, after: Digest): FactInput => ({
  type: "workspace-change",
  before,
  after,
  paths: [],
  at: AT,
});

const FOLDER: Folder = {
  "a.txt": "the first",
  "long.bin": ["piece one ", "piece two ", "piece one "],
  src: { "index.ts": "export {};", deep: { deeper: { "x.ts": "x" } } },
};

async function missing(store: Store, digests: Iterable<Digest>): Promise<Digest[]> {
  const gone: Digest[] = [];
  for (const digest of new Set(digests)) if ((await store.blob(digest)) === undefined) gone.push(digest);
  return gone;
}

export const treeCases: readonly StoreCase[] = [
  promise("[S114] many blobs are put at once, in the order given", async ({ store }) => {
    deepStrictEqual(await store.putBlobs([]), []);
    // More than goes into one commit, and some twice.
    const texts = Array.from({ length: 50 }, (_, index) =>
      `file ${index % 40}`.repeat(index % 3 === 0 ? 2 ** 17 : 1),
    );
    const digests = await store.putBlobs(texts.map((text) => Buffer.from(text)));
    deepStrictEqual(
      digests,
      texts.map((text) => digestOf(text)),
    );
    for (const [index, digest] of digests.entries())
      ok(Buffer.from((await store.blob(digest)) ?? []).equals(Buffer.from(texts[index] as string)));
    equal((await store.gc({ dryRun: true, all: true })).blobs, new Set(texts).size);
    const other = new Uint16Array([1, 2, 3]);
    const [one, same] = [Buffer.from("before"), Buffer.from("before")];
    const putting = store.putBlobs([one, new DataView(other.buffer, 2, 2), same]);
    one.fill(0);
    deepStrictEqual(await putting, [
      digestOf("before"),
      digestOf(new Uint8Array(other.buffer.slice(2, 4))),
      digestOf("before"),
    ]);
    const [text = ""] = await store.putBlobs([Buffer.alloc(0)]);
    deepStrictEqual(await store.blob(text).then((bytes) => bytes?.length), 0);
    for (const given of [undefined, "text", [Buffer.from("x"), "text"], [null], Buffer.from("x")])
      await refused("store-failed", store.putBlobs(given as never));
    equal(await store.blob(digestOf("x")), undefined);
  }),

  promise("[S115] gc keeps exactly what facts lead to through trees", async ({ store }) => {
    const one = await putFolder(store, FOLDER);
    const two = await putFolder(store, { ...FOLDER, "a.txt": "the second", extra: { "e.txt": "extra" } });
    const three = await putFolder(store, { "c.txt": "the third" });
    const four = await putFolder(store, { "d.txt": "the fourth", sub: { "e.txt": "extra" } });
    const gone = await putFolder(store, { "a.txt": "the first", "gone.txt": "nobody needs it" });
    const trunk = unkeyed("hi").append(imported(one.tree));
    const session = trunk.append(changed(one.tree, two.tree)).append({
      type: "workspace-merge",
      base: three.tree,
      ours: two.tree,
      theirs: EMPTY_TREE,
      after: two.tree,
      paths: [],
      conflicts: [],
    });
    // A detached session names its files itself: it has no past that would.
    const detached = unkeyed("hi").append(imported(four.tree)).detach({ why: "to go on alone" });
    await store.save(session, { name: "main" });
    await store.save(detached, { name: "detached" });
    await store.save(trunk.append(changed(one.tree, gone.tree)), { name: "gone" });
    const needed = [one, two, three, four].flatMap(({ blobs }) => [...blobs.values()]);
    const kept = new Set(needed);
    // A detached session has a key, so what it says is in blobs of its own.
    const said = [...detached.blobs()].length;
    await store.forget("gone");
    const { blobs, keptBlobs, spared } = await store.gc({ dryRun: true, all: true });
    // The empty tree counts as one that is needed, though nobody keeps it.
    deepStrictEqual([blobs, keptBlobs, spared], [2, kept.size + 1 + said, 0]);
    await store.gc({ all: true });
    deepStrictEqual(await missing(store, needed), []);
    deepStrictEqual(
      new Set(await missing(store, gone.blobs.values())),
      new Set([gone.tree, digestOf("nobody needs it")]),
    );
    deepStrictEqual((await store.check()).findings, []);
    for (const name of ["main", "detached"]) await store.forget(name);
    equal((await store.gc({ all: true })).blobs, kept.size + said);
    deepStrictEqual(await missing(store, needed), [...kept]);
  }),

  promise("[S116] gc leaves what was put for a fact that is still to come", async ({ store, second }) => {
    const others = store.capabilities.writers === "one-process" ? [store] : [store, await second()];
    let round = 0;
    for (const other of others) {
      await store.save(unkeyed(`loose ${round++}`));
      const { tree, blobs } = await putFolder(store, { ...FOLDER, "round.txt": `${round}` });
      const told = await other.gc();
      deepStrictEqual([told.blobs, told.facts], [0, 1]);
      ok(told.spared > 0, "nothing was said to be spared");
      deepStrictEqual(await missing(store, blobs.values()), []);
      const session = unkeyed(`${round}`).append(imported(tree));
      await store.save(session, { name: `${round}` });
      equal((await other.gc({ all: true })).blobs, 0);
      deepStrictEqual(await missing(store, blobs.values()), []);
      // A second put of the same bytes protects them again.
      await store.forget(`${round}`);
      await store.save(unkeyed("loose too"));
      await other.gc();
      deepStrictEqual(await missing(store, blobs.values()), []);
      await putFolder(store, { ...FOLDER, "round.txt": `${round}` });
      await other.gc();
      await store.save(session, { name: `${round}` });
      deepStrictEqual((await store.check()).findings, []);
    }
    await store.putBlob(Buffer.from("abandoned"));
    equal((await store.gc({ all: true })).blobs, 1);
    equal(await store.blob(digestOf("abandoned")), undefined);
  }),

  promise("[S124] gc while others put files and name them loses none", async ({ store }) => {
    const write = async (writer: number): Promise<void> => {
      let session = unkeyed(`${writer}`);
      for (let step = 0; step < 10; step++) {
        const folder = {
          shared: "the same",
          own: { "a.txt": `${writer} ${step}` },
          [`f${step % 3}`]: "again",
        };
        const { tree } = await putFolder(store, folder);
        session = session.append(changed(session.files.tree, tree));
        await store.save(session, { name: `${writer}` });
        if (step % 4 === 3) await store.forget(`${writer}`);
        if (step % 4 === 3) await store.save(session, { name: `${writer}` });
      }
    };
    await whileCollecting(store, write);
  }),

  promise("[S117] an export has the blobs of trees once, before their facts", async ({ store, fresh }) => {
    const one = await putFolder(store, FOLDER);
    const two = await putFolder(store, { ...FOLDER, src: { "index.ts": "export default 2;" } });
    const first = unkeyed("hi").append(imported(one.tree));
    const session = first.append(changed(one.tree, two.tree)).append(changed(two.tree, EMPTY_TREE));
    await store.save(session, { name: "main" });
    const lines = await collected(store.export("main"));
    const all = new Set([...one.blobs.values(), ...two.blobs.values()]);
    const place = new Map(lines.map((line, index) => [/^\{"blob":"(\w+)"/.exec(line)?.[1] ?? line, index]));
    equal(place.size, lines.length);
    equal(lines.filter((line) => line.startsWith('{"blob":')).length, all.size);
    for (const [kept, fact] of [
      [one, first],
      [two, session.parents[0] as Session],
    ] as const)
      for (const digest of kept.blobs.values())
        ok((place.get(digest) ?? Number.NaN) < (place.get(fact.line) as number), `${digest} comes too late`);
    const copy = await fresh();
    await copy.import(lines, { name: "main" });
    same(await copy.load("main"), session);
    deepStrictEqual(await missing(copy, all), []);
    deepStrictEqual((await copy.check()).findings, []);
    deepStrictEqual(await collected(copy.export("main")), lines);
    // Files that the other side has are left out, also those in changed folders.
    const rest = await collected(store.export("main", { without: [first.id] }));
    deepStrictEqual(
      new Set(rest.flatMap((line) => /^\{"blob":"(\w+)"/.exec(line)?.[1] ?? [])),
      new Set([...two.blobs.values()].filter((digest) => ![...one.blobs.values()].includes(digest))),
    );
    deepStrictEqual(await collected(store.export("main", { blobs: false })), linesOf(session));
    // A blob that is not a tree leads nowhere; the rest is kept.
    const strange = await store.putBlob(Buffer.from("no tree"));
    await store.save(session.append(changed(EMPTY_TREE, strange)), { name: "strange" });
    await copy.import(store.export("strange"));
    equal(Buffer.from((await copy.blob(strange)) ?? []).toString(), "no tree");
  }),

  promise("[S118] a synchronisation brings files over, missing ones too", async ({ store, fresh }) => {
    const one = await putFolder(store, FOLDER);
    const trunk = unkeyed("hi").append(imported(one.tree));
    await store.save(trunk, { name: "main" });
    const copy = await fresh();
    equal((await copy.sync(store)).blobs, new Set(one.blobs.values()).size);
    const two = await putFolder(store, { ...FOLDER, "new.txt": "new" });
    await store.save(trunk.append(changed(one.tree, two.tree)), { name: "main" });
    equal((await copy.sync(store)).blobs, 2);
    const bare = await fresh();
    await bare.import(store.export("main", { blobs: false }), { name: "main" });
    // Some of it is there: what is below a tree that is here, and a tree whose files are not.
    const some = ["a.txt", "src/", "src/deep/deeper/"].map((path) => two.blobs.get(path) as Digest);
    await bare.putBlobs(
      await Promise.all(some.map(async (digest) => (await store.blob(digest)) as Uint8Array)),
    );
    const all = new Set([...one.blobs.values(), ...two.blobs.values()]);
    equal((await bare.sync(store)).blobs, all.size - some.length);
    equal((await bare.sync(store)).blobs, 0);
    for (const other of [copy, bare]) {
      deepStrictEqual(await missing(other, all), []);
      deepStrictEqual((await other.check()).findings, []);
    }
  }),

  promise("[S119] a file can be erased: its tree verifies, and all learn of it", async ({ store, fresh }) => {
    const { tree, blobs } = await putFolder(store, FOLDER);
    const before = unkeyed("hi").append(imported(tree));
    await store.save(before, { name: "main" });
    const old = await collected(store.export("main"));
    await store.save(unkeyed("other").append(imported(EMPTY_TREE)), { name: "other" });
    const file = blobs.get("src/index.ts") as Digest;
    await refused("not-erasable", store.erase("other", { digests: [file], why: "asked" }));
    await refused("not-erasable", store.erase("main", { digests: [digestOf("else")], why: "asked" }));
    // The list of a long file is not the file: its pieces go too.
    const long = blobs.get("long.bin") as Digest;
    const pieces = [0, 1].map((index) => blobs.get(`long.bin#${index}`) as Digest);
    const erased = await store.erase("main", { digests: [file, long], why: "a key was in it" });
    deepStrictEqual((erased.fact as { digests?: unknown }).digests, [file, long, ...pieces]);
    deepStrictEqual(new Set(await missing(store, blobs.values())), new Set([file, long, ...pieces]));
    equal(readTree(Buffer.from((await store.blob(tree)) ?? []).toString()).entries.length, 3);
    equal(erased.files.tree, tree);
    deepStrictEqual(await store.check(), {
      facts: 5,
      blobs: new Set(blobs.values()).size - 4,
      // Nothing leads to the pieces of a list that is gone.
      erased: 2,
      findings: [],
    });
    await store.gc({ all: true });
    const copy = await fresh();
    await copy.import(store.export("main"), { name: "main" });
    await copy.sync(store);
    deepStrictEqual((await copy.check()).findings, []);
    equal((await copy.erasures()).length, 2);
    // Old lines do not bring it back; anyone who has the file still may put it anew.
    equal((await store.import(old)).refused, 4);
    deepStrictEqual(await missing(store, [file]), [file]);
    await store.putBlobs([Buffer.from("export {};")]);
    deepStrictEqual(await missing(store, [file]), []);
  }),

  promise("[S120] a check finds missing files, and says where", async ({ store, fresh }) => {
    const { tree, blobs } = await putFolder(store, FOLDER);
    const session = unkeyed("hi").append(imported(tree));
    await store.save(session, { name: "main" });
    deepStrictEqual(await store.check(), {
      facts: 2,
      blobs: new Set(blobs.values()).size,
      erased: 0,
      findings: [],
    });
    const lines = await collected(store.export("main"));
    for (const [path, digest] of blobs) {
      const copy = await fresh();
      await copy.import(lines.filter((line) => !line.startsWith(`{"blob":"${digest}"`)));
      const { findings } = await copy.check();
      equal(findings.length, 1);
      equal(findings[0]?.place, `blob ${digest}`);
      const where = path.replace(/#\d$|\/$/, "");
      for (const part of [session.id, tree, ...(where === "" ? [] : [JSON.stringify(where)])])
        ok(findings[0]?.problem.includes(part), `${findings[0]?.problem} does not name ${part}`);
      await refused("store-damaged", () => collected(copy.export(session.id)));
      await copy.close();
    }
    // So is what is there and not what its tree says.
    const [bad] = await store.putBlobs([
      Buffer.from(
        writeTree({
          entries: [
            { kind: "file", name: "a", mode: 0o644, size: 5, digest: blobs.get("a.txt") as Digest },
            { kind: "parts", name: "b", mode: 0o644, size: 31, digest: blobs.get("long.bin") as Digest },
            { kind: "tree", name: "c", mode: 0o755, digest: blobs.get("a.txt") as Digest },
          ],
        }),
      ),
    ]);
    await store.save(unkeyed("bad").append(imported(bad as Digest)), { name: "main", force: true });
    await store.gc();
    const problems = (await store.check()).findings.map(({ problem }) => problem);
    equal(problems.length, 3);
    for (const path of ["a", "b", "c"])
      ok(
        problems.some((problem) => problem.includes(`"${path}" in the tree ${bad}`)),
        `nothing is said of ${path}: ${problems}`,
      );
  }),

  promise("[S121] nothing recurses: 100,000 files, and folders nested 300 deep", async ({ store, fresh }) => {
    const [file = ""] = await store.putBlobs([Buffer.from("the same")]);
    const trees: Buffer[] = [];
    const entry = { kind: "file", mode: 0o644, size: 8, digest: file } as const;
    const put = (entries: readonly TreeEntry[]): Digest =>
      digestOf(trees[trees.push(Buffer.from(writeTree({ entries }))) - 1] as Buffer);
    const wide = put(
      Array.from({ length: 100_000 }, (_, index) => ({ ...entry, name: `${index}`.padStart(6, "0") })),
    );
    let deep = EMPTY_TREE;
    for (let level = 0; level < 300; level++)
      deep = put([{ kind: "tree", name: "d", mode: 0o755, digest: deep }]);
    // Two names for each of fifty folders: 2^50 paths, and fifty trees.
    let double = deep;
    for (let level = 0; level < 50; level++)
      double = put(["a", "b"].map((name) => ({ kind: "tree", name, mode: 0o755, digest: double })));
    const root = put([
      { kind: "tree", name: "double", mode: 0o755, digest: double },
      { kind: "tree", name: "wide", mode: 0o755, digest: wide },
    ]);
    await store.putBlobs(trees);
    await store.save(unkeyed("hi").append(imported(root)), { name: "main" });
    equal((await store.gc({ all: true })).blobs, 0);
    deepStrictEqual((await store.check()).findings, []);
    const copy = await fresh();
    equal((await copy.sync(store)).blobs, trees.length + 1);
    equal((await store.erase("main", { digests: [file], why: "asked" })).files.tree, root);
  }),

  promise("[S122] a long session opens with its files and its sandbox known", async ({ store }) => {
    const { tree } = await putFolder(store, FOLDER);
    const placed = unkeyed("hi").append(imported(tree)).to("local");
    const open: FactInput = {
      type: "sandbox-open",
      sandbox: "box",
      incarnation: 2,
      provider: "local",
      isolation: "none",
      spec: {},
      status: {},
      capabilities: {},
      tree,
    };
    const session = chain(placed.append(open), 2000);
    await store.save(session, { name: "main" });
    for (let time = 0; time < 2; time++) await store.load("main", { horizon: 600 });
    const loaded = await store.load("main", { horizon: 600 });
    await refused("beyond-horizon", () => [...loaded.history()]);
    deepStrictEqual(loaded.files, { tree });
    deepStrictEqual(loaded.view(sandboxView), session.view(sandboxView));
    deepStrictEqual(loaded.fork("on").view(sandboxView).parent, { id: "box", incarnation: 2, by: "fork" });
  }),
];
