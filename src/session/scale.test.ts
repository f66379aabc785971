import { describe, expect, it } from "vitest";
import { diff, graph, List, Session, toDot, toMermaid } from "./index.js";
import { reply } from "./testing/program.js";
import { answers, rebuilt } from "./testing/record.js";

const at = "2026-01-01T00:00:00Z";

/** Asks everything that could recurse. */
function askAll(head: Session, root: Session): void {
  expect(head.id).toMatch(/^[0-9a-f]{64}$/);
  const all = [...head.history()];
  expect(all[0]).toBe(root);
  expect(head.descendsFrom(root)).toBe(true);
  expect(head.descendsFrom(Session.start("elsewhere"))).toBe(false);
  expect(root.descendsFrom(head)).toBe(false);
  expect(diff(head, root)).toMatchObject({ theirs: [], ours: { length: all.length - 1 } });
  expect(diff(root, head).base[0]).toBe(root);
  const again = rebuilt(head);
  expect(answers(again)).toEqual(answers(head));
  const picture = graph(head);
  expect(picture.nodes.reduce((sum, node) => sum + node.facts, 0)).toBe(all.length);
  expect(toMermaid(picture).length + toDot(picture).length).toBeGreaterThan(0);
}

describe("nothing recurses", () => {
  it("[V4] 100,000 facts", () => {
    const root = Session.start("go", { at });
    let head = root;
    for (let count = 0; count < 25_000; count++) {
      const asked = head.append({ type: "tool-call", name: "t", input: count, at });
      head = asked
        .append({ type: "tool-result", of: "0".repeat(64), output: count, at })
        .say("x", { at })
        .append(reply(1));
    }
    expect(head.depth).toBe(100_000);
    askAll(head, root);
    expect(head.usage.calls).toBe(25_000);
    expect(head.pending.length).toBe(25_000);
  });

  it("[V4] 10,000 chained merges, each of a branch that was forked at the root", () => {
    const root = Session.start("go", { at });
    let head = root.fork("main", { at });
    for (let count = 0; count < 10_000; count++)
      head = head.merge(root.fork(`b${count}`, { at }).append(reply(1)), {
        at,
        adopt: count % 10 === 0 ? "ours" : "both",
      });
    askAll(head, root);
    expect(head.usage.input).toBe(10_000);
    expect(head.transcript.length).toBe(9_001);
  });

  it("[V4] 10,000 chained merges, each of branches that were forked at the merge before", () => {
    const root = Session.start("go", { at });
    let head = root;
    for (let count = 0; count < 10_000; count++) {
      head = head
        .fork("a", { at })
        .append(reply(1))
        .merge(head.fork("b", { at }).append(reply(2)), { at, adopt: count % 100 === 0 ? "ours" : "both" });
    }
    askAll(head, root);
    expect(head.usage.input).toBe(30_000);
    expect(head.transcript.length).toBe(1 + 20_000 - 100);
  });

  it("[V4] 10,000 nested forks", () => {
    const root = Session.start("go", { at });
    let head = root;
    for (let count = 0; count < 10_000; count++) head = head.fork(`f${count}`, { at }).say("x", { at });
    askAll(head, root);
    expect(head.branch).toBe("f9999");
    expect(head.lineage.length).toBe(10_001);
  });

  it("[V4] one merge of 5,000 branches at the end of a long trunk", () => {
    const root = Session.start("go", { at });
    let trunk = root;
    for (let count = 0; count < 20_000; count++) trunk = trunk.say("x", { at });
    const [first, ...others] = Array.from({ length: 5_000 }, (_, count) =>
      trunk.fork(`f${count}`, { at }).say(`${count}`, { at }),
    ) as [Session, ...Session[]];
    const head = first.merge(others, { at });
    askAll(head, root);
    expect(head.transcript.length).toBe(25_001);
    expect(head.view({ start: 0, step: (count) => count + 1 })).toBe(20_001 + 10_000 + 1);
  });

  it("[V4] a conversation of 100,000 unanswered calls", () => {
    const root = Session.start("go", { at });
    let head = root;
    for (let count = 0; count < 100_000; count++)
      head = head.append({ type: "tool-call", name: "t", input: null, at });
    expect(head.pending.length).toBe(100_000);
    expect(head.transcript.length).toBe(100_001);
  });

  it("[F5] what branches know together is held once", () => {
    const root = Array.from({ length: 10 }).reduce<List<number>>(
      (list, _, index) => list.push(index),
      List.empty,
    );
    const [one, two] = [root.push(1), root.push(2).push(3)];
    const deep = two.push(4);
    const other = two.push(5).push(6);
    expect([...one]).toEqual([...Array(10).keys(), 1]);
    expect([...deep, ...other.from(9)]).toEqual([...Array(10).keys(), 2, 3, 4, 9, 2, 3, 5, 6]);
    expect([
      one.sharedWith(two),
      deep.sharedWith(other),
      other.sharedWith(one),
      deep.sharedWith(root),
      deep.sharedWith(deep),
    ]).toEqual([10, 12, 10, 10, 13]);
    expect([root.sharedWith(List.of([...root])), List.empty.sharedWith(root as List<never>)]).toEqual([0, 0]);
    expect([other.at(0), other.at(11), other.at(-1), other.at(14), other.at(-15)]).toEqual([
      0,
      3,
      6,
      undefined,
      undefined,
    ]);
    expect(other.toArray()).toEqual([...other]);
    expect(other.toArray()).not.toBe(other.toArray());
    const empty: List<number> = List.empty;
    expect([...empty.push(1), ...empty.push(2), ...empty, ...List.of([])]).toEqual([1, 2]);
  });
});
