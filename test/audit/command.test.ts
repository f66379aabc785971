import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Session } from "openrath";
import { openStore } from "openrath/store";
import { beforeAll, describe, expect, it } from "vitest";
import { commandIn, scratch } from "../cli/rath.js";
import { world } from "./world.js";

const folder = scratch();
const rath = commandIn(folder);
const url = `sqlite:${join(folder, "home", "rath.db")}`;
const SECRET = "Augusta Ada King-Noel";
let memory: string;

beforeAll(async () => {
  // The home must be there: a command that only reads does not make it.
  mkdirSync(join(folder, "home"), { recursive: true });
  const here = await world(url, { text: `Repair the prices of ${SECRET}.`, inline: 0 });
  memory = here.memory;
  await here.rath.close();
  await here.store.close();
});

const QUESTIONS: readonly { readonly words: readonly string[]; readonly says: RegExp }[] = [
  { words: ["work"], says: /given on the branch small.*bold was rejected there/s },
  { words: ["work", "--step", "1"], says: /step-call .* called recall from notes/s },
  { words: ["work", "--step", "~3"], says: /model-call/ },
  { words: ["work", "--step", "2", "--memory"], says: /rests on the word of a person/s },
  {
    words: ["work", "--step", "2", "--saw"],
    says: /which the call recorded: what follows is what was sent/s,
  },
  { words: ["work", "--file", "src/price.txt"], says: /called write with/ },
  { words: ["work", "--file", "src/price.txt:2"], says: /Line 2 of src\/price.txt, "TWO", was written by/ },
  { words: ["work", "--approvals"], says: /user:ada rejected it/ },
  {
    words: ["work", "--from", "1h", "--to", "now", "--limit", "5"],
    says: /more facts of that time are not told/s,
  },
  { words: ["work", "--by", "user:bob"], says: /approved/ },
  { words: ["--by", "user:ada"], says: /stand in 3 sessions/ },
];

describe("rath why", () => {
  it("[C1] answers every question in sentences, with what to type next, and as JSON", async () => {
    const all = [
      ...QUESTIONS,
      { words: ["--if-false", memory.slice(0, 12)], says: /The session work rests on it/ },
    ];
    await several(all, async ({ words, says }, place) => {
      const said = await rath("why", ...words);
      expect(said, words.join(" ")).toMatchObject({ code: 0, stderr: "" });
      expect(said.stdout.replaceAll(/\s+/g, " "), words.join(" ")).toMatch(says);
      expect(said.stdout).toMatch(/\nnext: (?:npx )?rath show [0-9a-f]{12}\n/);
      if (place % 4 !== 0) return;
      const answer = JSON.parse((await rath("why", ...words, "--json")).stdout);
      expect(answer.claims.length).toBeGreaterThan(0);
      for (const claim of answer.claims) expect(claim.facts.length).toBeGreaterThan(0);
    });
    const [, id] = /next: (?:npx )?rath show ([0-9a-f]{12})/.exec((await rath("why", "work")).stdout) ?? [];
    expect((await rath("show", id as string)).code).toBe(0);
    expect((await rath("why", "work", "--message", id as string)).code).toBe(0);
  });

  it("[C2] two questions, none, and slips of the pen are refused with what was meant", async () => {
    const slips: readonly (readonly [readonly string[], number, RegExp])[] = [
      [["why"], 2, /The question needs a session/],
      [["why", "work", "--memory"], 2, /--step 7 --memory/],
      [["why", "work", "--step", "2", "--memory", "--saw"], 2, /two questions/],
      [["why", "work", "--approvals", "--file", "x"], 2, /2 questions at once/],
      [["why", "work", "--limit", "many"], 2, /--limit 50/],
      [["why", "wrok"], 1, /did you mean work/],
      [["why", "work", "--step", "999"], 1, /name one from 1 to/],
      [["why", "work", "--step", "seven"], 1, /is not a step/],
      [["why", "work", "--file", "price.txt"], 1, /did you mean src\/price.txt/],
      [["why", "work", "--from", "soon"], 1, /2h \(two hours ago\)/],
      [["why", "--by", "user:adda"], 1, /did you mean user:ada/],
      [["why", "--if-false", "nothing"], 1, /is not the id of a memory/],
      [["report", "--profile", "eu"], 2, /eu-ai-act/],
      [["erase"], 2, /--about/],
      [["erase", "--about", SECRET, "--yes"], 2, /--why/],
      [["erase", "--about", SECRET, "--yes", "--why", `${SECRET} asked`], 1, /reasons stay on the record/],
      [["retention", "sett", "3"], 2, /did you mean set/],
      [["retention", "set"], 2, /how many days/],
      [["retention", "set", "3"], 2, /--basis/],
      [["retention", "set", "3.5", "--basis", "x"], 2, /not a number of days/],
    ];
    await several(slips, async ([words, code, says], place) => {
      const said = await rath(...words);
      expect(said.code, words.join(" ")).toBe(code);
      expect(said.stderr, words.join(" ")).toMatch(says);
      if (place % 6 !== 0) return;
      const { error } = JSON.parse((await rath(...words, "--json")).stdout);
      expect(typeof error.code).toBe("string");
    });
  });
});

/** A few at a time: each is a process of its own. */
async function several<Item>(
  items: readonly Item[],
  act: (item: Item, place: number) => Promise<void>,
): Promise<void> {
  for (let from = 0; from < items.length; from += 4)
    await Promise.all(items.slice(from, from + 4).map((item, place) => act(item, from + place)));
}

describe("rath report, retention and erase", () => {
  it("[C3] prints a report, or writes it as text, Markdown or JSON", async () => {
    expect((await rath("report")).stdout).toMatch(/\[x\] Article 12\(1\): met/);
    const report = JSON.parse((await rath("report", "work", "--json")).stdout);
    expect(report.rows.length).toBe(12);
    expect((await rath("report", "-o", "a.md")).stdout).toContain("a.md: 12 duties, 2 not wholly met");
    expect(readFileSync(join(folder, "a.md"), "utf8")).toMatch(/^# Record-keeping/);
    await rath("report", "--profile", "21-cfr-11", "-o", "a.json");
    expect(JSON.parse(readFileSync(join(folder, "a.json"), "utf8")).profile).toBe("21-cfr-11");
    await rath("report", "-o", "a.txt");
    expect(readFileSync(join(folder, "a.txt"), "utf8")).toMatch(/not legal advice/);
  });

  it("[C7] an erasure names the store that it searched, and one without facts is not a success", async () => {
    const none = `sqlite:${join(folder, "none.db")}`;
    for (const sure of [[], ["--yes", "--why", "reference 41"]]) {
      const said = await rath("erase", "--about", SECRET, "--store", none, ...sure);
      expect(said.code).toBe(3);
      expect(said.stdout).toContain(`There are no facts in ${none}`);
      const json = await rath("erase", "--about", SECRET, "--store", none, "--json", ...sure);
      expect([json.code, JSON.parse(json.stdout).store]).toEqual([3, none]);
    }
    expect((await rath("erase", "--about", SECRET)).stdout).toContain(`In ${url}:`);
  });

  it("[C5] [C4] a floor holds content until a basis is given; without --yes nothing goes", async () => {
    expect((await rath("retention")).stdout).toContain("No floor is set");
    const set = await rath(
      "retention",
      "set",
      "--profile",
      "eu-ai-act",
      "--basis",
      "AI Act, Article 19(1)",
      "--as",
      "user:dpo",
    );
    expect(set.stdout).toMatch(/stay for 184 days .*set by user:dpo/s);
    expect(JSON.parse((await rath("retention", "--json")).stdout)).toMatchObject({
      days: 184,
      profile: "eu-ai-act",
    });
    const shown = await rath("erase", "--about", SECRET);
    expect(shown).toMatchObject({ code: 0, stderr: "" });
    expect(shown.stdout).toMatch(
      /pieces of content can be erased.*holds \d+ of it.*next: to erase it, repeat the command with --yes/s,
    );
    const why = ["--yes", "--why", "request of 3 May, reference 41", "--as", "user:dpo"];
    const refused = await rath("erase", "--about", SECRET, ...why);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/must stay, the last until 20.*--basis/s),
    ]);
    expect((await rath("show", "work")).stdout).toContain(SECRET);
    const erased = await rath("erase", "--about", SECRET, ...why, "--basis", "GDPR, Article 17");
    expect(erased).toMatchObject({ code: 0, stderr: "" });
    expect(erased.stdout).toMatch(
      /Erased \d+ pieces.*The store verifies.*dossiers that were handed out before/s,
    );
    const again = JSON.parse((await rath("erase", "--about", SECRET, "--json")).stdout);
    expect(again.found.erasable).toEqual([]);
    const store = await openStore(url);
    expect((await store.check()).findings).toEqual([]);
    await store.close();
    for (const words of [
      ["show", "work"],
      ["why", "work", "--step", "2", "--saw"],
      ["why", "work"],
      ["log", "work"],
    ])
      expect((await rath(...words)).stdout).not.toContain(SECRET);
    expect((await rath("why", "work", "--step", "2", "--saw")).stdout.replaceAll(/\s+/g, " ")).toMatch(
      /was erased by user:dpo at .* because: request of 3 May, reference 41/,
    );
  });

  it("[C6] nothing on the record moves the terminal, nor adds a line", async () => {
    const evil = "user:\u001b[2J\u001b]0;t\u0007eve\u202e\n[x] all is well";
    const store = await openStore(url);
    const session = Session.start(`evil ${"e".repeat(5_000)}`, { by: evil as never })
      .append({ type: "validation-report", name: "looked", passed: true, by: evil as never })
      .say("short evil");
    await store.save(session, { name: "evil" });
    await store.close();
    const why = ["--yes", "--why", "reference 42", "--as", "user:dpo", "--basis", "GDPR"];
    for (const words of [
      ["why", "evil", "--from", "1h"],
      ["why", "evil"],
      ["report", "evil", "--biometric"],
      ["erase", "evil", "--about", "evil e"],
      ["erase", "evil", "--about", "evil e", ...why],
    ]) {
      const said = await rath(...words);
      expect(said.code, words.join(" ")).toBe(0);
      expect(said.stdout, words.join(" ")).not.toMatch(/(?!\n)[\p{Cc}\p{Bidi_Control}]/u);
      expect(said.stdout, words.join(" ")).not.toMatch(/^\[x\] all is well/m);
    }
    expect((await rath("report", "evil", "--biometric")).stdout).toContain("eve");
    await rath("report", "evil", "--biometric", "-o", "evil.txt");
    expect(readFileSync(join(folder, "evil.txt"), "utf8")).not.toMatch(/(?!\n)[\p{Cc}\p{Bidi_Control}]/u);
  });
});
