import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { graph, Session, toDot, toMermaid } from "./index.js";

describe("the graph", () => {
  const start = Session.start("go").say("a").say("b");
  const merged = start
    .fork("x", { why: "try" })
    .say("1")
    .merge(start.fork("y").say("2").say("3"), { adopt: "theirs" })
    .say("end");

  it("[G2] folds straight stretches, and shows starts, forks, merges and branches", () => {
    const picture = graph(merged);
    // biome-ignore format: a table
    expect(picture.nodes.map((node) => [node.kind, node.branch, node.facts])).toEqual([
      ["start", "main", 1], ["stretch", "main", 2], ["fork", "x", 1], ["stretch", "x", 1], ["fork", "y", 1], ["stretch", "y", 2], ["merge", "y", 1], ["stretch", "y", 1],
    ]);
    expect(picture.edges.length).toBe(8);
    expect(picture.nodes[1]?.types).toEqual({ "message-say": 2 });
    expect(graph(merged.detach()).nodes.map((node) => node.kind)).toEqual(["detach"]);
  });

  it("[G2] several heads share one graph", () => {
    const [one, two] = [start.fork("x"), start.fork("y")];
    expect(graph([one, two, start]).nodes.length).toBe(4);
  });

  it("[G3] runs and modules are spans from entering to leaving", () => {
    const run = start.append({ type: "run-start", nonce: "n", module: "flow" });
    const enter = run.append({ type: "module-enter", module: "coder" });
    const exit = enter.append({ type: "module-exit", of: enter.id, error: { name: "E", message: "" } });
    const open = exit.append({ type: "module-enter", module: "tester" });
    expect(graph(open).spans).toEqual([
      { kind: "run", name: "flow", start: run.id },
      { kind: "module", name: "coder", start: enter.id, end: exit.id, failed: true },
      { kind: "module", name: "tester", start: open.id },
    ]);
  });

  const hostile = [
    '"]; evil --> x',
    "end",
    "a\nb\u2028c",
    "</script><b>",
    "\\",
    'x" [label="y',
    "#quot;",
    "\ud800",
    "%% c",
    "`m`",
    "x".repeat(500),
    "{{}}",
    "|;&",
  ];
  it("[G4] names are other people's words and never become syntax", () => {
    fc.assert(
      fc.property(fc.oneof(fc.constantFrom(...hostile), fc.string({ unit: "binary" })), (name) => {
        const picture = graph(start.fork(name).say("x"));
        const mermaid = toMermaid(picture).trimEnd().split("\n");
        expect(mermaid[0]).toBe("flowchart TD");
        for (const line of mermaid.slice(1)) {
          expect(line).toMatch(
            /^ {2}(n\d+(\(\["[^"\n]*"\]\)|\{\{"[^"\n]*"\}\}|\["[^"\n]*"\])|n\d+ --> n\d+)$/u,
          );
          // Inside the quotes only letters, digits, entities and a few signs.
          const label = /"(.*)"/u.exec(line)?.[1] ?? "";
          expect(label).toMatch(/^(#\d+;|[\p{L}\p{N} .,:·_-])*$/u);
        }
        const dot = toDot(picture).trimEnd().split("\n");
        for (const line of dot.slice(2, -1)) {
          expect(line).toMatch(
            /^ {2}"[0-9a-f]{64}" (\[shape=\w+, label="([^"\\\n]|\\["\\])*"\]|-> "[0-9a-f]{64}");$/u,
          );
          expect(line.isWellFormed()).toBe(true);
        }
      }),
    );
  });
});
