import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Session } from "../../session/index.js";
import { campaign } from "../../session/testing/campaign.js";
import { Facts } from "./facts.js";

const time = (second: number): string => new Date(second * 1000).toISOString();

/** Random graphs: each step forks, goes on, or merges earlier sessions; now and then a new root. */
const graphs = fc
  .array(fc.tuple(fc.nat(), fc.nat(), fc.nat(9)), { minLength: 1, maxLength: 60 })
  .map((steps) => {
    const sessions = [Session.start("root", { nonce: "0", at: time(0) })];
    for (const [one, other, kind] of steps) {
      const ours = sessions[one % sessions.length] as Session;
      const theirs = sessions[other % sessions.length] as Session;
      const at = time(sessions.length);
      if (kind === 9) sessions.push(Session.start("root", { nonce: at, at }));
      else if (kind > 5 && ours.id !== theirs.id) sessions.push(ours.merge(theirs, { at }));
      else sessions.push(ours.say("x", { at }));
    }
    return sessions;
  });

function factsOf(sessions: readonly Session[]): Facts {
  const facts = new Facts();
  for (const { id, line, parentIds } of sessions) facts.add({ id, line, parents: parentIds });
  return facts;
}

const past = (session: Session): string[] => [...session.history()].map(({ id }) => id);

describe("the index of facts", () => {
  it("[IX1] history is in the order of Session.history(), and `without` leaves out whole pasts", () => {
    fc.assert(
      fc.property(graphs, fc.nat(), fc.nat(), (sessions, one, other) => {
        const index = factsOf(sessions);
        const head = sessions[one % sessions.length] as Session;
        const known = sessions[other % sessions.length] as Session;
        const ids = (rows: readonly number[]): string[] => rows.map((row) => index.id(row));
        expect(ids(index.history([index.row(head.id)]))).toEqual(past(head));
        const skipped = new Set(past(known));
        expect(ids(index.history([index.row(head.id)], [index.row(known.id)]))).toEqual(
          past(head).filter((id) => !skipped.has(id)),
        );
        expect(index.size(index.row(head.id))).toBe(past(head).length);
        expect(index.descends([head.id], known.id)).toBe(head.descendsFrom(known));
        expect(index.children(index.row(known.id)).map((row) => index.id(row))).toEqual(
          sessions.filter((session) => session.parentIds.includes(known.id)).map(({ id }) => id),
        );
      }),
      { numRuns: campaign(600) },
    );
  });

  it("[IX2] a tail hangs from its first fact alone, and is the longest that fits", () => {
    fc.assert(
      fc.property(
        graphs,
        fc.nat(),
        fc.integer({ min: 1, max: 40 }),
        fc.array(fc.nat(), { maxLength: 8 }),
        (sessions, one, most, marks) => {
          const index = factsOf(sessions);
          const head = sessions[one % sessions.length] as Session;
          const held = new Set(marks.map((mark) => (sessions[mark % sessions.length] as Session).id));
          const whole = [...head.history()];
          let best: string[] | undefined;
          for (const candidate of whole.filter(({ id }) => held.has(id))) {
            const before = new Set(past(candidate));
            const others = whole.filter(({ id }) => !before.has(id));
            const hangs = others.every(
              ({ parentIds }) =>
                parentIds.length > 0 && parentIds.every((id) => id === candidate.id || !before.has(id)),
            );
            if (hangs && others.length < most && others.length + 1 > (best?.length ?? 0))
              best = [candidate.id, ...others.map(({ id }) => id)];
          }
          const tail = index.tail(index.row(head.id), most, (id) => held.has(id));
          expect(tail?.map((row) => index.id(row))).toEqual(best);
        },
      ),
      { numRuns: campaign(1_000) },
    );
  });

  it("[IX4] a beginning of an id finds exactly the ids that begin so", () => {
    const sessions = Array.from({ length: 3000 }, (_, index) =>
      Session.start("x", { nonce: `${index}`, at: time(0) }),
    );
    const index = factsOf(sessions);
    for (const prefix of [
      "",
      "a",
      "ab",
      "abc",
      "abcd",
      (sessions[7] as Session).id,
      "ABC",
      "zz",
      `${"a".repeat(64)}b`,
    ]) {
      const expected = sessions.filter(({ id }) => id.startsWith(prefix)).map(({ id }) => id);
      expect(index.startingWith(prefix, 10_000)).toEqual(expected);
    }
    expect(index.startingWith("", 5)).toHaveLength(5);
  });

  it("[IX5] a million facts fit into 200 MB, and a history of all of them needs no recursion", () => {
    const idOf = (row: number): string => Buffer.from(row.toString(16).padStart(64, "0")).toString("latin1");
    const before = memoryInUse();
    const index = new Facts();
    for (let row = 0; row < 1_000_000; row++)
      index.add({ id: idOf(row), line: "", parents: row === 0 ? [] : [idOf(row - 1)] });
    expect(memoryInUse() - before).toBeLessThan(200_000_000);
    expect(index.history([999_999])).toHaveLength(1_000_000);
    expect(index.size(999_999)).toBe(1_000_000);
    expect(index.tail(999_999, 1000, (id) => Number.parseInt(id, 16) % 100 === 0)?.[0]).toBe(999_000);
  });
});

/** What is left after a garbage collection. */
function memoryInUse(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
