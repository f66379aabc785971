import fc from "fast-check";
import { Session } from "openrath";
import { openStore } from "openrath/store";
import { expect, it } from "vitest";
import { campaign } from "../../src/session/testing/campaign.js";
import { drive, replayed } from "./drive.js";
import type { Death } from "./frail-store.js";
import { numbersFrom, replaySettings } from "./numbers.js";
import { changed, countSaid, type Program, programs } from "./program.js";
import { World } from "./world.js";

const CAMPAIGN = process.env.OPENRATH_PROGRAMS ?? process.env.OPENRATH_RANDOM;
const PROGRAMS = CAMPAIGN === undefined ? campaign(150) : Math.max(150, Number(CAMPAIGN));

it(`[R16] ${PROGRAMS} random programs, then changed or tried again: the what-if or retry repeats no finished effect, dies and goes on, and both runs verify`, async () => {
  const seen = { own: 0, unreached: 0, deaths: 0, deep: 0, again: 0 };
  const wild = programs({ depth: 4, timed: true, slowest: 3 }).filter((program) => countSaid(program) > 0);
  await fc.assert(
    fc.asyncProperty(wild, fc.nat(), fc.array(fc.nat(), { minLength: 1, maxLength: 3 }), async (...given) => {
      const [program, seed, changes] = given;
      const random = numbersFrom(seed);
      const store = await openStore("memory:");
      const base = Session.start("go", program.salted ? { inline: 0 } : {});
      const runs = new Map<string, { readonly program: Program; readonly id: string }>();
      const first = await drive(program, new World(), store, base, { name: "0", random });
      runs.set("0", { program, id: first.session.id });
      let before = first;
      for (const [place, change] of changes.entries()) {
        const of = String([...runs.keys()].at(-1));
        const name = String(place + 1);
        const given = runs.get(of)?.program as Program;
        const again = before.error !== undefined && random() < 0.5;
        const other = again ? given : changed(given, change);
        const world = new World();
        for (const key of finishedIn(before.session)) world.expect(key);
        const deaths = deathsOf(random);
        const driven = await drive(other, world, store, base, { name, random, deaths, of, again });
        await world.rests();
        expect(world.wrongs, JSON.stringify(deaths)).toEqual([]);
        seen.deaths += driven.deaths;
        const { id } = driven.session;
        if (again) seen.again += 1;
        if (id === before.session.id) {
          seen.unreached += 1;
          continue;
        }
        seen.own += 1;
        if (runs.size > 1) seen.deep += 1;
        runs.set(name, { program: other, id });
        before = driven;
      }
      for (const [name, run] of runs)
        for (const nameOrId of [name, run.id])
          expect(await replayed(run.program, store, nameOrId, "verify"), name).toMatchObject({
            caught: [],
            session: { id: run.id },
          });
      // Whoever answers while a run ends may be cut off before they can take their answer back.
      const left = (await store.names())
        .map(({ name }) => name)
        .filter((name) => !name.startsWith("answer/"));
      expect(left.sort()).toEqual([...runs.keys()].sort());
      await store.close();
    }),
    { numRuns: PROGRAMS, ...replaySettings() },
  );
  if (CAMPAIGN !== undefined) process.stdout.write(`${JSON.stringify({ programs: PROGRAMS, ...seen })}\n`);
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(PROGRAMS / 30);
}, 0);

/** The effects that came to a result, by what the world calls them. Failures may be tried again. */
function* finishedIn(session: Session): Generator<string> {
  const keys = new Map<string, string>();
  for (const { id, fact } of session.history()) {
    if (fact.type === "step-call" || fact.type === "tool-call") {
      const { key } = (fact.input ?? {}) as { readonly key?: string };
      if (key !== undefined) keys.set(id, key);
    } else if (fact.type === "step-result" || fact.type === "tool-result") {
      const key = keys.get(fact.of);
      if (key !== undefined) yield key;
    }
  }
}

function deathsOf(random: () => number): Death[] {
  const deaths: Death[] = [];
  while (random() < 0.5)
    deaths.push({ at: 1 + Math.floor(random() * 5), when: random() < 0.5 ? "before" : "after" });
  return deaths;
}
