// @ts-check
// DBOS as an engine of openrath. Each wake is a workflow in a queue of the pool. It lasts as long as its session runs here, so that
// DBOS gives a worker no more sessions than it has room for.

import { setTimeout as pause } from "node:timers/promises";

/**
 * @typedef {import("openrath/cluster").EngineHost} EngineHost
 * @typedef {import("openrath/cluster").Wake} Wake
 */

const SDK = "@dbos-inc/dbos-sdk";
/** Workflows that are over are removed after so long. The record has what became of their sessions. */
const KEPT_MS = 60_000;
const PAGE = 500;
const ATTEMPTS = 5;

/** DBOS serves one application per process. @type {EngineHost | undefined} */
let current;
/** @type {((wake: Wake) => Promise<string>) | undefined} */
let workflow;

/** @param {import("./index.d.mts").DbosOptions} options */
export default function dbos(options = {}) {
  const { DBOS_SYSTEM_DATABASE_URL, RATH_STORE } = process.env;
  const given = options.url ?? DBOS_SYSTEM_DATABASE_URL ?? RATH_STORE ?? "";
  const { interval = 100 } = options;
  return Object.freeze({
    name: "dbos",
    patience: 500 + interval,
    connect: (/** @type {EngineHost} */ host) => connect(host, databaseOf(given), interval),
  });
}

/** @param {EngineHost} host @param {string} url @param {number} interval */
async function connect(host, url, interval) {
  // A worker that comes back under another name may not have left yet.
  for (let n = 0; n < 50 && current !== undefined; n++) await pause(100);
  if (current !== undefined)
    throw new Error("DBOS runs one worker per process: start the other worker in a process of its own");
  const { DBOS } = await import(SDK);
  current = host;
  workflow ??= DBOS.registerWorkflow(turn, { name: "turn" });
  const queueName = `openrath-${host.pool}`;
  const leave = async () => {
    await DBOS.shutdown();
    current = undefined;
  };
  DBOS.setConfig({
    name: queueName,
    systemDatabaseUrl: url,
    systemDatabasePoolSize: 4,
    // Any worker of a pool runs the wakes of any other.
    applicationVersion: queueName,
    executorID: host.worker,
    listenQueues: [queueName],
    maxConcurrentQueueDispatches: 1,
    logger: quiet,
  });
  for (let attempt = 1; ; attempt++) {
    try {
      await DBOS.launch();
      await DBOS.registerQueue(queueName, {
        workerConcurrency: host.concurrency,
        minPollingIntervalMs: interval,
        onConflict: "always_update",
      });
      break;
    } catch (error) {
      await leave().catch(() => {});
      // Executors that start at once make the same tables, and all but one of them fail.
      if (attempt === ATTEMPTS) throw error;
      await pause(Math.random() * 200 * attempt);
      current = host;
    }
  }
  const tidy = setInterval(() => void remove().catch(() => {}), KEPT_MS);

  /** Forgets the workflows that were over a minute ago. */
  async function remove() {
    const completedBefore = new Date(Date.now() - KEPT_MS).toISOString();
    const old = { queueName, completedBefore, limit: PAGE, loadInput: false, loadOutput: false };
    for (let more = true; more; ) {
      const found = await DBOS.listWorkflows(old);
      await DBOS.deleteWorkflows(found.map((/** @type {any} */ one) => one.workflowID));
      more = found.length === PAGE;
    }
  }

  return {
    /** @param {Wake} wake */
    async wake(wake) {
      await DBOS.startWorkflow(workflow, { queueName })(wake);
    },
    /** DBOS itself does not notice that an executor has died. @param {string} worker */
    async left(worker) {
      const found = await DBOS.listWorkflows({
        executorId: worker,
        queueName,
        status: "PENDING",
        loadInput: false,
      });
      await DBOS.cancelWorkflows(found.map((/** @type {any} */ one) => one.workflowID));
    },
    async close() {
      clearInterval(tidy);
      await leave();
    },
  };
}

/** @param {Wake} wake */
async function turn(wake) {
  if (current === undefined) return "gone";
  const taken = await current.take(wake);
  if (taken === "taken") await current.rested(wake);
  return taken;
}

/** The database of the store: a store also has a schema in its URL. @param {string} url */
function databaseOf(url) {
  if (!/^postgres(ql)?:/.test(url))
    throw new Error("DBOS needs PostgreSQL: set RATH_STORE or DBOS_SYSTEM_DATABASE_URL to postgres://…");
  const parsed = new URL(url);
  parsed.searchParams.delete("schema");
  return parsed.href;
}

const quiet = { info() {}, debug() {}, warn() {}, error() {} };
