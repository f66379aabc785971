// @ts-check
// `npm run bench -- cluster [--sessions N] [--workers 1,2,4] [--store postgres://…] [--engine restate|dbos] [--json]`: steps per second
// of 1, 2 and 4 worker processes on one store, with one engine; how long it takes until another worker has the session of one that was killed;
// milliseconds per step with `local` and with Restate; and the bytes of a SQLite store per step. All workers share this machine: beyond its cores, more of them measure their contention.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { openRath, statusOf } from "openrath";
import { engineFile, startServers } from "../../engines/servers.mjs";
import { columns, median } from "../measure.mjs";
import { measureEngines } from "./engines.mjs";
import { many, quick, STEPS, slow } from "./program.mjs";

const words = process.argv.slice(2);
const option = (/** @type {string} */ name) => {
  const place = words.indexOf(`--${name}`);
  return place < 0 ? undefined : words[place + 1];
};
const count = Number(option("sessions") ?? 200);
const sizes = (option("workers") ?? "1,2,4").split(",").map(Number);
const TAKEOVERS = 3;
const chosen = option("engine") ?? "local";
const folder = mkdtempSync(join(tmpdir(), "rath-bench-cluster-"));
const file = join(folder, "rath.db");
const url = option("store") ?? `sqlite:${file}`;
/** Long sessions are elsewhere: they would count among the bytes of the short ones. */
const long = option("store") ?? `sqlite:${join(folder, "long.db")}`;
const program = fileURLToPath(new URL("./program.mjs", import.meta.url));
const command = fileURLToPath(new URL("../../dist/cli/rath.js", import.meta.url));
/** @type {Set<import("node:child_process").ChildProcess>} */
const running = new Set();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

process.env.RATH_STORE = url;
const rath = openRath({ store: url });
const store = await rath.store();
/** Names are new in each call, also where the store is not. */
const mark = Date.now().toString(36);

async function start(engine = chosen, at = rath) {
  const store = await at.store();
  const words = ["worker", program, "--store", at === rath ? url : long, "--engine", engineFile(engine)];
  const child = spawn(process.execPath, [command, ...words], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  running.add(child);
  // A worker is called after its machine and its process.
  const name = await found(async () =>
    (await store.names({ under: ".queue/worker/" })).find((one) => one.name.includes(`-${child.pid}-`)),
  );
  return { child, id: name.name.slice(".queue/worker/".length) };
}

async function stop(/** @type {import("node:child_process").ChildProcess} */ child) {
  const over = new Promise((done) => child.once("exit", done));
  child.kill("SIGTERM");
  await over;
  running.delete(child);
}

/** @template Found @param {() => Promise<Found | undefined | false>} look @returns {Promise<Found>} */
async function found(look, every = 20) {
  for (;;) {
    const one = await look();
    if (one) return one;
    await pause(every);
  }
}

/** Workers are there before the first session comes, and the last one is over at the end. */
async function stepsPerSecond(/** @type {number} */ size) {
  const workers = await Promise.all(Array.from({ length: size }, () => start()));
  const names = Array.from({ length: count }, (_, n) => `${mark}-${size}-${n}`);
  const begun = process.hrtime.bigint();
  await Promise.all(names.map((name) => rath.submit(quick, rath.start(name), { name })));
  // Only the workers themselves are left in the queue.
  await found(async () => (await store.names({ under: ".queue/", limit: size + 1 })).length === size);
  const seconds = Number(process.hrtime.bigint() - begun) / 1e9;
  for (const name of names)
    if (statusOf(await rath.load(name)) !== "finished") throw new Error(`${name} has not ended`);
  for (const { child } of workers) await stop(child);
  return (count * STEPS) / seconds;
}

/** From the kill of a worker until another one has its session. */
async function takeover(/** @type {number} */ round) {
  const first = await start();
  const name = `${mark}-takeover-${round}`;
  await rath.submit(slow, rath.start(name), { name });
  await found(async () => (await store.facts(name, { type: "step-result" })).items.length > 0, 2);
  const second = await start();
  if (statusOf(await rath.load(name)) === "finished")
    throw new Error("the session is over before its worker was killed");
  first.child.kill("SIGKILL");
  const killed = Date.now();
  running.delete(first.child);
  const at = `.queue/at/${second.id}/`;
  await found(async () => (await store.names({ under: at, limit: 1 })).length > 0, 5);
  const milliseconds = Date.now() - killed;
  await found(async () => statusOf(await rath.load(name)) === "finished");
  await stop(second.child);
  return milliseconds;
}

/** One session on one worker, from its submission to its end as the record has them. */
async function sessionWith(/** @type {string} */ engine) {
  const there = openRath({ store: long });
  const { child } = await start(engine, there);
  const name = `${mark}-${child.pid}`;
  const { id } = await there.submit(many, there.start(name), { name });
  await found(async () => statusOf(await there.load(name)) === "finished");
  await stop(child);
  const facts = await Promise.all([id, name].map(async (one) => (await there.load(one)).fact));
  await there.close();
  const [begun = 0, ended = 0] = facts.map(({ at }) => Date.parse(at ?? ""));
  return ended - begun;
}

/** @type {{ [key: string]: number | string | readonly number[] }} */
const report = {
  store: url.split(":")[0] ?? "",
  engine: chosen,
  cores: availableParallelism(),
  load_before: loadavg()[0] ?? 0,
  sessions: count,
  steps_per_session: STEPS,
};
const servers = await startServers(chosen);
for (const size of sizes) report[`${chosen}_steps_per_s_${size}`] = Math.round(await stepsPerSecond(size));
const takeovers = [];
for (let round = 0; round < TAKEOVERS; round++) takeovers.push(await takeover(round));
report.takeover_ms = median(takeovers);
report.takeovers_ms = takeovers;
await servers?.stop();
if (chosen === "local") Object.assign(report, await measureEngines(sessionWith));
await rath.close();
// Closed, the whole store is in one file.
if (url.startsWith("sqlite:"))
  report.bytes_per_step = Math.round(statSync(file).size / (count * STEPS * sizes.length));
process.stdout.write(
  words.includes("--json")
    ? `${JSON.stringify(report)}\n`
    : `${columns(Object.entries(report).map(([name, value]) => [name, String(value)]))}\n`,
);
