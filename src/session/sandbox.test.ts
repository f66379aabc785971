import { describe, expect, it } from "vitest";
import {
  BeyondHorizonError,
  type FactInput,
  type Json,
  type SandboxState,
  Session,
  sandboxView,
  seedView,
} from "./index.js";

const trunk = Session.start("task");
const state = (session: Session): SandboxState => session.view(sandboxView);
const open = (session: Session, incarnation = 1, sandbox = "box"): Session =>
  session.append({
    type: "sandbox-open",
    sandbox,
    incarnation,
    provider: "local",
    isolation: "none",
    spec: {},
    status: { phase: "running" },
    capabilities: {},
    tree: null,
  });
type Word = "sandbox-suspend" | "sandbox-resume" | "sandbox-lose" | "sandbox-close";
const told = (session: Session, type: Word, incarnation = 1, sandbox = "box"): Session =>
  session.append({ type, sandbox, incarnation, why: "so" } as FactInput);

describe("the sandbox of a session", () => {
  it("[SB1] gets its identity from the fact that placed it, and another with every move", () => {
    expect(state(trunk)).toEqual({ place: null, open: null, incarnation: 0 });
    const placed = trunk.to("local");
    expect(state(placed)).toEqual({ place: placed.id, open: null, incarnation: 0 });
    expect(state(placed.say("x").say("y")).place).toBe(placed.id);
    const moved = placed.to("cube");
    expect(state(moved).place).toBe(moved.id);
    expect(state(moved.to("cube")).place).not.toBe(moved.id);
  });

  it("[SB2] is open from its opening until it is closed or lost, and opened again as the next incarnation", () => {
    const placed = trunk.to("local");
    const opened = open(placed);
    expect(state(opened)).toEqual({ place: placed.id, open: { id: "box", incarnation: 1 }, incarnation: 1 });
    expect(state(opened.say("x"))).toEqual(state(opened));
    for (const word of ["sandbox-lose", "sandbox-close"] as const) {
      const gone = told(opened, word);
      expect(state(gone)).toEqual({ place: placed.id, open: null, incarnation: 1 });
      expect(state(open(gone, 2))).toEqual({
        place: placed.id,
        open: { id: "box", incarnation: 2 },
        incarnation: 2,
      });
    }
  });

  it("[SB3] that is suspended is still open, until it goes on, is lost or is closed", () => {
    const opened = open(trunk.to("local"));
    const asleep = told(opened, "sandbox-suspend");
    expect(state(asleep)).toEqual({ ...state(opened), suspended: true });
    expect(state(told(asleep, "sandbox-resume"))).toEqual(state(opened));
    expect(state(told(asleep, "sandbox-lose"))).toEqual({ ...state(opened), open: null });
    expect(state(told(asleep, "sandbox-close"))).toEqual({ ...state(opened), open: null });
    expect(state(open(told(asleep, "sandbox-lose"), 2)).suspended).toBeUndefined();
    expect(state(told(opened, "sandbox-resume"))).toEqual(state(opened));
  });

  it("[SB4] is not closed, lost or put to sleep by word of an older one", () => {
    const now = open(told(open(trunk.to("local")), "sandbox-lose"), 2);
    for (const word of ["sandbox-suspend", "sandbox-resume", "sandbox-lose", "sandbox-close"] as const) {
      expect(state(told(now, word, 1))).toEqual(state(now));
      expect(state(told(now, word, 2, "another"))).toEqual(state(now));
      expect(state(told(trunk, word))).toEqual(state(trunk));
    }
    expect(state(told(told(now, "sandbox-suspend", 2), "sandbox-resume", 1)).suspended).toBe(true);
  });

  it("[SB5] is never shared by two branches: a fork and a merge have one of their own, and know where it comes from", () => {
    const opened = open(trunk.to("local"));
    const [one, two] = [opened.fork("one"), opened.fork("two")];
    for (const fork of [one, two])
      expect(state(fork)).toEqual({
        place: fork.id,
        open: null,
        incarnation: 0,
        parent: { id: "box", incarnation: 1, by: "fork" },
      });
    expect(state(opened).open).toEqual({ id: "box", incarnation: 1 });
    const busy = open(one, 1, "box-one");
    expect(state(busy)).toEqual({ place: one.id, open: { id: "box-one", incarnation: 1 }, incarnation: 1 });
    // A fork of what was never opened comes from where that came from.
    expect(state(two.fork("three")).parent).toEqual({ id: "box", incarnation: 1, by: "fork" });
    const merged = busy.merge(two);
    expect(state(merged)).toEqual({
      place: merged.id,
      open: null,
      incarnation: 0,
      parent: { id: "box-one", incarnation: 1, by: "fork" },
    });
    expect(state(busy.merge(two, { adopt: "theirs" })).parent?.id).toBe("box");
    expect(state(busy.merge([two, opened], { adopt: 2 })).parent?.id).toBe("box");
    const places = [opened, one, two, merged, two.fork("three")].map((each) => state(each).place);
    expect(new Set(places).size).toBe(places.length);
    // Also where nobody said where the session is.
    const unplaced = open(trunk);
    expect(state(unplaced.fork("one"))).toMatchObject({ open: null, parent: { id: "box" } });
    expect(state(trunk.fork("one"))).toEqual(state(trunk));
    expect(state(trunk.fork("one").merge(trunk.fork("two")))).toEqual(state(trunk));
  });

  it("[SB6] of a session that moved or was detached is another one, too", () => {
    const opened = open(trunk.to("local"));
    const moved = opened.to("cube");
    expect(state(moved)).toEqual({
      place: moved.id,
      open: null,
      incarnation: 0,
      parent: { id: "box", incarnation: 1, by: "migrate" },
    });
    expect(state(told(opened, "sandbox-suspend").fork("a")).suspended).toBeUndefined();
    const detached = opened.detach();
    expect(state(detached)).toEqual({ place: detached.id, open: null, incarnation: 0 });
    expect(state(trunk.detach())).toEqual(state(trunk));
    expect(state(told(opened, "sandbox-close").fork("a")).parent).toBeUndefined();
  });

  it("[SB7] is known past the horizon, and frozen", () => {
    const opened = open(trunk.to("local"));
    for (const session of [trunk, opened, told(opened, "sandbox-suspend"), opened.fork("a")]) {
      const { line, id, depth } = session;
      const head = Session.restore(line, undefined, { inline: 4096 }, { id, depth });
      expect(() => state(head)).toThrow(BeyondHorizonError);
      const saved = JSON.parse(JSON.stringify(sandboxView.save?.(state(session), session))) as Json;
      seedView(head, sandboxView, sandboxView.load?.(saved) as SandboxState);
      for (const one of [head, session]) {
        expect(Object.isFrozen(state(one))).toBe(true);
        expect(Object.isFrozen(state(one).open ?? state(one).parent ?? state(one))).toBe(true);
      }
      expect(state(head)).toEqual(state(session));
      expect(state(head.fork("b")).parent).toEqual(state(session.fork("b")).parent);
    }
  });
});
