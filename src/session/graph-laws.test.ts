import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  costWith,
  diff,
  type FactId,
  graph,
  type Session,
  toDot,
  toMermaid,
  transcriptView,
} from "./index.js";
import { campaign } from "./testing/campaign.js";
import { pastOf, programs, run } from "./testing/program.js";
import { answers, rebuilt } from "./testing/record.js";

const ids = (sessions: Iterable<Session>): FactId[] => [...sessions].map((session) => session.id);
/** A session of a program, chosen by a number. */
const choose = (made: readonly Session[], number: number): Session => made[number % made.length] as Session;

/** Random programs and two numbers that choose sessions from what they make. */
function check(
  law: (made: readonly Session[], one: Session, other: Session) => void,
  numRuns = campaign(600),
): void {
  fc.assert(
    fc.property(programs(), fc.nat(), fc.nat(), (program, one, other) => {
      const made = run(program);
      law(made, choose(made, one), choose(made, other));
    }),
    { numRuns },
  );
}

describe("on random graphs", () => {
  it("[H1] history has every ancestor exactly once, parents first", () => {
    check((_, session) => {
      const seen = new Set<FactId>();
      for (const node of session.history()) {
        expect(node.parentIds.every((parent) => seen.has(parent))).toBe(true);
        expect(seen.has(node.id)).toBe(false);
        seen.add(node.id);
      }
      expect(seen).toEqual(pastOf(session));
    });
  });

  it("[H2] the history of the first parent is a prefix of the history", () => {
    check((_, session) => {
      const [first] = session.parents;
      if (first === undefined) return;
      const before = ids(first.history());
      expect(ids(session.history()).slice(0, before.length)).toEqual(before);
    });
  });

  it("[H3] descendsFrom agrees with the set of ancestors", () => {
    check((_, one, other) => {
      expect(one.descendsFrom(other)).toBe(pastOf(one).has(other.id));
      expect(other.descendsFrom(one)).toBe(pastOf(other).has(one.id));
    });
  });

  it("[H4] depth is the longest way to a root", () => {
    check((_, session) => {
      const depths = new Map<FactId, number>();
      for (const node of session.history()) {
        depths.set(node.id, 1 + Math.max(-1, ...node.parentIds.map((id) => depths.get(id) as number)));
        expect(node.depth).toBe(depths.get(node.id));
      }
    });
  });

  it("[U1] usage is the sum over the history", () => {
    check((_, session) => {
      const sum = { input: 0, output: 0, cached: 0, reasoning: 0, calls: 0, cost: 0 as number | null };
      for (const { fact } of session.history()) {
        if (fact.type !== "model-reply") continue;
        sum.calls += 1;
        sum.cost = costWith(sum.cost, fact.cost);
        for (const count of ["input", "output", "cached", "reasoning"] as const)
          sum[count] += fact.usage[count] ?? 0;
      }
      expect(session.usage).toEqual(sum);
    });
  });

  it("[X1] diff agrees with operations on sets, and its base is the nearest common past", () => {
    check((made, one, other) => {
      const [ours, theirs] = [pastOf(one), pastOf(other)];
      const { base, ...sides } = diff(one, other);
      expect(ids(sides.ours)).toEqual(ids(one.history()).filter((id) => !theirs.has(id)));
      expect(ids(sides.theirs)).toEqual(ids(other.history()).filter((id) => !ours.has(id)));
      const common = made.filter((session) => ours.has(session.id) && theirs.has(session.id));
      const nearest = common.filter(
        (session) => !common.some((later) => later.id !== session.id && pastOf(later).has(session.id)),
      );
      expect(new Set(ids(base))).toEqual(new Set(ids(nearest)));
      expect(base.length).toBe(new Set(ids(base)).size);
    }, 80);
  });

  it("[F3] a session never sees what is not in its past", () => {
    check((_, session) => {
      const past = pastOf(session);
      const said = new Set(
        [...session.history()].flatMap(({ fact }) =>
          "content" in fact ? [JSON.stringify(fact.content)] : [],
        ),
      );
      for (const step of session.lineage) expect(past.has(step.id)).toBe(true);
      for (const one of session.pending) expect(past.has(one.id)).toBe(true);
      // A detached root brings the conversation of a past that it names.
      if ([...session.history()].some(({ fact }) => fact.type === "session-detach")) return;
      for (const message of session.transcript) {
        if (message.role === "assistant") expect(said).toContain(JSON.stringify(message.content));
      }
    });
  });

  it("[T7] nothing is told twice, and what a merge of both shows was shown on one of its sides", () => {
    check((_, session) => {
      const { settled, open } = session.view(transcriptView);
      const shown = [...settled, ...open].map((entry) => entry.id);
      expect(new Set(shown).size).toBe(shown.length);
      if (session.fact.type !== "branch-merge" || session.fact.adopt !== "both") return;
      const sides = session.parents.flatMap((parent) => [
        ...parent.view(transcriptView).settled,
        ...parent.view(transcriptView).open,
      ]);
      const told = new Set(sides.map((entry) => entry.id));
      for (const id of shown) expect(told.has(id)).toBe(true);
    });
  });

  it("[V1] nothing that is made from a session changes it", () => {
    fc.assert(
      fc.property(programs(20), programs(20), fc.nat(), (before, after, number) => {
        const made = run(before);
        const session = choose(made, number);
        const then = answers(session);
        run(after, session);
        session.merge(session.fork("x"));
        session.to("cube");
        session.detach();
        expect(answers(session)).toEqual(then);
      }),
      { numRuns: 60 },
    );
  });

  it("[W1] answers are the same asked early and often, or late on a graph built again from its lines", () => {
    check((made, session) => {
      const often = made.map(answers)[made.indexOf(session)] as object;
      expect(answers(rebuilt(session))).toEqual(often);
    }, 80);
  });

  it("[W1] the order of questions does not matter", () => {
    fc.assert(
      fc.property(programs(40), fc.array(fc.nat(), { maxLength: 20 }), (program, order) => {
        const made = run(program);
        for (const number of order) answers(choose(made, number));
        const head = made.at(-1) as Session;
        expect(answers(head)).toEqual(answers(rebuilt(head)));
      }),
      { numRuns: 60 },
    );
  });

  it("[I3] two object graphs of one record are one record: shared history counts once", () => {
    check((_, one, other) => {
      if (one.id === other.id) return;
      const options = { adopt: "ours", at: "2026-01-02T00:00:00Z" } as const;
      const merged = one.merge(other, options);
      const again = rebuilt(one).merge(rebuilt(other), options);
      expect(answers(again)).toEqual(answers(merged));
      expect(ids(again.history())).toEqual(ids(merged.history()));
      expect(rebuilt(merged).descendsFrom(other)).toBe(true);
      expect(diff(rebuilt(one), rebuilt(other)).base.length).toBe(diff(one, other).base.length);
    }, 60);
  });

  it("[G1] the graph holds every fact once, and its edges are the parents between stretches", () => {
    check((made, one, other) => {
      const picture = graph([one, other]);
      const all = new Set([...pastOf(one), ...pastOf(other)]);
      expect(picture.nodes.reduce((sum, node) => sum + node.facts, 0)).toBe(all.size);
      const named = new Set(picture.nodes.map((node) => node.id));
      expect(named.size).toBe(picture.nodes.length);
      for (const edge of picture.edges) expect(named.has(edge.from) && named.has(edge.to)).toBe(true);
      const operators = made.filter(
        (session) => all.has(session.id) && /^(branch|session)-/.test(session.fact.type),
      );
      expect(picture.nodes.filter((node) => node.kind !== "stretch").length).toBe(
        new Set(ids(operators)).size,
      );
      expect(toMermaid(picture).split("\n").length).toBe(2 + picture.nodes.length + picture.edges.length);
      expect(toDot(picture).split("\n").length).toBe(4 + picture.nodes.length + picture.edges.length);
    }, 80);
  });

  it("[V4] graphs of thousands of sessions obey the same laws", () => {
    const made = run(fc.sample(programs(), { numRuns: 150, seed: 41 }).flat());
    const head = made.at(-1) as Session;
    expect(made.length).toBeGreaterThan(2000);
    const past = pastOf(head);
    expect(new Set(ids(head.history()))).toEqual(past);
    expect(answers(rebuilt(head))).toEqual(answers(head));
    for (let number = 0; number < made.length; number += 97) {
      const other = made[number] as Session;
      expect(head.descendsFrom(other)).toBe(past.has(other.id));
      const theirs = pastOf(other);
      expect(ids(diff(head, other).ours)).toEqual(ids(head.history()).filter((id) => !theirs.has(id)));
    }
  });
});
