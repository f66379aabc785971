import { describe, expect, it } from "vitest";
import { compress, dropOutputs } from "../../agent/compress/index.js";
import { agent } from "../../agent/index.js";
import { type ScriptedReply, scripted } from "../../agent/model/index.js";
import { tool } from "../../agent/tool/index.js";
import { clockOf, rathOf, storeOf } from "../../runtime/testing/rath.js";
import type { FactOf, Json, Session } from "../../session/index.js";
import { all } from "../../workflow/testing/ran.js";
import { helperOf, notesOf, tiersOf } from "./testing/tiers.js";
import { withTiers } from "./tiers.js";

type Answer = {
  readonly found: readonly { fact: string; role: string; text: string; session?: string }[];
  readonly matches: number;
  readonly next_page?: number;
  readonly note?: string;
};

const search = (query: string, more: { readonly [field: string]: Json } = {}): ScriptedReply => ({
  tool: "conversation_search",
  input: { query, ...more },
});

const answersIn = (session: Session): readonly Answer[] =>
  all(session, "tool-result")
    .filter(({ by }) => by === "tool:conversation_search")
    .map(({ output }) => output as unknown as Answer);

describe("the recall tier", () => {
  it("[T8] finds what was said by words, speakers and dates, page by page", async () => {
    const { clock, pass } = clockOf();
    const rath = rathOf({ clock });
    const module = helperOf(
      tiersOf(),
      "Noted.",
      search("zebra"),
      search("zebra", { roles: ["user"] }),
      search("zebra", { start_date: "2026-01-02" }),
      search("zebra", { end_date: "2026-01-01" }),
      search("zebra", { limit: 1 }),
      search("zebra", { limit: 1, page: 1 }),
      search("giraffe"),
      "ok",
    );
    let session = rath.start("My zebra is called Zora. zebra zebra.");
    session = await rath.run(module, session, { name: "n" });
    pass(24 * 3_600_000);
    session = await rath.run(module, session.say("What was that with the zebra?", { by: "user:ada" }), {
      name: "n",
    });
    const [whole, users, late, early, first, second, none] = answersIn(session);
    expect(whole?.found.map(({ text }) => text).slice(0, 2)).toEqual([
      "My zebra is called Zora. zebra zebra.",
      "What was that with the zebra?",
    ]);
    expect(users?.found.every(({ role }) => role === "user")).toBe(true);
    expect(late?.found.some(({ text }) => text.includes("Zora"))).toBe(false);
    expect(early?.found.map(({ text }) => text)).toEqual(["My zebra is called Zora. zebra zebra."]);
    expect(first).toMatchObject({ found: [{ text: whole?.found[0]?.text }], next_page: 1 });
    expect(second?.found[0]?.text).not.toBe(first?.found[0]?.text);
    expect(none).toMatchObject({ found: [], matches: 0 });
    expect((await rath.replay("n", module, { mode: "verify" })).id).toBe(session.id);
  });

  it("[T8] finds what was left out of view", async () => {
    const tiers = tiersOf();
    const secret = tool({
      name: "look",
      description: "Looks.",
      input: { type: "object", properties: {} } as const,
      effect: "pure",
      run: () => `The wombat sleeps in room 12. ${"filler ".repeat(2_000)}`,
    });
    const again: ScriptedReply = { tool: "look" };
    const body = agent({
      name: "helper",
      model: scripted(again, again, again, again, again, again, search("wombat", { limit: 10 }), "ok"),
      tools: [...tiers.tools, secret],
      compress: compress({ budget: 20_000, policies: [dropOutputs()] }),
    });
    const rath = rathOf();
    const session = await rath.run(withTiers("w", body, tiers), rath.start("go"));
    expect(all(session, "context-compress").length).toBeGreaterThan(0);
    expect(answersIn(session)[0]?.matches).toBeGreaterThanOrEqual(6);
    expect(answersIn(session)[0]?.found[0]?.text).toMatch(/^The wombat sleeps in room 12\..* …$/s);
  });

  it("[T8] an agent that works as a tool finds its own task only", async () => {
    const tiers = tiersOf();
    const inner = agent({
      name: "inner",
      model: scripted(search("password"), "ok"),
      tools: [...tiers.tools],
    });
    const outer = agent({
      name: "outer",
      model: scripted({ tool: "inner", input: { task: "find the password hint" } }, "ok"),
      tools: [inner],
    });
    const rath = rathOf();
    const session = await rath.run(outer, rath.start("My password is swordfish."));
    const inside: Answer[] = [];
    for (const { fact } of session.history())
      if (fact.type === "tool-result" && fact.by === "tool:conversation_search")
        inside.push(fact.output as unknown as Answer);
    expect(inside).toHaveLength(1);
    expect(inside[0]?.found.map(({ text }) => text)).toEqual(["find the password hint"]);
  });

  it("[T9] finds other sessions only if their names were given, and says when it did not look at all", async () => {
    const store = await storeOf();
    const { clock, pass } = clockOf();
    const rath = rathOf({ store, clock });
    const talker = agent({ name: "talker", model: scripted("I see.") });
    await rath.run(talker, rath.start("Ada keeps a walrus."), { name: "ada/1" });
    pass(1_000);
    await rath.run(talker, rath.start("Ada sold the walrus."), { name: "ada/2" });
    await rath.run(talker, rath.start("Bob keeps a walrus."), { name: "bob/1" });
    const notes = notesOf();
    const bob = await store.load("bob/1");
    await notes
      .open(store)
      .write({ text: "A walrus in memory.", because: [bob.id], source: "reflection", by: "user:ada" });
    const ask = async (conversations?: { under: string; most?: number }) => {
      const tiers = tiersOf({ memory: notes, ...(conversations !== undefined && { conversations }) });
      const session = await rath.run(helperOf(tiers, search("walrus"), "ok"), rath.start("What about it?"));
      return answersIn(session)[0];
    };
    expect((await ask())?.found).toEqual([]);
    const both = await ask({ under: "ada/" });
    expect(both?.found.map(({ session, text }) => [session, text])).toEqual([
      ["ada/2", "Ada sold the walrus."],
      ["ada/1", "Ada keeps a walrus."],
    ]);
    expect((await ask({ under: "ada/", most: 1 }))?.found.map(({ session }) => session)).toEqual(["ada/2"]);
    expect(both?.note).toBeUndefined();
    // A session that is too long to be looked at whole.
    let long = await store.load("ada/1");
    for (let turn = 0; turn < 250; turn++)
      long = long.say(`${turn} ${"word ".repeat(4_000)}`, { by: "user:ada" });
    await store.save(long, { name: "ada/3" });
    const cut = await ask({ under: "ada/" });
    expect(cut?.note).toBe("The oldest messages were not searched.");
    expect(cut?.found.map(({ text }) => text)).not.toContain("Ada keeps a walrus.");
  });
});

describe("archival memory", () => {
  it("[T10] keeps texts with their evidence, finds them by meaning, tags and time, and leaves out the core", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const insert = (content: string, tags?: readonly string[]): ScriptedReply => ({
      tool: "archival_memory_insert",
      input: { content, ...(tags !== undefined && { tags }) },
    });
    const find = (query: string, more: { readonly [field: string]: Json } = {}): ScriptedReply => ({
      tool: "archival_memory_search",
      input: { query, ...more },
    });
    const module = helperOf(
      tiersOf({ threshold: 0.1 }),
      { tool: "core_memory_append", input: { label: "human", content: "The release is made on Friday." } },
      insert("The release is made with npm run release.", ["release", "npm"]),
      insert("The release notes are written by Ada.", ["release"]),
      find("how is the release made?"),
      find("release", { tags: ["npm"] }),
      find("release", { tags: ["npm", "release"], tag_match_mode: "all" }),
      find("release", { top_k: 1 }),
      find("release", { end_datetime: "2001-01-01T00:00:00Z" }),
      "ok",
    );
    const session = await rath.run(module, rath.start("Remember how the release is made."), { name: "n" });
    const found = all(session, "tool-result")
      .filter(({ by }) => by === "tool:archival_memory_search")
      .map(({ output }) =>
        (output as unknown as { text: string; tags?: string[] }[]).map(({ text }) => text),
      );
    const made = "The release is made with npm run release.";
    const written = "The release notes are written by Ada.";
    expect(found[0]?.[0]).toBe(made);
    expect(found[0]).not.toContain("The release is made on Friday.");
    expect(found.slice(1, 3)).toEqual([[made], [made]]);
    expect(found[3]).toHaveLength(1);
    expect(found[4]).toEqual([]);
    const reads = all(session, "memory-read").filter(({ shown }) => shown === undefined);
    expect(reads).toHaveLength(5);
    expect(reads[1]?.hits).toHaveLength(1);
    const kept = await notesOf().open(store).list();
    const archived = kept.filter(({ text }) => text === made || text === written);
    expect(archived).toHaveLength(2);
    const [calls, person] = [
      [...session.history()].filter(({ fact }) => fact.type === "tool-call").map(({ id }) => id),
      [...session.history()][0]?.id,
    ];
    for (const { because, by } of archived) {
      expect(because).toContain(person);
      expect(because.some((id) => calls.includes(id))).toBe(true);
      expect(by).toBe("agent:helper");
    }
    expect((await rath.replay("n", module, { mode: "verify" })).id).toBe(session.id);
    expect((session.fact as FactOf<"run-end">).error).toBeUndefined();
  });
});
