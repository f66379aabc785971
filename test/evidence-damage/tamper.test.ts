import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { campaign } from "../../src/session/testing/campaign.js";
import { type Attack, attacksOn } from "./attack.mjs";
import { type World, worldIn } from "./world.mjs";

// `npm run tamper` tries every case. These are so many of each attack, spread evenly from a place that the day chooses.
const SAMPLE = Number(process.env.OPENRATH_TAMPER ?? 1);
const sizeOf = (cases: number): number => campaign(cases) * SAMPLE;
const SEED = Number(process.env.OPENRATH_SEED ?? Math.floor(Date.now() / 86_400_000));
const folder = mkdtempSync(join(tmpdir(), "openrath-tamper-"));
// Many processes, or many stores one after the other: a busy machine needs the room.
const PATIENCE = 180_000;
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let world: World;
let attacks: readonly Attack[];

beforeAll(async () => {
  world = await worldIn(join(folder, "world"));
  attacks = attacksOn(world, join(folder, "room"));
});

/** Tries so many cases of an attack, and says how many came out how. */
async function sample(name: string, most: number): Promise<{ [outcome: string]: number }> {
  const attack = attacks.find((one) => one.name === name);
  if (attack === undefined) throw new Error(`there is no attack ${name}`);
  const number = Math.min(attack.count, sizeOf(most));
  const counts: { [outcome: string]: number } = { located: 0, told: 0, same: 0, missed: 0 };
  for (let index = 0; index < number; index++) {
    const place = (Math.floor((index * attack.count) / number) + SEED * 7919) % attack.count;
    const { outcome, what } = await attack.attempt(place);
    counts[outcome] = (counts[outcome] ?? 0) + 1;
    if (outcome === "missed") throw new Error(`${name}, case ${place}, seed ${SEED}: ${what} was missed`);
  }
  return counts;
}

it(
  "[T1] a bundle of 1,000 facts: flips, cuts, lines left out, doubled, swapped",
  async () => {
    expect(world.reading.lines.length).toBeGreaterThan(1000);
    for (const [name, most] of [
      ["flip", 120],
      ["cut", 40],
      ["left out", 30],
      ["doubled", 20],
      ["swapped", 40],
    ] as const) {
      const { told, same } = await sample(`bundle ${name}`, most);
      expect([told, same], name).toEqual([0, 0]);
    }
  },
  PATIENCE,
);

it(
  "[T2] a file of lines: flips, cuts, lines left out, doubled, swapped",
  async () => {
    for (const [name, most] of [
      ["flip", 80],
      ["cut", 30],
      ["left out", 30],
      ["doubled", 30],
      ["swapped", 30],
    ] as const) {
      const { located, told, same } = await sample(`lines ${name}`, most);
      if (name === "flip")
        expect(located, "flips are told with their line").toBeGreaterThanOrEqual(sizeOf(80) - 3);
      if (name !== "swapped") expect(same, name).toBeLessThan(3);
      expect(told as number, name).toBeLessThan(3 + (name === "cut" ? 5 : 0));
    }
  },
  PATIENCE,
);

it(
  "[T3] a SQLite store and its log: flips and cuts",
  async () => {
    // Some bytes of a database mean nothing; `npm run tamper` counts them. Of a small sample they can be the most.
    const flips = await sample("sqlite flip", 80);
    expect((flips.located ?? 0) + (flips.told ?? 0)).toBeGreaterThan(0);
    await sample("sqlite cut", 10);
  },
  PATIENCE,
);

it(
  "[T5] rollbacks and hidden branches, of names, stores and homes",
  async () => {
    const { located, told, same } = await sample("sqlite rollback", 23);
    expect([told, same]).toEqual([0, 0]);
    expect(located).toBeGreaterThanOrEqual(campaign(23));
  },
  PATIENCE,
);
