import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Graph, Row } from "./graph.js";
import { lanesOf } from "./graph.js";

function row(branch: number, ...from: readonly number[]): Row {
  return { kind: "stretch", branch, label: "", facts: 1, first: "", last: "", from };
}

function graph(...rows: readonly Row[]): Graph {
  return { rows, total: rows.length };
}

/** The stretches of lanes that are drawn: from a row to a row, and whose they are. */
function drawn({ rows }: Graph): readonly { lane: number; branch: number; from: number; until: number }[] {
  const lanes = lanesOf({ rows, total: rows.length });
  const begun = new Set<number>();
  return rows.flatMap((row, place) => {
    const isFirst = !begun.has(row.branch);
    begun.add(row.branch);
    const dot = { lane: lanes.get(row.branch) as number, branch: row.branch, from: place, until: place };
    return [
      dot,
      ...row.from.map((from) => {
        const branch = isFirst ? row.branch : (rows[from] as Row).branch;
        const lane = lanes.get(branch) as number;
        const bends = lane !== lanes.get(isFirst ? (rows[from] as Row).branch : row.branch);
        return isFirst
          ? { lane, branch, from: bends ? from + 1 : from, until: place }
          : { lane, branch, from, until: bends ? place - 1 : place };
      }),
    ];
  });
}

function clashes(graph: Graph): readonly unknown[] {
  const all = drawn(graph);
  return all.flatMap((one, index) =>
    all
      .slice(index + 1)
      .filter(
        (other) =>
          one.lane === other.lane &&
          one.branch !== other.branch &&
          one.from <= other.until &&
          other.from <= one.until,
      )
      .map((other) => [one, other]),
  );
}

describe("the lanes of the graph", () => {
  it("[P4] a branch whose first row comes long after its fork has its lane from the fork on", () => {
    // main forks twice at once; the first fork ends before the second one's first row.
    const late = graph(row(0), row(1, 0), row(1, 1), row(0, 0, 2), row(2, 0), row(0, 3, 4));
    expect(lanesOf(late).get(1)).not.toBe(lanesOf(late).get(2));
    expect(clashes(late)).toEqual([]);
  });

  it("[P4] more branches than fit have lanes of their own all the same", () => {
    const forks = Array.from({ length: 60 }, (_, number) => row(number + 1, 0));
    const wide = graph(row(0), ...forks, row(0, 0, ...forks.map((_, number) => number + 1)));
    expect(new Set(lanesOf(wide).values()).size).toBe(61);
    expect(clashes(wide)).toEqual([]);
  });

  it("[P4] no two branches share a line in random graphs", () => {
    const step = fc.record({
      fork: fc.boolean(),
      of: fc.nat(),
      merge: fc.option(fc.nat(), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const rows = [row(0)];
        const newest = [0];
        for (const { fork, of, merge } of steps) {
          const branch = of % newest.length;
          const place = rows.length;
          if (fork) {
            rows.push(row(newest.length, of % rows.length));
            newest.push(place);
          } else {
            const other = merge === undefined ? undefined : newest[merge % newest.length];
            const from = [newest[branch] as number, ...(other === undefined ? [] : [other])];
            rows.push(row(branch, ...new Set(from)));
            newest[branch] = place;
          }
        }
        expect(clashes(graph(...rows))).toEqual([]);
      }),
    );
  });
});
