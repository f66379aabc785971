// @ts-check
// Restate as an engine of openrath. Each wake is one short invocation of an object whose key is the session. Restate sends
// invocations to one address: that of a worker that hands them on to those that live. When it dies, another one takes its place.
import { once } from "node:events";
import { createServer } from "node:http";
import { loadSdk } from "./sdk.mjs";

/**
 * @typedef {import("openrath/cluster").EngineHost} EngineHost
 * @typedef {import("openrath/cluster").Wake} Wake
 * @typedef {{ ingress: readonly string[], admin: readonly string[], host: string, port: number }} Settings
 */

const BEAT_MS = 500;
/** A worker that has said nothing for so long gets no sessions. */
const QUIET_MS = 1_500;
const CALL_MS = 1_000;
/** Restate shows the wakes of the last minute; the record has the rest. */
const SHOWN = { journalRetention: 60_000, idempotencyRetention: 60_000 };
/** Restate gives an invocation up that a stopped worker has, and sends it to the worker in its place. */
const STUCK = { inactivityTimeout: 2_000, abortTimeout: 2_000 };
/** A wake that cannot be told for half a minute is forgotten: the store has it sent again as long as its session is due. */
const RETRIES = { initialInterval: 50, maxInterval: 500, maxAttempts: 60, onMaxAttempts: "kill" };

/** @param {import("./index.d.mts").RestateOptions} options */
export default function restate(options = {}) {
  const { RESTATE_INGRESS_URL, RESTATE_ADMIN_URL, RESTATE_WORKER_HOST, RESTATE_WORKER_PORT } = process.env;
  /** @type {Settings} */
  const settings = {
    ingress: listOf(options.ingress ?? RESTATE_INGRESS_URL ?? "http://127.0.0.1:8080"),
    admin: listOf(options.admin ?? RESTATE_ADMIN_URL ?? "http://127.0.0.1:9070"),
    host: options.host ?? RESTATE_WORKER_HOST ?? "127.0.0.1",
    port: options.port ?? Number(RESTATE_WORKER_PORT ?? 0),
  };
  return Object.freeze({
    name: "restate",
    patience: 500,
    connect: (/** @type {EngineHost} */ host) => RestateLink.open(host, settings),
  });
}

class RestateLink {
  #host;
  #settings;
  #service;
  #server = createServer();
  /** When the other workers were heard last, by their address. @type {Map<string, number>} */
  #peers = new Map();
  #last = 0;
  #url = "";
  /** The address that Restate knows. */
  #door = "";
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #isClosed = false;

  /** @param {EngineHost} host @param {Settings} settings */
  constructor(host, settings) {
    this.#host = host;
    this.#settings = settings;
    this.#service = `openrath-${host.pool}`;
  }

  /** @param {EngineHost} host @param {Settings} settings */
  static async open(host, settings) {
    const link = new RestateLink(host, settings);
    try {
      await link.#listen();
      await link.#beat();
    } catch (error) {
      await link.close();
      throw error;
    }
    return link;
  }

  /** @param {Wake} wake */
  async wake(wake) {
    const path = `/${this.#service}/${encodeURIComponent(wake.session)}/wake/send`;
    const response = await first(this.#settings.ingress, path, wake);
    if (!response.ok) throw new Error(`Restate refused a wake: ${response.status} ${await response.text()}`);
    await response.body?.cancel();
  }

  async close() {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #listen() {
    const { endpoint, object } = await loadSdk();
    const service = object({
      name: this.#service,
      handlers: { wake: (/** @type {unknown} */ _, /** @type {Wake} */ wake) => this.#deliver(wake) },
      options: { ...STUCK, ...SHOWN, retryPolicy: RETRIES },
    });
    const quiet = () => {};
    const handle = endpoint().setLogger(quiet).bind(service).http1Handler({ bidirectional: false });
    this.#server.on("request", (request, response) => {
      const call = /^\/openrath\/(take|beat)$/.exec(request.url ?? "")?.[1];
      if (call === undefined) return handle(request, response);
      read(request)
        .then((body) => (call === "take" ? this.#host.take(body) : this.#hear(body)))
        .then(
          (answer) => response.end(JSON.stringify(answer)),
          () => response.writeHead(400).end(),
        );
    });
    this.#server.listen(this.#settings.port, this.#settings.host);
    await once(this.#server, "listening");
    const address = /** @type {import("node:net").AddressInfo} */ (this.#server.address());
    const { host } = this.#settings;
    this.#url = `http://${host.includes(":") ? `[${host}]` : host}:${address.port}`;
  }

  /** Another worker lives, and says so to this one. The answer is whether it is to ask Restate for the way. @param {any} peer */
  async #hear({ url }) {
    this.#peers.set(url, Date.now());
    return { lost: this.#door !== this.#url };
  }

  /** Hands a wake on to one worker after the other, until one takes it. @param {Wake} wake */
  async #deliver(wake) {
    const now = Date.now();
    for (const [url, seen] of this.#peers) if (now - seen > QUIET_MS) this.#peers.delete(url);
    const peers = [this.#url, ...this.#peers.keys()];
    let answer = "nobody";
    for (let n = 0; n < peers.length; n++) {
      const url = peers[++this.#last % peers.length] ?? "";
      answer = await this.#take(url, wake).catch(() => "gone quiet");
      if (answer === "taken" || answer === "gone") break;
    }
    return answer;
  }

  /** @param {string} url @param {Wake} wake @returns {Promise<string>} */
  async #take(url, wake) {
    if (url === this.#url) return this.#host.take(wake);
    return (await call(`${url}/openrath/take`, wake)).json();
  }

  /** Says that this worker lives to the one that Restate knows, or becomes that one. */
  async #beat() {
    clearTimeout(this.#timer);
    try {
      await this.#sayHere();
    } finally {
      if (!this.#isClosed) this.#timer = setTimeout(() => this.#beat().catch(() => {}), BEAT_MS);
    }
  }

  async #sayHere() {
    if (this.#door !== "" && this.#door !== this.#url && (await this.#isHeard())) return;
    const deployment = await this.#deployment();
    this.#door = deployment?.uri.replace(/\/$/, "") ?? "";
    if (this.#door === this.#url || (this.#door !== "" && (await this.#isHeard()))) return;
    // Several may do this at once: the last one stays, and all of them live.
    const body = { uri: this.#url, use_http_11: true };
    const path = `/deployments/${deployment?.id}`;
    const moved = deployment && (await first(this.#settings.admin, path, body, "PATCH"));
    const made = moved?.ok ? moved : await first(this.#settings.admin, "/deployments", body);
    if (!made.ok) throw new Error(`Restate refused a worker: ${made.status} ${await made.text()}`);
    await made.body?.cancel();
    this.#door = this.#url;
  }

  async #isHeard() {
    try {
      const { lost } = await (await call(`${this.#door}/openrath/beat`, { url: this.#url })).json();
      return !lost;
    } catch {
      return false;
    }
  }

  /** @returns {Promise<{ id: string, uri: string } | undefined>} */
  async #deployment() {
    const service = await first(this.#settings.admin, `/services/${this.#service}`);
    if (service.status === 404) return void (await service.body?.cancel());
    const { deployment_id: id } = await service.json();
    const deployment = await first(this.#settings.admin, `/deployments/${id}`);
    return { id, uri: String((await deployment.json()).uri) };
  }
}

/**
 * The answer of the first server that answers.
 *
 * @param {readonly string[]} servers @param {string} path @param {object} [body] @param {string} [method]
 */
async function first(servers, path, body, method) {
  let failure = new Error("the list of Restate servers is empty");
  for (const server of servers) {
    try {
      const response = await call(`${server}${path}`, body, method);
      if (response.status < 500) return response;
      failure = new Error(`${server}${path} answers ${response.status}`);
      await response.body?.cancel();
    } catch (error) {
      failure = new Error(`${server} does not answer`, { cause: error });
    }
  }
  throw failure;
}

/** @param {string} url @param {object} [body] */
function call(url, body, method = body === undefined ? "GET" : "POST") {
  const signal = AbortSignal.timeout(CALL_MS);
  const headers = { "content-type": "application/json" };
  return fetch(url, { method, signal, ...(body && { headers, body: JSON.stringify(body) }) });
}

/** @param {import("node:http").IncomingMessage} request @returns {Promise<any>} */
async function read(request) {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return JSON.parse(text);
}

/** @param {string | readonly string[]} urls @returns {readonly string[]} */
function listOf(urls) {
  return (typeof urls === "string" ? urls.split(",") : urls).map((url) => url.trim().replace(/\/$/, ""));
}
