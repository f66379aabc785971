import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, type FactId, openRath, policy, Session, scripted } from "openrath";
import {
  type AuditReport,
  actReport,
  PROFILES,
  type Row,
  reportMarkdown,
  reportText,
  writeRetention,
} from "openrath/evidence";
import { digestOf } from "openrath/session";
import { openStore, type Recorded } from "openrath/store";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ofType, scan } from "./scan.js";
import { type World, world } from "./world.js";

const folder = mkdtempSync(join(tmpdir(), "openrath-report-"));
let here: World;
let facts: readonly Recorded[];
let report: AuditReport;
beforeAll(async () => {
  here = await world(`sqlite:${join(folder, "rath.db")}`);
  facts = await scan(here.store);
  report = await actReport(here.store);
});
afterAll(async () => {
  await here.rath.close();
  await here.store.close();
  rmSync(folder, { recursive: true, force: true });
});

const rowOf = ({ rows }: AuditReport, duty: string): Row =>
  rows.find((one) => one.duty.startsWith(duty)) as Row;
const countOf = (row: Row, what: string): number | undefined =>
  row.evidence.find((one) => one.what.startsWith(what))?.count;
const some = (...types: readonly string[]): readonly Recorded[] =>
  facts.filter(({ fact }) => types.includes(fact.type));

describe("a report on the AI Act", () => {
  it("[D1] has a row for each duty, with counts that a scan confirms, and facts that are in the store", async () => {
    expect(report.rows.map(({ duty }) => duty)).toEqual([
      "Article 12(1)",
      "Article 12(2)(a), risks",
      "Article 12(2)(a), modifications",
      "Article 12(2)(b)",
      "Article 12(2)(c) and 26(5)",
      "Article 12(3)(a)",
      "Article 12(3)(b)",
      "Article 12(3)(c)",
      "Article 12(3)(d)",
      "Article 14(5)",
      "Article 19(1)",
      "Article 26(6)",
    ]);
    expect(report.facts).toBe(facts.length);
    const [log, risks, , market, operation, , database, , persons] = report.rows as [
      Row,
      Row,
      Row,
      Row,
      Row,
      Row,
      Row,
      Row,
      Row,
    ];
    expect(countOf(log, "facts of all kinds")).toBe(facts.length);
    expect(countOf(log, "facts that the runtime stamped")).toBe(
      facts.filter(({ fact }) => fact.run !== undefined).length,
    );
    expect(countOf(risks, "failures")).toBe(
      some("model-failure", "tool-failure", "step-failure", "effect-fail").length,
    );
    expect(countOf(risks, "validations that did not pass")).toBe(1);
    expect(countOf(risks, "deeds that a person rejected")).toBe(1);
    expect(countOf(market, "calls of models")).toBe(some("model-call").length);
    expect(countOf(market, "calls of tools")).toBe(some("tool-call", "step-call").length);
    expect(countOf(operation, "changes to files")).toBe(some("workspace-change").length);
    expect(countOf(database, "readings that name the state")).toBe(some("memory-read").length);
    const people = ofType(facts, "approval-give").filter(({ fact }) => /^user(:|$)/.test(fact.by));
    expect(countOf(persons, "decisions and validations of people by name")).toBe(people.length);
    expect(persons.explanation).toContain("user:bob and user:ada");
    for (const { evidence, asked, explanation } of report.rows) {
      expect(asked.length).toBeGreaterThan(20);
      expect(explanation.length).toBeGreaterThan(20);
      for (const { first, last } of evidence)
        for (const id of [first, last]) if (id !== undefined) expect(await here.store.has(id)).toBe(true);
    }
    expect(report.notices.join(" ")).toContain("not legal advice");
    expect(report.notices.join(" ")).toContain("2 December 2027");
  });

  it("[D1] of some sessions counts only those, and each fact once", async () => {
    const work = await actReport(here.store, ["work", "work"]);
    expect(work.facts).toBe((await scan(here.store, "work")).length);
    expect(work.sessions.map(({ name, facts: counted }) => [name, counted > 0])).toEqual([
      ["work", true],
      ["work", false],
    ]);
    await expect(actReport(here.store, ["wrok"])).rejects.toMatchObject({ code: "not-found" });
  });

  it("[D2] a standing follows the record", async () => {
    expect(report.rows.map(({ standing }) => standing)).toEqual([
      "met",
      "met",
      "met",
      "met",
      "met",
      "not applicable",
      "not applicable",
      "not applicable",
      "not applicable",
      "not applicable",
      "partly",
      "partly",
    ]);
    const biometric = await actReport(here.store, undefined, { biometric: true });
    expect(biometric.rows.slice(5, 10).map(({ standing }) => standing)).toEqual([
      "met",
      "met",
      "met",
      "met",
      "gap",
    ]);
    expect(rowOf(biometric, "Article 14(5)").explanation).toContain("0 of 1 have two people behind them");
    // Nothing at all, then a session that nobody ran, then a run without policies and validations.
    const store = await openStore("memory:");
    const standings = async () =>
      (await actReport(store, undefined, { biometric: true })).rows.map(({ standing }) => standing);
    expect(new Set(await standings())).toEqual(new Set(["gap"]));
    await store.save(Session.start("Hello."), { name: "by hand" });
    expect((await standings()).slice(0, 5)).toEqual(["gap", "gap", "gap", "gap", "gap"]);
    const rath = openRath({ store });
    await rath.run(agent({ name: "a", model: scripted("Done.") }), rath.start("Go."), { name: "run" });
    const bare = await actReport(store, undefined, { biometric: true });
    expect(bare.rows.map(({ standing }) => standing).slice(0, 9)).toEqual([
      "met",
      "partly",
      "met",
      "partly",
      "met",
      "met",
      "gap",
      "met",
      "gap",
    ]);
    expect(rowOf(bare, "Article 12(2)(a), risks").explanation).toContain(
      "no policy and no validation was in force",
    );
    await rath.close();
  });

  it("[D2] two people behind each call, unnamed people, and a floor", async () => {
    mkdirSync(join(folder, "two"));
    const path = join(folder, "two", "rath.db");
    const rath = openRath({
      store: `sqlite:${path}`,
      policy: policy("house", [
        { name: "all", verdict: "ask", model: "*", approval: { from: ["user:ada", "user:bob"], need: 2 } },
      ]),
    });
    const store = await rath.store();
    const clerk = agent({ name: "clerk", model: scripted("Done.") });
    await rath.run(clerk, rath.start("Go."), { name: "run" });
    await rath.approve("run", { by: "user:ada" });
    await rath.approve("run", { by: "user:bob" });
    await rath.resume("run", clerk);
    await writeRetention(join(path, ".."), {
      days: 184,
      basis: "Article 19",
      at: "2026-01-01T00:00:00Z",
      by: "user:dpo",
    });
    const told = await actReport(store, undefined, { biometric: true });
    expect(rowOf(told, "Article 14(5)").standing).toBe("met");
    expect(rowOf(told, "Article 12(3)(d)").standing).toBe("met");
    expect(rowOf(told, "Article 19(1)")).toMatchObject({
      standing: "met",
      explanation: expect.stringContaining("184 days (Article 19, set by user:dpo"),
    });
    expect(rowOf(told, "Article 26(6)").standing).toBe("met");
    const nobody = (await store.load("run")).append({
      type: "validation-report",
      name: "looked",
      passed: true,
      by: "user",
    });
    await store.save(nobody, { name: "looked" });
    const some = await actReport(store, undefined, { biometric: true });
    expect(rowOf(some, "Article 12(3)(d)").standing).toBe("partly");
    expect((await actReport(store, undefined, { profile: "sysc-9.1" })).rows[1]).toMatchObject({
      duty: "SYSC 9.1.2",
      standing: "partly",
    });
    await rath.close();
    await store.close();
  });

  it("[D3] programs, models, configurations and policies that changed are listed, with the fact of each change", async () => {
    const store = await openStore("memory:");
    const run = async (name: string, instructions: string, rule: string) => {
      const rath = openRath({
        store,
        policy: policy("house", [
          { name: rule, verdict: "allow", tool: "*" },
          { name: "m", verdict: "allow", model: "*" },
        ]),
      });
      await rath.run(agent({ name: "a", instructions, model: scripted("Done.") }), rath.start("Go."), {
        name,
      });
      await rath.close();
    };
    await run("1", "Be kind.", "one");
    await run("2", "Be kind.", "one");
    expect((await actReport(store)).changes).toEqual([]);
    await run("3", "Be quick.", "two");
    const { changes, rows } = await actReport(store);
    expect(changes.map(({ what }) => what).sort()).toEqual([
      "the configuration of the agent a",
      "the policy house",
      "the program of a",
    ]);
    for (const { fact, was, is } of changes) {
      expect(was).not.toBe(is);
      const third = new Set((await scan(store, "3")).map(({ id }) => id));
      expect(third.has(fact)).toBe(true);
    }
    expect(countOf(rows[2] as Row, "changes of one of them")).toBe(3);
    // The same configuration in salted blobs has another digest in each session, and is the same nevertheless.
    const salted = openRath({ store: "memory:" });
    for (const name of ["a", "b"])
      await salted.run(
        agent({ name: "a", instructions: "Be kind.", model: scripted("Done.") }),
        salted.start("Go.", { inline: 0 }),
        { name },
      );
    const same = await actReport(await salted.store());
    expect([same.changes, countOf(same.rows[2] as Row, "configurations of agents")]).toEqual([[], 2]);
    await salted.close();
  });

  it("[D4] the period of each run has its beginning and its end; one that has not ended says so", async () => {
    const starts = ofType(facts, "run-start");
    const ends = ofType(facts, "run-end");
    expect(report.periods).toEqual(
      starts.map(({ id, fact }) => {
        const end = ends.find((one) => one.fact.of === id);
        return {
          run: id,
          module: fact.module,
          by: fact.by,
          start: fact.at,
          end: end?.fact.at,
          ended: end?.id,
        };
      }),
    );
    const [first] = starts;
    const open = await actReport(here.store, [first?.id as FactId], { biometric: true });
    expect(rowOf(open, "Article 12(3)(a)")).toMatchObject({
      standing: "partly",
      explanation: expect.stringContaining("1 run has no end yet"),
    });
    expect(reportMarkdown(open)).toContain("it has not ended");
  });
});

describe("a report in the hands of an auditor", () => {
  it("[D5] with a shell and an export, each id that it names is the SHA-256 of its line", async () => {
    const work = await actReport(here.store, ["work"]);
    const markdown = reportMarkdown(work);
    let text = "";
    for await (const line of here.store.export("work")) text += `${line}\n`;
    writeFileSync(join(folder, "work.jsonl"), text);
    const command = /^(while IFS= .*)$/m.exec(markdown)?.[1] as string;
    expect(command).toContain("sha256sum");
    const ids = [...new Set(markdown.match(/[0-9a-f]{64}/g))];
    expect(ids.length).toBeGreaterThan(20);
    // All lines at once, as the command computes them; each id is then looked up as it says.
    const sums = execFileSync("bash", ["-c", command.replace("| grep '^ID'", "")], {
      cwd: folder,
      encoding: "utf8",
      maxBuffer: 1 << 26,
    });
    const computed = new Map(
      sums
        .trimEnd()
        .split("\n")
        .map((line) => [line.slice(0, 64), line.slice(66)]),
    );
    for (const id of ids) expect(computed.has(id), id).toBe(true);
    const one = ids[3] as string;
    const found = execFileSync("bash", ["-c", command.replace("^ID", `^${one}`)], {
      cwd: folder,
      encoding: "utf8",
    });
    expect(found.slice(66).trimEnd()).toBe(await here.store.line(one));
    expect(markdown).toContain(`python3 tools/verify.py --head ${await here.store.head("work")} work.jsonl`);
  });

  it("[D6] nothing on the record breaks its tables", async () => {
    const store = await openStore("memory:");
    const evil = "a|b\n| **x** | <script>alert(1)</script> [l](javascript:1) `c` \u001b[31m\u2028";
    const rath = openRath({ store });
    await rath.run(agent({ name: evil, model: scripted("Done.") }), rath.start("Go."), {
      name: "s",
      by: `user:${evil}` as never,
    });
    await rath.close();
    const told = await actReport(store);
    const markdown = reportMarkdown(told);
    for (const mark of ["<script", "\u001b", "\u2028", " **x"])
      expect(markdown.includes(mark), mark).toBe(false);
    for (const line of markdown.split("\n"))
      if (line.startsWith("| ")) {
        const cells = line.split(/(?<!\\)\|/).length - 2;
        expect([3, 4, 5]).toContain(cells);
      }
    const text = reportText(told);
    for (const { duty } of told.rows) expect(text).toContain(duty);
    const session = (await store.load("s")).append({
      type: "validation-report",
      name: "looked",
      passed: true,
      by: `user:${evil}` as never,
    });
    await store.save(session, { name: "s" });
    const people = reportText(await actReport(store, undefined, { biometric: true }));
    expect(people).toContain("a|b | **x**");
    for (const mark of ["\u001b", "\u2028"]) expect(people.includes(mark), mark).toBe(false);
  });

  it("[D8] an approval that names other bytes than the question is nobody behind the call", async () => {
    const told = async (shown: unknown, asked: string, answered: string) => {
      const store = await openStore("memory:");
      const call = Session.start("Go.").append({ type: "tool-call", name: "pay", input: {} });
      let session = call.append({ type: "approval-ask", of: call.id, what: shown as never, digest: asked });
      const of = session.id;
      for (const by of ["user:ada", "user:bob"] as const)
        session = session.append({ type: "approval-give", of, decision: "approve", digest: answered, by });
      await store.save(session, { name: "s" });
      return rowOf(await actReport(store, undefined, { biometric: true }), "Article 14(5)");
    };
    const what = { amount: 1 };
    const digest = digestOf(JSON.stringify(what));
    const other = "b".repeat(64);
    const right = await told(what, digest, digest);
    expect([right.standing, countOf(right, "those to which"), countOf(right, "answers that name")]).toEqual([
      "met",
      1,
      0,
    ]);
    for (const [asked, answered] of [
      [digest, other],
      [other, other],
    ] as const) {
      const wrong = await told(what, asked, answered);
      expect([wrong.standing, countOf(wrong, "those to which"), countOf(wrong, "answers that name")]).toEqual(
        ["gap", 0, 2],
      );
    }
  });

  it("[D7] other profiles have duties of their own; one that there is not is refused", async () => {
    for (const profile of PROFILES) {
      const told = await actReport(here.store, undefined, { profile });
      expect(told.rows.length).toBeGreaterThan(2);
      expect(told.notices.join(" ")).toContain("not legal advice");
      expect(reportMarkdown(told)).toContain(told.title);
    }
    const sysc = await actReport(here.store, undefined, { profile: "sysc-9.1" });
    expect(rowOf(sysc, "SYSC 9.1.2").explanation).toContain("rath retention set 1827");
    await expect(actReport(here.store, undefined, { profile: "eu-ai-akt" as never })).rejects.toMatchObject({
      hint: "did you mean eu-ai-act?",
    });
    await expect(actReport(here.store, undefined, { profile: "__proto__" as never })).rejects.toMatchObject({
      code: "question-refused",
    });
  });
});
