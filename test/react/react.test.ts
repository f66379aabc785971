import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type FactOf, openRath, type Session } from "openrath";
import { episodeOf, importReact, type RecordedEpisode, readReact } from "openrath/pattern";
import { digestOf } from "openrath/session";
import { openStore } from "openrath/store";
import { describe, expect, it } from "vitest";

const file = fileURLToPath(new URL("../../../shared/data/react/FEVER-output.txt", import.meta.url));
const missing = existsSync(file)
  ? undefined
  : "the recorded episodes of ReAct are not here: they belong into ../shared/data/react";
const at = "2023-03-01T00:00:00.000Z";

/** The recording, or a skipped test that says why. */
function recorded(context: { skip(note?: string): void }): string {
  if (missing !== undefined) context.skip(missing);
  return readFileSync(file, "utf8");
}

function reportOf(session: Session): FactOf<"validation-report"> {
  if (session.fact.type !== "validation-report") throw new Error(`it ends in ${session.fact.type}`);
  return session.fact;
}

describe("the recorded episodes of ReAct", () => {
  it("[E1] are all read, with outcomes that agree with what was written", (context) => {
    const episodes = readReact(recorded(context));
    expect(episodes.length).toBe(500);
    for (const episode of episodes) {
      expect(episode.question).toMatch(/^Claim: ./);
      expect(episode.steps.length).toBeGreaterThan(0);
      const { steps, answer } = episode.outcome as { readonly steps: number; readonly answer: string };
      // One that never finished was counted one step further than it came.
      expect(episode.steps.length).toBe(answer === "" ? steps - 1 : steps);
      expect(episode.answer ?? "").toBe(answer);
      for (const step of episode.steps) expect(step.observation).not.toBe(undefined);
    }
    const actions = episodes.flatMap(({ steps }) => steps.map(({ action }) => action?.tool));
    const count = (tool: string) => actions.filter((one) => one === tool).length;
    expect([count("Search"), count("Finish") > 490, count("Login")]).toEqual([530, true, 1]);
  });

  it("[E2] give the authors' own tally, computed from sessions that were read back from a store", async (context) => {
    const text = recorded(context);
    const sessions = importReact(text, { source: "FEVER-output.txt", at });
    const store = await openStore("memory:");
    for (const [place, session] of sessions.entries())
      await store.save(session, { name: `fever/${place + 1}` });
    const printed = readReact(text).map(({ tally }) => tally);
    let right = 0;
    for (let place = 1; place <= sessions.length; place++) {
      const { passed, detail } = reportOf(await store.load(`fever/${place}`));
      if (passed) right += 1;
      expect(passed).toBe((detail as { readonly em: number }).em === 1);
      expect({ right, of: place }).toEqual(printed[place - 1]);
    }
    expect([right, sessions.length]).toEqual([270, 500]);
    await store.close();
  });

  it("[E3] are sessions of tool calls, each answered, that say where they are from", (context) => {
    const text = recorded(context);
    const episodes = readReact(text);
    for (const [place, session] of importReact(text, { source: "FEVER-output.txt", at }).entries()) {
      const facts = [...session.history()];
      const { from, to, steps } = episodes[place] as RecordedEpisode;
      expect(facts[1]?.fact).toMatchObject({
        type: "record-import",
        format: "react",
        source: "FEVER-output.txt",
        digest: digestOf(text),
        detail: { episode: place + 1, from, to },
      });
      const calls = facts.filter(({ fact }) => fact.type === "tool-call");
      expect(calls.length).toBe(steps.filter(({ action }) => action !== undefined).length);
      for (const call of calls) {
        const answers = facts.filter(
          ({ fact }) => (fact.type === "tool-result" || fact.type === "tool-failure") && fact.of === call.id,
        );
        expect(answers.length).toBe(1);
      }
      expect(session.pending).toEqual([]);
    }
  });

  it("[E4] are read from their sessions as they were in the text", (context) => {
    const text = recorded(context);
    const episodes = readReact(text);
    for (const [place, session] of importReact(text, { source: "FEVER-output.txt", at }).entries()) {
      const { question, steps, answer } = episodes[place] as RecordedEpisode;
      expect(episodeOf(session)).toEqual({ question, steps, ...(answer !== undefined && { answer }) });
    }
  });

  it("[E5] have the same ids each time, and verify", async (context) => {
    const text = recorded(context);
    const once = importReact(text, { source: "FEVER-output.txt", at });
    const again = importReact(text, { source: "FEVER-output.txt", at });
    expect(again.map(({ id }) => id)).toEqual(once.map(({ id }) => id));
    expect(new Set(once.map(({ id }) => id)).size).toBe(500);
    const rath = openRath({ store: "memory:" });
    const store = await rath.store();
    for (const [place, session] of once.entries()) await store.save(session, { name: `fever/${place + 1}` });
    expect(await store.check()).toMatchObject({ findings: [] });
    await rath.close();
  });
});
