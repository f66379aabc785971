import { describe, expect, it } from "vitest";
import { scripted } from "../../agent/model/index.js";
import { openRath } from "../../runtime/index.js";
import { storeOf } from "../../runtime/testing/rath.js";
import type { Session } from "../../session/index.js";
import { sequence, signal, stateOf, withState, workflow } from "../../workflow/index.js";
import { all, failed, ran } from "../../workflow/testing/ran.js";
import { byModel, routeOf, vote } from "../selector/index.js";
import { groupChat, mentions } from "./index.js";
import { says, workIn } from "./testing/work.js";

const speaker = (name: string) =>
  says(name, [(_prompt, turn) => `${name} ${turn}`], { description: `Knows ${name}.` });
const [planner, coder, tester] = [speaker("planner"), speaker("coder"), speaker("tester")];
const members = [planner, coder, tester];

/** Who was chosen, and among whom. */
const choices = (session: Session) =>
  all(session, "route-choose").map(({ chosen, candidates }) => [
    chosen,
    candidates.map(({ name }) => name).join(" "),
  ]);

describe("a group chat", () => {
  it("[G1] lets each speak in turn, and every choice is a route-choose among those who might have spoken", async () => {
    const session = await ran(groupChat("team", members, { maxTurns: 4 }));
    expect(workIn(session)).toEqual([
      "main | planner | planner 0",
      "main | coder | coder 0",
      "main | tester | tester 0",
      "main | planner | planner 1",
    ]);
    expect(choices(session)).toEqual([
      ["planner", "planner coder tester"],
      ["coder", "coder tester"],
      ["tester", "planner tester"],
      ["planner", "planner coder"],
    ]);
    expect(all(session, "route-choose")[0]).toMatchObject({
      selector: "team",
      chooser: "round robin",
      candidates: [{ name: "planner", description: "Knows planner." }, {}, {}],
    });
    expect(all(session, "budget-stop")).toMatchObject([{ limit: "turns", allowed: 4 }]);
  });

  it("[G2] asks a rule, a model or a vote who speaks next", async () => {
    const rule = (session: Session) => (session.usage.calls === 0 ? "tester" : "coder");
    expect(workIn(await ran(groupChat("team", members, { speaker: rule, maxTurns: 2 })))).toEqual([
      "main | tester | tester 0",
      "main | coder | coder 0",
    ]);
    const router = scripted('{"route":"coder","why":"code first"}', '{"route":"tester","why":"now test"}');
    const byRouter = await ran(groupChat("team", members, { speaker: byModel(router), maxTurns: 2 }));
    expect(workIn(byRouter)).toEqual([
      'router | router | {"route":"coder","why":"code first"}',
      "main | coder | coder 0",
      'router | router | {"route":"tester","why":"now test"}',
      "main | tester | tester 0",
    ]);
    expect(all(byRouter, "route-choose")).toMatchObject([
      { chosen: "coder", why: "code first", by: "agent:router" },
      { chosen: "tester", why: "now test" },
    ]);
    const voters = vote([() => "tester", () => "tester", () => "coder"]);
    const voted = await ran(groupChat("team", members, { speaker: voters, maxTurns: 1 }));
    expect(all(voted, "route-choose")).toMatchObject([{ chosen: "tester", chooser: "vote" }]);
  });

  it("[G3] lets nobody speak twice in a row unless that is allowed, or there is nobody else", async () => {
    const stubborn = () => "coder";
    const twice = await ran(
      groupChat("team", members, { speaker: stubborn, allowRepeats: true, maxTurns: 2 }),
    );
    expect(choices(twice).map(([chosen]) => chosen)).toEqual(["coder", "coder"]);
    const alone = await ran(groupChat("team", members, { candidates: () => ["coder"], maxTurns: 2 }));
    expect(choices(alone)).toEqual([
      ["coder", "coder"],
      ["coder", "coder"],
    ]);
  });

  it("[G4] offers only the candidates, and refuses a rule that names others", async () => {
    const narrow = groupChat("team", members, {
      candidates: (session, names) => names.filter((name) => session.usage.calls > 0 || name !== "planner"),
      maxTurns: 2,
    });
    expect(choices(await ran(narrow))).toEqual([
      ["coder", "coder tester"],
      ["tester", "planner tester"],
    ]);
    for (const candidates of [() => ["nobody"], () => [], () => "coder", async () => ["coder"]]) {
      const { error } = await failed(groupChat("team", members, { candidates: candidates as never }));
      expect(error).toMatchObject({ code: "rule-refused", data: { rule: "candidates" } });
    }
  });

  it("[G5] asks who fails to choose again, so many times, and then lets who is next in turn speak", async () => {
    const nonsense = byModel({ model: scripted(() => "I would say the coder!"), name: "babbler" });
    const session = await ran(groupChat("team", members, { speaker: nonsense, attempts: 2, maxTurns: 1 }));
    expect(all(session, "step-failure")).toHaveLength(2);
    // Each attempt is told what is wrong twice.
    expect(workIn(session).filter((work) => work.startsWith("babbler"))).toHaveLength(6);
    expect(all(session, "route-choose")).toMatchObject([
      { chosen: "planner", chooser: "round robin", why: "babbler failed to choose, 2 times" },
    ]);
    const stubborn = await ran(groupChat("team", members, { speaker: () => "coder", maxTurns: 2 }));
    expect(all(stubborn, "route-choose")).toMatchObject([
      { chosen: "coder", chooser: "rule" },
      { chosen: "tester", chooser: "round robin", why: "rule failed to choose, 3 times" },
    ]);
    // Nobody can choose when the budget is spent, and nobody can speak: it ends.
    const rath = openRath({ store: "memory:" });
    const chair = byModel(scripted('{"route":"coder","why":"a"}', '{"route":"tester","why":"b"}'));
    const team = groupChat("team", members, { speaker: chair });
    const spent = await rath.run(team, rath.start("go"), { name: "spent", budget: { steps: 2 } });
    expect(workIn(spent)).toHaveLength(2);
    expect(all(spent, "step-failure")).toHaveLength(3);
    expect(all(spent, "route-choose").map(({ chosen }) => chosen)).toEqual(["coder", "tester"]);
    expect((await rath.replay("spent", team, { mode: "verify" })).id).toBe(spent.id);
    await rath.close();
  });

  it("[G6] ends when no speaker is chosen, or when it is enough, and says why", async () => {
    const router = scripted('{"route":"coder","why":"one word"}', '{"route":"none","why":"all is said"}');
    const over = await ran(groupChat("team", members, { speaker: byModel(router) }));
    expect(all(over, "route-choose").at(-1)).toMatchObject({
      chosen: null,
      why: "all is said",
      by: "agent:router",
    });
    expect(routeOf(over, "team")).toBeNull();
    const enough = await ran(groupChat("team", members, { until: mentions("coder 0") }));
    expect(all(enough, "route-choose").at(-1)).toMatchObject({ chosen: null, why: 'coder said "coder 0"' });
  });

  it("[G7] lets errors of its members through, also those of a member that chooses itself", async () => {
    const inner = groupChat("inner", members, { candidates: () => ["nobody"] });
    const { error } = await failed(groupChat("team", [planner, inner], { maxTurns: 3 }));
    expect(error).toMatchObject({ code: "rule-refused", data: { where: 'group chat "inner"' } });
  });

  it("[G8] goes on after a kill where it was, and in turn in the next run", async () => {
    const store = await storeOf();
    let asked = 0;
    const person = workflow("person", async (session) => (await signal("person").call(session)).session);
    const rule = (session: Session): string => {
      asked += 1;
      return routeOf(session, "team") === "coder" ? "person" : "coder";
    };
    const make = () => groupChat("team", [coder, person], { speaker: rule, maxTurns: 3 });
    const first = openRath({ store });
    expect((await first.run(make(), first.start("go"), { name: "talk" })).fact.type).toBe("run-suspend");
    await first.signal("talk", "person", "go on", "user:ada");
    const second = openRath({ store });
    const session = await second.resume("talk", make());
    expect([asked, workIn(session).length]).toEqual([3, 2]);
    expect((await second.replay("talk", make(), { mode: "verify" })).id).toBe(session.id);
    const again = await ran(
      sequence([
        groupChat("team", members, { maxTurns: 1 }),
        workflow("between", async (given) => given.say("go on")),
        groupChat("team", members, { maxTurns: 1 }),
      ]),
    );
    expect(choices(again).map(([chosen]) => chosen)).toEqual(["planner", "coder"]);
  });

  it("[G9] is a module like others, and refused when it makes no sense", async () => {
    const team = groupChat("team", members, { speaker: () => "coder", maxTurns: 5 });
    expect(Object.isFrozen(team)).toBe(true);
    expect(stateOf(team)).toMatchObject({ maxTurns: 5, allowRepeats: false, attempts: 3, speaker: "rule" });
    const other = withState(team, { allowRepeats: true, maxTurns: 2, attempts: 1 });
    expect(choices(await ran(other)).map(([chosen]) => chosen)).toEqual(["coder", "coder"]);
    expect(() => withState(team, { speaker: "router" })).toThrow(/code, not a value/);
    expect(() => withState(team, { allowRepeats: "yes" })).toThrow(
      expect.objectContaining({ code: "rule-refused" }),
    );
    for (const options of [{ attempts: 0 }, { speaker: 3 }, { candidates: [] }, { maxTurns: 1.5 }])
      expect(() => groupChat("team", members, options as never)).toThrow(
        expect.objectContaining({ code: "module-refused" }),
      );
    const [first] = members;
    expect(() => groupChat("team", [...members, { ...first }] as never)).toThrow(
      `two of its members are called "${first?.name}"`,
    );
    expect(() => groupChat("team", members, { allowRepeat: true } as never)).toThrow(
      expect.objectContaining({ hint: 'did you mean "allowRepeats"?' }),
    );
  });
});
