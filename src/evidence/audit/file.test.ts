import { describe, expect, it, vi } from "vitest";
import { Trees, whoChanged } from "../../sandbox/index.js";
import { type Digest, type FactId, readTree, Session, writeTree } from "../../session/index.js";
import { openStore, type Store } from "../../store/index.js";
import { blame, whichCall } from "./index.js";
import { faultsOf } from "./testing/faults.js";

/** The text of a file of a tree, read without the code that is tested. */
async function _textIn(store: Store, tree: Digest | null, path: string): Promise<string | undefined> {
  let digest = tree;
  for (const name of path.split("/")) {
    if (digest === null) return undefined;
    const { entries } = readTree(Buffer.from((await store.blob(digest)) as Uint8Array).toString("utf8"));
    const entry = entries.find((one) => one.name === name);
    if (entry === undefined || entry.kind === "link") return undefined;
    digest = entry.digest;
  }
  return digest === null ? undefined : Buffer.from((await store.blob(digest)) as Uint8Array).toString("utf8");
}

describe("which call wrote this line", () => {
  it("[Q3] random histories of lines that are each said once: the first version with a line is its writer", async () => {
    const store = await openStore("memory:");
    const trees = new Trees(store);
    let seed = 7;
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return seed % below;
    };
    for (let round = 0; round < 20; round++) {
      let session = Session.start(`round ${round}`);
      let lines: string[] = [];
      const writers = new Map<string, FactId>();
      for (let step = 0; step < 15; step++) {
        const fresh = Array.from({ length: 1 + random(3) }, (_, place) => `${round}-${step}-${place}\n`);
        const next = [...lines];
        next.splice(random(next.length + 1), random(2), ...fresh);
        const tree = await treeWith(trees, next.join(""));
        session = session.append({
          type: "workspace-change",
          before: session.files.tree,
          after: tree,
          paths: [{ path: "f", change: lines.length === 0 ? "add" : "modify" }],
          by: "tool",
        });
        for (const line of fresh) writers.set(line, session.id);
        if (random(3) === 0) session = session.append({ type: "note", kind: "between" });
        lines = next;
      }
      const blamed = await blame(session, trees, "f");
      expect(blamed?.lines.map(({ text, fact }) => [text, fact])).toEqual(
        lines.map((line) => [line, writers.get(line)]),
      );
      expect((await whoChanged(session, "f")).length).toBe(15);
    }
  });

  it("[Q8] a version that was erased ends the trail, and that is said", async () => {
    const store = await openStore("memory:");
    const trees = new Trees(store);
    const change = async (session: Session, text: string) =>
      session.append({
        type: "workspace-change",
        before: session.files.tree,
        after: await treeWith(trees, text),
        paths: [{ path: "f", change: "modify" }],
        by: "tool",
      });
    const first = await change(Session.start("Go."), "a secret\nkept\n");
    const last = await change(first, "open\nkept\n");
    await store.save(last, { name: "s" });
    const { entries } = readTree(
      Buffer.from((await store.blob(first.files.tree as Digest)) as Uint8Array).toString(),
    );
    await store.erase("s", {
      digests: [(entries[0] as { digest: string }).digest],
      why: "asked",
      by: "user:bob",
    });
    const one = await whichCall(store, "s", "f", { line: 2 });
    expect(await faultsOf(store, one)).toEqual([]);
    expect(JSON.stringify(one)).not.toContain("a secret");
    expect(one.gaps.join(" ")).toMatch(/cannot be followed behind/);
    const whole = await whichCall(store, "s", "f");
    expect(whole.claims.length).toBeGreaterThan(0);
  });

  it("[Q8] tells an erased list of changed paths, and does not crash", async () => {
    const store = await openStore("memory:");
    const trees = new Trees(store);
    const after = await treeWith(trees, "a\n");
    const paths = Array.from({ length: 400 }, (_, count) => ({
      path: `a/long/name/${count}`,
      change: "add" as const,
    }));
    const session = Session.start("Go.").append({
      type: "workspace-change",
      before: null,
      after,
      paths,
      by: "tool",
    });
    await store.save(session, { name: "s" });
    const [paths1] = [...session.blobs()];
    await store.erase("s", { digests: [paths1?.ref.digest ?? ""], why: "asked", by: "user:bob" });
    const answer = await whichCall(store, "s", "f");
    expect(answer.gaps.join(" ")).toMatch(/The files cannot all be read/);
    const line = await whichCall(store, "s", "f", { line: 1 });
    expect(line.claims[0]?.facts[0]).toBe(session.id);
  });
});

describe("what was there before any call", () => {
  it("[Q14] is told with the folder that it was taken in from, and a call with the model that wanted it", async () => {
    const store = await openStore("memory:");
    const trees = new Trees(store);
    const [first, second, third] = [
      await treeWith(trees, "a\n"),
      await treeWith(trees, "b\n"),
      await treeWith(trees, "c\n"),
    ];
    const usage = { input: 1, output: 1 };
    const called = (session: Session, name: string, call: string): Session => {
      const asked = session.append({ type: "model-call", model: "scripted/one", agent: "research" });
      return asked
        .append({
          type: "model-reply",
          of: asked.id,
          content: [{ type: "tool-call", call, name, input: {} }],
          finish: "tool-calls",
          usage,
          agent: "research",
        })
        .append({ type: "tool-call", name, input: {}, call });
    };
    const size = { files: 1, bytes: 2 };
    const looking = called(Session.start("Go."), "view", "c1");
    const taken = looking.append({
      type: "workspace-import",
      source: "./repo",
      after: first,
      ...size,
      of: looking.id,
    });
    await store.save(taken, { name: "taken" });
    for (const answer of [
      await whichCall(store, "taken", "f"),
      await whichCall(store, "taken", "f", { line: 1 }),
    ]) {
      const told = answer.claims.map(({ text }) => text).join(" ");
      expect(told).toContain("was there from the beginning: taken in from ./repo at");
      expect(told).not.toMatch(/view|research|did it/);
      expect(await faultsOf(store, answer)).toEqual([]);
    }
    const editing = called(taken, "edit", "c2");
    const changed = editing.append({
      type: "workspace-change",
      before: first,
      after: second,
      paths: [{ path: "f", change: "modify" }],
      by: "tool",
      of: editing.id,
    });
    const again = changed.append({ type: "workspace-import", source: "./other", after: third, ...size });
    await store.save(again, { name: "again" });
    const told = (await whichCall(store, "again", "f")).claims.map(({ text }) => text);
    expect(told.find((text) => text.includes("./other"))).toContain(
      "f was changed by an import: taken in from",
    );
    expect(told.join(" ")).toMatch(
      /called edit .*The model scripted\/one wanted it: its reply \w+ to research/,
    );
  });
});

describe("a fault of the program", () => {
  it("[Q13] does not count as a gap of the record, and is thrown", async () => {
    const store = await openStore("memory:");
    const session = Session.start("Go.").append({
      type: "workspace-change",
      before: null,
      after: await treeWith(new Trees(store), "a\n"),
      paths: [{ path: "f", change: "add" }],
      by: "tool",
    });
    await store.save(session, { name: "s" });
    vi.spyOn(store, "blob").mockRejectedValue(new TypeError("a slip"));
    await expect(whichCall(store, "s", "f", { line: 1 })).rejects.toThrow(new TypeError("a slip"));
  });
});

/** A tree with one file. */
async function treeWith(trees: Trees, text: string): Promise<Digest> {
  const bytes = Buffer.from(text);
  const [digest] = await trees.put([bytes]);
  const tree = writeTree({
    entries: [{ kind: "file", name: "f", mode: 0o644, size: bytes.length, digest: digest as Digest }],
  });
  const [root] = await trees.put([Buffer.from(tree)]);
  return root as Digest;
}
