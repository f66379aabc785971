import { describe, expect, it } from "vitest";
import type { Json, Session } from "../../../session/index.js";
import { openStore } from "../../../store/index.js";
import { ImportError } from "../exchange.js";
import { attack } from "../testing/attack.js";
import { dataFiles, dataSource } from "../testing/data.js";
import { expectAllHeld, sourceOf } from "../testing/leaves.js";
import { reflexion } from "./read.js";

const trials = dataFiles("reflexion/alfworld", ".json");
const tasks = dataFiles("reflexion", ".jsonl");
const results = [
  { name: "env_0", memory: [], is_success: true },
  { name: "env_1", memory: ["I forgot the plate."], is_success: false, seed: 7 },
];
const line = {
  name: "a",
  prompt: "fn a()",
  test: "assert",
  is_solved: true,
  reflections: ["No."],
  solution: "fn a() {}",
  language: "rs",
};

function reportsIn(session: Session) {
  return [...session.history()].flatMap(({ fact }) => (fact.type === "validation-report" ? [fact] : []));
}

describe("Reflexion logs", () => {
  it("[X1] the results of a trial are validations with what was remembered then", async () => {
    const [only] = await reflexion.read(sourceOf("env_results_trial_3.json", results));
    expect(only?.name).toBe("env_results_trial_3");
    expect(reportsIn(only?.session as Session)).toMatchObject([
      { name: "env_0", passed: true, score: 1 },
      { name: "env_1", passed: false, score: 0, detail: { memory: ["I forgot the plate."], seed: 7 } },
    ]);
  });

  it("[X2] each task is a session with its reflections, its solution and its test", async () => {
    const all = await reflexion.read(
      sourceOf("log.jsonl", `${JSON.stringify(line)}\n\n${JSON.stringify(line)}\n`),
    );
    expect(all.map(({ name }) => name)).toEqual(["a", "a-3"]);
    expect(all[0]?.session.transcript).toMatchObject([
      { role: "user", content: "fn a()" },
      { role: "assistant", content: [{ type: "reasoning", text: "No." }] },
      { role: "assistant", content: "fn a() {}", author: "reflexion" },
    ]);
    expect(reportsIn(all[0]?.session as Session)).toMatchObject([
      { name: "test", passed: true, detail: { test: "assert" } },
    ]);
    expect(all[0]?.notes.join()).toMatch(/kept in a note/);
  });

  it.skipIf(trials.length === 0)(
    "[X3] all supplied logs import, whole and with the recorded counts",
    async () => {
      const store = await openStore("memory:");
      expect(trials.length).toBe(15);
      let passed = 0;
      for (const path of trials) {
        const source = dataSource(path);
        expect(reflexion.fits(source)).toBe(true);
        const [only] = await reflexion.read(source);
        const session = only?.session as Session;
        expectAllHeld(JSON.parse(Buffer.from(source.bytes).toString()), [session]);
        expect(reportsIn(session).length).toBe(134);
        passed += reportsIn(session).filter((report) => report.passed).length;
        expect((await reflexion.read(source))[0]?.session.id).toBe(session.id);
        await store.save(session, { name: path });
      }
      expect(passed).toBe(
        84 + 103 + 111 + 113 + 117 + 118 + 123 + 126 + 128 + 129 + 130 + 130 + 131 + 133 + 134,
      );
      const source = dataSource(tasks[0] as string);
      expect(reflexion.fits(source)).toBe(true);
      const all = await reflexion.read(source);
      expect(all.length).toBe(50);
      expect(all.filter(({ session }) => reportsIn(session)[0]?.passed).length).toBe(26);
      const lines = Buffer.from(source.bytes).toString().trim().split("\n");
      expectAllHeld(
        lines.map((text) => JSON.parse(text) as Json),
        all.map(({ session }) => session),
      );
      for (const { name, session } of all) await store.save(session, { name });
      expect((await store.check()).findings).toEqual([]);
      await store.close();
    },
  );

  it("[X4] any other text is refused, and says where; damaged logs are sessions or an ImportError", async () => {
    for (const [text, where] of [
      ["[]", ""],
      ["", ""],
      ["[7]", "[0]"],
      ['[{"name":"x"}]', "[0].is_success"],
      ["7", "line 1"],
      [`${JSON.stringify(line)}\n{}`, "line 2"],
      ["{", "line 1"],
    ] as const) {
      const error: unknown = await reflexion.read(sourceOf("x", text)).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(ImportError);
      expect((error as ImportError).data.where).toBe(where);
    }
    await attack(reflexion, [sourceOf("r.json", results)], 200, () => results as Json);
    await attack(reflexion, [sourceOf("l.jsonl", `${JSON.stringify(line)}\n`)], 200, () => line as Json);
  });
});
