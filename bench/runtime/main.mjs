// @ts-check
// `npm run bench -- runtime [--json] [--no-peer] [--no-agents]`: the loop, durability, replay, fan-out and import, beside the AI
// SDK (6 and 7) and OpenAI Agents, in one run. OpenAI Agents takes minutes at 1,000 steps, and no ratio needs it.
import { execFile } from "node:child_process";
import { closeSync, fdatasyncSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { agent, openRath, step, workflow } from "openrath";
import { columns, median, time, timeAsync } from "../measure.mjs";
import { ensurePeer } from "../peer.mjs";
import { reply } from "./stub.mjs";

const { values: options } = parseArgs({
  options: { json: { type: "boolean" }, "no-peer": { type: "boolean" }, "no-agents": { type: "boolean" } },
});
const SIZES = /** @type {const} */ ([20, 100, 1000]);
const ROUNDS = 3;
const AI_SDKS = /** @type {const} */ ([
  ["ai_sdk", "ai"],
  ["ai_sdk_7", "ai7"],
]);
const FANOUT = 100;
const LATENCY_MS = 100;
const REPLAYED_STEPS = 2_000;
const peers = new URL("./peers/", import.meta.url);
const folder = mkdtempSync(join(tmpdir(), "openrath-bench-"));

/** @param {string} text */
const progress = (text) => process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${text} …` : `${text} …\n`);
const installed = options["no-peer"]
  ? /** @type {const} */ ({ ok: false, reason: "--no-peer" })
  : await ensurePeer(peers, "the AI SDK and OpenAI Agents");

let figures;
try {
  figures = {
    ...(await measureLoops()),
    ...(await measureDurable()),
    ...(await measureReplay()),
    ...(await measureFanout()),
    ...(await measureImport()),
    node: process.version,
    cpu: cpus()[0]?.model,
  };
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
process.stdout.write(options.json ? `${JSON.stringify(figures)}\n` : table(figures));

/** Per step, each in processes of its own, turn by turn so that a busy machine is busy for everybody. */
async function measureLoops() {
  /** @type {{ [key: string]: number[] }} */
  const all = {};
  const add = async (/** @type {string} */ key, /** @type {string} */ file, /** @type {string[]} */ args) => {
    const { stdout } = await promisify(execFile)(process.execPath, [file, ...args], { maxBuffer: 1e8 });
    all[key] = [...(all[key] ?? []), ...JSON.parse(stdout)];
  };
  const ours = fileURLToPath(new URL("./loop.mjs", import.meta.url));
  for (let round = 0; round < ROUNDS; round++) {
    for (const size of SIZES) {
      const repeats = size === 1000 ? "3" : "7";
      progress(`the loop at ${size} steps, round ${round + 1} of ${ROUNDS}`);
      await add(`step_ms_${size}`, ours, ["none", `${size}`, repeats]);
      await add(`hosted_step_ms_${size}`, ours, ["memory:", `${size}`, repeats]);
      if (!installed.ok) continue;
      for (const [key, name] of AI_SDKS)
        await add(`${key}_step_ms_${size}`, fileURLToPath(new URL("ai-sdk.mjs", peers)), [
          `${size}`,
          repeats,
          name,
        ]);
      if (options["no-agents"]) continue;
      // It grows with the square of the steps: once is enough at the largest size.
      if (size < 1000 || round === 0)
        await add(`openai_agents_step_ms_${size}`, fileURLToPath(new URL("openai-agents.mjs", peers)), [
          `${size}`,
          size === 1000 ? "1" : "3",
        ]);
    }
  }
  const medians = Object.fromEntries(Object.entries(all).map(([key, times]) => [key, median(times)]));
  return installed.ok
    ? {
        ...medians,
        ...Object.fromEntries(AI_SDKS.map(([key, name]) => [`${key}_version`, version(name)])),
        openai_agents_version: version("@openai/agents"),
      }
    : { ...medians, peers_skipped: installed.reason };
}

/** The same loop on SQLite, and what the disk alone takes for as many synced appends. */
async function measureDurable() {
  progress("the loop on sqlite:");
  const file = fileURLToPath(new URL("./loop.mjs", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [
    file,
    `sqlite:${join(folder, "loop.db")}`,
    "300",
    "5",
  ]);
  return { durable_step_ms: median(JSON.parse(stdout)), fdatasync_ms: fdatasync() };
}

function fdatasync() {
  const handle = openSync(join(folder, "limit"), "w");
  const bytes = Buffer.alloc(2048, "x");
  const times = [];
  for (let index = 0; index < 300; index++)
    times.push(
      time(() => {
        writeSync(handle, bytes);
        fdatasyncSync(handle);
      }),
    );
  closeSync(handle);
  return median(times);
}

/** A long run gone through again: load, every fact taken over, same id. */
async function measureReplay() {
  progress("replay");
  const rath = openRath({ store: "memory:" });
  const work = step("work", async (/** @type {number} */ index) => ({ index, text: "x".repeat(200) }), {
    effect: "read",
  });
  const flow = workflow("long", { work }, async (session) => {
    let at = session;
    for (let index = 0; index < REPLAYED_STEPS; index++) {
      at = (await work.call(at, index)).session;
      at = at.append({ type: "note", kind: "did", index });
    }
    return at;
  });
  const session = await rath.run(flow, rath.start("go"), { name: "long" });
  const facts = session.depth + 1;
  const times = [];
  for (let repeat = 0; repeat < 7; repeat++)
    times.push(await timeAsync(() => rath.replay("long", flow, { mode: "verify" })));
  await rath.close();
  return { replay_facts_per_s: (facts / median(times)) * 1000, replay_facts: facts };
}

/** Many agents at once, each waiting for a model that takes its time. */
async function measureFanout() {
  progress(`${FANOUT} agents at once`);
  const rath = openRath({ store: "memory:" });
  const slow = agent({
    name: "slow",
    model: {
      specificationVersion: "v3",
      provider: "stub",
      modelId: "stub",
      doGenerate: () => new Promise((resolve) => setTimeout(resolve, LATENCY_MS, reply(1, 1))),
      doStream: () => Promise.reject(new Error("not here")),
    },
  });
  const times = [];
  for (let repeat = 0; repeat < 5; repeat++)
    times.push(
      await timeAsync(() =>
        Promise.all(Array.from({ length: FANOUT }, (_, index) => slow.forward(rath.start(`task ${index}`)))),
      ),
    );
  await rath.close();
  return { fanout_100_ms: median(times), fanout_floor_ms: LATENCY_MS };
}

/** A process of its own each time: nothing is in the caches of V8. */
async function measureImport() {
  progress("cold import");
  const script =
    'const start = performance.now(); await import("openrath"); process.stdout.write(String(performance.now() - start));';
  const times = [];
  for (let repeat = 0; repeat < 9; repeat++) {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--input-type=module", "--eval", script],
      {
        cwd: fileURLToPath(new URL("../..", import.meta.url)),
      },
    );
    times.push(Number(stdout));
  }
  return { import_ms: median(times) };
}

/** @param {string} name */
function version(name) {
  return JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, peers), "utf8")).version;
}

/** @param {any} found */
function table(found) {
  const rows = [["", "here", "AI SDK 6", "ratio", "AI SDK 7", "ratio", "OpenAI Agents", "goal"]];
  for (const size of SIZES) {
    const ours = found[`step_ms_${size}`];
    const beside = AI_SDKS.flatMap(([key]) => {
      const peer = found[`${key}_step_ms_${size}`];
      return peer === undefined ? ["", ""] : [ms(peer), `${(ours / peer).toFixed(2)}x`];
    });
    const agents = found[`openai_agents_step_ms_${size}`];
    const agentsMs = agents === undefined ? "" : ms(agents);
    rows.push([`a step of the loop at ${size} steps`, ms(ours), ...beside, agentsMs, "below the AI SDK's"]);
    const hosted = found[`hosted_step_ms_${size}`];
    rows.push(["… on memory:", ms(hosted), `${(hosted / ours).toFixed(2)}x`, "", "", "", "", "at most 1.3x"]);
  }
  rows.push(
    row(
      "… durable on sqlite:",
      ms(found.durable_step_ms),
      `${ms(found.fdatasync_ms)} fdatasync`,
      "0.5 ms plus the disk",
    ),
    row(
      `replay of ${found.replay_facts} facts`,
      `${Math.round(found.replay_facts_per_s)} facts/s`,
      "",
      "at least 120,000",
    ),
    row(`${FANOUT} agents at once`, ms(found.fanout_100_ms), `${LATENCY_MS} ms latency`, "at most 140 ms"),
    row("cold import", ms(found.import_ms), "", ""),
  );
  if (found.peers_skipped !== undefined) rows.push(row("peers", "skipped", found.peers_skipped, ""));
  return `${columns(rows)}\n\nMedians. ${found.node}, ${found.cpu}\n`;
}

/** @param {string} what @param {string} here @param {string} beside @param {string} goal */
function row(what, here, beside, goal) {
  return [what, here, beside, "", "", "", "", goal];
}

/** @param {number} value */
function ms(value) {
  return `${value < 10 ? value.toFixed(3) : value.toFixed(0)} ms`;
}
