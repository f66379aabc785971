import { describe, expect, it } from "vitest";
import type { FactOf, Json, Session } from "../../../session/index.js";
import { openStore } from "../../../store/index.js";
import { ImportError } from "../exchange.js";
import { attack } from "../testing/attack.js";
import { dataSource, hasData } from "../testing/data.js";
import { heldIn, sourceOf } from "../testing/leaves.js";
import { react } from "./read.js";

const path = "react/FEVER-output.txt";
const text = `12 Claim: Rome is in Italy.
Thought 1: I should look.
Action 1: Search[Rome]
Observation 1: Rome is a city.

It is in Italy.

Thought 2: That says it.
Action 2: 

Finish[SUPPORTS]
Observation 2: Invalid action: Finish[SUPPORTS]
ohh... I give up.
Thought 3: Again.
Action 3: Finish[SUPPORTS]
Observation 3: Episode finished, reward = 1


{'steps': 3, 'answer': 'SUPPORTS', 'gt_answer': "SUPPORTS", 'question_idx': 12, 'em': 1, 'reward': 1, 'f1': None} 

1 1 1.0 4.08
-----------

12 Question: Who?
Thought 1: I know.
Action 1: Finish[Ada]
Observation 1: Episode finished, reward = 0
`;

function reportsIn(session: Session): readonly FactOf<"validation-report">[] {
  return [...session.history()].flatMap(({ fact }) => (fact.type === "validation-report" ? [fact] : []));
}

describe("ReAct transcripts", () => {
  it("[R1] each episode is a session that reads as the episode went", async () => {
    const [first, second] = await react.read(sourceOf("out.txt", text));
    expect([first?.name, second?.name]).toEqual(["episode-12", "episode-12-2"]);
    expect(first?.session.transcript).toMatchObject([
      { role: "user", content: "Claim: Rome is in Italy." },
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "I should look." },
          { name: "Search", input: "Rome" },
        ],
      },
      { role: "tool", name: "Search", output: "Rome is a city.\n\nIt is in Italy." },
      { role: "assistant", content: [{ type: "reasoning", text: "That says it." }, { name: "invalid" }] },
      { role: "tool", output: "Invalid action: Finish[SUPPORTS]" },
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "Again." },
          { name: "Finish", input: "SUPPORTS" },
        ],
      },
      { role: "tool", output: "Episode finished, reward = 1" },
    ]);
    expect(second?.session.transcript[0]).toMatchObject({ content: "Question: Who?" });
    expect(first?.session.pending).toEqual([]);
  });

  it("[R2] a line that is not an action is kept as it was written", async () => {
    const [first] = await react.read(sourceOf("out.txt", text));
    const inputs = [...(first?.session.history() ?? [])].flatMap(({ fact }) =>
      fact.type === "tool-call" ? [[fact.name, fact.input]] : [],
    );
    expect(inputs).toEqual([
      ["Search", "Rome"],
      ["invalid", " \n\nFinish[SUPPORTS]\n"],
      ["Finish", "SUPPORTS"],
    ]);
  });

  it("[R3] the verdict is a validation, and the running score is kept", async () => {
    const [first, second] = await react.read(sourceOf("out.txt", text));
    expect(reportsIn(first?.session as Session)).toMatchObject([
      { name: "environment", passed: true, score: 1, detail: { steps: 3, gt_answer: "SUPPORTS", f1: null } },
    ]);
    expect(reportsIn(second?.session as Session)).toEqual([]);
    expect(heldIn([first?.session as Session])).toContain("1 1 1.0 4.08");
    expect(heldIn([first?.session as Session])).toContain("ohh... I give up.");
    expect(first?.notes.join()).toMatch(/running score/);
  });

  it.skipIf(!hasData(path))(
    "[R4] the 500 FEVER episodes import with their rewards and every word",
    async () => {
      const source = dataSource(path);
      expect(react.fits(source)).toBe(true);
      const all = await react.read(source);
      expect(all.length).toBe(500);
      const reports = all.flatMap(({ session }) => reportsIn(session));
      // The notebook ends with its own count of them.
      expect([reports.length, reports.filter(({ passed }) => passed).length]).toEqual([500, 270]);
      const held = [...heldIn(all.map(({ session }) => session))]
        .filter((leaf) => typeof leaf === "string")
        .join("\n");
      const words = Buffer.from(source.bytes).toString().split("\n");
      const lost = words
        .map((line) => line.replace(/^(\d+ (?=Claim|Question)|(Thought|Action|Observation) \d+:)/, "").trim())
        .map((line) => /^\w+\[(.*)\]$/.exec(line)?.[1] ?? line)
        .filter((line) => line !== "-----------" && !held.includes(line));
      expect(lost).toEqual([]);
      const again = await react.read(source);
      expect(again.map(({ session }) => session.id)).toEqual(all.map(({ session }) => session.id));
      const store = await openStore("memory:");
      for (const { name, session } of all.slice(0, 20)) await store.save(session, { name });
      expect((await store.check()).findings).toEqual([]);
      await store.close();
    },
  );

  it("[R5] other text is refused, and damaged text is sessions or an ImportError", async () => {
    for (const other of ["", "Once upon a time", "7 Claims: x"])
      await expect(react.read(sourceOf("x.txt", other))).rejects.toBeInstanceOf(ImportError);
    expect(react.fits(sourceOf("x.txt", "nothing"))).toBe(false);
    const hard = `${text}\n9 Claim: x\n{'a': ${"(".repeat(5_000)}}\n{'a':'${"\\".repeat(5_001)}'}\nObservation 7: none\nThought 1: a\nThought 2: b`;
    const slow = `1 Claim: x\nThought 1: y\n{'a': ${" ".repeat(1_000_000)}"b}`;
    expect((await react.read(sourceOf("slow.txt", slow))).length).toBe(1);
    await attack(react, [sourceOf("out.txt", text), sourceOf("hard.txt", hard)], 300);
    const [, , third] = await react.read(sourceOf("hard.txt", hard));
    expect(heldIn([third?.session as Session]) as ReadonlySet<Json>).toContain("none");
  });
});
