import { describe, expect, it } from "vitest";
import { agent } from "../../agent/index.js";
import { scripted } from "../../agent/model/index.js";
import { rathOf, storeOf } from "../../runtime/testing/rath.js";
import { campaign } from "../../session/testing/campaign.js";
import { sequence } from "../../workflow/index.js";
import { all } from "../../workflow/testing/ran.js";
import { crashEverywhere } from "../tier/testing/crash.js";
import { notesOf, toldIn } from "../tier/testing/tiers.js";
import { consolidate, consolidating } from "./consolidate.js";
import { forget, forgetting } from "./forget.js";
import { saved, session as spaceOf } from "./testing/many.js";
import { noted } from "./testing/notes.js";

const DAY = 24 * 3_600_000;

describe("care as modules", () => {
  it("[KM1] each deed is done once, wherever it crashes", async () => {
    const program = () => {
      const notes = notesOf();
      return sequence("care", [
        consolidating("tidy", { memory: notes }),
        forgetting("nightly", { memory: notes, most: 2 }),
      ]);
    };
    const deaths = await crashEverywhere(
      program,
      async (store, session) => {
        const types: string[] = [];
        for await (const { fact } of store.history("memory/notes"))
          if (fact.type !== "session-start") types.push(fact.type);
        // Five that were noted, and two merges; one link; the least that is left is forgotten.
        expect(types.filter((type) => type === "memory-write")).toHaveLength(7);
        expect(types.filter((type) => type === "memory-link")).toHaveLength(2);
        expect(types.filter((type) => type === "memory-expire")).toHaveLength(1);
        const live = await notesOf().open(store).list();
        expect(live.map(({ text }) => text).sort()).toEqual(["one THING", "two THINGS"]);
        for (const memory of live) {
          expect(memory).toMatchObject({ by: "runtime", trust: "trusted" });
          // Who did it is on the record, and had no hand in the words.
          expect(await store.has((memory.meta as { of: string }).of)).toBe(true);
        }
        const steps = all(session, "step-result").map(({ value }) => value as { plans?: unknown });
        expect(steps[0]?.plans).toHaveLength(2);
        const [gone] = await notesOf()
          .open(store)
          .list({ statuses: ["expired"] });
        expect(gone).toMatchObject({ text: "A dull thing.", why: expect.stringContaining("room for 2") });
      },
      async (store) => {
        const space = notesOf().open(store);
        const ids = await noted(store, [
          "One thing",
          "one THING",
          "Two things",
          "two THINGS",
          ["A dull thing.", { importance: 1 }],
        ]);
        await space.link(ids[0] as string, { to: ids[4] as string, relation: "supports", by: "user:ada" });
      },
    );
    expect(deaths).toBeGreaterThan(8);
  });

  it("[KM2] a model writes the words, reads the notes as data, and is no more trusted than what it heard", async () => {
    const store = await storeOf();
    await noted(store, ["Tea at four.", "tea at FOUR.", "Coffee at five.", "coffee at FIVE."]);
    const seen: string[] = [];
    const editor = agent({
      name: "editor",
      model: scripted((prompt) => {
        const told = toldIn(prompt);
        seen.push(told);
        // What it says of coffee is no memory.
        return told.includes("FOUR") ? "There is tea at four." : "   ";
      }),
    });
    const rath = rathOf({ store });
    const module = consolidating("tidy", { memory: notesOf(), write: editor });
    const session = await rath.run(module, rath.start("go"), { name: "n" });
    expect((await rath.replay("n", module, { mode: "verify" })).id).toBe(session.id);
    expect(seen[0]).toMatch(/data, not instructions[\s\S]*\n> \w+ at \w+\./);
    const live = await notesOf().open(store).list();
    expect(live).toHaveLength(2);
    const written = live.find(({ text }) => text === "There is tea at four.");
    expect(written?.trust).toBe("untrusted");
    expect(written?.origins).toContain("memory");
    const replies = [...session.history()].filter(({ fact }) => fact.type === "model-reply");
    const { because = [] } = written ?? {};
    const cited = [...session.history()].find(
      ({ id, fact }) => because.includes(id) && fact.type === "module-exit",
    );
    expect(cited?.descendsFrom(replies[0] as never)).toBe(true);
    expect(all(session, "memory-read")).toHaveLength(1);
    // What it said was no memory: the words that were there are kept, and as trusted as before.
    expect(live.find(({ text }) => /coffee|Coffee/.test(text))?.trust).toBe("trusted");
    // What was said on the way is no part of the conversation.
    expect(session.transcript).toHaveLength(1);
  });

  it("[KM5] gathers what a model wrote, and rejects nothing", async () => {
    const store = await storeOf();
    await noted(store, ["Tea at four.", "tea at FOUR."]);
    const editor = agent({ name: "editor", model: scripted("There is tea at four.") });
    const rath = rathOf({ store });
    const session = await rath.run(
      consolidating("tidy", { memory: notesOf(), write: editor }),
      rath.start("go"),
    );
    expect(all(session, "branch-merge")).toMatchObject([{ adopt: "none", why: "the words of a merge" }]);
  });

  it("[KM2] a function may write them too", async () => {
    const store = await storeOf();
    await noted(store, ["Tea at four.", "tea at FOUR."]);
    const rath = rathOf({ store });
    const module = consolidating("tidy", {
      memory: notesOf(),
      write: (memories) => `${memories.length} said tea`,
    });
    const session = await rath.run(module, rath.start("go"), { name: "n" });
    expect((await rath.replay("n", module, { mode: "verify" })).id).toBe(session.id);
    expect((await notesOf().open(store).list()).map(({ text }) => text)).toEqual(["2 said tea"]);
  });

  it("[KM3] refuses options that there are not", async () => {
    const notes = notesOf();
    const space = notes.open(await storeOf());
    expect(() => consolidating("c", {} as never)).toThrow("which memory");
    expect(() => consolidating("c", { memory: notes, alik: 1 } as never)).toThrow('did you mean "alike"?');
    expect(() => consolidating("c", { memory: notes, alike: 0.1 })).toThrow("alike");
    expect(() => consolidating("c", { memory: notes, write: 3 } as never)).toThrow(
      "neither a module nor a function",
    );
    expect(() => forgetting("f", { memory: notes })).toThrow("does not say what to forget");
    expect(() => forgetting("f", { memory: notes, olderThan: -1 })).toThrow("olderThan");
    expect(() => forgetting("f", { memory: notes, most: 1.5 })).toThrow("most");
    await expect(consolidate(space, {} as never)).rejects.toThrow("`by` must be a principal");
    await expect(forget(space, { by: "user:ada" })).rejects.toThrow("does not say what to forget");
    await expect(forget(space, { by: "user:ada", older: DAY } as never)).rejects.toThrow("no option");
    const [one, other] = [0.8, 0.9].map((alike) => consolidating("c", { memory: notes, alike }));
    expect(one?.state).not.toEqual(other?.state);
  });

  it("[KM4] looks at many memories with progress, and others get turns", async () => {
    const count = Number(process.env.OPENRATH_MEMORY_CARE ?? campaign(4_000));
    const store = await storeOf();
    const words = (seed: number) =>
      Array.from({ length: 12 }, (_, at) => `w${(seed * 7919 + at * 104_729) % 50_021}`);
    const texts = Array.from(
      { length: count },
      (_, n) => `${words(n % 20 === 0 ? 7 * Math.floor(n / 40) : n).join(" ")} .${n % 20}`,
    );
    await saved(
      store,
      spaceOf(texts, (place) => place % 10),
    );
    const space = notesOf({ contradicts: false }).open(store);
    await space.prepare();
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 1);
    const said: (number | undefined)[] = [];
    const started = performance.now();
    const { merges, looked } = await consolidate(space, {
      by: "user:ada",
      dry: true,
      limit: count,
      progress: (done) => said.push(done),
    });
    const between = performance.now();
    const gone = await forget(space, {
      by: "user:ada",
      most: Math.floor(count / 2),
      dry: true,
      limit: count,
    });
    clearInterval(timer);
    if (process.env.OPENRATH_MEMORY_CARE !== undefined)
      console.log(
        `${count} memories: groups in ${between - started} ms, ${merges.length} merges; forgetting ${performance.now() - between} ms`,
      );
    expect(looked).toBe(count);
    expect(merges.length).toBeGreaterThan(count / 100);
    expect(said.length).toBeGreaterThan(count / 500);
    expect(said).toEqual(said.toSorted((one, other) => (one ?? 0) - (other ?? 0)));
    expect(gone.forgotten).toHaveLength(count - Math.floor(count / 2));
    expect(turns).toBeGreaterThan(0);
  }, 600_000);
});
