import { describe, expect, it } from "vitest";
import type { Session } from "../session/index.js";
import {
  branch,
  describe as describeModule,
  digestOfModule,
  loop,
  type Module,
  map,
  mermaidOf,
  parallel,
  race,
  rebuild,
  retry,
  type State,
  StateError,
  sequence,
  sleep,
  stateOf,
  step,
  Workflow,
  withState,
  workflow,
} from "./index.js";
import { says } from "./testing/modules.js";
import { ran, saidIn } from "./testing/ran.js";

/** A module with something to learn: the word it says. */
function learner(word: string): Module {
  const module = {
    name: "learner",
    kind: "learner",
    state: { word },
    forward: async (session: Session) => session.say(word, { by: "agent" }),
    [rebuild]: (state: State) => learner(state.word as string),
  };
  return module;
}

const nested = () =>
  sequence("top", [
    loop("again", learner("a"), { max: 2 }),
    parallel(
      "side",
      { one: learner("b"), two: retry("twice", learner("c"), { attempts: 1 }) },
      { adopt: "one" },
    ),
    branch("route", () => "here", {
      routes: {
        here: workflow("flow", { deep: learner("d") }, (session, { deep }) => deep.forward(session)),
      },
    }),
    race("race", { only: learner("e") }),
    map("map", learner("f"), { inputs: () => ["x"] }),
    step("effect", () => 1, { effect: "read" }),
    sleep(0),
  ]);

describe("modules as data", () => {
  it("[D1] are described as a tree and as a chart", () => {
    const odd = 'a"]; click <b> #35; \n‮';
    const description = describeModule(sequence(odd, [says("x"), parallel("p", { first: says("y") })]));
    expect(description).toMatchObject({
      name: odd,
      kind: "sequence",
      parts: { x: { kind: "workflow" }, p: { kind: "parallel", parts: { first: { name: "y" } } } },
    });
    const chart = mermaidOf(description);
    const lines = chart.trim().split("\n");
    expect(lines[0]).toBe("flowchart TD");
    for (const line of lines.slice(1))
      expect(line).toMatch(
        /^ {2}n\d+(\["[^"<>\n]*<br\/><i>[^"<>\n]*<\/i>"\]| -->.* n\d+| -- "[^"\n]*" --> n\d+)$/,
      );
    expect(chart).toContain('-- "first" -->');
    expect(chart).toContain("n0 --> n1");
  });

  it("[D2] give their state and take another, deep", async () => {
    const module = nested();
    const state = stateOf(module);
    expect(state).toMatchObject({
      "again.max": 2,
      "again.learner.word": "a",
      "side.one.word": "b",
      "side.two.attempts": 1,
      "side.two.learner.word": "c",
      "route.here.deep.word": "d",
      "race.only.word": "e",
      "map.learner.word": "f",
      "effect.effect": "read",
    });
    expect(withState(module, state)).toBe(module);
    const digest = digestOfModule(module);
    const changed = withState(module, {
      "again.max": 1,
      "again.learner.word": "A",
      "side.two.learner.word": "C",
      "side.adopt": "two",
      "route.here.deep.word": "D",
      "race.only.word": "E",
      "map.learner.word": "F",
    });
    expect(digestOfModule(module)).toBe(digest);
    expect(digestOfModule(changed)).not.toBe(digest);
    expect(saidIn(await ran(module))).toEqual(["go", "a", "a", "b", "d", "e", "x", "f"]);
    expect(saidIn(await ran(changed))).toEqual(["go", "A", "C", "D", "E", "x", "F"]);
    expect(stateOf(changed)).toEqual({
      ...state,
      "again.max": 1,
      "again.learner.word": "A",
      "side.two.learner.word": "C",
      "side.adopt": "two",
      "route.here.deep.word": "D",
      "race.only.word": "E",
      "map.learner.word": "F",
    });
    const budget = workflow("w", {}, async (session) => session, { budget: { steps: 3 } });
    expect(stateOf(withState(budget, { budget: { steps: 4 } }))).toEqual({ budget: { steps: 4 } });
  });

  it("[D3] refuse names and values that they do not have", () => {
    const module = nested();
    expect(() => withState(module, { "again.learner.wrd": "x" })).toThrow(
      'did you mean "again.learner.word"',
    );
    expect(() => withState(module, { "side.twoo.learner.word": "x" })).toThrow(
      'did you mean "side.two.learner.word"',
    );
    expect(() => withState(learner("a"), { "desk.forced": "x" })).toThrow('it has "word"');
    expect(() => withState(module, { attempts: 3 })).toThrow('did you mean "side.two.attempts"');
    expect(() => withState(module, { "again.mx": 3 })).toThrow(StateError);
    expect(() => withState(module, { "effect.effect": "write" })).toThrow("it says what the module is");
    expect(() => withState(says("x"), { y: 1 })).toThrow("has no state");
    expect(() => withState(module, { "again.max": 0 })).toThrow("max");
  });

  it("[D4] refuse to be changed where they do not say how", () => {
    const flow: Module = { name: "flow", parts: { part: learner("a") }, forward: async (session) => session };
    expect(withState(flow, stateOf(flow))).toBe(flow);
    expect(() => withState(flow, { "part.word": "b" })).toThrow(StateError);
    class Able extends Workflow {
      readonly #part: Module;
      constructor(part: Module) {
        super("able");
        this.#part = part;
      }
      override get parts(): { readonly [name: string]: Module } {
        return { part: this.#part };
      }
      forward(session: Session): Promise<Session> {
        return this.#part.forward(session);
      }
      override [rebuild](_state: State, { part }: { readonly [name: string]: Module }): Module {
        return new Able(part as Module);
      }
    }
    const able = new Able(learner("a"));
    expect(stateOf(withState(able, { "part.word": "b" }))).toEqual({ "part.word": "b" });
  });

  it("[W9] the modules in the fields of a class are its parts, and tell two of its objects apart", async () => {
    class Repair extends Workflow {
      readonly coder = learner("a");
      readonly critics = [says("x"), says("y")];
      readonly others = { z: says("z") };
      readonly note = "not a module";
      async forward(session: Session): Promise<Session> {
        let next = await this.coder.forward(session);
        for (const critic of this.critics) next = await critic.forward(next);
        return this.others.z.forward(next);
      }
    }
    const repair = new Repair();
    expect(repair.name).toBe("Repair");
    expect(Object.keys(describeModule(repair).parts ?? {})).toEqual([
      "coder",
      "critics.0",
      "critics.1",
      "others.z",
    ]);
    expect(stateOf(repair)).toEqual({ "coder.word": "a" });
    const other = withState(repair, { "coder.word": "b" });
    expect(other).toBeInstanceOf(Repair);
    expect(stateOf(other)).toEqual({ "coder.word": "b" });
    expect(stateOf(repair)).toEqual({ "coder.word": "a" });
    expect(digestOfModule(other)).not.toBe(digestOfModule(repair));
    expect(saidIn(await ran(repair))).toEqual(["go", "a", "x", "y", "z"]);
    expect(saidIn(await ran(other))).toEqual(["go", "b", "x", "y", "z"]);
  });

  it("[W9] a class keeps its own state in fields, and refuses what it cannot take", () => {
    class Careful extends Workflow {
      threshold = 1;
      override get state(): State {
        return { ...super.state, threshold: this.threshold, fixed: 7 };
      }
      async forward(session: Session): Promise<Session> {
        return session.say(`t=${this.threshold}`);
      }
    }
    const careful = new Careful("careful", { budget: { steps: 3 } });
    expect(stateOf(withState(careful, { threshold: 5 }))).toMatchObject({
      threshold: 5,
      budget: { steps: 3 },
    });
    expect(stateOf(careful)).toMatchObject({ threshold: 1 });
    expect(() => withState(careful, { fixed: 8 })).toThrow(StateError);
    expect(() => withState(careful, { budget: { stepz: 1 } })).toThrow("no limit");
    class Arrow extends Careful {
      override forward = async (session: Session) => session;
    }
    expect(() => new Arrow()).toThrow(TypeError);
    class Twice extends Workflow {
      readonly a = { "b.c": says("one") };
      readonly "a.b" = { c: says("two") };
      async forward(session: Session): Promise<Session> {
        return session;
      }
    }
    expect(() => new Twice().parts).toThrow('two of its parts are called "a.b.c"');
  });
});
