// @ts-check
// `node bench/cluster/costs.mjs [--store postgres://…] [--json]`: the costs that `npm run simulate` computes with. The processor
// time of a worker for a step, a session and a move that it only hears of; how long a commit holds the store, alone and with 63
// others; commits and bytes of a step. Processor time hardly depends on what else the machine does; the commits do.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { openRath, Session } from "openrath";
import { openStore } from "openrath/store";
import { columns, median } from "../measure.mjs";
import { once, quick, STEPS } from "./program.mjs";

const words = process.argv.slice(2);
const place = words.indexOf("--store");
const folder = mkdtempSync(join(tmpdir(), "rath-bench-costs-"));
const file = join(folder, "rath.db");
const url = place < 0 ? `sqlite:${file}` : /** @type {string} */ (words[place + 1]);
const SESSIONS = 100;
const HEARD = 20_000;
/** Linux counts processor time in hundredths of a second. */
const TICK_MS = 10;
const program = fileURLToPath(new URL("./program.mjs", import.meta.url));
const command = fileURLToPath(new URL("../../dist/cli/rath.js", import.meta.url));
const mark = Date.now().toString(36);

const rath = openRath({ store: url });
const store = await rath.store();
/** @type {import("node:child_process").ChildProcess | undefined} */
let child;
try {
  const report = {
    store: url.split(":")[0],
    node: process.version,
    load: Number(loadavg()[0]?.toFixed(1)),
    ...(await commitCosts()),
    ...(await workerCosts()),
  };
  process.stdout.write(
    words.includes("--json")
      ? `${JSON.stringify(report)}\n`
      : `${columns(Object.entries(report).map(([name, value]) => [name, String(value)]))}\n`,
  );
} finally {
  child?.kill("SIGKILL");
  await rath.close();
  rmSync(folder, { recursive: true, force: true });
}

/** A commit takes `commit_ms`, and `save_ms` more for each save that shares it. */
async function commitCosts() {
  const writer = await openStore(url);
  const alone = [];
  let session = Session.start("costs");
  for (let n = 0; n < 300; n++) {
    session = session.say(`step ${n}`);
    const begun = performance.now();
    await writer.save(session, { name: `${mark}-alone` });
    alone.push(performance.now() - begun);
  }
  const together = [];
  let many = Array.from({ length: 64 }, (_, n) => Session.start(`costs ${n}`));
  for (let round = 0; round < 30; round++) {
    many = many.map((one) => one.say(`round ${round}`));
    const begun = performance.now();
    await Promise.all(many.map((one, n) => writer.save(one, { name: `${mark}-${n}` })));
    together.push(performance.now() - begun);
  }
  await writer.close();
  const save = Math.max(0, (median(together) - median(alone)) / 63);
  return { commit_ms: rounded(median(alone) - save), save_ms: rounded(save) };
}

async function workerCosts() {
  child = spawn(process.execPath, [command, "worker", program, "--store", url], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const { pid } = child;
  await until(async () =>
    (await store.names({ under: ".queue/worker/" })).some(({ name }) => name.includes(`-${pid}-`)),
  );
  // The first sessions load and compile the program.
  await costOf(quick, "warm", 40);
  const many = await costOf(quick, "many", SESSIONS);
  const few = await costOf(once, "few", SESSIONS * 2);
  const step = (many.cpu - few.cpu) / (STEPS - 1);
  const before = processorTime();
  let moved = Session.start("moves");
  for (let n = 0; n < HEARD; n += 100) {
    const names = Array.from({ length: 100 }, (_, at) => `${mark}-heard-${at}`);
    moved = moved.say(`${n}`);
    await Promise.all(names.map((name) => store.save(moved, { name })));
  }
  await pause(1_500);
  const quiet = processorTime();
  await pause(3_000);
  // What a worker does anyway in that time is not the cost of what it heard.
  const idle = (processorTime() - quiet) / 2;
  return {
    step_cpu_ms: rounded(step),
    session_cpu_ms: rounded(few.cpu - step),
    heard_cpu_ms: rounded(Math.max(0, processorTime() - before - idle * 3) / HEARD),
    step_moves: rounded((many.moves - few.moves) / (STEPS - 1)),
    session_moves: rounded(few.moves - (many.moves - few.moves) / (STEPS - 1)),
    step_bytes: url.startsWith("sqlite:") ? Math.round(many.bytes / STEPS) : undefined,
  };
}

/**
 * The processor time of the worker, and the moves and bytes of the store, for one session.
 *
 * @param {import("openrath").Module} module @param {string} name @param {number} count
 */
async function costOf(module, name, count) {
  const moves = counted();
  const [cpu, bytes] = [processorTime(), size()];
  const names = Array.from({ length: count }, (_, n) => `${mark}-${name}-${n}`);
  await Promise.all(names.map((one) => rath.submit(module, rath.start(one), { name: one })));
  await until(async () => (await store.names({ under: ".queue/", limit: 2 })).length === 1);
  return {
    cpu: (processorTime() - cpu) / count,
    bytes: (size() - bytes) / count,
    moves: (await moves()) / count,
  };
}

/** Counts the moves of names from now on. */
function counted() {
  const stop = new AbortController();
  let count = 0;
  const counting = (async () => {
    for await (const _ of store.watch({ each: true, signal: stop.signal })) count += 1;
  })();
  return async () => {
    await pause(500);
    stop.abort();
    await counting;
    return count;
  };
}

function processorTime() {
  const text = readFileSync(`/proc/${child?.pid}/stat`, "utf8");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

function size() {
  if (!url.startsWith("sqlite:")) return 0;
  return ["", "-wal"].reduce(
    (sum, end) => sum + (statSync(file + end, { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}

async function until(/** @type {() => Promise<boolean>} */ look) {
  while (!(await look())) await pause(20);
}

function rounded(/** @type {number} */ value) {
  return Math.round(value * 1_000) / 1_000;
}
