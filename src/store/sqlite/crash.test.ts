import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { afterEach, beforeAll, expect, it } from "vitest";
import { campaign } from "../../session/testing/campaign.js";
import { CrashWriter, Ledger, numbersFrom, packageCopy, SEED, verifyBackups } from "../testing/crash.js";
import { folder } from "../testing/folder.js";

const ROUNDS = Number(process.env.OPENRATH_CRASH_ROUNDS ?? campaign(40));
/** A store is used for this many rounds, so that later ones find what earlier ones left. */
const ROUNDS_PER_STORE = 8;

// A build may be due, and is no part of what is tested.
beforeAll(() => {
  packageCopy();
});

const writers: CrashWriter[] = [];
afterEach(async () => {
  for (const writer of writers.splice(0)) await writer.kill();
});

it(`[K1] [S145] ${ROUNDS} kills of a writing process (seed ${SEED}): the store opens, is sound, has all that was acknowledged, and goes on`, async () => {
  const random = numbersFrom(SEED);
  let acknowledged = 0;
  let ledger = new Ledger();
  let url = "";
  for (let round = 0; round < ROUNDS; round++) {
    if (round % ROUNDS_PER_STORE === 0) {
      acknowledged += ledger.size;
      ledger = new Ledger();
      url = `sqlite:${join(folder(), "rath.db")}`;
    }
    const writer = new CrashWriter(url, { seed: SEED + round, writers: 1 + random(6) });
    writers.push(writer);
    // Some are killed while they make or open the store, the others while they write, pack, collect or back up.
    if (round % 4 === 0) await sleep(random(300));
    else {
      await writer.acknowledges();
      await sleep(random(500));
    }
    await writer.kill();
    const { told } = writer;
    expect(told.filter((what) => what.error !== undefined)).toEqual([]);
    ledger.take(told);
    await ledger.verify(url);
    await verifyBackups(told);
  }
  acknowledged += ledger.size;
  if (process.env.OPENRATH_CRASH_ROUNDS !== undefined)
    process.stdout.write(`${ROUNDS} kills, ${acknowledged} acknowledged saves, none lost\n`);
  // At least one in each of those rounds; how many more is a question of speed.
  expect(acknowledged).toBeGreaterThan(ROUNDS / 2);
});

const FAULTS = Number(process.env.OPENRATH_CRASH_ROUNDS ?? campaign(16));
const faults = [
  {
    what: "the disk is full",
    inject: "pwrite64:error=ENOSPC",
    most: 90,
    forever: true,
    codes: ["store-full"],
  },
  { what: "a write fails", inject: "pwrite64:error=EIO", most: 90, codes: ["store-failed"] },
  { what: "a sync fails", inject: "fsync,fdatasync:error=EIO", most: 40, codes: ["store-failed"] },
  { what: "the process dies at a write", inject: "pwrite64:signal=KILL", most: 90, codes: [] },
  { what: "the process dies at a sync", inject: "fsync,fdatasync:signal=KILL", most: 40, codes: [] },
] as const;
const TRACER = "strace";
const tracer = hasTracer();
if (!tracer) process.stdout.write("system calls are not made to fail: strace is missing or may not trace\n");

it.skipIf(!tracer)(
  `[K14] ${FAULTS} system calls of each kind fail (seed ${SEED}): nothing acknowledged is lost, errors have names, and after a failed sync nothing more is written`,
  async () => {
    const random = numbersFrom(SEED);
    let hit = 0;
    let acknowledged = 0;
    for (const { what, inject, most, codes, ...more } of faults) {
      for (let round = 0; round < FAULTS; round++) {
        const path = join(folder(), "rath.db");
        const nth = 1 + random(most);
        const why = `seed ${SEED}, ${what} at call ${nth}`;
        const only = [path, `${path}-wal`].flatMap((file) => ["-P", file]);
        const when = `${nth}${"forever" in more ? "+" : ""}`;
        const writer = new CrashWriter(
          `sqlite:${path}`,
          { seed: SEED + round, writers: 2, plain: true, most: 25 },
          [TRACER, "-f", "-q", "-o", "/dev/null", ...only, "-e", `inject=${inject}:when=${when}`],
        );
        writers.push(writer);
        await writer.ended;
        const { told } = writer;
        const failed = told.find((one) => one.error !== undefined);
        if (failed !== undefined || told.at(-1)?.closed === undefined) hit += 1;
        if (failed !== undefined) {
          expect(codes, `${why}: ${failed.message}`).toContain(failed.error);
          // Whoever asks again after a failed write or sync gets the same answer until the store is opened anew.
          const again = told.find((one) => one.again !== undefined)?.again;
          if (again !== undefined) expect(codes, why).toContain(again);
        }
        const ledger = new Ledger();
        ledger.take(told);
        acknowledged += ledger.size;
        await ledger.verify(`sqlite:${path}`);
      }
    }
    if (process.env.OPENRATH_CRASH_ROUNDS !== undefined)
      process.stdout.write(`${hit} faults hit, ${acknowledged} acknowledged saves, none lost\n`);
    expect(hit).toBeGreaterThan(faults.length);
  },
);

function hasTracer(): boolean {
  return spawnSync(TRACER, ["-o", "/dev/null", "-e", "trace=none", "true"], { stdio: "ignore" }).status === 0;
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((done) => setTimeout(done, milliseconds));
}
