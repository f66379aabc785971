import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, it } from "vitest";
import { campaign } from "../../src/session/testing/campaign.js";
import { SEED } from "../../src/store/testing/crash.js";
import { folder } from "../../src/store/testing/folder.js";
import { compile } from "../../src/util/testing/compile.js";
import { numbersFrom } from "./numbers.js";

const script = fileURLToPath(new URL("./killed.mjs", import.meta.url));
const KILLS = Number(process.env.OPENRATH_CRASH_ROUNDS ?? campaign(20));
const SCHEMES = ["sqlite"];

type Told = {
  readonly open?: true;
  readonly told?: string;
  readonly finished?: string;
  readonly settled?: string;
  readonly as?: "done" | "again";
  readonly ended?: string;
  readonly transcript?: readonly unknown[];
  readonly verified?: string;
  readonly recorded?: string;
  readonly findings?: readonly unknown[];
  readonly past?: readonly string[];
};

const processes: Killed[] = [];
afterEach(async () => {
  for (const process of processes.splice(0)) await process.kill();
});

it.each(SCHEMES)(
  `[R14] ${KILLS} times kill -9 of a process that runs a workflow on %s: (seed ${SEED}): resumed, it does nothing twice, loses nothing it told of, and ends as if nothing had been`,
  async (scheme) => {
    const random = numbersFrom(SEED);
    const calm = await finish(scheme, 0, random);
    let kills = 0;
    let runs = 0;
    let settled = 0;
    let facts = 0;
    while (kills < KILLS) {
      const run = await finish(scheme, KILLS - kills, random);
      expect(run.transcript).toEqual(calm.transcript);
      kills += run.kills;
      settled += run.settled;
      facts += run.facts;
      runs += 1;
    }
    if (process.env.OPENRATH_CRASH_ROUNDS !== undefined)
      process.stdout.write(`${scheme}: ${JSON.stringify({ kills, runs, settled, facts })}\n`);
    expect(runs).toBeLessThan(kills);
  },
  0,
);

/** Runs the workflow to its end through as many kills as come, and holds the journal and the store against what was told. */
async function finish(
  scheme: string,
  most: number,
  random: () => number,
): Promise<{ kills: number; settled: number; facts: number; transcript: readonly unknown[] }> {
  const place = folder();
  const journal = join(place, "journal");
  const url = `${scheme}:${join(place, "store")}`;
  const told = new Set<string>();
  const over = new Set<string>();
  let kills = 0;
  let settled = 0;
  let transcript: readonly unknown[] | undefined;
  while (transcript === undefined) {
    const before = linesOf(journal).length;
    const child = new Killed({ url, journal });
    if (kills < most) {
      // Some die while they open the store, the others a while after.
      if (random() < 0.85) await child.speaks();
      await sleep(random() * (random() < 0.3 ? 15 : 250));
      await child.kill();
    }
    await child.ended;
    const heard = child.told;
    const end = heard.find((one) => one.ended !== undefined);
    transcript = end?.transcript;
    if (end === undefined) {
      expect(child.killed, child.complaint).toBe(true);
      kills += 1;
    }
    settled += heard.filter((one) => one.settled !== undefined).length;
    // What an earlier process was told is finished is not called by a later one.
    const again = linesOf(journal)
      .slice(before)
      .filter((line) => line.startsWith("call ") && over.has(line.split(" ")[2] as string));
    expect(again, "finished and called again").toEqual([]);
    for (const { told: id, finished } of heard) {
      if (id !== undefined) told.add(id);
      if (finished !== undefined) over.add(finished);
    }
  }
  expectOnce(linesOf(journal));
  const verifier = new Killed({ url, journal, task: "verify" });
  await verifier.ended;
  const [checked] = verifier.told;
  expect(checked, verifier.complaint).toMatchObject({ findings: [], verified: checked?.recorded });
  const past = new Set(checked?.past);
  expect(
    [...told].filter((id) => !past.has(id)),
    "told and lost",
  ).toEqual([]);
  return { kills, settled, facts: told.size, transcript };
}

/** Every write at most once, and every key that is sent along always the same. */
function expectOnce(lines: readonly string[]): void {
  const times = new Map<string, number>();
  const keys = new Map<string, string>();
  for (const line of lines) {
    const [what, effect, name, key] = line.split(" ") as [string, string, string, string];
    if (what === "did" && effect === "write") times.set(name, (times.get(name) ?? 0) + 1);
    if (effect === "write" || effect === "idempotent") {
      expect(keys.get(name) ?? key, `the key of ${name}`).toBe(key);
      keys.set(name, key);
    }
  }
  expect([...times].filter(([, count]) => count > 1)).toEqual([]);
  expect(times.size).toBeGreaterThan(20);
}

/** The sources as JavaScript: performing several requests at once is not public. */
function sources(): string {
  compile("runtime/index.ts");
  return dirname(compile("index.ts"));
}

/** A process that runs the workflow until it is killed. */
class Killed {
  readonly ended: Promise<void>;
  readonly #process: ChildProcess;
  #text = "";
  #heard: () => void = () => {};
  killed = false;
  complaint = "";

  constructor(task: object) {
    const argument = JSON.stringify({ dist: sources(), ...task });
    this.#process = spawn(process.execPath, [script, argument], { stdio: ["ignore", "pipe", "pipe"] });
    this.#process.stdout?.on("data", (data) => {
      this.#text += data;
      this.#heard();
    });
    this.#process.stderr?.on("data", (data) => {
      this.complaint += data;
    });
    this.ended = new Promise((done) => this.#process.once("close", () => done()));
    processes.push(this);
  }

  /** What it told in whole lines. */
  get told(): readonly Told[] {
    return this.#text
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Told);
  }

  /** Waits for the first word, or the end. */
  async speaks(): Promise<void> {
    if (this.#text === "")
      await Promise.race([new Promise<void>((done) => (this.#heard = done)), this.ended]);
  }

  async kill(): Promise<void> {
    if (this.#process.exitCode === null && this.#process.signalCode === null)
      this.killed = this.#process.kill("SIGKILL");
    await this.ended;
  }
}

function linesOf(journal: string): readonly string[] {
  return existsSync(journal) ? readFileSync(journal, "utf8").split("\n").slice(0, -1) : [];
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((done) => setTimeout(done, milliseconds));
}
