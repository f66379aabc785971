import { describe, expect, it } from "vitest";
import { agent } from "../../agent/index.js";
import { scripted } from "../../agent/model/index.js";
import { askPerson, tool } from "../../agent/tool/index.js";
import { openRath } from "../../runtime/index.js";
import { Session } from "../../session/index.js";
import { sequence, signal } from "../../workflow/index.js";
import { deedsOf } from "./index.js";

const told = (session: Session): readonly string[] => deedsOf(session).map(({ by, did }) => `${by} ${did}`);

describe("deeds", () => {
  it("[G3] of people are told: what they agreed to, changed, refused, took over and answered", async () => {
    const pay = tool({
      name: "pay",
      description: "Pays.",
      input: { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] },
      effect: "write",
      approval: true,
      run: ({ amount }) => `paid ${amount}`,
    });
    const clerk = agent({
      name: "clerk",
      model: scripted(
        { tool: "ask_person", input: { question: "Which account?" } },
        ...[900, 80, 70, 60].map((amount) => ({ tool: "pay", input: { amount } })),
        "Done.",
      ),
      tools: [pay, askPerson()],
    });
    const flow = sequence("flow", [clerk, signal("archive")]);
    const rath = openRath({ store: "memory:" });
    await rath.run(flow, rath.start("Pay the bills."), { name: "bills" });
    const [question] = await rath.pending("bills");
    await rath.answer("bills", question?.id ?? "", "A", "user:ada");
    await rath.resume("bills", flow);
    await rath.approve("bills", { by: "user:ada", edit: { amount: 90 }, why: "a typo" });
    await rath.resume("bills", flow);
    await rath.approve("bills", { by: "user:cy" });
    await rath.resume("bills", flow);
    await rath.reject("bills", { by: "user:cy", why: "paid in May" });
    await rath.resume("bills", flow);
    await rath.takeOver("bills", { by: "user:ada", value: "paid in cash" });
    await rath.resume("bills", flow);
    await rath.signal("bills", "archive", { shelf: 3 }, "user:bob");
    const session = await rath.resume("bills", flow);
    expect(told(session)).toEqual([
      "user started a session with Pay the bills.",
      'agent:clerk called ask_person with {"question":"Which account?"}',
      "user:ada answered Which account? A",
      "user:ada returned A",
      'agent:clerk called pay with {"amount":900}',
      'user:ada approved pay {"amount":900}, but with {"amount":90}: a typo',
      'tool:pay returned paid 90, for {"amount":90} of user:ada',
      'agent:clerk called pay with {"amount":80}',
      'user:cy approved pay {"amount":80}',
      "tool:pay returned paid 80",
      'agent:clerk called pay with {"amount":70}',
      'user:cy rejected pay {"amount":70}: paid in May',
      "tool:pay failed: paid in May",
      'agent:clerk called pay with {"amount":60}',
      'user:ada took over pay {"amount":60} and returned paid in cash',
      "user:ada returned paid in cash",
      "agent:clerk replied Done.",
      'user:bob answered archive: {"shelf":3}',
    ]);
    await rath.close();
  });

  it("[G3] of policies are told once where they deny or want agreement, and so is what became of a doubt", () => {
    let session = Session.start("Pay.").append({ type: "tool-call", name: "pay", input: { amount: 5 } });
    const of = session.id;
    const ruling = { type: "policy-decide", of, policies: [], by: "runtime" } as const;
    session = session
      .append({ ...ruling, verdict: "ask", rules: ["large", "night"] })
      .append({ ...ruling, verdict: "ask", rules: ["large", "night"] })
      .append({ ...ruling, verdict: "allow", rules: [] })
      .append({ ...ruling, verdict: "deny", rules: ["strangers"], why: "nobody knows them" })
      .append({ type: "effect-doubt", of, attempt: 1, error: { name: "Error", message: "cut off" } })
      .append({
        type: "effect-settle",
        of,
        decision: "done",
        value: "paid",
        why: "I looked",
        by: "user:ada",
      });
    expect(told(session)).toEqual([
      "user started a session with Pay.",
      'agent called pay with {"amount":5}',
      'runtime required approval of pay {"amount":5} by the rules large, night',
      'runtime denied pay {"amount":5} by the rule strangers: nobody knows them',
      'runtime did not learn how pay {"amount":5} ended: cut off',
      'user:ada settled pay {"amount":5}: it was done with paid: I looked',
    ]);
  });
});
