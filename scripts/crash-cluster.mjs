// @ts-check
// `npm run crash -- cluster [--sessions N] [--store URL] [--engine restate|dbos] [--json]`: kills and stops workers while they run
// sessions, and counts their effects in a file of its own. One worker has a clock that is an hour off, and two programs submit
// everything. With Restate, its nodes (--nodes 3) are killed too.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { engineFile, startServers } from "../engines/servers.mjs";

const WORKERS = 4;
/** Milliseconds after which a worker that was stopped goes on; it is taken for dead after two seconds. */
const WAKES = [30, 700, 4_000];
const words = process.argv.slice(2);
const option = (/** @type {string} */ name) => {
  const place = words.indexOf(`--${name}`);
  return place < 0 ? undefined : words[place + 1];
};
const count = Number(option("sessions") ?? 100);
const folder = mkdtempSync(join(tmpdir(), "rath-crash-cluster-"));
const ledger = join(folder, "ledger.txt");
const url = option("store") ?? `sqlite:${join(folder, "rath.db")}`;
const engine = option("engine") ?? "local";
const concurrency = option("concurrency") ?? (engine === "local" ? "4" : "25");
const servers = await startServers(engine, Number(option("nodes") ?? 3));
Object.assign(process.env, { RATH_LEDGER: ledger, RATH_STORE: url });
writeFileSync(ledger, "");
const clock = join(folder, "clock.mjs");
writeFileSync(clock, "const now = Date.now; Date.now = () => now() + 3_600_000;\n");
const program = fileURLToPath(new URL("./cluster-program.mjs", import.meta.url));
const command = fileURLToPath(new URL("../dist/cli/rath.js", import.meta.url));

const { openRath, RathError, statusOf } = await import("openrath");
const { counted, steps } = await import(program);
const rath = openRath({ store: url });
const store = await rath.store();
const submitters = [rath, openRath({ store: url })];
const pause = (/** @type {number} */ milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

let number = 0;
const start = () => {
  const off = number++ === 1 ? ["--import", clock] : [];
  const words = ["--store", url, "--concurrency", concurrency, "--engine", engineFile(engine)];
  return spawn(process.execPath, [...off, command, "worker", program, ...words], {
    stdio: ["ignore", "ignore", "inherit"],
  });
};
const workers = Array.from({ length: WORKERS }, start);
process.once("exit", () => {
  for (const worker of workers) worker.kill("SIGKILL");
});
const names = Array.from({ length: count }, (_, n) => `session-${n}`);
for (const name of names) {
  const session = rath.start(name);
  await Promise.all(submitters.map((one) => one.submit(counted, session, { name })));
}
let kills = 0;
let stops = 0;
let nodeKills = 0;
/** @type {Promise<void> | undefined} */
let away;
let doubts = 0;
/** Workers that are stopped. One that wakes may still perform the effect that it was stopped in, for a moment. */
const asleep = new Set();
const MOMENT = 2_000;
let wokeAt = 0;
/** Whether a doubt waits until all workers are awake: then the ledger says for certain what happened, and no repeat is excused. */
let isDoubtful = false;
const open = new Set(names);
const lines = () => readFileSync(ledger, "utf8").split("\n").filter(Boolean);

async function look() {
  isDoubtful = false;
  const isCertain = asleep.size === 0 && Date.now() - wokeAt > MOMENT;
  for (const name of [...open]) {
    const state = statusOf(await rath.load(name));
    if (state === "finished") open.delete(name);
    if (state !== "waiting") continue;
    for (const one of await rath.pending(name)) {
      if (one.doubt !== true || one.answered) continue;
      isDoubtful ||= !isCertain;
      if (!isCertain) continue;
      const happened = lines().includes(one.key ?? "");
      try {
        await rath.settle(name, {
          by: "user:campaign",
          of: one.id,
          ...(happened ? { decision: "done", value: 0 } : { decision: "again" }),
        });
        doubts += 1;
      } catch (error) {
        // A worker has just taken it again: it asks once more.
        if (!(error instanceof RathError && error.code === "answer-refused")) throw error;
      }
    }
  }
}

/** @param {NonNullable<Awaited<ReturnType<typeof startServers>>>} cluster */
async function killNode(cluster) {
  const names = cluster.names;
  await cluster.kill([names[Math.floor(Math.random() * names.length)] ?? ""]);
  nodeKills += 1;
  await pause(500 + Math.random() * 1_000);
  await cluster.restart();
  await pause(open.size > 0 ? 3_000 : 0);
  away = undefined;
}

const deadline = Date.now() + 120_000 + count * 1_000;
while (open.size > 0 && Date.now() < deadline) {
  await pause(200 + Math.random() * 400);
  const place = Math.floor(Math.random() * WORKERS);
  const worker = workers[place];
  if (worker !== undefined && open.size > 0) {
    if (isDoubtful || Math.random() < 0.5) {
      worker.kill("SIGKILL");
      asleep.delete(worker);
      workers[place] = start();
      kills += 1;
    } else {
      worker.kill("SIGSTOP");
      asleep.add(worker);
      const wake = WAKES[stops++ % WAKES.length];
      setTimeout(() => {
        worker.kill("SIGCONT");
        if (asleep.delete(worker)) wokeAt = Date.now();
      }, wake);
    }
  }
  // A worker does not start while its engine is away, and is started again.
  for (const [at, { exitCode }] of workers.entries()) if (exitCode !== null) workers[at] = start();
  // Workers are killed while a node is away, too. All nodes are there for three seconds before the next one is killed.
  if (servers !== undefined) away ??= killNode(servers);
  await look();
}
const over = workers.map((worker) => new Promise((done) => worker.once("exit", done)));
for (const worker of workers) {
  worker.kill("SIGCONT");
  worker.kill("SIGTERM");
}
// The campaign does not wait for this time when they have ended.
const most = new Promise((done) => setTimeout(done, 15_000).unref());
await Promise.race([Promise.all(over), most]);
for (const worker of workers) if (worker.exitCode === null) worker.kill("SIGKILL");

/** @type {Map<string, number>} */
const times = new Map();
for (const key of lines()) times.set(key, (times.get(key) ?? 0) + 1);
const repeated = [...times].filter(([, n]) => n > 1).length;
const elsewhere = openRath({ store: "memory:" });
let verified = 0;
for (const name of names) {
  if (open.has(name)) continue;
  const there = await elsewhere.store();
  await there.import(store.export(name), { name });
  await elsewhere.replay(name, counted, { mode: "verify" });
  verified += 1;
}
const lost = (count - open.size) * steps - times.size;
const report = {
  store: url.split(":")[0],
  engine,
  workers: WORKERS,
  kills,
  stops,
  ...(servers && { nodes: servers.names.length, node_kills: nodeKills }),
  sessions: count,
  ended: count - open.size,
  lost: Math.max(0, lost),
  repeated,
  doubts_reported: doubts,
  verified,
  ledger,
};
process.stdout.write(
  words.includes("--json")
    ? `${JSON.stringify(report)}\n`
    : `${Object.entries(report)
        .map(([name, value]) => `${name}: ${value}`)
        .join("\n")}\n`,
);
await Promise.all([...submitters, elsewhere].map((one) => one.close()));
await away;
await servers?.stop();
process.exitCode = open.size === 0 && lost <= 0 && repeated === 0 && verified === count ? 0 : 1;
