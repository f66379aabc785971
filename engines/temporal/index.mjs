// @ts-check
// Temporal as an engine of openrath. Each wake is a short workflow whose id is that of the session: while one runs, others of the
// same id are it. Its one activity lasts as long as the session runs here.
import { fileURLToPath } from "node:url";

/**
 * @typedef {import("openrath/cluster").EngineHost} EngineHost
 * @typedef {import("openrath/cluster").Wake} Wake
 * @typedef {{ address: string, namespace: string, apiKey: string | undefined }} Settings
 */

const [WORKER, CLIENT, ACTIVITY] = ["@temporalio/worker", "@temporalio/client", "@temporalio/activity"];
const HEARTBEAT_MS = 1_000;
const GRACE_MS = 5_000;

/** @param {import("./index.d.mts").TemporalOptions} options */
export default function temporal(options = {}) {
  const { TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY } = process.env;
  const settings = {
    address: options.address ?? TEMPORAL_ADDRESS ?? "127.0.0.1:7233",
    namespace: options.namespace ?? TEMPORAL_NAMESPACE ?? "default",
    apiKey: options.apiKey ?? TEMPORAL_API_KEY,
  };
  return Object.freeze({
    name: "temporal",
    patience: 500,
    connect: (/** @type {EngineHost} */ host) => connect(host, settings),
  });
}

/** @param {EngineHost} host @param {Settings} settings */
async function connect(host, { address, namespace, apiKey }) {
  const { DefaultLogger, NativeConnection, Runtime, Worker } = await import(WORKER);
  const logger = new DefaultLogger("ERROR");
  try {
    Runtime.install({ logger, shutdownSignals: [] });
  } catch {
    // The program has installed its own.
  }
  const { Client } = await import(CLIENT);
  const connection = await NativeConnection.connect({ address, ...(apiKey && { apiKey, tls: true }) });
  const taskQueue = `openrath-${host.pool}`;
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue,
    identity: host.worker,
    workflowsPath: fileURLToPath(new URL("./workflow.mjs", import.meta.url)),
    activities: activitiesOf(host),
    maxConcurrentActivityTaskExecutions: host.concurrency,
    shutdownForceTime: GRACE_MS,
  }).catch(async (/** @type {unknown} */ error) => {
    await connection.close();
    throw error;
  });
  const over = worker.run().catch((/** @type {unknown} */ error) => error);
  const { workflow } = new Client({ connection, namespace });
  return {
    /** @param {Wake} wake */
    async wake(wake) {
      await workflow.start("turn", {
        taskQueue,
        workflowId: `${taskQueue}/${wake.session}`,
        workflowIdConflictPolicy: "USE_EXISTING",
        args: [wake],
      });
    },
    async close() {
      if (worker.getState() === "RUNNING") worker.shutdown();
      await over;
      await connection.close();
    },
  };
}

/** @param {Pick<EngineHost, "take" | "rested">} host */
export function activitiesOf({ take, rested }) {
  return {
    /** @param {Wake} wake */
    async take(wake) {
      const { ApplicationFailure, heartbeat } = await import(ACTIVITY);
      const taken = await take(wake);
      // It is tried again, by a worker that has room then.
      if (taken === "busy") throw ApplicationFailure.retryable("this worker has no room", "busy");
      if (taken !== "taken") return taken;
      const beat = setInterval(heartbeat, HEARTBEAT_MS);
      try {
        await rested(wake);
      } finally {
        clearInterval(beat);
      }
      return taken;
    },
  };
}
