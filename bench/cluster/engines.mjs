// @ts-check
// Milliseconds per step of one session after another on one worker, from its submission to its end, with each engine; and of the
// same steps written for the engine alone, which then has the only record of them.
import { createServer } from "node:http2";
import { loadSdk } from "../../engines/restate/sdk.mjs";
import { startServers } from "../../engines/servers.mjs";
import { median } from "../measure.mjs";
import { MANY, result } from "./program.mjs";

const ROUNDS = 5;

/**
 * @param {(engine: string) => Promise<number>} measure milliseconds of one session with so many steps
 * @returns {Promise<{ [key: string]: number | string }>}
 */
export async function measureEngines(measure) {
  const steps = async (/** @type {string} */ engine) => perStep(await repeated(() => measure(engine)));
  /** @type {{ [key: string]: number | string }} */
  const found = { local_step_ms: await steps("local") };
  let servers;
  try {
    servers = await startServers("restate");
  } catch (error) {
    return { ...found, restate: String(error) };
  }
  if (servers === undefined) return found;
  try {
    found.restate_step_ms = await steps("restate");
    found.restate_own_step_ms = await ownSteps(servers.environment);
  } finally {
    await servers.stop();
  }
  return found;
}

/** Steps of a Restate handler. @param {{ RESTATE_INGRESS_URL: string, RESTATE_ADMIN_URL: string }} urls */
async function ownSteps({ RESTATE_INGRESS_URL: ingress, RESTATE_ADMIN_URL: admin }) {
  const { endpoint, service } = await loadSdk();
  const many = async (/** @type {any} */ context) => {
    for (let n = 0; n < MANY; n++) await context.run(`s${n}`, () => result);
    return "done";
  };
  const quick = service({ name: "quick", handlers: { many } });
  const handle = endpoint()
    .setLogger(() => {})
    .bind(quick)
    .http2Handler();
  const server = createServer(handle);
  await new Promise((done) => server.listen(0, "127.0.0.1", () => done(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  const post = async (/** @type {string} */ url, /** @type {object} */ body) => {
    const headers = { "content-type": "application/json" };
    const signal = AbortSignal.timeout(60_000);
    const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body), signal });
    if (!response.ok) throw new Error(await response.text());
    return response.text();
  };
  try {
    await post(`${admin}/deployments`, { uri: `http://127.0.0.1:${port}` });
    return perStep(
      await repeated(async () => {
        const begun = performance.now();
        await post(`${ingress}/quick/many`, {});
        return performance.now() - begun;
      }),
    );
  } finally {
    server.close();
  }
}

/** @param {readonly number[]} all */
function perStep(all) {
  return Number((median(all) / MANY).toFixed(2));
}

/** @param {() => Promise<number>} measure */
async function repeated(measure) {
  const all = [];
  // The first one warms up.
  for (let round = 0; round <= ROUNDS; round++) all.push(await measure());
  return all.slice(1);
}
