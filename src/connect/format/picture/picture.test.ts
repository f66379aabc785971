import { describe, expect, it } from "vitest";
import { Session } from "../../../session/index.js";
import { openStore } from "../../../store/index.js";
import { dot, mermaid } from "./write.js";

async function drawn(session: Session): Promise<readonly [string, string]> {
  const store = await openStore("memory:");
  const subject = { session, store };
  const both = [(await mermaid.write(subject)) as string, (await dot.write(subject)) as string] as const;
  await store.close();
  return both;
}

describe("pictures", () => {
  it("[D1] every fork, merge and stretch is drawn, with its edges", async () => {
    const trunk = Session.start("go").say("a");
    const merged = trunk
      .fork("small")
      .say("b")
      .merge(trunk.fork("bold").say("c"), { adopt: "ours" })
      .say("d");
    const [one, other] = await drawn(merged);
    expect(one.startsWith("flowchart TD\n")).toBe(true);
    expect(other.startsWith("digraph session {\n")).toBe(true);
    for (const text of [one, other])
      for (const word of ["start", "fork small", "fork bold", "merge, adopt ours"])
        expect(text).toContain(word);
    // start, stretch, two forks, two stretches, merge, stretch; the two forks and the merge have an edge more.
    expect(one.match(/ --> /g)?.length).toBe(8);
    expect(other.match(/ -> /g)?.length).toBe(8);
  });

  it("[D2] a hostile name is not syntax, and no words of the session are told", async () => {
    const name = '"];evil["<script>\n%% x --> y\\';
    const [one, other] = await drawn(Session.start("swordfish").fork(name).say("swordfish"));
    for (const text of [one, other]) expect(text).not.toContain("swordfish");
    expect(
      one
        .split("\n")
        .filter((line) => line.includes("-->"))
        .every((line) => /^ {2}n\d+ --> n\d+$/.test(line)),
    ).toBe(true);
    expect(one).not.toContain("<script>");
    for (const line of other.split("\n").filter((text) => text.includes("label=")))
      expect(line).toMatch(/^ {2}"[0-9a-f]{64}" \[shape=\w+, label="(?:[^"\\]|\\.)*"\];$/);
  });
});
