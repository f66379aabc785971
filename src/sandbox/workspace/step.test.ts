import { describe, expect, it } from "vitest";
import { type Digest, digestOf, Session } from "../../session/index.js";
import { stepsOf } from "./step.js";

const tree = (name: string): Digest => digestOf(name);
const at = "2026-01-01T00:00:00.000Z";

function change(session: Session, after: string, of?: string): Session {
  const paths = [{ path: `${after}.txt`, change: "modify" }] as const;
  return session.append({
    type: "workspace-change",
    before: session.files.tree,
    after: tree(after),
    paths,
    at,
    ...(of !== undefined && { of }),
  });
}

function called(session: Session, name: string, input: object): Session {
  return session.append({ type: "tool-call", name, input: input as never });
}

describe("the steps of a session", () => {
  it("[G20] each import, change, merge and resolution is a step, named after the call it is of", () => {
    let session = Session.start("task").append({
      type: "workspace-import",
      source: "the repository",
      after: tree("one"),
      files: 1,
      bytes: 1,
    });
    session = called(session, "write", { path: "src/a.ts", text: "x" });
    session = change(session, "two", session.id).say("between");
    session = called(session, "shell", { command: `npm test -- ${"long ".repeat(30)}` });
    session = change(session, "three", session.id);
    session = called(session, "odd", { one: 1 });
    session = change(session, "four", session.id);
    session = change(session, "five");
    session = session.append({
      type: "workspace-resolve",
      by: "user:ada",
      merge: session.id,
      after: tree("six"),
      paths: [],
      choices: "ours",
      why: "ours is right",
    });
    const steps = stepsOf(session);
    expect(steps.map((step) => [step.tree, step.message])).toEqual([
      [tree("one"), "Import the repository"],
      [tree("two"), "write: src/a.ts"],
      [tree("three"), `shell: npm test -- ${"long ".repeat(10)}lo…\n\nnpm test -- ${"long ".repeat(30)}`],
      [tree("four"), 'odd: {"one":1}'],
      [tree("five"), "Change five.txt"],
      [tree("six"), "Resolve conflicts\n\nours is right"],
    ]);
    expect(steps.map(({ by }) => by)).toEqual(["runtime", "tool", "tool", "tool", "tool", "user:ada"]);
    expect(steps.at(-1)).toMatchObject({ session: session.id, at: session.fact.at });
    expect(steps[1]?.at).toBe(at);
  });

  it("[G21] of branches, the steps of the side that was taken; the changes of the others are one step", () => {
    const trunk = change(Session.start("task"), "base");
    const ours = change(trunk.fork("ours"), "ours");
    const theirs = change(change(trunk.fork("theirs"), "half"), "theirs");
    const trees = (session: Session): readonly string[] =>
      stepsOf(session).map((step) => step.message.split("\n")[0] as string);
    expect(trees(ours.merge(theirs, { adopt: "ours" }))).toEqual(["Change base.txt", "Change ours.txt"]);
    expect(trees(ours.merge(theirs, { adopt: "theirs" }))).toEqual([
      "Change base.txt",
      "Change half.txt",
      "Change theirs.txt",
    ]);
    // Ours changed nothing: the files are theirs from here on, and no other fact says so.
    const idle = trunk.fork("idle").say("nothing");
    const moved = idle.merge(theirs, { why: "it is better" });
    expect(stepsOf(moved).map(({ message, session, tree: after }) => [message, session, after])).toEqual([
      ["Change base.txt", trunk.id, tree("base")],
      ["Merge branches into idle\n\nit is better", moved.id, tree("theirs")],
    ]);
    const both = ours.merge(theirs).append({
      type: "workspace-merge",
      base: tree("base"),
      ours: tree("ours"),
      theirs: tree("theirs"),
      after: tree("merged"),
      paths: [],
      conflicts: [],
    });
    expect(trees(both)).toEqual([
      "Change base.txt",
      "Change ours.txt",
      "Merge the files of branches into ours",
    ]);
  });

  it("[G21] a detached session begins with its files, and one without files has no steps", () => {
    const old = change(Session.start("task"), "base");
    const root = old.detach();
    expect(stepsOf(root).map(({ tree: after, message }) => [after, message])).toEqual([
      [tree("base"), `Begin with the files of ${old.id.slice(0, 12)}`],
    ]);
    expect(stepsOf(Session.start("nothing").say("still nothing"))).toEqual([]);
  });
});
