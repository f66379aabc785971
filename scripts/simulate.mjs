// @ts-check
// `npm run simulate [-- --workers 1,10,100,1000 --latency 1000 --stores 1 --costs FILE --check]`: how many steps a second a cluster
// of so many workers makes, and which part is busy first, from the costs that `node bench/cluster/costs.mjs --json` measured. With
// `--check` it measures 1, 2 and 4 workers on this machine too, and prints both. docs/scale.md says what follows.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { columns } from "../bench/measure.mjs";
import { isMain } from "./run.mjs";

/**
 * @typedef {{ store: string, commit_ms: number, save_ms: number, step_cpu_ms: number, session_cpu_ms: number,
 *   heard_cpu_ms: number, step_moves: number, session_moves: number, step_bytes?: number }} Costs
 * @typedef {{ workers: number, concurrency: number, latency: number, steps: number, cores: number }} Cluster
 * @typedef {{ steps: number, moves: number, worker: number, store: number, hearing: number, wait: number }} Figures
 */

/** So many steps settle the figures; the first half of them fills the queues. */
const MEASURED = 60_000;
/** The share of a worker's time that hearing of the moves of others takes is found by repetition. */
const ROUNDS = 4;

/**
 * Steps, moves and waits per second in a cluster on one store.
 *
 * @param {Costs} costs @param {Cluster} cluster @returns {Figures}
 */
export function simulate(costs, cluster) {
  let hearing = 0;
  /** @type {Figures} */
  let found = { steps: 0, moves: 0, worker: 0, store: 0, hearing: 0, wait: 0 };
  for (let round = 0; round < ROUNDS; round++) {
    found = simulated(costs, cluster, 1 - hearing);
    // Every worker hears of every move of its store.
    const heard = Math.min(0.95, (found.moves * costs.heard_cpu_ms) / 1_000);
    hearing = (hearing + heard) / 2;
    found = { ...found, hearing: heard };
  }
  return found;
}

/**
 * Each session computes, commits and waits for its effect, step after step. A worker computes one thing at a time, its saves
 * share a commit while the one before is under way, and the store makes one commit at a time.
 *
 * @param {Costs} costs @param {Cluster} cluster @param {number} speed the share of a worker's time that is left
 * @returns {Figures}
 */
function simulated(costs, { workers, concurrency, latency, steps, cores }, speed) {
  const events = new Heap();
  let now = 0;
  const cpus = new Resource(cores);
  const store = new Resource(1);
  const nodes = Array.from({ length: workers }, () => ({
    cpu: new Resource(1),
    saves: /** @type {((() => void) & { at?: number })[]} */ ([]),
    committing: false,
  }));
  const total = { steps: 0, moves: 0, waits: 0, commits: 0, worker: 0, store: 0 };
  let since = 0;
  const after = (/** @type {number} */ milliseconds, /** @type {() => void} */ act) =>
    events.push(now + milliseconds, act);

  const compute = (
    /** @type {typeof nodes[0]} */ node,
    /** @type {number} */ ms,
    /** @type {() => void} */ next,
  ) =>
    node.cpu.take(() =>
      cpus.take(() => {
        total.worker += ms;
        after(ms / speed, () => {
          cpus.release();
          node.cpu.release();
          next();
        });
      }),
    );
  const commit = (/** @type {typeof nodes[0]} */ node) => {
    if (node.committing || node.saves.length === 0) return;
    node.committing = true;
    const saves = node.saves.splice(0);
    store.take(() => {
      const held = costs.commit_ms + costs.save_ms * saves.length;
      total.store += held;
      after(held, () => {
        store.release();
        node.committing = false;
        total.commits += saves.length;
        for (const saved of saves) {
          total.waits += now - /** @type {number} */ (saved.at);
          saved();
        }
        commit(node);
      });
    });
  };
  const save = (/** @type {typeof nodes[0]} */ node, /** @type {() => void} */ next) => {
    node.saves.push(Object.assign(next.bind(undefined), { at: now }));
    commit(node);
  };
  const step = (/** @type {typeof nodes[0]} */ node, /** @type {number} */ left) =>
    left === 0
      ? session(node)
      : compute(node, costs.step_cpu_ms, () =>
          save(node, () => {
            total.steps += 1;
            total.moves += costs.step_moves;
            after(latency, () => step(node, left - 1));
          }),
        );
  /** Its commits are made two by two: it is taken and leased, begun, ended and filed. */
  const session = (/** @type {typeof nodes[0]} */ node) => {
    const pairs = Math.max(1, Math.round(costs.session_moves / 2));
    const open = (/** @type {number} */ left) => {
      if (left === 0) return step(node, steps);
      compute(node, costs.session_cpu_ms / pairs, () =>
        save(node, () => {
          total.moves += costs.session_moves / pairs;
          open(left - 1);
        }),
      );
    };
    open(pairs);
  };
  // They do not begin in step with each other.
  for (const node of nodes)
    for (let n = 0; n < concurrency; n++)
      after((latency * n) / concurrency, () => step(node, 1 + ((n * 7) % steps)));
  while (total.steps < MEASURED) {
    const event = events.pop();
    if (event === undefined) break;
    now = event.at;
    event.act();
    if (since === 0 && total.steps >= MEASURED / 2) {
      since = now;
      Object.assign(total, { moves: 0, waits: 0, commits: 0, worker: 0, store: 0 });
    }
  }
  const seconds = (now - since) / 1_000;
  return {
    steps: (total.steps - MEASURED / 2) / seconds,
    moves: total.moves / seconds,
    worker: total.worker / speed / (seconds * 1_000 * Math.min(workers, cores)),
    store: total.store / (seconds * 1_000),
    hearing: 0,
    wait: total.waits / total.commits,
  };
}

/** What several share, first come, first served. */
class Resource {
  #free;
  /** @type {(() => void)[]} */
  #waiting = [];
  #first = 0;

  constructor(/** @type {number} */ size) {
    this.#free = size;
  }

  take(/** @type {() => void} */ use) {
    if (this.#free === 0) this.#waiting.push(use);
    else {
      this.#free -= 1;
      use();
    }
  }

  release() {
    const next = this.#waiting[this.#first];
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    this.#first += 1;
    if (this.#first > 1_000 && this.#first * 2 > this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#first);
      this.#first = 0;
    }
    next();
  }
}

/** Events in the order of their time. */
class Heap {
  /** @type {{ at: number, act: () => void }[]} */
  #items = [];

  push(/** @type {number} */ at, /** @type {() => void} */ act) {
    const items = this.#items;
    let place = items.length;
    const item = { at, act };
    for (; place > 0; ) {
      const above = (place - 1) >> 1;
      const parent = /** @type {typeof item} */ (items[above]);
      if (parent.at <= at) break;
      items[place] = parent;
      place = above;
    }
    items[place] = item;
  }

  pop() {
    const items = this.#items;
    const first = items[0];
    const last = items.pop();
    if (first === undefined || last === undefined || items.length === 0) return first;
    let place = 0;
    for (;;) {
      let below = place * 2 + 1;
      const right = items[below + 1];
      if (right !== undefined && right.at < /** @type {typeof last} */ (items[below]).at) below += 1;
      const child = items[below];
      if (child === undefined || child.at >= last.at) break;
      items[place] = child;
      place = below;
    }
    items[place] = last;
    return first;
  }
}

/** The part that is busy first. */
function limit(/** @type {Figures} */ { worker, store, hearing }) {
  const [name, share] = /** @type {const} */ ([
    ["store", store],
    ["hearing of moves", hearing],
    ["workers", worker],
  ]).reduce((most, one) => (one[1] > most[1] ? one : most));
  return share > 0.9 ? name : "latency of the effects";
}

const percent = (/** @type {number} */ share) => `${Math.round(share * 100)} %`;

async function main() {
  const { values } = parseArgs({
    options: {
      workers: { type: "string", default: "1,10,100,1000" },
      concurrency: { type: "string", default: "16" },
      latency: { type: "string", default: "1000" },
      steps: { type: "string", default: "20" },
      stores: { type: "string", default: "1" },
      costs: { type: "string" },
      check: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
    },
  });
  const kept = fileURLToPath(new URL("../bench/cluster/costs.json", import.meta.url));
  /** @type {readonly Costs[]} */
  const all = [JSON.parse(readFileSync(values.costs ?? kept, "utf8"))].flat();
  const [concurrency, latency, steps] = [
    number(values.concurrency, 1),
    number(values.latency, 0),
    number(values.steps, 1),
  ];
  const [stores, sizes] = [number(values.stores, 1), values.workers.split(",").map((one) => number(one, 1))];
  /** @type {{ [key: string]: unknown }[]} */
  const rows = [];
  for (const costs of all)
    for (const workers of sizes) {
      // Each store has its share of the sessions and of the workers.
      const share = Math.max(1, Math.round(workers / stores));
      const found = simulate(costs, { workers: share, concurrency, latency, steps, cores: share });
      const rate = found.steps * Math.min(stores, workers);
      rows.push({
        store: costs.store,
        workers,
        "steps/s": Math.round(rate),
        "workers busy": percent(found.worker),
        "store busy": percent(found.store),
        hearing: percent(found.hearing),
        "a commit waits": `${found.wait.toFixed(1)} ms`,
        "limited by": limit(found),
        ...Object.fromEntries(
          [1, 10, 100].map((millions) => [
            `${millions} million sessions`,
            `${((millions * 1e6 * steps) / rate / 3_600).toFixed(1)} h`,
          ]),
        ),
      });
    }
  print(rows, values.json);
  if (values.check) check(all, values.json);
}

function number(/** @type {string} */ text, /** @type {number} */ least) {
  const value = Number(text);
  if (!Number.isFinite(value) || value < least)
    throw new Error(`"${text}" is not a number of at least ${least}`);
  return value;
}

/** The same on this machine, measured and simulated: effects take no time, and all workers share its cores. */
function check(/** @type {readonly Costs[]} */ all, /** @type {boolean} */ json) {
  const costs = all.find(({ store }) => store === "sqlite");
  if (costs === undefined)
    throw new Error("there are no costs of sqlite: node bench/cluster/costs.mjs --json");
  const bench = fileURLToPath(new URL("../bench/cluster/main.mjs", import.meta.url));
  const real = JSON.parse(execFileSync(process.execPath, [bench, "--json"], { encoding: "utf8" }));
  print(
    [1, 2, 4].map((workers) => {
      const cluster = { workers, concurrency: 16, latency: 0, steps: 20, cores: availableParallelism() };
      const { steps } = simulate(costs, cluster);
      const measured = real[`local_steps_per_s_${workers}`];
      return { workers, measured, simulated: Math.round(steps), ratio: (steps / measured).toFixed(2) };
    }),
    json,
  );
}

function print(/** @type {readonly { [key: string]: unknown }[]} */ rows, /** @type {boolean} */ json) {
  if (json) process.stdout.write(`${JSON.stringify(rows)}\n`);
  else {
    const head = Object.keys(rows[0] ?? {});
    process.stdout.write(`${columns([head, ...rows.map((row) => head.map((key) => String(row[key])))])}\n\n`);
  }
}

if (isMain(import.meta.url)) await main();
