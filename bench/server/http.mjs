// @ts-check
// What the server costs over HTTP: a page of every kind, requests a second beside a bare Hono route, and many open streams with
// the time from a save to the event.
import { fork } from "node:child_process";
import { Agent, request } from "node:http";
import { fileURLToPath } from "node:url";
import { Session } from "openrath";
import { openStore } from "openrath/store";
import { median } from "../measure.mjs";

const REQUESTS = 4_000;
const AT_ONCE = 32;
const SAVES = 200;
/** The limits that every read keeps once the index of its session is there. */
const CPU_MS = 100;

/** @param {string} path @param {(text: string) => void} progress @param {number} streams */
export async function measureHttp(path, progress, streams) {
  progress("pages over HTTP");
  const { pages, index_cpu_ms } = await messageOf(start("pages.mjs", [path]));
  const costs = Object.values(pages).map(({ cpu_ms }) => cpu_ms);
  const above = Object.entries(pages).flatMap(([kind, { cpu_ms }]) =>
    cpu_ms > CPU_MS ? [`${kind} ${Math.round(cpu_ms)}`] : [],
  );
  progress("requests a second");
  const child = start("serve.mjs", [path]);
  const { url, token, bare } = await messageOf(child);
  const headers = { authorization: `Bearer ${token}` };
  const address = `${url}/api/sessions/session%2F500/facts?limit=10`;
  const rates = [];
  for (let round = 0; round < 5; round++)
    rates.push([await rate(address, { headers }), await rate(bare, { headers: {} })]);
  progress(`${streams} open streams`);
  const tails = await tail(`${url}/api/events`, headers, path, streams);
  child.disconnect();
  return {
    page_cpu_ms: median(costs),
    page_cpu_ms_longest: Math.max(...costs),
    page_mb_most: Math.max(...Object.values(pages).map(({ mb }) => mb)),
    page_first_cpu_ms_longest: Math.max(...Object.values(pages).map(({ first_cpu_ms }) => first_cpu_ms)),
    // The graphs of the long sessions, read beside the questions.
    index_cpu_ms,
    pages: costs.length,
    pages_above_100_ms: above.join(", "),
    requests_per_s: median(rates.map(([ours]) => /** @type {number} */ (ours))),
    bare_hono_requests_per_s: median(rates.map(([, other]) => /** @type {number} */ (other))),
    ...tails,
  };
}

/** @param {string} address @param {import("node:http").RequestOptions} options */
async function rate(address, options) {
  let left = REQUESTS;
  // Of its own: a server closes a connection that is idle while the other one is measured.
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  const begin = performance.now();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (left-- > 0) await get(address, { agent, ...options });
    }),
  );
  agent.destroy();
  return (REQUESTS / (performance.now() - begin)) * 1000;
}

/** @param {string} address @param {import("node:http").RequestOptions} options @returns {Promise<void>} */
function get(address, options) {
  return new Promise((resolve, reject) => {
    const asked = request(address, options, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${address} answered ${response.statusCode}`));
      response.on("data", () => {});
      response.on("end", resolve);
    });
    asked.on("error", reject);
    asked.end();
  });
}

/**
 * Opens streams, saves sessions from this process and tells how long it takes until a stream tells of one.
 * @param {string} address @param {import("node:http").OutgoingHttpHeaders} headers @param {string} path @param {number} streams
 */
async function tail(address, headers, path, streams) {
  const agent = new Agent({ keepAlive: true, maxSockets: streams });
  /** @type {number[]} */
  const latencies = [];
  /** @type {Map<string, { at: number }>} */
  const saved = new Map();
  /** @type {import("node:http").IncomingMessage[]} */
  const open = [];
  for (let index = 0; index < streams; index++) {
    /** @type {import("node:http").IncomingMessage} */
    const response = await new Promise((resolve, reject) => {
      const asked = request(address, { agent, headers }, resolve);
      asked.on("error", reject);
      asked.end();
    });
    if (response.statusCode !== 200) throw new Error(`the stream ${index} answered ${response.statusCode}`);
    let rest = "";
    response.setEncoding("utf8").on("data", (text) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const [, name = ""] = /^data: \{"name":"(tail\/\d+)"/.exec(line) ?? [];
        const one = saved.get(name);
        if (one === undefined) continue;
        latencies.push(performance.now() - one.at);
      }
    });
    open.push(response);
  }
  const store = await openStore(`sqlite:${path}`);
  for (let index = 0; index < SAVES; index++) {
    const name = `tail/${index}`;
    saved.set(name, { at: performance.now() });
    await store.save(Session.start(`told ${index}`), { name });
    await new Promise((done) => setTimeout(done, 50));
  }
  for (let round = 0; latencies.length < SAVES * streams && round < 200; round++)
    await new Promise((done) => setTimeout(done, 50));
  await store.close();
  for (const response of open) response.destroy();
  agent.destroy();
  latencies.sort((one, other) => one - other);
  return {
    streams,
    stream_events: latencies.length,
    stream_events_missing: SAVES * streams - latencies.length,
    tail_latency_ms: median(latencies),
    tail_latency_ms_p99: latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN,
  };
}

/** @param {string} file @param {readonly string[]} args */
function start(file, args) {
  return fork(fileURLToPath(new URL(`./${file}`, import.meta.url)), args, { execArgv: ["--expose-gc"] });
}

/** @param {import("node:child_process").ChildProcess} child @returns {Promise<any>} */
function messageOf(child) {
  return new Promise((resolve, reject) => {
    child.once("message", resolve);
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`it ended with exit code ${code}`)));
  });
}
