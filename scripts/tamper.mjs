// @ts-check
// `npm run tamper [-- options]`: changes a store of 1,000 facts and its bundle in every way there is, one at a time, and
// looks whether verification finds it: every bit flip, every cut, every line left out, doubled or swapped, rollbacks and hidden
// branches. It takes hours; it can be stopped at any time and goes on where it stopped.
//   --only WORD     attacks with this word in their names, such as "bundle" or "sqlite flip" (default: all)
//   --every N       only every Nth case (default 1: all of them)
//   --seed N        the first case, below N (default 0)
//   --workers N     processes (default: one for each core)
//   --folder DIR    where the store lies and how far it has come (default: openrath-tamper in the folder for temporary files)
//   --again         from the beginning
import { fork } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { ensureBuilt } from "./build.mjs";
import { say } from "./run.mjs";
import { ensureInstalled } from "./setup.mjs";

const CHUNK = 64;
/** @typedef {{ done: number, located: number, told: number, same: number, missed: string[] }} Tally */

if (process.env.OPENRATH_TAMPER_WORKER === undefined) process.exitCode = await main();
else await work(process.env.OPENRATH_TAMPER_WORKER);

async function main() {
  const { values } = parseArgs({
    options: {
      only: { type: "string", default: "" },
      every: { type: "string", default: "1" },
      seed: { type: "string", default: "0" },
      workers: { type: "string", default: String(availableParallelism()) },
      folder: { type: "string", default: join(tmpdir(), "openrath-tamper") },
      again: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    // What stands at the top of this file.
    const [text = ""] = readFileSync(fileURLToPath(import.meta.url), "utf8").split("\nimport ");
    process.stdout.write(`${text.replace("// @ts-check\n", "").replaceAll(/^\/\/ ?/gm, "")}\n`);
    return 0;
  }
  const [every, seed, workers] = [values.every, values.seed, values.workers].map(Number);
  if (
    ![every, seed, workers].every((one) => Number.isSafeInteger(one) && /** @type {number} */ (one) >= 0) ||
    !every ||
    !workers
  ) {
    say("--every and --workers are whole numbers from 1 on, --seed from 0 on");
    return 2;
  }
  if (!(ensureInstalled() && ensureBuilt())) return 1;
  const { folder } = values;
  if (values.again) rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { attacks } = await attacksIn(folder, "main");
  const progress = join(folder, `progress-${every}-${seed}.json`);
  /** @type {{ [attack: string]: Tally }} */
  const tallies = readJson(progress) ?? {};
  let isMissed = false;
  for (const { name, count } of attacks.filter((one) => one.name.includes(values.only))) {
    const cases = Math.max(0, Math.ceil((count - /** @type {number} */ (seed)) / every));
    tallies[name] ??= { done: 0, located: 0, told: 0, same: 0, missed: [] };
    const tally = tallies[name];
    await campaign(name, cases, tally, { every, seed: /** @type {number} */ (seed), workers, folder }, () =>
      writeFileSync(progress, JSON.stringify(tallies, undefined, 2)),
    );
    const { done, located, told, same, missed } = tally;
    say(
      `${name}: ${done} of ${count} cases: ${located} found with their place, ${told} found, ${same} change nothing that can be read, ${missed.length} missed`,
    );
    for (const one of missed.slice(0, 10)) say(`  MISSED: ${one}`);
    isMissed ||= missed.length > 0;
  }
  return isMissed ? 1 : 0;
}

/**
 * Deals the cases of an attack out to processes, a handful at a time.
 *
 * @param {string} name @param {number} cases @param {Tally} tally
 * @param {{ every: number, seed: number, workers: number, folder: string }} how @param {() => void} save
 */
async function campaign(name, cases, tally, { every, seed, workers, folder }, save) {
  let next = tally.done;
  if (next >= cases) return;
  let saved = Date.now();
  await Promise.all(
    Array.from({ length: Math.min(workers, Math.ceil((cases - next) / CHUNK)) }, (_, number) => {
      const child = fork(fileURLToPath(import.meta.url), {
        env: {
          ...process.env,
          OPENRATH_TAMPER_WORKER: JSON.stringify({ name, folder, room: `room-${number}` }),
        },
      });
      return /** @type {Promise<void>} */ (
        new Promise((resolve, reject) => {
          const deal = () => {
            if (next >= cases) return void child.disconnect();
            const from = next;
            next = Math.min(cases, next + CHUNK);
            child.send(Array.from({ length: next - from }, (_, place) => seed + (from + place) * every));
          };
          child.on("message", (/** @type {Tally | "ready"} */ part) => {
            if (part !== "ready") {
              for (const count of /** @type {const} */ (["done", "located", "told", "same"]))
                tally[count] += part[count];
              tally.missed.push(...part.missed);
              if (Date.now() - saved > 5000) {
                saved = Date.now();
                save();
                say(`${name}: ${tally.done} of ${cases} (${((100 * tally.done) / cases).toFixed(1)} %)`);
              }
            }
            deal();
          });
          child.on("error", reject);
          child.on("exit", (code) =>
            code === 0 ? resolve() : reject(new Error(`a process of ${name} ended with ${code}`)),
          );
        })
      );
    }),
  );
  save();
}

/** What a process does: tries the cases it is given, and tells how they came out. */
async function work(/** @type {string} */ given) {
  const { name, folder, room } = JSON.parse(given);
  const { attacks } = await attacksIn(folder, room);
  const attack = attacks.find((one) => one.name === name);
  process.on("message", async (/** @type {readonly number[]} */ cases) => {
    /** @type {Tally} */
    const tally = { done: 0, located: 0, told: 0, same: 0, missed: [] };
    for (const index of cases) {
      const result = await attack?.attempt(index);
      tally.done += 1;
      if (result === undefined || result.outcome === "missed")
        tally.missed.push(`case ${index}: ${result?.what}`);
      else tally[result.outcome] += 1;
    }
    process.send?.(tally);
  });
  process.send?.("ready");
}

/** @param {string} folder @param {string} room */
async function attacksIn(folder, room) {
  const { worldIn } = await import("../test/evidence-damage/world.mjs");
  const { attacksOn } = await import("../test/evidence-damage/attack.mjs");
  return { attacks: attacksOn(await worldIn(join(folder, "world")), join(folder, room)) };
}

/** @param {string} path */
function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}
