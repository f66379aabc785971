import { describe, expect, it } from "vitest";
import { diff, keepingView, MergeError, type Message, PlacementMismatchError, Session } from "./index.js";
import { reply } from "./testing/program.js";
import { rebuilt } from "./testing/record.js";
import { wordsOf } from "./testing/words.js";

const said = (session: Session): unknown[] =>
  session.transcript.map((message: Message) =>
    "content" in message ? wordsOf(message.content) : (message.output ?? message.error ?? null),
  );
const trunk = Session.start("task").append(reply(100));

describe("fork", () => {
  it("[F1] records where, why, when and by whom it branched", () => {
    const fork = trunk.fork("small", { why: "try it", by: "agent:coder", at: "2026-01-01T00:00:00Z" });
    expect(fork.parents).toEqual([trunk]);
    // biome-ignore format: one fact
    expect(fork.lineage.at(-1)).toEqual({
      kind: "fork", id: fork.id, parents: [trunk.id], at: "2026-01-01T00:00:00Z", by: "agent:coder", branch: "small", why: "try it",
    });
  });

  it("[F2] carries usage, conversation, placement and lineage", () => {
    const placed = trunk.to("local");
    const fork = placed.fork("a").append(reply(1));
    expect(fork.usage).toEqual({ input: 101, output: 2, cached: 2, reasoning: 1, calls: 2, cost: null });
    expect(said(fork)).toEqual(["task", "r100", "r1"]);
    expect(fork.placement).toEqual({ sandbox: "local" });
    expect(fork.lineage.map((step) => step.kind)).toEqual(["start", "fork"]);
  });

  it("[F6] without a name it is numbered, for this session alone", () => {
    const next = trunk.say("more");
    expect(
      [next.fork(), next.fork(undefined, { why: "again" }), next.fork("own"), next.fork()].map(
        ({ branch }) => branch,
      ),
    ).toEqual(["fork-1", "fork-2", "own", "fork-3"]);
    expect(trunk.say("other").fork().branch).toBe("fork-1");
    expect(trunk.fork("small").fork().fork().branch).toBe("small.1.1");
    const merged = next.fork("fork-1").merge(next.say("on"), { adopt: "theirs" });
    expect([merged.branch, merged.fork().branch]).toEqual(["main", "fork-2"]);
  });

  it("[U2] the cost is known when every price is", () => {
    const priced = { ...reply(1), cost: 0.25 };
    expect(Session.start("go").usage.cost).toBe(0);
    const side = Session.start("go").append(priced);
    expect(side.fork("a").append(priced).merge(side.fork("b").append(priced)).usage.cost).toBe(0.75);
    const [dime, twenty] = [0.1, 0.2].map((cost) => ({ ...priced, cost })) as [typeof priced, typeof priced];
    expect(Session.start("go").append(dime).append(twenty).usage.cost).toBe(0.3);
    expect(side.append(reply(1)).append(priced).usage.cost).toBeNull();
  });

  it("[U3] the text is the newest answer to what the user said last", () => {
    const asked = Session.start("How many?");
    expect([asked.text, asked.append(reply(7)).text]).toEqual(["", "r7"]);
    expect(asked.append(reply(7)).say("And now?").text).toBe("");
    expect(
      asked.say(
        [
          { type: "reasoning", text: "hm" },
          { type: "text", text: "12" },
        ],
        { role: "assistant" },
      ).text,
    ).toBe("12");
  });

  it("[F3] never sees its siblings, and the trunk sees neither", () => {
    const [one, two] = [trunk.fork("one").say("mine").to("cube"), trunk.fork("two").say("yours")];
    expect(said(one)).toEqual(["task", "r100", "mine"]);
    expect(said(two)).toEqual(["task", "r100", "yours"]);
    expect(said(trunk)).toEqual(["task", "r100"]);
    expect([two.placement, trunk.placement]).toEqual([undefined, undefined]);
    expect([trunk.branch, one.branch, two.branch]).toEqual(["main", "one", "two"]);
  });

  it("[F4] shares its past: a fork is one node that points back", () => {
    const forks = Array.from({ length: 100 }, (_, number) => trunk.fork(`f${number}`));
    for (const fork of forks) {
      expect(fork.parents[0]).toBe(trunk);
      expect(fork.depth).toBe(trunk.depth + 1);
    }
  });
});

describe("merge", () => {
  const ours = trunk.fork("a").append(reply(1));
  const theirs = trunk.fork("b").append(reply(2));

  it("[M1] counts shared history once", () => {
    const merged = ours.merge(theirs);
    expect(merged.usage.input).toBe(103);
    expect(merged.usage.calls).toBe(3);
    expect(said(merged)).toEqual(["task", "r100", "r1", "r2"]);
  });

  it("[M2] counts once after a criss-cross, a merge of merges and a merge of many", () => {
    const [left, right] = [ours.merge(theirs), theirs.merge(ours)];
    expect(left.merge(right).usage.input).toBe(103);
    expect(said(left.merge(right))).toEqual(["task", "r100", "r1", "r2"]);
    expect(
      diff(left, right)
        .base.map((base) => base.id)
        .sort(),
    ).toEqual([ours.id, theirs.id].sort());
    const third = trunk.fork("c").append(reply(4));
    expect(left.merge([third, right]).usage.input).toBe(107);
    expect(ours.merge([theirs, third]).merge(third.append(reply(8))).usage.input).toBe(115);
    expect(ours.merge(trunk).usage.input).toBe(101);
    expect(trunk.merge(ours).usage.input).toBe(101);
  });

  it("[M3] adopt chooses whose conversation, placement and branch go on", () => {
    const [here, there] = [ours.to("local"), theirs.to("cube")];
    const third = trunk.fork("c").append(reply(4)).to("e2b");
    const of = (session: Session): unknown[] => [
      said(session).at(-1),
      session.placement?.sandbox,
      session.branch,
    ];
    expect(of(here.merge(there, { adopt: "ours" }))).toEqual(["r1", "local", "a"]);
    expect(of(here.merge(there, { adopt: "theirs" }))).toEqual(["r2", "cube", "b"]);
    expect(of(here.merge([there, third], { adopt: 2 }))).toEqual(["r4", "e2b", "c"]);
    expect(of(here.merge([there, third], { adopt: there }))).toEqual(["r2", "cube", "b"]);
    expect(of(here.merge([there, third], { adopt: rebuilt(there) }))).toEqual(["r2", "cube", "b"]);
  });

  it("[M4] keeps the loser's evidence and cost", () => {
    const merged = ours.merge(theirs, { adopt: "ours" });
    expect(said(merged)).toEqual(["task", "r100", "r1"]);
    expect([...merged.history()].some((session) => session.id === theirs.id)).toBe(true);
    expect(merged.descendsFrom(theirs)).toBe(true);
    expect(merged.usage.input).toBe(103);
    expect(merged.lineage.map((step) => step.branch)).toEqual(["main", "a", "b", "a"]);
  });

  it("[M5] records the strategy, who chose, when and why, and every parent in order", () => {
    const merged = ours.merge(theirs, { adopt: "theirs", by: "user:ada", why: "shorter" });
    expect(merged.parentIds).toEqual([ours.id, theirs.id]);
    expect(merged.fact).toMatchObject({
      type: "branch-merge",
      adopt: "theirs",
      by: "user:ada",
      why: "shorter",
    });
    expect(merged.lineage.at(-1)).toMatchObject({
      kind: "merge",
      parents: [ours.id, theirs.id],
      adopt: "theirs",
      by: "user:ada",
      why: "shorter",
    });
  });

  it("[M6] a merge without meaning is refused", () => {
    // biome-ignore format: a table
    const attempts = [
      () => ours.merge(ours), () => ours.merge(rebuilt(ours)), () => ours.merge([]), () => ours.merge([theirs, theirs]),
      () => ours.merge(theirs, { adopt: 2 }), () => ours.merge(theirs, { adopt: -1 }), () => ours.merge(theirs, { adopt: 0.5 }),
      () => ours.merge(theirs, { adopt: trunk }), () => ours.merge([theirs, trunk], { adopt: "theirs" }), () => ours.merge(theirs, { adopt: "mine" as "ours" }),
    ];
    for (const attempt of attempts) expect(attempt).toThrow(MergeError);
  });

  it('[M12] "none" keeps all sides, prefers none, and goes on with the trunk', () => {
    const placed = trunk.to("local");
    const trials = [1, 2, 3].map((number) => placed.fork(`trial-${number}`).append(reply(number)).to("cube"));
    const [first, ...others] = trials as [Session, ...Session[]];
    const gathered = first.merge(others, { adopt: "none", why: "trials" });
    for (const session of [gathered, rebuilt(gathered), placed.merge(trials, { adopt: "none" })]) {
      expect(said(session)).toEqual(["task", "r100"]);
      expect(session.usage).toMatchObject({ input: 106, calls: 4 });
      expect([session.branch, session.placement?.sandbox]).toEqual(["main", "local"]);
    }
    expect(gathered.fact).toMatchObject({ type: "branch-merge", adopt: "none", why: "trials" });
    expect(gathered.lineage.at(-1)).toMatchObject({ kind: "merge", adopt: "none", branch: "main" });
    // A trunk that went on meanwhile goes on, in whatever place it stands.
    const later = trunk.say("meanwhile");
    expect(said(later.merge(ours, { adopt: "none" }))).toEqual(["task", "r100", "meanwhile"]);
    expect(said(ours.merge([theirs, later], { adopt: "none" }))).toEqual(["task", "r100", "meanwhile"]);
    // What was gathered does not come back through a merge of both.
    expect(said(gathered.merge(first.say("late")))).toEqual(["task", "r100", "late"]);
    // Two that went on without a fork are sides like others; histories that share nothing leave ours as it is.
    expect(said(trunk.say("x").merge(trunk.say("y"), { adopt: "none" }))).toEqual(["task", "r100"]);
    expect(said(Session.start("one").merge(Session.start("two"), { adopt: "none" }))).toEqual(["one"]);
    // Gathering again and again does not recurse.
    let again = trunk;
    for (let round = 0; round < 3_000; round++)
      again = again.fork("a").say("a").merge(again.fork("b").say("b"), { adopt: "none" });
    expect(said(again)).toEqual(["task", "r100"]);
  });

  it("[M7] what a side had not adopted does not come back through the other", () => {
    const rejected = trunk.fork("x").say("rejected");
    const chosen = ours.merge(rejected, { adopt: "ours" });
    expect(said(theirs.merge(chosen))).toEqual(["task", "r100", "r2", "r1"]);
    expect(said(chosen.merge(theirs))).toEqual(["task", "r100", "r1", "r2"]);
    expect(said(chosen.merge(rejected.say("later")))).toEqual(["task", "r100", "r1", "later"]);
  });

  it("[M8] what a side summed up does not come back through the other", () => {
    const compressed = ours.append({
      type: "context-compress",
      from: [...trunk.history()][0]?.id as string,
      to: trunk.id,
      summary: "in short",
    });
    expect(said(compressed)).toEqual(["in short", "r1"]);
    expect(said(compressed.merge(theirs))).toEqual(["in short", "r1", "r2"]);
    expect(said(rebuilt(compressed.merge(theirs)))).toEqual(["in short", "r1", "r2"]);
  });

  it("[M9] a call made before the sides parted shows the answer that either got", () => {
    const asked = trunk.append({ type: "tool-call", name: "t", input: null });
    const answered = asked.fork("y").append({ type: "tool-result", of: asked.id, output: "done" });
    const waiting = asked.fork("x").say("meanwhile");
    for (const merged of [
      waiting.merge(answered),
      answered.merge(waiting),
      rebuilt(waiting.merge(answered)),
    ]) {
      expect(said(merged)).toEqual(["task", "r100", "done", "meanwhile"]);
      expect(merged.pending).toEqual([]);
    }
  });

  it("[M10] merging a session that is ahead gives its conversation, and one that is behind adds nothing", () => {
    const ahead = trunk.say("x").append({
      type: "context-compress",
      from: [...trunk.history()][0]?.id as string,
      to: trunk.id,
      summary: "s",
    });
    expect(said(trunk.merge(ahead))).toEqual(["s", "x"]);
    expect(said(ahead.merge(trunk))).toEqual(["s", "x"]);
  });

  it("[M11] unrelated histories merge side by side", () => {
    const other = Session.start("other").append(reply(7));
    const merged = ours.merge(other);
    expect(diff(ours, other).base).toEqual([]);
    expect(said(merged)).toEqual(["task", "r100", "r1", "other", "r7"]);
    expect(merged.usage.input).toBe(108);
  });

  it("[B6] a merge with an erasable session stays erasable, on whichever side it is", () => {
    const erasable = Session.start("private", { inline: 0 });
    for (const merged of [ours.merge(erasable), erasable.merge(ours), ours.merge([theirs, erasable])]) {
      expect(merged.view(keepingView).inline).toBe(0);
      expect(merged.say("secret words").line).not.toContain("secret words");
    }
  });
});

describe("placement", () => {
  it("[P1] `to` leaves a fact and a new value; nothing is moved in place", () => {
    const placed = trunk.to("local", { workspace: "./repo" }, { by: "user:ada" });
    expect(trunk.placement).toBeUndefined();
    expect(placed.placement).toEqual({ sandbox: "local", spec: { workspace: "./repo" } });
    expect(placed.fact).toMatchObject({ type: "placement-change", sandbox: "local", by: "user:ada" });
    expect(placed.to("cube").placement).toEqual({ sandbox: "cube" });
    expect(placed.placement?.sandbox).toBe("local");
  });

  it("[P2] sides that moved apart are a mismatch until someone chooses; a side that stayed has no say", () => {
    const [local, cube] = [trunk.fork("a").to("local"), trunk.fork("b").to("cube")];
    expect(() => local.merge(cube)).toThrow(PlacementMismatchError);
    expect(() => local.merge([trunk.fork("c"), cube])).toThrow(/hint: move one side first/);
    expect(local.merge(cube.to("local")).placement?.sandbox).toBe("local");
    expect(trunk.fork("c").merge(cube).placement?.sandbox).toBe("cube");
    expect(cube.merge(trunk.fork("c")).placement?.sandbox).toBe("cube");
    const moved = local.fork("d").to("e2b");
    expect(local.say("x").merge(moved).placement?.sandbox).toBe("e2b");
    expect(trunk.fork("c").merge([cube, trunk.fork("e").to("cube")]).placement?.sandbox).toBe("cube");
  });
});

describe("detach", () => {
  const origin = trunk.fork("a").to("local").say("hi");

  it("[D1] starts a new root that names where it came from", () => {
    const root = origin.detach({ why: "handed over", by: "agent:a" });
    expect(root.parents).toEqual([]);
    expect(root.depth).toBe(0);
    expect(root.fact).toMatchObject({
      type: "session-detach",
      from: origin.id,
      why: "handed over",
      by: "agent:a",
    });
    expect(root.lineage).toEqual([
      expect.objectContaining({ kind: "detach", from: origin.id, why: "handed over" }),
    ]);
    expect(root.descendsFrom(origin)).toBe(false);
    expect(root.usage.calls).toBe(0);
    expect(origin.detach().id).not.toBe(origin.detach().id);
  });

  it("[D2] brings the conversation and the placement along", () => {
    const root = origin.detach().say("more");
    expect(said(root)).toEqual([...said(origin), "more"]);
    expect(root.placement).toEqual(origin.placement);
    expect(said(rebuilt(root))).toEqual(said(root));
  });

  it("[D3] of an erasable session is erasable under a key of its own", () => {
    const erasable = Session.start("private words", { inline: 0 });
    const root = erasable.detach();
    expect(root.line).not.toContain("private words");
    expect(root.view(keepingView).inline).toBe(0);
    expect(root.view(keepingView).key).not.toBe(erasable.view(keepingView).key);
  });

  it("[P3] of many sides the one that went on from where another had moved has the say", () => {
    const trunk = Session.start("go").to("A");
    const first = trunk.fork("one").to("B");
    const second = first.fork("two").to("C");
    for (const others of [
      [first, second],
      [second, first],
    ])
      expect(trunk.merge(others).placement).toEqual({ sandbox: "C" });
    expect(first.merge([second, trunk]).placement).toEqual({ sandbox: "C" });
    expect(() => trunk.merge([first, trunk.fork("x").to("D")])).toThrow(PlacementMismatchError);
  });
});
