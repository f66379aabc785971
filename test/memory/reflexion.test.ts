import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { FactOf, Session } from "openrath";
import { type Memory, memory } from "openrath/memory";
import { importTrials, type RecordedTrial } from "openrath/memory/tiers";
import { openStore, type Store } from "openrath/store";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";

const folder = fileURLToPath(new URL("../../../shared/data/reflexion/", import.meta.url));
const missing = existsSync(`${folder}alfworld/env_results_trial_0.json`)
  ? undefined
  : "the recorded trials of Reflexion are not here: they belong into ../shared/data/reflexion";
const at = "2023-06-01T00:00:00.000Z";
const TRIALS = 15;

type Environment = {
  readonly name: string;
  readonly memory: readonly string[];
  readonly is_success: boolean;
};
type Program = {
  readonly name: string;
  readonly is_solved: boolean;
  readonly reflections: readonly string[];
};
type Recording = { readonly text: string; readonly trials: readonly RecordedTrial[] };

/** What is known after each trial in AlfWorld, as it was recorded; or a skipped test that says why. */
function alfworld(context: { skip(note?: string): void }): {
  readonly text: string;
  readonly after: readonly (readonly Environment[])[];
} {
  if (missing !== undefined) context.skip(missing);
  const texts = Array.from({ length: TRIALS }, (_, trial) =>
    readFileSync(`${folder}alfworld/env_results_trial_${trial}.json`, "utf8"),
  );
  return { text: texts.join("\n"), after: texts.map((text) => JSON.parse(text) as readonly Environment[]) };
}

/** The trials that took place: an environment that was solved is not tried again. A reflection is what a list has gained. */
function trialsOf(after: readonly (readonly Environment[])[]): readonly RecordedTrial[] {
  return after.flatMap((environments, trial) =>
    environments.flatMap(({ name, memory: known, is_success: passed }, place): RecordedTrial[] => {
      const before = after[trial - 1]?.[place];
      if (before?.is_success === true) return [];
      const reflection = known.slice(before?.memory.length ?? 0).at(0);
      return [{ task: name, trial, passed, ...(reflection !== undefined && { reflection }) }];
    }),
  );
}

/** Programs were written five times and only the last of them was run: what was not run was taken for wrong. */
function programs(context: { skip(note?: string): void }): Recording & { readonly all: readonly Program[] } {
  if (missing !== undefined) context.skip(missing);
  const text = readFileSync(`${folder}humaneval-rs-hardest50-immediate-reflexion-gpt4.jsonl`, "utf8");
  const all = text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Program);
  const trials = all.flatMap(({ name, is_solved, reflections }): RecordedTrial[] => [
    ...reflections.map((reflection, trial) => ({
      task: name,
      trial,
      passed: false,
      reflection,
      detail: { assumed: "the tests were not run before the last trial" },
    })),
    { task: name, trial: reflections.length, passed: is_solved },
  ]);
  return { text, trials, all };
}

async function storeHere(): Promise<Store> {
  const store = await openStore("memory:");
  onTestFinished(() => store.close());
  return store;
}

const trials = memory({ name: "trials", scope: "project:reflexion" });

type Imported = Awaited<ReturnType<typeof importTrials>> & { readonly store: Store };
let alfworldImported: Promise<Imported> | undefined;
afterAll(async () => (await alfworldImported)?.store.close());

/** All trials in AlfWorld, taken in once for every test that asks about them. */
function alfworldIn({ text, after }: ReturnType<typeof alfworld>): Promise<Imported> {
  alfworldImported ??= (async () => {
    const store = await openStore("memory:");
    const imported = await importTrials(trials.open(store), trialsOf(after), {
      source: "alfworld",
      text,
      at,
    });
    return { ...imported, store };
  })();
  return alfworldImported;
}

/** The validation that a memory cites, and the session up to it. */
async function cited(
  store: Store,
  { because }: Memory,
): Promise<{ readonly fact: FactOf<"validation-report">; readonly session: Session }> {
  expect(because.length).toBe(1);
  const session = await store.load(because[0] as string);
  if (session.fact.type !== "validation-report") throw new Error(`it cites a ${session.fact.type}`);
  return { fact: session.fact, session };
}

/** The published invariant, asked of every record: a reflection only after a failed trial, and one for each. */
async function holds(
  store: Store,
  sessions: readonly Session[],
): Promise<{ readonly reports: number; readonly failed: number; readonly memories: number }> {
  const memories = await trials.open(store).list();
  const failures = new Set<string>();
  let reports = 0;
  for (const { id } of sessions)
    for await (const { id: report, fact } of store.history(id))
      if (fact.type === "validation-report") {
        reports += 1;
        if (!fact.passed) failures.add(report);
      }
  for (const one of memories) {
    const { fact, session } = await cited(store, one);
    expect([fact.passed, failures.has(session.id)]).toEqual([false, true]);
    const imported = [...session.history()].find((node) => node.fact.type === "record-import")?.fact;
    expect((imported as FactOf<"record-import">).detail).toEqual({ task: one.subject });
    expect([one.source, one.id]).toEqual(["failed-attempt", one.version]);
  }
  expect(new Set(memories.map(({ because }) => because[0])).size).toBe(memories.length);
  return { reports, failed: failures.size, memories: memories.length };
}

describe("the recorded trials of Reflexion", () => {
  it("[D2] are sessions and memories in which every reflection cites the failed trial that it came from", async (context) => {
    const recording = alfworld(context);
    const { after } = recording;
    // In the recording itself: a list grows by one after a failed trial, and by nothing after any other.
    for (const [trial, environments] of after.entries())
      for (const [place, { name, memory: known, is_success }] of environments.entries()) {
        const before = after[trial - 1]?.[place] ?? { name, memory: [], is_success: false };
        expect([before.name, known.slice(0, before.memory.length)]).toEqual([name, before.memory]);
        const grown = known.length - before.memory.length;
        expect([name, trial, grown]).toEqual([name, trial, !before.is_success && !is_success ? 1 : 0]);
      }
    const { store, sessions, trials: imported } = await alfworldIn(recording);
    expect(imported.length).toBe(trialsOf(after).length);
    expect(sessions.length).toBe(134);
    expect(await holds(store, sessions)).toEqual({ reports: 334, failed: 200, memories: 200 });
    const solved = after.map((environments) => environments.filter(({ is_success }) => is_success).length);
    expect(solved).toEqual([84, 103, 111, 113, 117, 118, 123, 126, 128, 129, 130, 130, 131, 133, 134]);
    expect(await store.check()).toMatchObject({ findings: [] });
  });

  it("[D3] tell as of each trial what was recorded then, unchanged ever since", async (context) => {
    const recording = alfworld(context);
    const { after } = recording;
    const { store, trials: imported } = await alfworldIn(recording);
    const space = trials.open(store);
    let known: readonly string[] = [];
    for (const [trial, environments] of after.entries()) {
      const head = imported.findLast((one) => one.trial <= trial && one.head !== undefined)?.head as string;
      const told = await (await space.at(head)).list();
      for (const { name, memory: lessons } of environments)
        expect(told.filter(({ subject }) => subject === name).map((one) => one.text)).toEqual(lessons);
      const ids = told.map(({ id, version, text: words }) => `${id} ${version} ${words}`);
      expect(ids.slice(0, known.length)).toEqual(known);
      known = ids;
    }
    expect(known.length).toBe(200);
  });

  it("[D4] on programs are taken in with what was only presumed of them", async (context) => {
    const { text, trials: recorded, all } = programs(context);
    const store = await storeHere();
    const { sessions } = await importTrials(trials.open(store), recorded, {
      source: "humaneval-rs",
      text,
      at,
    });
    expect(await holds(store, sessions)).toEqual({ reports: 250, failed: 224, memories: 200 });
    let solved = 0;
    for (const [place, session] of sessions.entries()) {
      const { fact } = await store.load(session.id);
      expect(fact).toMatchObject({ type: "validation-report", passed: all[place]?.is_solved });
      if (fact.type === "validation-report" && fact.passed) solved += 1;
    }
    expect([sessions.length, solved]).toEqual([50, 26]);
    const memories = await trials.open(store).list();
    for (const one of memories)
      expect((await cited(store, one)).fact.detail).toMatchObject({ assumed: expect.any(String) });
    for (const { name, reflections } of all)
      expect(memories.filter(({ subject }) => subject === name).map((one) => one.text)).toEqual(reflections);
  });

  it("[D5] are refused where a reflection stands behind a trial that passed, and kept once", async (context) => {
    const { text, trials: recorded } = programs(context);
    const store = await storeHere();
    const space = trials.open(store);
    const options = { source: "humaneval-rs", text, at };
    const passed = recorded.findLastIndex((one) => one.passed);
    const forged = recorded.with(passed, {
      ...(recorded[passed] as RecordedTrial),
      reflection: "It was luck.",
    });
    await expect(importTrials(space, forged, options)).rejects.toMatchObject({ name: "PassedTrialError" });
    expect(await space.head()).toBe(undefined);
    const some = recorded.slice(0, 50);
    const first = await importTrials(space, some, options);
    const head = await space.head();
    const second = await importTrials(space, some, options);
    expect([await space.head(), second.trials]).toEqual([head, first.trials]);
  });
});
