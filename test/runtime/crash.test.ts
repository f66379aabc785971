import fc from "fast-check";
import { type Json, Session } from "openrath";
import { openStore } from "openrath/store";
import { expect, it } from "vitest";
import { campaign } from "../../src/session/testing/campaign.js";
import { type Driven, digestOf, drive, replayed } from "./drive.js";
import type { Death } from "./frail-store.js";
import { numbersFrom, replaySettings } from "./numbers.js";
import { isSteady, type Program, programs } from "./program.js";
import { World } from "./world.js";

const ROUNDS = process.env.OPENRATH_CRASH_ROUNDS;
const PROGRAMS = ROUNDS === undefined ? campaign(40) : Math.max(40, Number(ROUNDS));
/** Every write of the longest programs would take all the time there is; of these, so many are chosen by chance. */
const MOST = ROUNDS === undefined ? 12 : 40;

it(`[R13] ${PROGRAMS} random programs, dying at each of their writes and again while they recover: nothing is done twice, nothing told is lost, and the result is the same`, async () => {
  const seen = { programs: 0, steady: 0, runs: 0, deaths: 0, suspensions: 0 };
  await fc.assert(
    fc.asyncProperty(fc.nat(), anyProgram(), async (seed, program) => {
      const random = numbersFrom(seed);
      const calm = await check(program, [], random);
      seen.programs += 1;
      const steady = isSteady(program);
      if (steady) seen.steady += 1;
      for (const deaths of plans(calm.saves, random)) {
        const driven = await check(program, deaths, random);
        seen.runs += 1;
        seen.deaths += driven.deaths;
        seen.suspensions += driven.suspensions;
        if (steady) expect(driven.digest, JSON.stringify(deaths)).toEqual(calm.digest);
      }
    }),
    { numRuns: PROGRAMS, ...replaySettings() },
  );
  if (ROUNDS !== undefined) process.stdout.write(`${JSON.stringify(seen)}\n`);
  expect(seen.deaths).toBeGreaterThan(seen.programs);
  expect(seen.steady).toBeGreaterThan(seen.programs / 5);
}, 0);

/** Half of them give the same result each time, as far as that can be known; the others do what they like. */
function anyProgram(): fc.Arbitrary<Program> {
  return fc.oneof(
    {
      weight: 2,
      arbitrary: programs({ depth: 3, timed: false, slowest: 1 }).filter(isSteady),
    },
    { weight: 1, arbitrary: programs({ depth: 3, timed: true, slowest: 2 }) },
  );
}

/** Dies at each write, before it or after it took effect or closed in good order, and mostly again while it recovers. */
function plans(saves: number, random: () => number): Death[][] {
  const all: Death[][] = [];
  for (let at = 1; at <= saves; at++)
    for (const when of ["before", "after", "close"] as const) {
      const again: Death[] = [];
      while (random() < 0.6) again.push({ at: 1 + Math.floor(random() * 4), when: whenOf(random()) });
      all.push([{ at, when }, ...again]);
    }
  while (all.length > MOST) all.splice(Math.floor(random() * all.length), 1);
  return all;
}

function whenOf(chance: number): Death["when"] {
  if (chance < 0.45) return "before";
  return chance < 0.9 ? "after" : "close";
}

async function check(
  program: Program,
  deaths: readonly Death[],
  random: () => number,
): Promise<Driven & { readonly digest: Json }> {
  const plan = JSON.stringify(deaths);
  const store = await openStore("memory:");
  const world = new World();
  const base = Session.start("go", program.salted ? { inline: 0 } : {});
  const driven = await drive(program, world, store, base, { name: "run", deaths, random });
  await world.rests();
  expect(world.wrongs, plan).toEqual([]);
  const { id } = driven.session;
  const past = new Set<string>();
  for await (const one of store.history(id)) past.add(one.id);
  const lost = [...driven.told].filter((told) => !past.has(told));
  expect(lost, `${plan}: acknowledged facts are not in the past of the end`).toEqual([]);
  const again = await replayed(program, store, "run", "verify");
  expect(again, plan).toMatchObject({ caught: [], session: { id } });
  // Nothing of the run stays behind: no branch, no beginning.
  const names = (await store.names()).map(({ name }) => name).filter((name) => name.startsWith("run/"));
  expect(names, plan).toEqual([]);
  // Read while it can be: content may be in the store's blobs.
  const digest = digestOf(driven);
  await store.close();
  return { ...driven, digest };
}
