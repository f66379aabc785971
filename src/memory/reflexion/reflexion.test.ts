import { describe, expect, it } from "vitest";
import { agent } from "../../agent/index.js";
import { scripted } from "../../agent/model/index.js";
import { fragile } from "../../runtime/testing/fragile.js";
import { blind, rathOf, storeOf } from "../../runtime/testing/rath.js";
import { all, made } from "../../runtime/testing/record.js";
import type { FactOf, Json, Session } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { stateOf, step, withState, workflow } from "../../workflow/index.js";
import { type MemorySpace, memory } from "../memory.js";
import type { Memory } from "../state.js";
import { importTrials } from "./import.js";
import { type Reflexion, type ReflexionOptions, reflexion } from "./reflexion.js";

const lessons = (): MemorySpace => memory({ name: "lessons", scope: "project:guessing" });

/** Guesses one more than the highest that the notes speak of. */
const guesser = agent({
  name: "guesser",
  model: scripted((prompt) => {
    const notes = JSON.stringify(prompt).match(/Guess more than (\d+)/g) ?? [];
    return `I guess ${Math.max(0, ...notes.map((note) => Number(note.slice(16)))) + 1}`;
  }),
});

const critic = agent({
  name: "critic",
  model: scripted((prompt) => {
    const guesses = JSON.stringify(prompt).match(/I guess (\d+)/g) ?? [];
    return `Guess more than ${guesses.at(-1)?.slice(8)}.`;
  }),
});

function guessOf(session: Session): number {
  const guesses = JSON.stringify(session.transcript).match(/I guess (\d+)/g) ?? [];
  return Number(guesses.at(-1)?.slice(8));
}

const is = (wanted: number) => (session: Session) => ({
  passed: guessOf(session) === wanted,
  detail: `${guessOf(session)} is not it`,
});

function learner(more: Partial<ReflexionOptions> = {}): Reflexion {
  return reflexion("learner", {
    attempt: guesser,
    validate: is(3),
    reflect: critic,
    memory: lessons(),
    ...more,
  });
}

async function kept(store: Store): Promise<readonly Memory[]> {
  return lessons().open(store).list();
}

/** Runs it on a task, and replays it with nobody left to ask. */
async function tried(store: Store, module: Reflexion, task = "Guess my number."): Promise<Session> {
  const rath = rathOf({ store });
  const session = await rath.run(module, rath.start(task));
  expect((await blind(store).replay(session.id, module, { mode: "verify" })).id).toBe(session.id);
  return session;
}

describe("reflexion on a memory", () => {
  it("[F1] [F5] keeps a reflection after each failed validation and only then, with it as evidence", async () => {
    const store = await storeOf();
    const session = await tried(store, learner());
    const memories = await kept(store);
    expect(memories.map(({ text }) => text)).toEqual(["Guess more than 1.", "Guess more than 2."]);
    const nodes = new Map([...session.history()].map((node) => [node.id, node]));
    const failed = made(session, "validation-report").filter(
      ({ fact }) => !(fact as FactOf<"validation-report">).passed,
    );
    expect(memories.map(({ because }) => because[0]).sort()).toEqual(failed.map(({ id }) => id).sort());
    for (const [place, { because, source, by, subject, meta, id, version }] of memories.entries()) {
      const [report, end] = because.map((one) => nodes.get(one)) as [Session, Session];
      expect(because.length).toBe(2);
      expect([report.branch, end.branch]).toEqual([`trial ${place + 1}`, `trial ${place + 1}`]);
      expect([end.fact.type, report.descendsFrom(end), id]).toEqual(["module-exit", true, version]);
      expect({ source, by, subject, meta }).toEqual({
        source: "failed-attempt",
        by: "agent:critic",
        subject: "Guess my number.",
        meta: { reflexion: "learner", trial: place + 1 },
      });
    }
    expect(all(session, "model-reply").length).toBe(5);
    const lucky = await storeOf();
    const once = await tried(lucky, learner({ validate: () => true, source: "reflection" }));
    expect([await kept(lucky), all(once, "model-reply").length]).toEqual([[], 1]);
    await tried(lucky, learner({ trials: 1, source: "reflection" }));
    expect((await kept(lucky)).map(({ source }) => source)).toEqual(["reflection"]);
    // Another session adds to what was learnt, and leaves what is there as it is.
    await tried(store, learner({ validate: is(5) }));
    const later = await kept(store);
    expect(later.slice(0, 2).map(({ id, version, text }) => [id, version, text])).toEqual(
      memories.map(({ id, version, text }) => [id, version, text]),
    );
    expect(later.map(({ text }) => text).slice(2)).toEqual(["Guess more than 3.", "Guess more than 4."]);
  });

  it("[F2] tells each trial the newest reflections, and nothing else of earlier ones", async () => {
    const store = await storeOf();
    const session = await tried(store, learner({ keep: 2, validate: is(4), trials: 5 }));
    const forks = made(session, "branch-fork").filter(({ branch }) => branch?.startsWith("trial"));
    expect(new Set(forks.map(({ parentIds }) => parentIds[0])).size).toBe(1);
    const reads = made(session, "memory-read")
      .map((node) => ({ branch: node.branch, fact: node.fact as FactOf<"memory-read"> }))
      .sort((one, other) => (String(one.branch) < String(other.branch) ? -1 : 1));
    const memories = await kept(store);
    const ids = memories.map(({ id }) => id);
    expect(
      reads.map(({ branch, fact }) => [branch, fact.hits.map(({ memory: id }) => ids.indexOf(id))]),
    ).toEqual([
      ["trial 1", []],
      ["trial 2", [0]],
      ["trial 3", [0, 1]],
      ["trial 4", [1, 2]],
    ]);
    const last = reads.at(-1)?.fact as FactOf<"memory-read">;
    expect(last.shown?.indexOf("more than 2")).toBeLessThan(last.shown?.indexOf("more than 3") as number);
    // Lessons about one task stand beside each other and are not in each other's way.
    expect(last.shown).not.toContain("CONTRADICTED");
    expect(last).toMatchObject({
      query: "Guess my number.",
      settings: { newest: 2, subject: "Guess my number." },
    });
    expect(last.head).toBe(await store.head("memory/lessons"));
    const words = JSON.stringify(session.transcript);
    expect([words.includes("I guess 4"), words.includes("I guess 3"), words.includes("Guess more")]).toEqual([
      true,
      false,
      false,
    ]);
    const none = await tried(await storeOf(), learner({ keep: 0, trials: 2 }));
    expect([all(none, "memory-read").length, guessOf(none)]).toEqual([0, 1]);
  });

  it("[F3] begins a later session with what was learnt about the same task", async () => {
    const store = await storeOf();
    await tried(store, learner());
    const again = await tried(store, learner({ trials: 1 }));
    expect([guessOf(again), all(again, "model-reply").length, (await kept(store)).length]).toEqual([3, 1, 2]);
    const other = await tried(store, learner({ trials: 1, validate: () => true }), "Guess her number.");
    expect(guessOf(other)).toBe(1);
    const named = learner({ task: "Guess my number.", trials: 1 });
    expect(guessOf(await tried(store, named, "Once more, please."))).toBe(3);
    const long = `Guess ${"my ".repeat(1_000)}number`;
    await tried(store, learner({ trials: 1 }), long);
    expect(guessOf(await tried(store, learner({ trials: 1 }), long))).toBe(2);
    expect(guessOf(await tried(store, learner({ trials: 1 }), `${long}, now`))).toBe(1);
    const quiet = rathOf({ store });
    await quiet.run(learner({ trials: 1 }), quiet.start());
    expect((await kept(store)).at(-1)?.subject).toBe("reflexion learner");
  });

  it("[F4] refuses a reflection on a trial that passed", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const module = learner();
    const session = await tried(store, module);
    const before = await kept(store);
    const reports = made(session, "validation-report");
    const passed = reports.find(({ fact }) => (fact as FactOf<"validation-report">).passed) as Session;
    const failed = reports.find(({ fact }) => !(fact as FactOf<"validation-report">).passed) as Session;
    const mended = failed.append({
      type: "validation-report",
      name: (failed.fact as { name: string }).name,
      passed: true,
    });
    for (const [from, of, reason] of [
      [session, passed.id, /the trial passed/],
      [passed, passed.id, /the trial passed/],
      [mended, failed.id, /passed since/],
      [session, session.id, /is not a validation/],
      [rath.start("other"), failed.id, /is not a validation/],
    ] as const)
      await expect(module.learn(from, { text: "Luck.", of, by: "user:ada" })).rejects.toMatchObject({
        code: "memory-refused",
        name: "PassedTrialError",
        message: expect.stringMatching(reason),
      });
    expect(await kept(store)).toEqual(before);
    // On one that failed, anybody may.
    const told = workflow("told", async (entered) => {
      const said = entered.say("You should have asked me.");
      return (await module.learn(said, { text: "Ask for a hint.", of: failed.id, by: "user:ada" })).session;
    });
    await rath.run(told, session);
    expect((await kept(store)).at(-1)).toMatchObject({
      text: "Ask for a hint.",
      by: "user:ada",
      because: [failed.id],
      subject: "Guess my number.",
    });
  });

  it("[F6] ends at the first trial that passes, or visibly at the last", async () => {
    const store = await storeOf();
    const session = await tried(store, learner());
    expect([guessOf(session), session.branch, all(session, "budget-stop")]).toEqual([3, "trial 3", []]);
    const short = await tried(await storeOf(), learner({ trials: 2 }));
    expect(all(short, "budget-stop")).toMatchObject([{ limit: "trials", allowed: 2 }]);
    expect(guessOf(short)).toBe(2);
    let left = 1;
    const flaky = step(
      "flaky",
      () => {
        if (left-- > 0) throw new Error("it broke");
        return 1;
      },
      { effect: "read" },
    );
    const broken = await storeOf();
    const thrown = await tried(broken, learner({ attempt: flaky, validate: () => true }));
    expect(all(thrown, "validation-report")).toMatchObject([
      { passed: true },
      { passed: false, detail: expect.stringContaining("it broke") },
    ]);
    expect((await kept(broken)).length).toBe(1);
    const rath = rathOf();
    const judge = agent({
      name: "judge",
      model: scripted('{"passed":false}'),
      output: { type: "object", properties: { passed: { type: "boolean" } }, required: ["passed"] } as const,
    });
    const poor = await rath.run(learner({ validate: judge }), rath.start("go"), { budget: { steps: 1 } });
    expect([all(poor, "budget-stop").length, await kept(await rath.store())]).toEqual([1, []]);
  });

  it("[F7] takes a module, a step, an agent or a rule for a validation, and no silence", async () => {
    const schema = {
      type: "object",
      properties: { passed: { type: "boolean" } },
      required: ["passed"],
    } as const;
    const validations: { readonly [kind: string]: ReflexionOptions["validate"] } = {
      rule: (session) => guessOf(session) === 2,
      step: workflow(
        "measured",
        {
          measure: step("measure", (guess: number) => ({ passed: guess === 2, score: guess }), {
            effect: "pure",
          }),
        },
        async (session, { measure }) => (await measure.call(session, guessOf(session))).session,
      ),
      report: workflow("tests", async (session) =>
        session
          .append({ type: "validation-report", name: "lint", passed: true })
          .append({ type: "validation-report", name: "unit", passed: guessOf(session) === 2 })
          .append({ type: "validation-report", name: "style", passed: true }),
      ),
      agent: agent({
        name: "judge",
        model: scripted((prompt) => JSON.stringify({ passed: JSON.stringify(prompt).includes("I guess 2") })),
        output: schema,
      }),
      evidence: step(
        "run the tests",
        (_: Json, { request, record }) => {
          record({ type: "validation-report", name: "tests", passed: guessOf(request) === 2 });
          return "done";
        },
        { effect: "read" },
      ) as never,
    };
    for (const [kind, validate] of Object.entries(validations)) {
      const store = await storeOf();
      const session = await tried(store, learner({ validate }));
      const memories = await kept(store);
      expect([kind, guessOf(session), memories.length]).toEqual([kind, 2, 1]);
      const report = await store.load(memories[0]?.because[0] as string);
      expect([kind, report.fact]).toMatchObject([kind, { type: "validation-report", passed: false }]);
      if (kind === "step") expect(report.fact).toMatchObject({ score: 1 });
      if (kind === "report") expect(report.fact).toMatchObject({ name: "unit" });
    }
    const rath = rathOf();
    const silent = workflow("silent", async (entered) => entered);
    await expect(rath.run(learner({ validate: silent }), rath.start("go"))).rejects.toMatchObject({
      cause: { name: "NoVerdictError", code: "memory-evidence" },
    });
    await expect(
      rath.run(learner({ validate: (() => "yes") as never }), rath.start("go")),
    ).rejects.toMatchObject({
      cause: { code: "rule-refused" },
    });
  });

  it("[F9] has an agent or a function reflect, beside the conversation", async () => {
    const store = await storeOf();
    const seen: unknown[] = [];
    const reflect: ReflexionOptions["reflect"] = async (failed) => {
      seen.push(failed);
      return failed.trial === 2 ? "  " : `Guess more than ${failed.trial}.`;
    };
    const session = await tried(store, learner({ reflect, trials: 3 }));
    expect(seen).toEqual([
      {
        task: "Guess my number.",
        trial: 1,
        report: { name: "validation of learner", detail: "1 is not it" },
        lessons: [],
      },
      {
        task: "Guess my number.",
        trial: 2,
        report: { name: "validation of learner", detail: "2 is not it" },
        lessons: ["Guess more than 1."],
      },
      {
        task: "Guess my number.",
        trial: 3,
        report: { name: "validation of learner", detail: "2 is not it" },
        lessons: ["Guess more than 1."],
      },
    ]);
    expect((await kept(store)).map(({ text }) => text)).toEqual(["Guess more than 1.", "Guess more than 3."]);
    expect(session.transcript.length).toBe(2);
    const wordy = await storeOf();
    await tried(wordy, learner({ reflect: () => "x".repeat(40_000), trials: 1 }));
    const [cut] = await kept(wordy);
    expect([cut?.text.length, cut?.text.at(-1), cut?.meta]).toEqual([
      32_768,
      "…",
      { reflexion: "learner", trial: 1, characters: 40_000 },
    ]);
    const spoken = await tried(await storeOf(), learner({ trials: 2 }));
    expect(JSON.stringify(spoken.transcript)).not.toContain("Guess more");
  });

  it("[F10] refuses options that make no sense, and can be changed", async () => {
    for (const [more, reason] of [
      [{ attempt: 3 }, /attempt/],
      [{ validate: "tests" }, /validate/],
      [{ reflect: undefined }, /reflect/],
      [{ memory: {} }, /which memory/],
      [{ trials: 0 }, /trials/],
      [{ keep: -1 }, /keep/],
      [{ task: " " }, /task/],
      [{ source: "import" }, /source/],
      [{ trial: 3 }, /did you mean|no option/],
    ] as const)
      expect(() => learner(more as never), String(reason)).toThrow(reason);
    expect(() => reflexion("", {} as never)).toThrow(/name/);
    const changed = withState(learner(), { trials: 9, "reflect.instructions": "Be kind." }) as Reflexion;
    expect(stateOf(changed)).toMatchObject({
      trials: 9,
      keep: 3,
      memory: "lessons",
      "reflect.instructions": "Be kind.",
    });
    expect(guessOf(await tried(await storeOf(), changed))).toBe(3);
  });

  it("[F11] does not tell what was revoked or rolled back", async () => {
    const store = await storeOf();
    await tried(store, learner());
    const space = lessons().open(store);
    const [first, second] = await kept(store);
    await space.revoke(second?.id as string, { why: "it was wrong", by: "user:ada" });
    expect(guessOf(await tried(store, learner({ trials: 1, validate: () => true })))).toBe(2);
    await space.rollback({ to: first?.id as string, why: "undo that", by: "user:ada" });
    const session = await tried(store, learner({ trials: 1, validate: () => true }));
    const [read] = all(session, "memory-read");
    expect(read?.hits.map(({ memory: id }) => id)).toEqual([first?.id]);
  });

  it("[F8] goes on where it was cut off, and learns nothing twice", async () => {
    const module = learner({ trials: 3 });
    const whole = fragile(await storeOf());
    const calm = rathOf({ store: whole });
    const wanted = await calm.run(module, calm.start("Guess my number."), { name: "n" });
    const texts = (await kept(whole)).map(({ text }) => text);
    expect(texts).toEqual(["Guess more than 1.", "Guess more than 2."]);
    expect(whole.saves()).toBeGreaterThan(10);
    for (let at = 1; at <= whole.saves(); at++)
      for (const how of ["before", "after"] as const) {
        const store = await storeOf();
        const dying = fragile(store, at, how);
        const first = rathOf({ store: dying });
        const running = first.run(module, first.start("Guess my number."), { name: "n" });
        await Promise.race([running.catch(() => {}), dying.died]);
        for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
        const second = rathOf({ store: fragile(store) });
        const begun = (await store.head("n")) !== undefined;
        const session = begun
          ? await second.resume("n", module)
          : await second.run(module, second.start("Guess my number."), { name: "n" });
        const memories = await kept(store);
        expect([at, how, memories.map(({ text }) => text)]).toEqual([at, how, texts]);
        expect([at, how, JSON.stringify(session.transcript)]).toEqual([
          at,
          how,
          JSON.stringify(wanted.transcript),
        ]);
        // Each rests on a validation of this very run.
        const ids = new Set([...session.history()].map(({ id }) => id));
        for (const { because } of memories) for (const id of because) expect(ids.has(id)).toBe(true);
        expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(session.id);
      }
  });

  it("[F13] learns in several sessions at once, each from its own trials", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const sessions = await Promise.all(
      Array.from({ length: 6 }, (_, place) =>
        rath.run(learner({ trials: 4, keep: 9 }), rath.start("Guess my number."), { name: `s${place}` }),
      ),
    );
    const memories = await kept(store);
    const failed = sessions.flatMap((session) =>
      made(session, "validation-report").flatMap(({ id, fact }) =>
        fact.type === "validation-report" && !fact.passed ? [id] : [],
      ),
    );
    expect(memories.map(({ because }) => because[0]).sort()).toEqual(failed.sort());
    expect(failed.length).toBeGreaterThan(1);
    for (const [place, session] of sessions.entries()) {
      expect(guessOf(session)).toBe(3);
      const replayed = await blind(store).replay(`s${place}`, learner({ trials: 4, keep: 9 }), {
        mode: "verify",
      });
      expect(replayed.id).toBe(session.id);
    }
    const [read] = all(await tried(store, learner({ trials: 1, keep: 99 })), "memory-read");
    expect(read?.hits.map(({ memory: id }) => id)).toEqual(memories.map(({ id }) => id));
  });

  it("[F12] takes in recorded trials, once", async () => {
    const store = await storeOf();
    const space = lessons().open(store);
    const trials = [
      { task: "a", trial: 0, passed: false, reflection: "Look left." },
      { task: "b", trial: 0, passed: true },
      { task: "a", trial: 1, passed: false, reflection: "Look right.", detail: { steps: 3 } },
      { task: "a", trial: 2, passed: true },
    ];
    const options = { source: "trials.json", text: JSON.stringify(trials), at: "2023-03-01T00:00:00.000Z" };
    const first = await importTrials(space, trials, options);
    expect(
      first.sessions.map((session) => all(session, "validation-report").map(({ passed }) => passed)),
    ).toEqual([[false, false, true], [true]]);
    const memories = await kept(store);
    expect(memories.map(({ text, subject, because }) => [text, subject, because])).toEqual([
      ["Look left.", "a", [first.trials[0]?.report]],
      ["Look right.", "a", [first.trials[2]?.report]],
    ]);
    expect(memories.map(({ origins, trust }) => [origins, trust])[0]).toEqual([
      ["import", "tool", "user"],
      "untrusted",
    ]);
    const again = await importTrials(space, trials, options);
    expect(again.sessions.map(({ id }) => id)).toEqual(first.sessions.map(({ id }) => id));
    expect(await kept(store)).toEqual(memories);
    const wrong = [
      { task: "c", trial: 0, passed: false, reflection: "x" },
      { task: "c", trial: 1, passed: true, reflection: "y" },
    ];
    await expect(importTrials(space, wrong, { ...options, text: "other" })).rejects.toMatchObject({
      name: "PassedTrialError",
    });
    expect((await kept(store)).length).toBe(2);
  });
});
