import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { closeIndexes, memory } from "../../memory/index.js";
import { PIECE_BYTES, Trees } from "../../sandbox/index.js";
import { type Digest, Session, writeTree } from "../../session/index.js";
import { openStore } from "../../store/index.js";
import {
  eraseContent,
  erasedText,
  findContent,
  floorOf,
  foundText,
  heldUntil,
  readRetention,
  remainsOf,
  retentionFolder,
  writeRetention,
} from "./index.js";

const folder = mkdtempSync(join(tmpdir(), "openrath-audit-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;
const place = (): string => {
  const root = join(folder, String(++count));
  mkdirSync(root);
  return join(root, "rath.db");
};

/** Which files below a folder have these bytes. */
function filesWith(root: string, words: string): readonly string[] {
  const found: string[] = [];
  for (const name of readdirSync(root, { recursive: true }) as string[]) {
    const path = join(root, name);
    if (statSync(path).isFile() && readFileSync(path).includes(words)) found.push(name);
  }
  return found;
}

const SECRET = "Augusta Ada King-Noel";
const why = "request of 3 May, reference 41";

describe("finding content", () => {
  it("[E1] however it is cased, spaced, composed and escaped: in lines, blobs, JSON, keys and names", async () => {
    const store = await openStore("memory:");
    const long = "x".repeat(5_000);
    const session = Session.start(`about AUGUSTA  Ada\nKing-Noel ${long}`)
      .say("Zoe\u0308 Müller was here", { role: "assistant" }) // composed otherwise
      .append({ type: "note", kind: "k", deep: [{ [SECRET]: 1 }], pad: long, by: "agent" })
      .append({ type: "tool-call", name: "mail", input: { to: 'augusta ada king-noel "x"', pad: long } })
      .fork(SECRET);
    await store.save(session, { name: `case of ${SECRET}` });
    const found = await findContent(store, { about: "augusta ada king-noel" });
    expect(found.erasable.map(({ where, types }) => [where, types])).toEqual([
      ["text", ["session-start"]],
      ["input", ["tool-call"]],
    ]);
    expect(found.fixed.map(({ field, type, kind }) => [field, type, kind])).toEqual([
      ["deep", "note", "content"],
      ["name", "branch-fork", "structure"],
    ]);
    expect(found.names).toEqual([`case of ${SECRET}`]);
    expect((await findContent(store, { about: "ZOË MÜLLER" })).fixed.map(({ field }) => field)).toEqual([
      "content",
    ]);
    expect((await findContent(store, { about: "Charles Babbage" })).erasable).toEqual([]);
    expect((await findContent(store, { about: "x", digests: [] }).catch((error) => error)).code).toBe(
      "erase-refused",
    );
  });

  it("[E1] in files of a workspace, across the pieces of a long one, and in names of files; nothing is changed by it", async () => {
    const store = await openStore("memory:");
    const trees = new Trees(store);
    const long = Buffer.alloc(PIECE_BYTES + 100, "x");
    long.write(SECRET, PIECE_BYTES - 9);
    const pieces = await trees.put([long.subarray(0, PIECE_BYTES), long.subarray(PIECE_BYTES)]);
    const [parts, plain, other] = (await trees.put([
      Buffer.from(JSON.stringify(pieces)),
      Buffer.from(`by ${SECRET}\n`),
      Buffer.from("nothing"),
    ])) as [Digest, Digest, Digest];
    const file = (name: string, digest: Digest, size: number) =>
      ({ kind: "file", name, mode: 0o644, size, digest }) as const;
    const [inner] = await trees.put([Buffer.from(writeTree({ entries: [file("letter.txt", plain, 25)] }))]);
    const [root] = await trees.put([
      Buffer.from(
        writeTree({
          entries: [
            { kind: "parts", name: "big", mode: 0o644, size: long.length, digest: parts },
            { kind: "tree", name: "mail", mode: 0o755, digest: inner as Digest },
            file(`${SECRET}.txt`, other, 7),
          ],
        }),
      ),
    ]);
    const session = Session.start("Go.").append({
      type: "workspace-import",
      source: "./x",
      after: root as Digest,
      files: 3,
      bytes: 9,
    });
    await store.save(session, { name: "s" });
    const before = await store.head("s");
    const found = await findContent(store, { about: SECRET });
    expect(found.erasable.map(({ where, digest, salted }) => [where, digest, salted])).toEqual([
      ["big", parts, false],
      ["mail/letter.txt", plain, false],
    ]);
    expect(found.files).toEqual([`${SECRET}.txt`]);
    expect(await store.head("s")).toBe(before);
    expect(await store.erasures()).toEqual([]);
    const { check, erased } = await eraseContent(store, found, { why, by: "user:bob", about: SECRET });
    expect([check.findings, erased.length]).toEqual([[], 2]);
    // A list of pieces is not the file: the pieces are gone as well.
    for (const digest of [...pieces, plain]) expect(await store.blob(digest)).toBeUndefined();
    expect(await store.blob(other)).toBeDefined();
  });

  it("[E2] all content of a principal's facts, and blobs by the beginnings of their digests", async () => {
    const store = await openStore("memory:");
    const session = Session.start("I am here.", { by: "user:ada", inline: 0 })
      .say("Where?", { role: "assistant", by: "agent:a" })
      .say("In Harrow Road.", { by: "user:ada" });
    await store.save(session, { name: "s" });
    const found = await findContent(store, { by: "user:ada" });
    expect(found.erasable.map(({ where, salted, sessions }) => [where, salted, sessions])).toEqual([
      ["text", true, ["s"]],
      ["content", true, ["s"]],
    ]);
    const [first] = found.erasable;
    const one = await findContent(store, { digests: [first?.digest.slice(0, 10) ?? ""] });
    expect(one.erasable.map(({ digest }) => digest)).toEqual([first?.digest]);
    for (const options of [{ by: "ada" }, { digests: ["xyz"] }, { digests: ["abc"] }, {}, { about: " " }])
      await expect(findContent(store, options)).rejects.toMatchObject({ code: "erase-refused" });
    await expect(findContent(store, { by: "user:ada", names: ["t"] })).rejects.toMatchObject({
      code: "not-found",
    });
  });
});

describe("erasing content", () => {
  it("[E3] of memories, however short: they are in no file beside the store, and the search indexes are removed", async () => {
    const path = place();
    const store = await openStore(`sqlite:${path}`);
    const said = Session.start("Remember her.", { by: "user:ada" });
    await store.save(said, { name: "s" });
    const notes = memory({ name: "notes", scope: "project:x" });
    const space = notes.open(store);
    const text = `${SECRET} likes analytical engines. ${"She does. ".repeat(600)}`;
    await space.write({ text, because: [said.id], source: "human-correction", by: "user:ada" });
    await space.write({
      text: `${SECRET}, short.`,
      because: [said.id],
      source: "human-correction",
      by: "user:ada",
    });
    expect((await space.find("analytical engines", { threshold: 0 })).found.length).toBeGreaterThan(0);
    const indexes = `${path}.memory`;
    expect(existsSync(indexes)).toBe(true);
    const found = await findContent(store, { about: SECRET });
    const report = await eraseContent(store, found, { why, by: "user:dpo" });
    expect(report.indexes).toBe(indexes);
    expect(existsSync(indexes)).toBe(false);
    expect([report.left.fixed, report.erased.length, remainsOf(report)]).toEqual([[], 2, false]);
    const words = erasedText(report);
    expect(words).toContain("The search indexes of memories");
    expect(words).toContain("exports, bundles and dossiers that were handed out before");
    await closeIndexes(store);
    await store.close();
    for (const gone of ["analytical engines", SECRET]) expect(filesWith(join(path, ".."), gone)).toEqual([]);
  });

  it("[E4] [E5] names that are part of the chain stay and are told; a reason that says what is erased is refused", async () => {
    const store = await openStore("memory:");
    const session = Session.start("Hello.", { by: `user:${SECRET}`, inline: 0 }).say(`It is ${SECRET}.`, {
      by: "agent:a",
      role: "assistant",
    });
    await store.save(session, { name: "s" });
    const found = await findContent(store, { about: SECRET });
    expect(found.fixed.map(({ field, kind }) => [field, kind])).toEqual([["by", "structure"]]);
    expect(foundText(found)).toMatch(
      /1 place cannot be erased: names of people, branches, agents and tools are part of the chain/,
    );
    for (const wrong of ["", "  ", `${SECRET} asked`, "augusta ADA king-noel"])
      await expect(
        eraseContent(store, found, { why: wrong, by: "user:dpo", about: SECRET }),
      ).rejects.toMatchObject({
        code: "erase-refused",
      });
    await expect(
      eraseContent(store, found, { why, by: "dpo" as never, about: SECRET }),
    ).rejects.toMatchObject({
      code: "erase-refused",
    });
    expect(await store.erasures()).toEqual([]);
    await eraseContent(store, found, { why, by: "user:dpo", about: SECRET });
    expect(await store.erasures()).toMatchObject([{ by: "user:dpo", why }]);
  });

  it("[E6] content without a salt goes from all sessions that have it; a second time there is nothing left to erase", async () => {
    const store = await openStore("memory:");
    const text = `${SECRET} ${"y".repeat(5_000)}`;
    const by = "agent:a";
    await store.save(Session.start().say(text, { role: "assistant", by }), { name: "one" });
    await store.save(Session.start().say(text, { role: "assistant", by }), { name: "two" });
    const found = await findContent(store, { about: SECRET, names: ["one"] });
    expect(foundText(found)).toContain(
      "Content that is not salted disappears from every session with the same bytes",
    );
    await eraseContent(store, found, { why, by: "user:dpo" });
    expect(JSON.stringify((await store.load("two")).transcript)).not.toContain(SECRET);
    const again = await findContent(store, { by });
    expect([again.erasable, again.gone]).toEqual([[], 1]);
    const report = await eraseContent(store, again, { why, by: "user:dpo" });
    expect(report.erased).toEqual([]);
    expect(erasedText(report)).toMatch(/^Nothing was erased/);
    expect(foundText(again)).toMatch(/1 piece of it was erased before/);
  });

  it("[E7] a session that somebody is at work on refuses and is told; the others are erased", async () => {
    const store = await openStore("memory:");
    for (const name of ["one", "two"])
      await store.save(Session.start(`${SECRET} in ${name}`, { inline: 0 }), { name });
    await store.lease("two", { owner: "somebody" });
    const report = await eraseContent(store, await findContent(store, { about: SECRET }), {
      why,
      by: "user:dpo",
    });
    expect(report.erased.map(({ session }) => session)).toEqual(["one"]);
    expect(report.refusals).toEqual([{ session: "two", why: expect.stringContaining("somebody") }]);
    expect(erasedText(report)).toMatch(/From two nothing could be erased now: .*Try again later/);
  });
});

describe("erasing content of some sessions", () => {
  const text = `${SECRET} ${"z".repeat(5_000)}`;

  it("[E8] tells every session of the store that loses it, and the floor holds from the last of them", async () => {
    const store = await openStore("memory:");
    const by = { role: "assistant", by: "agent:a" } as const;
    const old = Session.start("a").say(text, { at: "2020-01-01T00:00:00.000Z", ...by });
    await store.save(old, { name: "old" });
    await store.save(Session.start("b").say(text, { at: "2026-05-01T00:00:00.000Z", ...by }), {
      name: "fresh",
    });
    await store.save(old.fork("side").say("more"), { name: "fork" });
    await store.save(Session.start("other"), { name: "other" });
    const found = await findContent(store, { about: SECRET, names: ["old"] });
    expect(found.erasable).toMatchObject([{ newest: "2026-05-01T00:00:00.000Z" }]);
    expect(found.erasable[0]?.sessions[0]).toBe("old");
    expect([...(found.erasable[0]?.sessions ?? [])].sort()).toEqual(["fork", "fresh", "old"]);
    const retention = { days: 184, basis: "law", at: "2020-01-01T00:00:00Z", by: "user:dpo" } as const;
    const given = { why, by: "user:dpo", retention, now: Date.parse("2026-06-01T00:00:00Z") } as const;
    await expect(eraseContent(store, found, given)).rejects.toMatchObject({ code: "retention-floor" });
    const report = await eraseContent(store, found, { ...given, basis: "GDPR" });
    expect(report.erased.map(({ session }) => session)).toEqual(["old"]);
    const words = erasedText(report);
    for (const name of ["old", "fresh", "fork"])
      expect(words).toMatch(new RegExp(`Sessions that lost it: .*\\b${name}\\b`));
    expect(words).not.toContain("other,");
  });

  it("[E8] [E7] a session that refuses does not lose it by way of another that shares it", async () => {
    const store = await openStore("memory:");
    const one = Session.start(text);
    await store.save(one, { name: "one" });
    await store.save(one.fork("b"), { name: "two" });
    await store.lease("one", { owner: "somebody" });
    const found = await findContent(store, { about: SECRET, names: ["one"] });
    const report = await eraseContent(store, found, { why, by: "user:dpo" });
    expect([report.erased, report.refusals.map(({ session }) => session)]).toEqual([[], ["one"]]);
    expect(JSON.stringify((await store.load("two")).transcript)).toContain(SECRET);
  });

  it("[E11] is on the record of every session that lost it, so that each export proves it", async () => {
    const store = await openStore("memory:");
    const trunk = Session.start(`Write to ${SECRET}.`, { by: "user:ada" });
    for (const name of ["one", "two", "busy"]) await store.save(trunk.fork(name), { name });
    await store.lease("busy", { owner: "somebody" });
    const found = await findContent(store, { about: SECRET, names: ["one"] });
    const report = await eraseContent(store, found, { why, by: "user:dpo" });
    expect(report.unsaid).toEqual(["busy"]);
    expect(erasedText(report)).toContain("an export of it alone cannot prove that it was erased");
    for (const [name, findings] of [
      ["one", 0],
      ["two", 0],
      ["busy", 1],
    ] as const) {
      const other = await openStore("memory:");
      await other.import(store.export(name));
      expect([name, (await other.check()).findings.length]).toEqual([name, findings]);
    }
  });

  it("[E9] sessions without a name are counted, and said not to have been searched", async () => {
    const store = await openStore("memory:");
    await store.save(Session.start(text), { name: "gone" });
    await store.forget("gone");
    await store.save(Session.start(`kept ${text}`), { name: "kept" });
    const found = await findContent(store, { about: SECRET });
    expect(found.unsearched).toEqual({ facts: 1, blobs: 1 });
    expect(foundText(found)).toContain("1 fact and 1 blob that no name leads to were not searched: rath gc");
    const report = await eraseContent(store, found, { why, by: "user:dpo" });
    expect(erasedText(report)).toContain("1 fact and 1 blob that no name leads to were not searched");
    await store.gc();
    const after = await findContent(store, { about: SECRET });
    expect(foundText(after)).not.toContain("not searched");
  });

  it("[E10] goes on the record of a session that a name leads to, and is refused where none does", async () => {
    const store = await openStore("memory:");
    const past = Session.start(text);
    await store.save(past.say("one").say("two"), { name: "s" });
    const found = await findContent(store, { about: SECRET, names: [past.id] });
    const { erased } = await eraseContent(store, found, { why, by: "user:dpo" });
    expect(erased.map(({ session }) => session)).toEqual(["s"]);
    await store.gc();
    expect((await store.load("s")).fact).toMatchObject({ type: "content-erase", why });
    const nameless = Session.start(`nameless ${text}`);
    await store.save(nameless);
    const none = await findContent(store, { about: SECRET, names: [nameless.id] });
    expect(foundText(none)).toContain("in no session that has a name");
    await expect(eraseContent(store, none, { why, by: "user:dpo" })).rejects.toMatchObject({
      code: "erase-refused",
      hint: expect.stringContaining("rath gc"),
    });
  });
});

describe("a retention floor", () => {
  const at = "2026-01-01T00:00:00.000Z";
  const setting = { days: 184, basis: "AI Act, Article 19(1)", at, by: "user:dpo" } as const;

  it("[F1] is kept with its basis, who set it, and what was set before", async () => {
    const root = join(folder, "floor");
    expect(await readRetention(root)).toBeUndefined();
    await writeRetention(root, { ...setting, profile: "eu-ai-act" });
    await writeRetention(root, { ...setting, days: 10, basis: "a mistake", by: "user:eve" });
    expect(await readRetention(root)).toEqual({
      ...setting,
      days: 10,
      basis: "a mistake",
      by: "user:eve",
      before: [{ ...setting, profile: "eu-ai-act" }],
    });
    expect(readdirSync(root)).toEqual(["retention.json"]);
    for (const days of [-1, 1.5, Number.NaN, 1e9, "184" as never])
      await expect(writeRetention(root, { ...setting, days })).rejects.toMatchObject({
        code: "retention-refused",
      });
    await expect(writeRetention(root, { ...setting, basis: " " })).rejects.toMatchObject({
      code: "retention-refused",
    });
    await expect(writeRetention(root, { ...setting, by: "eve" as never })).rejects.toMatchObject({
      code: "retention-refused",
    });
  });

  it("[F1] a file that is damaged is an error, never no floor", async () => {
    const root = join(folder, "damaged");
    await writeRetention(root, setting);
    const path = join(root, "retention.json");
    for (const text of [
      "",
      "{",
      "null",
      "[]",
      "{}",
      '{"days":"184"}',
      '{"days":-1,"basis":"x","at":"x","by":"user"}',
      "\u0000\u00ff",
      "x".repeat(1_000_000),
    ]) {
      writeFileSync(path, text);
      await expect(readRetention(root)).rejects.toMatchObject({ code: "retention-refused" });
    }
    const store = await openStore(`sqlite:${join(root, "rath.db")}`);
    expect(retentionFolder(store)).toBe(root);
    await store.save(Session.start("x", { inline: 0, at: "2000-01-01T00:00:00Z", by: "user:ada" }), {
      name: "s",
    });
    const found = await findContent(store, { by: "user:ada" });
    await expect(eraseContent(store, found, { why, by: "user:dpo" })).rejects.toMatchObject({
      code: "retention-refused",
    });
    await store.close();
  });

  it("[F2] [F3] holds what is younger and says until when; older content goes; a basis goes before and on the record", async () => {
    const root = join(folder, "held");
    mkdirSync(root);
    const store = await openStore(`sqlite:${join(root, "rath.db")}`);
    await writeRetention(root, setting);
    const now = Date.parse("2026-07-05T00:00:00Z");
    const session = Session.start("old", { inline: 0, at: "2026-01-01T12:00:00Z", by: "user:ada" }).say(
      "young",
      { at: "2026-05-01T00:00:00Z", by: "user:bob" },
    );
    await store.save(session, { name: "s" });
    const old = await findContent(store, { by: "user:ada" });
    const young = await findContent(store, { by: "user:bob" });
    expect(await floorOf(store, old.erasable, { now })).toBeUndefined();
    await expect(eraseContent(store, young, { why, by: "user:dpo", now })).rejects.toMatchObject({
      code: "retention-floor",
      message: expect.stringContaining(
        "until 2026-11-01T00:00:00.000Z (184 days, basis: AI Act, Article 19(1))",
      ),
      hint: expect.stringContaining("--basis"),
      data: { until: "2026-11-01T00:00:00.000Z", held: 1, days: 184 },
    });
    expect(await store.erasures()).toEqual([]);
    expect(foundText(young, await floorOf(store, young.erasable, { now }))).toMatch(
      /holds 1 of it, the last until 2026-11-01/,
    );
    await eraseContent(store, old, { why, by: "user:dpo", now });
    expect((await store.load("s")).fact).toMatchObject({ why });
    const report = await eraseContent(store, young, {
      why,
      by: "user:dpo",
      basis: "GDPR, Article 17(1)(d)",
      now,
    });
    expect(report.overridden).toEqual({ until: "2026-11-01T00:00:00.000Z", basis: "GDPR, Article 17(1)(d)" });
    expect((await store.load("s")).fact).toMatchObject({
      type: "content-erase",
      why: `${why} (before 2026-11-01T00:00:00.000Z, until when the retention floor of 184 days holds it; basis: GDPR, Article 17(1)(d))`,
    });
    expect(erasedText(report)).toContain("the basis is on the record: GDPR, Article 17(1)(d)");
    await store.close();
  });

  it("[F2] counts from when content was recorded last, and a time that cannot be read counts as now", () => {
    const now = Date.parse("2026-07-05T00:00:00Z");
    expect(heldUntil(setting, "2026-01-01T00:00:00Z", now)).toBeUndefined();
    expect(heldUntil(setting, "2026-01-02T00:00:00.001Z", now)).toBe("2026-07-05T00:00:00.001Z");
    expect(heldUntil(setting, "whenever", now)).toBe("2027-01-05T00:00:00.000Z");
    expect(heldUntil(setting, "2099-01-01T00:00:00Z", now)).toBe("2027-01-05T00:00:00.000Z");
    expect(heldUntil({ ...setting, days: 0 }, "2026-07-05T00:00:00Z", now)).toBeUndefined();
    expect(heldUntil(undefined, "2026-07-05T00:00:00Z", now)).toBeUndefined();
  });
});
