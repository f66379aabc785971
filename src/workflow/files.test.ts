import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Module, Rath } from "../runtime/index.js";
import { rathOf, storeOf } from "../runtime/testing/rath.js";
import { all, made, only } from "../runtime/testing/record.js";
import { digestOf, type Json, type Session } from "../session/index.js";
import { mergeFiles } from "./merge.js";

type Files = { readonly [name: string]: string };

/** The session with these files, and no others. */
async function holding(rath: Rath, session: Session, files: Files): Promise<Session> {
  const folder = mkdtempSync(join(tmpdir(), "openrath-merge-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return rath.importFiles(session, folder);
}

/** Two branches that changed the same two files differently, and one each alone, merged. */
async function parted(rath: Rath): Promise<Session> {
  const base = await holding(rath, rath.start("go"), { a: "a\n", b: "b\n", c: "c\n" });
  const ours = await holding(rath, base.fork("ours"), { a: "ours\n", b: "ours\n", c: "c\n" });
  const theirs = await holding(rath, base.fork("theirs"), { a: "theirs\n", b: "theirs\n", c: "new\n" });
  return ours.merge(theirs);
}

async function textsOf(rath: Rath, session: Session): Promise<Files> {
  const files = await rath.filesAt(session);
  const texts: { [name: string]: string } = {};
  for (const path of await files.paths()) texts[path] = await files.text(path);
  return texts;
}

describe("a person who is asked", () => {
  it("[F1] is asked again with the reason while the answer leaves something open", async () => {
    const rath = rathOf();
    const module = mergeFiles({ resolve: "ask" });
    let session = await rath.run(module, await parted(rath), { name: "n" });
    const answers: readonly (readonly [Json, RegExp])[] = [
      [{ a: "ours" }, /b/],
      [{ a: "ours", b: "nobody" }, /b/],
      [{ a: "ours", b: "theirs", z: "ours" }, /z/],
      ["both", /a.*nobody knows/],
      [{ a: "ours", b: { text: 5 } }, /at "b": nobody knows this choice.*{ "text": "…" }/],
      [{ a: "ours", b: { text: "x", mode: "755" } }, /at "b":/],
      [{ a: { entry: { kind: "file", mode: 420, size: 1, digest: "f".repeat(64) } }, b: "ours" }, /at "a":/],
      [{ a: "ours", b: null }, /at "b":/],
      [{}, /a/],
      [null, /null/],
    ];
    const asked = new Set<string>();
    for (const [answer, problem] of answers) {
      expect(session.fact.type).toBe("run-suspend");
      const waiting = only(await rath.pending("n"));
      asked.add(waiting.id);
      expect(waiting).toMatchObject({
        what: "merge-conflicts",
        shown: {
          conflicts: [
            { path: "a", kind: "content" },
            { path: "b", kind: "content" },
          ],
        },
      });
      await rath.signal("n", "merge-conflicts", answer, "user:ada");
      session = await rath.resume("n", module);
      const { problem: told } = only(await rath.pending("n")).shown as { readonly problem: string };
      expect(told).toMatch(problem);
      expect(told).not.toContain("error.session");
    }
    expect(asked.size).toBe(answers.length);
    expect(all(session, "workspace-resolve")).toEqual([]);
    await rath.signal("n", "merge-conflicts", { a: "theirs", b: { text: "both\n" } }, "user:bob");
    session = await rath.resume("n", module);
    expect(session.fact.type).toBe("run-end");
    expect(await textsOf(rath, session)).toEqual({ a: "theirs\n", b: "both\n", c: "new\n" });
    expect(session.conflicts).toEqual([]);
    expect(only(all(session, "workspace-resolve")).by).toBe("user:bob");
    expect(all(session, "step-failure")).toHaveLength(answers.length);
    expect((await rath.replay("n", module, { mode: "verify" })).id).toBe(session.id);
  });
});

describe("what no answer can change", () => {
  it("[F1] is not asked about again", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const module = mergeFiles({ resolve: "ask" });
    await rath.run(module, await parted(rath), { name: "n" });
    await rath.signal("n", "merge-conflicts", "ours", "user:ada");
    // What theirs had is gone, so that the two cannot be compared any more.
    const forgetful = new Proxy(store, {
      get(target, name) {
        if (name === "blob")
          return async (digest: string) => (digest === lost ? undefined : target.blob(digest));
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const lost = digestOf("theirs\n");
    await expect(rathOf({ store: forgetful }).resume("n", module)).rejects.toMatchObject({
      code: "run-failed",
      cause: { code: "files-failed", message: expect.stringMatching(/^Cannot resolve files: /) },
    });
  });
});

describe("what the record says of a decision", () => {
  it("[F2] is who decided, and what each path came to: a side, or the digest of what was given", async () => {
    const rath = rathOf();
    const asking = mergeFiles({ resolve: "ask" });
    await rath.run(asking, await parted(rath), { name: "n" });
    await rath.signal("n", "merge-conflicts", { a: "delete", b: { text: "both\n" } }, "user:ada");
    const session = await rath.resume("n", asking);
    const merge = only(made(session, "workspace-merge"));
    expect(only(all(session, "workspace-resolve"))).toMatchObject({
      merge: merge.id,
      by: "user:ada",
      choices: { a: "delete", b: { text: "both\n" } },
      resolved: { a: "delete", b: { kind: "file", mode: 0o644, size: 5, digest: digestOf("both\n") } },
    });
    expect(await textsOf(rath, session)).toEqual({ b: "both\n", c: "new\n" });
    for (const side of ["ours", "theirs"] as const) {
      const decided = await rath.run(mergeFiles({ resolve: side }), await parted(rath));
      expect(only(all(decided, "workspace-resolve"))).toMatchObject({
        by: "runtime",
        choices: side,
        resolved: { a: side, b: side },
      });
      expect(await textsOf(rath, decided)).toEqual({ a: `${side}\n`, b: `${side}\n`, c: "new\n" });
      expect(decided.conflicts).toEqual([]);
    }
  });

  it("[F2] until then they are conflicts of the session", async () => {
    const rath = rathOf();
    const failed = (await rath.run(mergeFiles(), await parted(rath)).catch((error: unknown) => error)) as {
      session: Session;
      hint: string;
      cause: { data: Json };
    };
    expect(failed.session.conflicts).toEqual([only(made(failed.session, "workspace-merge")).id]);
    expect(failed.cause.data).toEqual({ paths: ["a", "b"] });
    expect(failed.hint).toContain('mergeFiles({ resolve: "ours" })');
  });
});

describe("files of a merge", () => {
  it("[F3] are merged also into a session that has none", async () => {
    const rath = rathOf();
    // One branch made files; the trunk was merged with it and chose to have none; then the branch went on.
    const trunk = rath.start("go");
    const made = await holding(rath, trunk.fork("b"), { a: "a\n", b: "b\n" });
    const bare = trunk.fork("a").merge(made, { adopt: "ours" });
    const more = await holding(rath, made.say("on"), { a: "changed\n", b: "b\n", c: "c\n" });
    const session = bare.merge(more);
    expect(session.files).toEqual({
      tree: null,
      unmerged: [{ base: made.files.tree, theirs: more.files.tree }],
    });
    await expect(rath.run(mergeFiles(), session)).rejects.toMatchObject({
      cause: { code: "files-conflict" },
    });
    const kept = await rath.run(mergeFiles({ resolve: "theirs" }), session, { name: "n" });
    expect(await textsOf(rath, kept)).toEqual({ a: "changed\n", c: "c\n" });
    expect(kept.files.unmerged).toBeUndefined();
    expect(only(all(kept, "workspace-merge"))).toMatchObject({
      ours: null,
      conflicts: [{ path: "a", kind: "delete-modify" }],
    });
    expect((await rath.replay("n", mergeFiles({ resolve: "theirs" }), { mode: "verify" })).id).toBe(kept.id);
    expect(await textsOf(rath, await rath.run(mergeFiles({ resolve: "ours" }), session))).toEqual({
      c: "c\n",
    });
  });

  it("[F4] that could not be read are an error that says so, with the session it ended at", async () => {
    const rath = rathOf();
    const session = await parted(rath);
    const missing = session.append({
      type: "workspace-change",
      before: session.files.tree,
      after: "f".repeat(64),
      paths: [],
    });
    const error = (await rath.run(mergeFiles(), missing).catch((thrown: unknown) => thrown)) as {
      cause: { code: string; session: Session; message: string };
    };
    expect(error.cause.code).toBe("files-failed");
    expect(error.cause.message).toMatch(/^Cannot merge files: /);
    expect(error.cause.session.fact.type).toBe("step-failure");
  });

  it("[F4] with nothing to merge the session goes on as it is, and nonsense is refused at once", async () => {
    const rath = rathOf();
    const session = await holding(rath, rath.start("go"), { a: "a\n" });
    const same = await rath.run(mergeFiles(), session);
    expect(same.files).toEqual(session.files);
    expect(all(same, "step-call")).toEqual([]);
    for (const options of [
      { resolve: "mine" },
      { resolve: 5 },
      { resolve: {} },
      { solve: "ours" },
      null,
      "ours",
    ])
      expect(() => mergeFiles(options as never) as Module, JSON.stringify(options)).toThrow(
        expect.objectContaining({ code: "module-refused", hint: expect.stringMatching(/\w/) }),
      );
  });
});
