import { describe, expect, expectTypeOf, it } from "vitest";
import { BudgetError, DescentError } from "../runtime/index.js";
import { Session } from "../session/index.js";
import { type Module, ModuleError, now, parallel, sequence, Workflow, workflow } from "./index.js";
import { says } from "./testing/modules.js";
import { all, factsOf, failed, ran, saidIn, typesOf } from "./testing/ran.js";

describe("workflows", () => {
  it("[W1] hand their parts to the body, and bracket what happens", async () => {
    const ask = says("ask");
    const team = workflow("team", { ask, tell: says("tell") }, async (session, parts) => {
      expectTypeOf(parts.ask).toExtend<Module>();
      expect(parts.ask).toBe(ask);
      return parts.tell.forward(await parts.ask.forward(session));
    });
    const session = await ran(team);
    expect(saidIn(session)).toEqual(["go", "ask", "tell"]);
    expect(typesOf(session)).toEqual([
      "session-start",
      "run-start",
      "module-enter",
      "message-say",
      "module-exit",
      "module-enter",
      "message-say",
      "module-exit",
      "run-end",
    ]);
    expect(all(session, "module-enter").map(({ module }) => module)).toEqual(["ask", "tell"]);
  });

  it("[W1] work on a session without a runtime too", async () => {
    const session = await sequence([says("a"), says("b")]).forward(Session.start("go"));
    expect(saidIn(session)).toEqual(["go", "a", "b"]);
    expect(session.fact.type).toBe("run-end");
  });

  it("[W2] may be classes", async () => {
    class Review extends Workflow {
      readonly coder = says("code");
      readonly critic = says("critique");
      constructor() {
        super("review");
      }
      async forward(session: Session): Promise<Session> {
        return this.critic.forward(await this.coder.forward(session));
      }
    }
    expect(saidIn(await ran(new Review()))).toEqual(["go", "code", "critique"]);
    const nested = await ran(sequence([new Review(), says("done")]));
    expect(all(nested, "module-enter").map(({ module }) => module)).toEqual([
      "review",
      "code",
      "critique",
      "done",
    ]);
  });

  it("[W2] may be classes with a budget", async () => {
    class Late extends Workflow {
      async forward(session: Session): Promise<Session> {
        return (await now(session)).session;
      }
    }
    const { error } = await failed(new Late("late", { budget: { milliseconds: 0 } }));
    expect(error).toBeInstanceOf(BudgetError);
    await ran(new Late("late"));
  });

  it("[W9] a class may call the forward of the class that it extends, in one bracket", async () => {
    class Base extends Workflow {
      readonly first = says("first");
      forward(session: Session): Promise<Session> {
        return this.first.forward(session);
      }
    }
    class More extends Base {
      readonly second = says("second");
      override async forward(session: Session): Promise<Session> {
        return this.second.forward(await super.forward(session));
      }
    }
    const session = await ran(sequence([new More()]));
    expect(saidIn(session)).toEqual(["go", "first", "second"]);
    expect(all(session, "module-enter").map(({ module }) => module)).toEqual(["More", "first", "second"]);
  });

  it("[W3] take plain objects as parts", async () => {
    const plain: Module = {
      name: "plain",
      forward: async (session) => session.say("plainly", { by: "agent" }),
    };
    for (const module of [sequence([plain]), parallel("both", [plain, says("other")])]) {
      const session = await ran(module);
      expect(saidIn(session)).toContain("plainly");
      expect(all(session, "module-enter").map(({ module }) => module)).toContain("plain");
    }
    const inBody = workflow("outer", { plain }, (session, parts) => parts.plain.forward(session));
    expect(saidIn(await ran(inBody))).toEqual(["go", "plainly"]);
    expect(saidIn(await ran(plain))).toEqual(["go", "plainly"]);
  });

  it("[W4] must return a session that descends from the one they were given", async () => {
    const other = Session.start("else");
    const forgetful = workflow("forgetful", async () => other);
    const { error, session } = await failed(sequence([forgetful]));
    expect(error).toBeInstanceOf(DescentError);
    expect(all(session, "module-exit")[0]?.error?.code).toBe("descent-broken");
  });

  it("[W5] refuse a part that is not a module, at once", () => {
    const wrong = [
      () => sequence([{} as Module]),
      () => sequence([{ name: "x" } as Module]),
      () => sequence([{ name: "", forward: async (session: Session) => session }]),
      () => parallel("p", []),
      () => parallel("p", null as unknown as Module[]),
      () => workflow("w", { part: undefined as unknown as Module }, async (session) => session),
      () => workflow("w", {}, undefined as never),
    ];
    for (const make of wrong) expect(make).toThrow(ModuleError);
  });

  it("[W6] are frozen", () => {
    const parts = { a: says("a") };
    const module = workflow("w", parts, async (session) => session);
    expect(Object.isFrozen(module)).toBe(true);
    expect(Object.isFrozen(module.parts)).toBe(true);
    (parts as { b?: Module }).b = says("b");
    expect(Object.keys(module.parts ?? {})).toEqual(["a"]);
  });

  it("[R3] never lose what came before", async () => {
    const session = await ran(sequence([says("a"), parallel("p", [says("b"), says("c")])]), "first words");
    expect(factsOf(session)[0]).toMatchObject({ type: "session-start", text: "first words" });
  });
});
