import { agent, type FactOf, openRath, scripted, tool } from "openrath";
import { actReport, dossierHtml, dossierOf, reportText, whatStep, whoApproved } from "openrath/evidence";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { faultsOf, ofType, scan } from "./scan.js";

const refund = tool({
  name: "refund",
  description: "Pays money back.",
  input: { type: "object", properties: { order: { type: "string" } }, required: ["order"] },
  effect: "write",
  approval: { from: "user:boss" },
  run: ({ order }) => `${order} paid`,
});
const clerk = agent({
  name: "clerk",
  model: scripted(
    { tool: "refund", input: { order: "7" } },
    "Done.",
    { tool: "refund", input: { order: "8" } },
    "Done again.",
  ),
  tools: [refund],
});

describe("a call that relied on a standing approval", () => {
  const rath = openRath({ store: "memory:" });
  let given: string;
  let call: string;
  let use: { readonly id: string; readonly fact: FactOf<"approval-use"> };
  beforeAll(async () => {
    await rath.turn(clerk, "desk", "Refund 7.", { by: "user:cy" });
    given = await rath.approve("desk", { by: "user:boss", always: "tool", why: "they are all small" });
    await rath.resume("desk", clerk);
    await rath.turn(clerk, "desk", "Refund 8.", { by: "user:cy" });
    const facts = await scan(await rath.store(), "desk");
    use = ofType(facts, "approval-use")[0] as typeof use;
    call = use.fact.of;
  });
  afterAll(() => rath.close());

  it("[Q15] is told with the approval, its giver and its time", async () => {
    const store = await rath.store();
    const at = (await store.load(given)).fact.at;
    for (const answer of [await whoApproved(store, "desk"), await whatStep(store, "desk", call)]) {
      expect(await faultsOf(store, answer)).toEqual([]);
      const claim = answer.claims.find(({ facts }) => facts.includes(use.id));
      expect(claim?.facts).toEqual([use.id, given, call]);
      expect(claim?.text).toContain(`on the standing approval ${given.slice(0, 12)} of user:boss`);
      expect(claim?.text).toContain(
        `which user:boss gave at ${at} for every later call of the tool in this session, because: they are all small`,
      );
      expect(answer.gaps.join(" ")).not.toContain("no approval");
    }
    const { claims } = await whoApproved(store, "desk");
    expect(claims.map(({ text }) => text).join("\n")).toContain(
      "user:boss agreed to exactly that, and to every later call of the tool in this session at",
    );
    expect((await whoApproved(store, "desk", { limit: 1 })).gaps).toEqual([]);
  });

  it("[D9] is counted in a report, and has nobody behind it who looked at that call", async () => {
    const report = await actReport(await rath.store());
    const row = report.rows.find(({ duty }) => duty === "Article 14(5)");
    const counts = Object.fromEntries(row?.evidence.map(({ what, count }) => [what, count]) ?? []);
    expect(counts["calls or questions that somebody agreed to"]).toBe(1);
    expect(counts["uses of standing approvals, in calls that nobody was asked about"]).toBe(1);
    expect(row?.standing).not.toBe("met");
    expect(reportText(report)).toContain("1 call relied on a standing approval");
  });

  it("[D10] is in the dossier with the approval, its giver and its time", async () => {
    const store = await rath.store();
    const dossier = await dossierOf(store, "desk");
    expect(dossier.standing.items).toMatchObject([
      {
        of: call,
        tool: "refund",
        approval: given,
        from: "user:boss",
        always: "tool",
        given: (await store.load(given)).fact.at,
        facts: [use.id, given],
      },
    ]);
    expect(dossier.approvals.items[0]?.answers[0]).toMatchObject({ always: "tool", by: "user:boss" });
    const page = dossierHtml(dossier);
    expect(page).toContain("Calls that relied on a standing approval");
    expect(page).toContain("1 relied on a standing approval");
    expect(page).toContain("always for this tool");
  });
});
