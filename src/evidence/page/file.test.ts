import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Session } from "../../session/index.js";
import { openStore, type Store } from "../../store/index.js";
import { repaired, treeOf } from "../dossier/testing/repaired.js";
import { pages } from "./pages.js";

async function withFiles(store: Store, session: Session, files: { readonly [name: string]: string }) {
  const after = await treeOf(store, files);
  const call = session.append({ type: "tool-call", name: "edit", input: {} });
  const before = session.files.tree;
  return call.append({ type: "workspace-change", before, after, paths: [], of: call.id });
}

describe("files", () => {
  it("[F1] lists a directory at any fact, and the paths that changed between two", async () => {
    const { store, trunk, small, bold } = await repaired();
    const read = pages(store);
    const names = async (head: string) =>
      (await read.files("issue-7", { head })).items.map(({ path, size }) => [path, size]);
    expect(await names(trunk.id)).toEqual([["a.txt", 14]]);
    expect(await names(small.id)).toEqual([
      ["a.txt", 17],
      ["b.txt", 4],
    ]);
    const changed = async (before: string | null, after: string) =>
      (await read.changes(before, after)).items.map(({ path, change }) => [path, change]);
    expect(await changed(trunk.id, small.id)).toEqual([
      ["a.txt", "changed"],
      ["b.txt", "added"],
    ]);
    expect(await changed(small.id, bold.id)).toEqual([
      ["a.txt", "changed"],
      ["b.txt", "removed"],
    ]);
    expect(await changed(null, trunk.id)).toEqual([["a.txt", "added"]]);
    for (const path of ["none", "a.txt", "a.txt/b"])
      await expect(read.files("issue-7", { path })).rejects.toMatchObject({ code: "file-unknown" });
    await expect(read.files("issue-7", { path: "../etc" })).rejects.toMatchObject({ code: "path-refused" });
  });

  it("[F2] the hunks of a difference make the old text into the new one", async () => {
    const { store, trunk, small } = await repaired();
    expect(await pages(store).diff(trunk.id, small.id, "a.txt")).toMatchObject({
      hunks: [{ oldStart: 1, newStart: 1, lines: [" one\n", "-two\n", "+2\n", " three\n", "+four\n"] }],
    });
    const lines = fc.array(fc.constantFrom("a\n", "b\n", "c\n", "d\n"), { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(lines, lines, async (before, after) => {
        const store = await openStore("memory:");
        const one = await withFiles(store, Session.start("x"), { f: before.join("") });
        const other = await withFiles(store, one, { f: after.join("") });
        await store.save(other, { name: "it" });
        const { hunks } = await pages(store).diff(one.id, other.id, "f");
        const made: string[] = [];
        let at = 0;
        for (const { oldStart: from, newStart: to, lines: told } of hunks) {
          made.push(...before.slice(at, from - 1));
          expect(made).toHaveLength(to - 1);
          at = from - 1;
          for (const line of told) {
            if (line[0] !== "+") expect(line.slice(1)).toBe(before[at++]);
            if (line[0] !== "-") made.push(line.slice(1));
          }
        }
        expect([...made, ...before.slice(at)]).toEqual(after);
      }),
      { numRuns: 60 },
    );
  });

  it("[F3] blames each line on the fact, the call and the model behind it", async () => {
    const { store, small } = await repaired();
    const { items: lines } = await pages(store).blame("issue-7", "a.txt");
    expect(lines.map(({ from, to, tool, model }) => [from, to, tool, model])).toEqual([
      [1, 1, undefined, undefined],
      [2, 2, "edit", "small-1"],
      [3, 3, undefined, undefined],
      [4, 4, "edit", "small-1"],
    ]);
    expect(small.descendsFrom(await store.load(lines[1]?.prompt as string))).toBe(true);
  });

  it("[F4] tells the conflicts that a merge would leave, and those that one left, without writing", async () => {
    const store = await openStore("memory:");
    const trunk = await withFiles(store, Session.start("x"), { f: "one\ntwo\n" });
    const ours = await withFiles(store, trunk.fork("a"), { f: "1\ntwo\n" });
    const theirs = await withFiles(store, trunk.fork("b"), { f: "I\ntwo\n" });
    await store.save(ours, { name: "a" });
    await store.save(theirs, { name: "b" });
    const facts = (await store.check()).blobs;
    const read = pages(store);
    const [conflict, ...rest] = await read.conflicts("a", "b");
    expect(rest).toEqual([]);
    expect(conflict).toMatchObject({
      path: "f",
      kind: "content",
      base: { text: "one\ntwo\n" },
      ours: { text: "1\ntwo\n" },
      theirs: { text: "I\ntwo\n" },
    });
    expect(conflict?.result?.text).toContain("<<<<<<<");
    expect((await store.check()).blobs).toBe(facts);
    expect(await read.conflicts("a")).toEqual([]);
  });
});
