import fc from "fast-check";
import { Session } from "openrath";
import { openStore } from "openrath/store";
import { expect, it } from "vitest";
import { campaign } from "../../src/session/testing/campaign.js";
import { type Driven, drive, replayed } from "./drive.js";
import { numbersFrom, replaySettings } from "./numbers.js";
import { type Program, programs } from "./program.js";
import { World } from "./world.js";

const CAMPAIGN = process.env.OPENRATH_PROGRAMS ?? process.env.OPENRATH_RANDOM;
const PROGRAMS = CAMPAIGN === undefined ? campaign(300) : Math.max(300, Number(CAMPAIGN));

it(`[R12] ${PROGRAMS} random programs replay and verify to the recorded id, with nothing of the world at hand`, async () => {
  const seen = { ended: 0, failed: 0, suspensions: 0, facts: 0 };
  await fc.assert(
    fc.asyncProperty(programs({ depth: 4, timed: true, slowest: 5 }), fc.nat(), async (program, seed) => {
      const driven = await check(program, numbersFrom(seed));
      seen[driven.error === undefined ? "ended" : "failed"] += 1;
      seen.suspensions += driven.suspensions;
      seen.facts += [...driven.session.history()].length;
    }),
    { numRuns: PROGRAMS, ...replaySettings() },
  );
  if (CAMPAIGN !== undefined) process.stdout.write(`${JSON.stringify({ programs: PROGRAMS, ...seen })}\n`);
  // What is never hit is not tested: both ways to end, and waiting, must be common.
  expect(seen.ended).toBeGreaterThan(PROGRAMS / 10);
  expect(seen.failed).toBeGreaterThan(PROGRAMS / 10);
  expect(seen.suspensions).toBeGreaterThan(PROGRAMS / 10);
}, 0);

async function check(program: Program, random: () => number): Promise<Driven> {
  const store = await openStore("memory:");
  const world = new World();
  const base = Session.start("go", program.salted ? { inline: 0 } : {}).say("please");
  const driven = await drive(program, world, store, base, { name: "run", random });
  expect(world.wrongs).toEqual([]);
  const { id } = driven.session;
  for (const [mode, of] of [
    ["replay", id],
    ["verify", "run"],
  ] as const) {
    const again = await replayed(program, store, of, mode);
    expect(again).toMatchObject({ caught: [], session: { id } });
  }
  const other = await openStore("memory:");
  const lines: string[] = [];
  for await (const line of store.export(id)) lines.push(line);
  await other.import(lines, { head: id });
  const there = await replayed(program, other, id, "verify");
  expect(there).toMatchObject({ caught: [], session: { id } });
  await store.close();
  await other.close();
  return driven;
}
