import { describe, expect, it } from "vitest";
import { scripted } from "../../agent/model/index.js";
import { sandboxTools } from "../../agent/tool/index.js";
import { openRath } from "../../runtime/index.js";
import { storeOf } from "../../runtime/testing/rath.js";
import type { Session } from "../../session/index.js";
import { stateOf, step, withState, workflow } from "../../workflow/index.js";
import { says as word } from "../../workflow/testing/modules.js";
import { all, failed, ran, saidIn } from "../../workflow/testing/ran.js";
import { byModel, routeOf } from "../selector/index.js";
import { type FlowOptions, flow, keep, keptIn } from "./index.js";
import { enteredIn, says, workIn } from "./testing/work.js";

const simple = (steps: FlowOptions["steps"], maxSteps?: number) =>
  flow({ name: "work", steps, ...(maxSteps !== undefined && { maxSteps }) });
const branchesIn = (session: Session) => session.lineage.map(({ kind, branch }) => `${kind} ${branch}`);

describe("a flow", () => {
  it("[F1] begins with the steps that wait for nothing, and goes on with those that listen", async () => {
    const session = await ran(
      simple({
        last: { on: "middle", run: word("c") },
        middle: { on: "first", run: word("b") },
        first: { run: word("a") },
      }),
    );
    expect(saidIn(session)).toEqual(["go", "a", "b", "c"]);
    expect(enteredIn(session)).toEqual(["first", "a", "middle", "b", "last", "c"]);
    expect(branchesIn(session)).toEqual(["start main"]);
  });

  it("[F2] does steps side by side on a branch each, and merges them in the order they are written in", async () => {
    const session = await ran(
      simple({
        draft: { run: says("writer", ["Draft."]) },
        style: { on: "draft", run: says("stylist", [{ text: "Style.", delay: 20 }]) },
        facts: { on: "draft", run: says("checker", ["Facts."]) },
        end: { on: { all: ["style", "facts"] }, run: says("editor", ["Done."]) },
      }),
    );
    expect(workIn(session)).toEqual([
      "main | writer | Draft.",
      "style | stylist | Style.",
      "facts | checker | Facts.",
      "main | editor | Done.",
    ]);
    expect(branchesIn(session)).toEqual(["start main", "fork style", "fork facts", "merge main"]);
    expect(session.transcript).toHaveLength(5);
  });

  it("[F2] brings the files of its branches together", async () => {
    const writes = (name: string) =>
      says(name, [{ tool: "write", input: { path: `${name}.txt`, text: `${name}\n` } }, "Written."], {
        tools: sandboxTools(),
      });
    const lists = says("lister", [{ tool: "list", input: {} }, "Listed."], { tools: sandboxTools() });
    const both = simple({
      a: { run: writes("a") },
      b: { run: writes("b") },
      c: { on: { all: ["a", "b"] }, run: lists },
    });
    const rath = openRath({ store: "memory:" });
    const session = await rath.run(both, rath.start("go").to("virtual"), { name: "files" });
    const files = await rath.filesAt(session);
    expect([await files.text("a.txt"), await files.text("b.txt")]).toEqual(["a\n", "b\n"]);
    expect((await rath.replay("files", both, { mode: "verify" })).id).toBe(session.id);
    await rath.close();
  });

  it("[F3] joins: any begins with each, all begins when everything has happened, once", async () => {
    const session = await ran(
      simple({
        a: { run: word("a") },
        b: { on: "a", run: word("b") },
        any: { on: { any: ["a", "b"] }, run: word("any") },
        all: { on: { all: ["a", "b"] }, run: word("all") },
        mixed: { on: { any: [{ all: ["all", "any"] }, "never"] }, run: word("mixed") },
        never: { on: { all: ["mixed", "none"] }, run: word("never") },
        route: { on: "mixed", route: () => null, labels: ["none"] },
      }),
    );
    expect(saidIn(session)).toEqual(["go", "a", "b", "any", "any", "all", "mixed"]);
    expect(routeOf(session, "route")).toBeNull();
  });

  it("[F4] routes by a rule or a model: the label is an event, the choice is on the record", async () => {
    const judge = scripted('{"route":"bad","why":"too dull"}');
    const session = await ran(
      simple({
        draft: { run: word("draft") },
        judge: { on: "draft", route: byModel(judge), labels: ["good", "bad"] },
        publish: { on: "good", run: word("published") },
        rewrite: { on: "bad", run: word("rewritten") },
        log: { on: "judge", run: word("logged") },
      }),
    );
    expect(saidIn(session)).toEqual(["go", "draft", "rewritten", "logged"]);
    expect(all(session, "route-choose")).toMatchObject([
      { selector: "judge", chosen: "bad", why: "too dull", candidates: [{ name: "good" }, { name: "bad" }] },
    ]);
    expect(workIn(session)).toEqual(['router | router | {"route":"bad","why":"too dull"}']);
  });

  it("[F5] goes round in circles no longer than it may, and the record says so", async () => {
    const turns = (session: Session) => saidIn(session).filter((said) => said === "try").length;
    const circle = (enough: number, maxSteps?: number) =>
      simple(
        {
          begin: { run: word("begin") },
          attempt: { on: { any: ["begin", "again"] }, run: word("try") },
          judge: {
            on: "attempt",
            route: (session) => (turns(session) < enough ? "again" : "good"),
            labels: ["again", "good"],
          },
        },
        maxSteps,
      );
    expect(turns(await ran(circle(3)))).toBe(3);
    const stopped = await ran(circle(50, 6));
    expect(turns(stopped)).toBe(3);
    expect(all(stopped, "budget-stop")).toMatchObject([{ limit: "steps", allowed: 6, spent: 6, asked: 1 }]);
  });

  it("[F6] asks a person, who answers with a label and what they think of it; anything else is asked again", async () => {
    const store = await storeOf();
    const make = () =>
      simple({
        draft: { run: word("draft") },
        consent: {
          on: { any: ["draft", "rewrite"] },
          ask: (session) => ({ text: saidIn(session).at(-1) ?? null }),
          labels: ["yes", "no"],
        },
        rewrite: { on: "no", run: word("rewritten") },
        publish: { on: "yes", run: word("published") },
      });
    const first = openRath({ store });
    expect((await first.run(make(), first.start("go"), { name: "article" })).fact.type).toBe("run-suspend");
    const asked = async () => (await first.pending("article")).map(({ type, what }) => [type, what]);
    expect(await asked()).toEqual([["signal-await", "consent"]]);
    await first.signal("article", "consent", "maybe", "user:bob");
    const second = openRath({ store });
    await second.resume("article", make());
    await second.signal("article", "consent", { outcome: "no", feedback: "Too dull." }, "user:ada");
    const third = openRath({ store });
    await third.resume("article", make());
    await third.signal("article", "consent", "yes", "user:ada");
    const session = await openRath({ store }).resume("article", make());
    expect(saidIn(session)).toEqual(["go", "draft", "Too dull.", "rewritten", "published"]);
    expect(all(session, "signal-await").map(({ what }) => what)).toEqual([
      { question: { text: "draft" }, labels: ["yes", "no"] },
      { question: { text: "draft" }, labels: ["yes", "no"], problem: '"maybe" is none of yes, no' },
      { question: { text: "rewritten" }, labels: ["yes", "no"] },
    ]);
    expect(all(session, "route-choose")).toMatchObject([
      { selector: "consent", chosen: "no", why: "Too dull.", chooser: "person", by: "user:ada" },
      { selector: "consent", chosen: "yes", by: "user:ada" },
    ]);
    expect((await third.replay("article", make(), { mode: "verify" })).id).toBe(session.id);
  });

  it("[F7] keeps what steps keep, over branches, kills and runs, and repeats nothing that is finished", async () => {
    const store = await storeOf();
    let charged = 0;
    const charge = step(
      "charge",
      async () => {
        charged += 1;
        return charged;
      },
      { effect: "write" },
    );
    const make = () =>
      simple({
        pay: {
          run: workflow("pay", { charge }, async (session, parts) => {
            const { session: paid, value } = await parts.charge.call(session);
            return keep(paid, { receipt: value, count: 1 });
          }),
        },
        note: { run: workflow("noting", async (session) => keep(session, { note: "n" })) },
        wait: { on: { all: ["pay", "note"] }, ask: "Go on?", labels: ["yes"] },
        end: {
          on: "yes",
          run: workflow("ending", async (session) => {
            const { count, receipt } = keptIn(session);
            return keep(session, { count: Number(count) + Number(receipt) });
          }),
        },
      });
    const first = openRath({ store });
    await first.run(make(), first.start("go"), { name: "order" });
    await first.close();
    const second = openRath({ store });
    await second.signal("order", "wait", "yes", "user:ada");
    const session = await second.resume("order", make());
    expect([charged, keptIn(session)]).toEqual([1, { receipt: 1, count: 2, note: "n" }]);
    expect(branchesIn(session)).toEqual(["start main", "fork pay", "fork note", "merge main"]);
    expect((await second.replay("order", make(), { mode: "verify" })).id).toBe(session.id);
    expect(charged).toBe(1);
  });

  it("[F8] that fails ends with the evidence of all its branches", async () => {
    const down = says("down", [new Error("no such model")], { retry: { attempts: 1 } });
    const { error, session } = await failed(
      simple({
        good: { run: says("good", ["Fine."]) },
        bad: { run: down },
        after: { on: { all: ["good", "bad"] }, run: word("after") },
      }),
    );
    expect(error).toMatchObject({ code: "model-failed" });
    expect(branchesIn(session)).toEqual(expect.arrayContaining(["fork good", "fork bad"]));
    expect(saidIn(session)).not.toContain("after");
    const wrong = await failed(simple({ judge: { route: () => "ugly", labels: ["good", "bad"] } }));
    expect(wrong.error).toMatchObject({ code: "choice-failed" });
    const spent = openRath({ store: "memory:" });
    const stopped = await spent.run(
      simple({ a: { run: says("a", ["A."]) }, b: { on: "a", run: says("b", ["B."]) } }),
      spent.start("go"),
      { budget: { steps: 1 } },
    );
    expect(workIn(stopped)).toEqual(["main | a | A."]);
    expect(all(stopped, "budget-stop")).toMatchObject([{ limit: "steps", allowed: 1 }]);
    await spent.close();
  });

  it("[F9] is a module like others, and refused when it makes no sense", async () => {
    const work = simple({ a: { run: says("writer", ["A."]) }, b: { on: "a", run: word("b") } });
    expect(Object.isFrozen(work)).toBe(true);
    expect(stateOf(work)).toMatchObject({ maxSteps: 100, on: { a: null, b: "a" }, "a.writer.maxSteps": 50 });
    const other = await ran(withState(work, { maxSteps: 1, "a.writer.instructions": "Be brief." }));
    expect(saidIn(other)).toHaveLength(2);
    expect(all(other, "agent-configure")).toMatchObject([{ instructions: "Be brief." }]);
    expect(() => withState(work, { on: {} })).toThrow(/code, not a value/);
    const refused: [unknown, RegExp][] = [
      [{}, /no steps/],
      [{ a: { on: "a", run: word("a") } }, /wait for others/],
      [{ a: { run: word("a") }, b: { on: "c", run: word("b") } }, /never happens/],
      [{ a: { run: word("a") }, b: { on: { any: [] }, run: word("b") } }, /listens to/],
      [{ a: { run: word("a") }, b: { on: { any: ["a"], all: ["a"] }, run: word("b") } }, /listens to/],
      [{ a: { run: word("a"), route: () => null } }, /has run, route/],
      [{ a: { route: () => null } }, /has route/],
      [{ a: {} }, /nothing to do/],
      [{ a: 3 }, /is 3/],
      [{ a: { run: {} } }, /without forward/],
      [{ a: { ask: "?", labels: [] } }, /labels/],
      [{ a: { route: 3, labels: ["x"] } }, /neither a rule/],
    ];
    for (const [steps, message] of refused) expect(() => simple(steps as never)).toThrow(message);
    expect(() => simple({ draft: { run: word("a") }, b: { on: "drift", run: word("b") } })).toThrow(
      expect.objectContaining({ hint: 'did you mean "draft"?' }),
    );
    expect(() => flow({ name: "a", step: {} } as never)).toThrow(
      expect.objectContaining({ hint: 'did you mean "steps"?' }),
    );
  });
});
