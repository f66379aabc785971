import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  BeyondHorizonError,
  type ConflictsState,
  conflictsView,
  type Digest,
  digestOf,
  type FilesState,
  filesView,
  type Json,
  placementView,
  Session,
  seedView,
  type Unmerged,
} from "./index.js";
import { campaign } from "./testing/campaign.js";

const [A, B, C, D, E] = ["a", "b", "c", "d", "e"].map((digit) => digit.repeat(64)) as [
  Digest,
  Digest,
  Digest,
  Digest,
  Digest,
];
const trunk = Session.start("task").append({
  type: "workspace-import",
  source: "./work",
  after: A,
  files: 1,
  bytes: 1,
});
const change = (session: Session, after: Digest): Session =>
  session.append({ type: "workspace-change", before: session.files.tree, after, paths: [] });
/** Does what a runtime does about the next side that is not merged: brings its files in. */
const settle = (session: Session, after: Digest, next = session.files.unmerged?.[0]): Session =>
  session.append({
    type: "workspace-merge",
    base: next?.base ?? null,
    ours: session.files.tree as Digest,
    theirs: next?.theirs ?? after,
    after,
    paths: [],
    conflicts: [],
  });
const files = (session: Session): FilesState => session.files;
const unmerged = (...sides: readonly [base: Digest | null, theirs: Digest][]): readonly Unmerged[] =>
  sides.map(([base, theirs]) => ({ base, theirs }));

describe("the files of a session", () => {
  it("[FI1] are those of its last import, change, merge or resolution", () => {
    expect(files(Session.start("task"))).toEqual({ tree: null });
    expect(files(trunk)).toEqual({ tree: A });
    expect(files(change(trunk, B))).toEqual({ tree: B });
    expect(files(trunk.say("words").to("local").fork("side"))).toEqual({ tree: A });
    const merged = settle(trunk, C, { base: null, theirs: B });
    expect(files(merged)).toEqual({ tree: C });
    const choice = { merge: merged.id, after: D, paths: [], choices: "ours", by: "user:ada" } as const;
    expect(files(merged.append({ type: "workspace-resolve", ...choice }))).toEqual({ tree: D });
    expect(files(change(Session.start("task"), A))).toEqual({ tree: A });
  });

  it("[FI2] of a merge that adopts a side are that side's, and what it had not merged", () => {
    const [ours, theirs, third] = [change(trunk.fork("a"), B), change(trunk.fork("b"), C), trunk.fork("c")];
    expect(files(ours.merge(theirs, { adopt: "ours" }))).toEqual({ tree: B });
    expect(files(ours.merge(theirs, { adopt: "theirs" }))).toEqual({ tree: C });
    expect(files(ours.merge([theirs, third], { adopt: 2 }))).toEqual({ tree: A });
    const open = ours.merge(theirs);
    expect(files(third.merge(open, { adopt: "theirs" }))).toEqual(files(open));
    expect(files(open.merge(third, { adopt: "theirs" }))).toEqual({ tree: A });
  });

  it("[FI3] of a merge where one side changed nothing are the other's", () => {
    const [ours, theirs] = [trunk.fork("a").say("x"), change(trunk.fork("b"), B)];
    expect(files(ours.merge(theirs))).toEqual({ tree: B });
    expect(files(theirs.merge(ours))).toEqual({ tree: B });
    expect(files(change(trunk.fork("a"), B).merge(change(trunk.fork("b"), B)))).toEqual({ tree: B });
    // Before there were any, with a session that is ahead, and with one that is behind.
    const bare = Session.start("task");
    expect(
      files(
        bare
          .fork("a")
          .say("x")
          .merge(change(bare.fork("b"), B)),
      ),
    ).toEqual({ tree: B });
    expect(files(bare.fork("a").merge(bare.fork("b")))).toEqual({ tree: null });
    expect(files(trunk.merge(change(change(trunk, B), C)))).toEqual({ tree: C });
    expect(files(change(trunk, B).merge(trunk))).toEqual({ tree: B });
    // Ahead by a merge that is not settled: all of that is theirs.
    const ahead = change(trunk.fork("a"), B).merge(change(trunk.fork("b"), C));
    expect(files(trunk.merge(ahead))).toEqual(files(ahead));
    expect(files(ahead.merge(trunk))).toEqual(files(ahead));
    // There and back is a change, and so says the side that made it.
    const back = change(change(trunk.fork("a"), B), A);
    expect(files(back.merge(change(trunk.fork("b"), C)))).toEqual({ tree: C });
  });

  it("[FI4] that both sides changed stay ours, and theirs are named with what they had in common", () => {
    const [ours, theirs] = [change(trunk.fork("a"), B), change(trunk.fork("b"), C)];
    expect(files(ours.merge(theirs))).toEqual({ tree: B, unmerged: unmerged([A, C]) });
    expect(files(theirs.merge(ours))).toEqual({ tree: C, unmerged: unmerged([A, B]) });
    const bare = Session.start("task");
    expect(files(change(bare.fork("a"), B).merge(change(bare.fork("b"), C)))).toEqual({
      tree: B,
      unmerged: unmerged([null, C]),
    });
    // Unrelated histories have nothing in common.
    const other = change(Session.start("other"), C);
    expect(files(trunk.merge(other))).toEqual({ tree: A, unmerged: unmerged([null, C]) });
    expect(files(trunk.merge(Session.start("other")))).toEqual({ tree: A });
    expect(files(Session.start("other").merge(trunk))).toEqual({ tree: A });
    // What they had in common is not where one of them began, but where they parted last.
    const later = change(trunk, B);
    expect(files(change(later.fork("a"), C).merge(change(later.fork("b"), D)))).toEqual({
      tree: C,
      unmerged: unmerged([B, D]),
    });
    // What is changed afterwards does not make the other side's files go away.
    expect(files(change(ours.merge(theirs), D))).toEqual({ tree: D, unmerged: unmerged([A, C]) });
  });

  it("[FI5] after a criss-cross are compared with a session that both came from", () => {
    const [one, two] = [change(trunk.fork("a"), B), change(trunk.fork("b"), C)];
    const ours = settle(one.merge(two), D);
    const theirs = settle(two.merge(one), E);
    const { tree, unmerged: sides = [] } = files(ours.merge(theirs));
    expect(tree).toBe(D);
    expect(sides.length).toBe(1);
    expect(sides[0]?.theirs).toBe(E);
    expect([B, C]).toContain(sides[0]?.base);
    // Where each side decided for its own, neither wins without a question.
    const mine = settle(one.merge(two), B);
    expect(files(mine.merge(settle(two.merge(one), D)))).toEqual({ tree: B, unmerged: unmerged([C, D]) });
    expect(files(settle(two.merge(one), D).merge(mine))).toEqual({ tree: D, unmerged: unmerged([C, B]) });
  });

  it("[FI6] of many sides are each compared with what that side had in common with those before it", () => {
    const late = change(trunk, B);
    const [ours, early, next] = [
      change(late.fork("a"), C),
      change(trunk.fork("b"), D),
      change(late.fork("c"), E),
    ];
    expect(files(ours.merge([early, next]))).toEqual({ tree: C, unmerged: unmerged([A, D], [B, E]) });
    expect(files(ours.merge([next, early]))).toEqual({ tree: C, unmerged: unmerged([B, E], [A, D]) });
    // One that went on from another has the say, as with placements.
    const first = change(trunk.fork("first"), B);
    const further = change(first.fork("further"), C);
    expect(files(trunk.say("x").merge([first, further]))).toEqual({ tree: C });
    expect(files(trunk.say("x").merge([further, first]))).toEqual({ tree: C });
    const apart = change(trunk.fork("apart"), D);
    expect(files(apart.merge([first, further]))).toEqual({ tree: D, unmerged: unmerged([A, B], [B, C]) });
    // Sides that agree are merged once.
    expect(files(apart.merge([first, change(trunk.fork("same"), B)])).unmerged).toEqual(unmerged([A, B]));
  });

  it("[FI7] that are merged settle the side they were merged with, and no other", () => {
    const sides = [B, C, D].map((tree, index) => change(trunk.fork(`${index}`), tree)) as [
      Session,
      Session,
      Session,
    ];
    const open = sides[0].merge(sides.slice(1));
    expect(files(open)).toEqual({ tree: B, unmerged: unmerged([A, C], [A, D]) });
    const first = settle(open, E);
    expect(files(first)).toEqual({ tree: E, unmerged: unmerged([A, D]) });
    expect(files(settle(first, C))).toEqual({ tree: C });
    expect(files(settle(open, E, open.files.unmerged?.[1]))).toEqual({ tree: E, unmerged: unmerged([A, C]) });
    // Files that come back from a module inside a call are no side of a merge.
    expect(files(settle(open, E, { base: B, theirs: E }))).toEqual({
      tree: E,
      unmerged: open.files.unmerged,
    });
  });

  it("[FI8] that one side has merged do not come back through the other", () => {
    const open = change(trunk.fork("a"), B).merge(change(trunk.fork("b"), C));
    expect(files(open.fork("x").say("1").merge(open.fork("y").say("2")))).toEqual(files(open));
    const done = settle(open.fork("x"), D);
    expect(files(done.merge(open.fork("y").say("2")))).toEqual({ tree: D });
    expect(files(open.fork("y").say("2").merge(done))).toEqual({ tree: D });
    const busy = change(open.fork("y"), E);
    expect(files(busy)).toEqual({ tree: E, unmerged: unmerged([A, C]) });
    expect(files(done.merge(busy))).toEqual({ tree: D, unmerged: unmerged([B, E]) });
    expect(files(busy.merge(done))).toEqual({ tree: E, unmerged: unmerged([B, D]) });
    const other = change(trunk.fork("c"), E);
    expect(files(open.merge(other))).toEqual({ tree: B, unmerged: unmerged([A, C], [A, E]) });
    expect(files(other.merge(open))).toEqual({ tree: E, unmerged: unmerged([A, C], [A, B]) });
  });

  it("[FI9] go along when a session is detached", () => {
    const detached = change(trunk, B).say("x").detach();
    expect(files(detached)).toEqual({ tree: B });
    expect(files(change(detached, C))).toEqual({ tree: C });
    expect(files(Session.start("task").detach())).toEqual({ tree: null });
    // It has nothing in common with where it came from but its words.
    expect(files(change(trunk, C).merge(detached))).toEqual({ tree: C, unmerged: unmerged([null, B]) });
  });

  it("[FI13] are not left behind in silence when a session is detached", () => {
    const open = change(trunk.fork("a"), B).merge([change(trunk.fork("b"), C), change(trunk.fork("c"), D)]);
    for (const [session, count] of [
      [open, 2],
      [settle(open.say("x"), E), 1],
    ] as const) {
      const before = session.id;
      expect(() => session.detach({ why: "alone" })).toThrow(
        expect.objectContaining({
          code: "files-unmerged",
          hint: expect.stringContaining("mergeFiles({"),
          data: { session: session.id, unmerged: session.files.unmerged },
        }),
      );
      expect([session.files.unmerged?.length, session.id]).toEqual([count, before]);
    }
    expect(files(settle(settle(open, E), B).detach())).toEqual({ tree: B });
    // With a side chosen there is nothing left to be merged.
    expect(files(open.merge(trunk.fork("d"), { adopt: "theirs" }).detach())).toEqual({ tree: A });
  });

  it("[FI10] are known past the horizon, and what is not is a typed error", () => {
    const open = change(trunk.fork("a"), B).merge(change(trunk.fork("b"), C));
    for (const session of [Session.start("task"), trunk, open]) {
      const saved = JSON.parse(JSON.stringify(filesView.save?.(files(session), session))) as Json;
      const head = Session.restore(
        session.line,
        undefined,
        { inline: 4096 },
        { id: session.id, depth: session.depth },
      );
      expect(() => head.files).toThrow(BeyondHorizonError);
      seedView(head, filesView, filesView.load?.(saved) as FilesState);
      seedView(head, placementView, null);
      expect(files(head)).toEqual(files(session));
      expect(Object.isFrozen(files(head)) && Object.isFrozen(files(head).unmerged ?? files(head))).toBe(true);
      expect(files(change(head, D).merge(change(head.fork("b"), E)))).toEqual(
        files(change(session, D).merge(change(session.fork("b"), E))),
      );
    }
  });

  it("[FI11] are frozen, the same asked early or late, and none is lost, on any graph of forks and merges", () => {
    const step = fc.record({
      act: fc.constantFrom("change", "change", "fork", "merge", "merge", "many", "settle", "say"),
      on: fc.nat(),
      and: fc.nat(),
      early: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40, size: "max" }), (program) => {
        const made = [trunk];
        const pick = (number: number): Session => made[number % made.length] as Session;
        for (const [index, { act, on, and, early }] of program.entries()) {
          const session = pick(on);
          const tree = digestOf(`${index}`);
          if (early) session.files;
          if (act === "change") made.push(change(session, tree));
          else if (act === "fork") made.push(session.fork(`${index}`));
          else if (act === "say") made.push(session.say(`${index}`));
          else if (act === "settle") {
            if (session.files.unmerged !== undefined) made.push(settle(session, tree));
          } else {
            const others = [pick(and), ...(act === "many" ? [pick(on + and), pick(and + 1)] : [])];
            const different = [...new Map(others.map((other) => [other.id, other])).values()].filter(
              ({ id }) => id !== session.id,
            );
            if (different.length > 0) made.push(session.merge(different));
          }
        }
        for (const session of made) {
          const { tree, unmerged: sides = [] } = session.files;
          expect(Object.isFrozen(session.files) && Object.isFrozen(sides[0] ?? session.files)).toBe(true);
          // Every tree that nobody went on from is there, or waits to be merged.
          const [ends, used] = [new Set<Digest>(), new Set<Digest | null>()];
          for (const { fact } of session.history()) {
            if (fact.type === "workspace-import") ends.add(fact.after);
            if (fact.type === "workspace-change") ends.add(fact.after) && used.add(fact.before);
            if (fact.type === "workspace-merge")
              ends.add(fact.after) && used.add(fact.ours) && used.add(fact.theirs);
          }
          const known = new Set([tree, ...sides.map(({ theirs }) => theirs)]);
          for (const end of ends) if (!used.has(end)) expect(known).toContain(end);
          for (const { base, theirs } of sides) {
            expect(ends).toContain(theirs);
            if (base !== null) expect(ends).toContain(base);
          }
        }
        const again = new Map<string, Session>();
        for (const session of (made.at(-1) as Session).history())
          again.set(
            session.id,
            Session.restore(
              session.line,
              session.parentIds.map((id) => again.get(id) as Session),
              { inline: 4096 },
            ),
          );
        for (const session of made.filter(({ id }) => again.has(id)))
          expect(again.get(session.id)?.files).toEqual(session.files);
      }),
      { numRuns: campaign(1_000) },
    );
  });

  it("[FI12] of merges of thousands of sides cost what the sides have of their own", () => {
    let long = trunk;
    for (let step = 0; step < 5000; step++) long = long.say("x");
    const sides = Array.from({ length: 3000 }, (_, index) => long.fork(`${index}`).say("y"));
    expect(files(long.merge(sides))).toEqual({ tree: A });
    const busy = sides.map((side, index) => change(side, digestOf(`${index}`)));
    const merged = change(long, B).merge(busy);
    expect(merged.files.unmerged?.length).toBe(3000);
    expect(merged.files.unmerged?.at(-1)).toEqual({ base: A, theirs: digestOf("2999") });
  });
});

describe("the conflicts of a session", () => {
  const mark = (session: Session, after: Digest, conflicts: readonly Json[] = [{ path: "a" }]): Session =>
    session.append({
      type: "workspace-merge",
      base: A,
      ours: session.files.tree,
      theirs: C,
      after,
      paths: [],
      conflicts,
    });
  const resolve = (session: Session, merge: string): Session =>
    session.append({
      type: "workspace-resolve",
      merge,
      after: E,
      paths: [],
      choices: "ours",
      by: "user:ada",
    });

  it("[FI14] are the merges of files that nobody has decided, oldest first", () => {
    expect(trunk.conflicts).toEqual([]);
    expect(mark(trunk, B, []).conflicts).toEqual([]);
    const one = mark(trunk, B);
    const two = mark(one.say("x"), D);
    expect(two.conflicts).toEqual([one.id, two.id]);
    expect(two.say("more").conflicts).toEqual([one.id, two.id]);
    expect(change(two, E).conflicts).toEqual([one.id, two.id]);
    expect(resolve(two, two.id).conflicts).toEqual([one.id]);
    expect(resolve(resolve(two, one.id), two.id).conflicts).toEqual([]);
    expect(resolve(two, "f".repeat(64)).conflicts).toEqual([one.id, two.id]);
    expect(Object.isFrozen(two.conflicts)).toBe(true);
    expect(two.view(conflictsView).open).toBe(two.conflicts);
  });

  it("[FI14] of a merge are those of all sides, each once, but for what either has decided", () => {
    const shared = mark(trunk, B);
    const [ours, theirs] = [mark(shared.fork("a"), D), mark(shared.fork("b"), E)];
    expect(ours.merge(theirs).conflicts).toEqual([shared.id, ours.id, theirs.id]);
    expect(ours.merge(resolve(theirs, shared.id)).conflicts).toEqual([ours.id, theirs.id]);
    expect(resolve(ours, shared.id).merge(theirs).conflicts).toEqual([ours.id, theirs.id]);
  });

  it("[FI14] of a branch that lost are gone with its files", () => {
    const shared = mark(trunk, B);
    const [ours, theirs] = [mark(shared.fork("a"), D), mark(shared.fork("b"), E)];
    expect(ours.merge(theirs, { adopt: "ours" }).conflicts).toEqual([shared.id, ours.id]);
    expect(ours.merge(theirs, { adopt: "theirs" }).conflicts).toEqual([shared.id, theirs.id]);
    // Its files are still marked where they were not decided.
    expect(resolve(ours, shared.id).merge(theirs, { adopt: "theirs" }).conflicts).toEqual([
      shared.id,
      theirs.id,
    ]);
    const third = mark(trunk.fork("c"), C);
    const chosen = ours.merge(theirs, { adopt: "ours" });
    expect(third.merge(chosen).conflicts).toEqual([third.id, shared.id, ours.id]);
    expect(chosen.merge(third).conflicts).toEqual([shared.id, ours.id, third.id]);
  });

  it("[FI14] of a branch that lost stay where another branch still has its marks", () => {
    const marked = mark(trunk.fork("y"), B);
    const goneOn = change(marked.fork("z"), D);
    const chosen = trunk.fork("x").merge(marked, { adopt: "ours" });
    expect(chosen.conflicts).toEqual([]);
    expect(goneOn.merge(chosen).conflicts).toEqual([marked.id]);
    expect(chosen.merge(goneOn).conflicts).toEqual([marked.id]);
  });

  it("[FI14] are known past the horizon, and need no recursion", () => {
    const marked = mark(trunk, B);
    const head = Session.restore(
      marked.line,
      undefined,
      { inline: 4096 },
      { id: marked.id, depth: marked.depth },
    );
    expect(() => head.conflicts).toThrow(BeyondHorizonError);
    const saved = JSON.parse(
      JSON.stringify(conflictsView.save?.(marked.view(conflictsView), marked)),
    ) as Json;
    seedView(head, conflictsView, conflictsView.load?.(saved) as ConflictsState);
    expect(head.conflicts).toEqual([marked.id]);
    expect(resolve(head, marked.id).conflicts).toEqual([]);
    let long = marked;
    for (let round = 0; round < 5000; round++)
      long = long.fork("a").merge(mark(long.fork("b"), D), { adopt: round % 2 === 0 ? "ours" : "theirs" });
    expect(long.conflicts.length).toBe(2501);
  });
});
