import { describe, expect, it } from "vitest";
import { digestOf, type Principal, readFact, Session } from "../session/index.js";
import type { Store } from "../store/index.js";
import { sleep, step } from "../workflow/index.js";
import { forward, type Module, perform } from "./index.js";
import { labelsView } from "./policy/index.js";
import { moduleOf } from "./testing/module.js";
import { rathOf, storeOf } from "./testing/rath.js";
import { all, factsOf, only } from "./testing/record.js";
import { World } from "./testing/world.js";

describe("who acts in a run", () => {
  it("[T14] is the innermost module, for everything that a body does without saying who", async () => {
    const inner = moduleOf("inner", async (session) => session.fork("deep").say("from inside"));
    const repair = moduleOf("repair", async (session) => {
      const side = await inner.forward(session.fork("a").to("virtual"));
      const other = session.fork("b").append({ type: "note", kind: "mine" });
      return side.merge(other, { adopt: "ours", why: "fewer failing tests" }).say("outside again");
    });
    const ended = await rathOf().run(repair, Session.start("Fix it.", { by: "user:ada" }));
    expect(all(ended, "branch-fork").map(({ name, by }) => [name, by])).toEqual([
      ["a", "workflow:repair"],
      ["deep", "workflow:inner"],
      ["b", "workflow:repair"],
    ]);
    expect(all(ended, "message-say").map(({ by }) => by)).toEqual(["workflow:inner", "workflow:repair"]);
    for (const type of ["branch-merge", "placement-change", "note"] as const)
      expect(only(all(ended, type)).by).toBe("workflow:repair");
    expect(factsOf(ended).filter(({ by }) => by.startsWith("user"))).toHaveLength(1);
    // What is done with it afterwards is done outside of the run.
    expect(ended.say("thanks").fact.by).toBe("user");
  });

  it("[T14] is the module that asks for a step or a timer, not an agent that does not exist", async () => {
    const look = step("look", () => "seen", { effect: "read" });
    const flow = moduleOf("flow", async (session) => sleep(1).forward((await look.call(session)).session));
    const ended = await rathOf().run(flow, Session.start("Look."));
    expect(only(all(ended, "step-call")).by).toBe("workflow:flow");
    expect(only(all(ended, "timer-set")).by).toBe("workflow:sleep");
  });

  it("[T14] is the agent where an agent acts, and the named principal where one is named", async () => {
    const acting: Module = {
      name: "coder",
      kind: "agent",
      forward: (session) => forward(acting, session, async (entered) => entered.fork("own")),
    };
    const flow = moduleOf("flow", async (session) =>
      (await acting.forward(session)).say("as I was told", { by: "user:ada" }),
    );
    const ended = await flow.forward(rathOf().start("go"));
    expect(only(all(ended, "branch-fork")).by).toBe("agent:coder");
    expect(only(all(ended, "message-say")).by).toBe("user:ada");
  });

  it("[T14] a run says on whose behalf it acts: the principal that began it, else the last speaker", async () => {
    const rath = rathOf();
    const flow = moduleOf("flow", async (session) => session.say("from the program"));
    const behalf = (session: Session) => all(session, "run-start").at(-1)?.for;
    const start = rath.start("Fix it.", { by: "user:ada" });
    const first = await rath.run(flow, start);
    expect(behalf(first)).toBe("user:ada");
    // What the program said in between is nobody's wish.
    expect(behalf(await rath.run(flow, first))).toBe("user:ada");
    expect(behalf(await rath.run(flow, first.say("and this", { by: "user:bob" })))).toBe("user:bob");
    expect(behalf(await rath.run(flow, first, { by: "service:cron" }))).toBe("service:cron");
    expect(behalf(await rath.run(flow, Session.start("hm", { by: "agent:x" })))).toBe("runtime");
  });

  it("[T14] a model is told the words of a body, as trusted as the program, and no person said them", async () => {
    const flow = moduleOf("flow", async (session) => session.say("Now the tests."));
    const ended = await flow.forward(rathOf().start("go", { by: "user:ada" }));
    expect(ended.transcript).toEqual([
      { role: "user", content: "go" },
      { role: "user", content: "Now the tests." },
    ]);
    expect(Object.keys(ended.view(labelsView)).sort()).toEqual(["system", "user"]);
  });

  it("[T14] a run of version 0.1 replays, resumes and branches into what-ifs under the old names", async () => {
    const world = new World();
    const flow = (last: string) =>
      moduleOf("flow", async (session) => {
        const one = await perform(session.fork("a").say("ask"), world.step("a"));
        return (await perform(one.merge(session.fork("b")).say(last), world.step("b"))).say("done");
      });
    const rath = rathOf({ store: await storeOf() });
    const old = await asRecordedBy01(await rath.store(), await rath.run(flow("same"), rath.start("go")));
    const calls = world.calls.length;
    expect(all(old, "message-say").map(({ by }) => by)).toEqual(["user", "user", "user"]);
    expect((await rath.replay("old", flow("same"), { mode: "verify" })).id).toBe(old.id);
    expect((await rath.resume("old", flow("same"))).id).toBe(old.id);
    expect(world.calls).toHaveLength(calls);
    const other = await rath.replay("old", flow("other"), { mode: "what-if", name: "other" });
    // Nothing that was finished is done again; the record of one run has one way to name who acts.
    expect(world.calls).toHaveLength(calls);
    expect(new Set(all(other, "message-say").map(({ by }) => by))).toEqual(new Set<Principal>(["user"]));
    expect((await rath.replay("other", flow("other"), { mode: "verify" })).id).toBe(other.id);
  });
});

/** The same history as version 0.1 wrote it: nobody is named in the start of a run, and a body acts as "user" or "agent". */
async function asRecordedBy01(store: Store, session: Session): Promise<Session> {
  const ids = new Map<string, string>();
  const made = new Map<string, Session>();
  let last = session;
  for (const node of session.history()) {
    const line = node.line
      .replaceAll(/[0-9a-f]{64}/g, (id) => ids.get(id) ?? id)
      .replace(/,"for":"[^"]*"/, "")
      .replace('"by":"workflow:flow"', node.fact.type === "step-call" ? '"by":"agent"' : '"by":"user"');
    const id = digestOf(line);
    const parents = node.parents.map((parent) => made.get(parent.id) as Session);
    last = Session.restore(line, parents, Session.realmOf(session), { id });
    ids.set(node.id, id);
    made.set(node.id, last);
    expect(readFact(line, undefined)).not.toHaveProperty("for");
  }
  await store.save(last, { name: "old" });
  return last;
}
