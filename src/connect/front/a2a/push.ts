import { randomUUID } from "node:crypto";
import { lookup } from "node:dns/promises";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP } from "node:net";
import { type Json, warnOf } from "../../../session/index.js";
import { defined, isObject, isText } from "../../../util/index.js";
import { type Params, RpcError, textIn } from "./message.js";

/** Whether tasks are told to the addresses that callers give. */
export type PushOptions = {
  /** Lets callers name addresses of this machine and of private networks. Default: public addresses alone. */
  readonly private?: boolean;
};

type Config = {
  readonly id: string;
  readonly taskId: string;
  readonly url: string;
  readonly token?: string;
  readonly authentication?: { readonly scheme: string; readonly credentials?: string };
};

/** At most, of one task. */
const MOST = 16;
/** The addresses of older tasks are forgotten. */
const MOST_TASKS = 10_000;
const PATIENCE = 10_000;
/** Milliseconds before each attempt. */
const ATTEMPTS = [0, 1_000, 5_000];

/**
 * The addresses that callers want to be told at, in memory: their credentials belong on no record. Each address gets the
 * updates of its task in order.
 */
export class PushNotifications {
  readonly #private: boolean;
  readonly #configs = new Map<string, Map<string, Config>>();
  readonly #last = new Map<string, Promise<void>>();

  constructor({ private: isPrivate = false }: PushOptions) {
    this.#private = isPrivate;
  }

  /** @param name the session of the task, which is its caller's alone */
  async set(name: string, taskId: string, given: unknown): Promise<Json> {
    const config = configOf(taskId, given);
    await this.#require(config.url);
    const configs = this.#configs.get(name) ?? new Map<string, Config>();
    if (!configs.has(config.id) && configs.size >= MOST)
      throw refused(`the task has ${MOST} addresses already`, "delete one of them");
    this.#configs.set(name, configs.set(config.id, config));
    const [oldest] = this.#configs.keys();
    if (this.#configs.size > MOST_TASKS && oldest !== undefined) this.#configs.delete(oldest);
    return shown(config);
  }

  get(name: string, params: Params): Json {
    return shown(this.#find(name, params));
  }

  list(name: string): Json {
    return { configs: [...(this.#configs.get(name)?.values() ?? [])].map(shown) };
  }

  delete(name: string, params: Params): Json {
    const { id } = this.#find(name, params);
    this.#configs.get(name)?.delete(id);
    return {};
  }

  /** Tells an update of a task. It is nobody's to await. */
  send(name: string, update: Json): void {
    for (const { id } of this.#configs.get(name)?.values() ?? []) {
      const key = JSON.stringify([name, id]);
      const sent = (this.#last.get(key) ?? Promise.resolve()).then(() => this.#deliver(name, id, update));
      this.#last.set(key, sent);
      sent.then(() => {
        if (this.#last.get(key) === sent) this.#last.delete(key);
      });
    }
  }

  /** The address of a config is looked up each time: the name may lead elsewhere by now. */
  async #deliver(name: string, id: string, update: Json): Promise<void> {
    let failure: unknown;
    for (const wait of ATTEMPTS) {
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait).unref());
      const config = this.#configs.get(name)?.get(id);
      if (config === undefined) return;
      try {
        await post(config, await this.#require(config.url), update);
        return;
      } catch (error) {
        failure = error;
      }
    }
    warnOf(failure, "OPENRATH_FRONT");
  }

  #find(name: string, params: Params): Config {
    const id = textIn(params, "id");
    const config = this.#configs.get(name)?.get(id);
    if (config === undefined)
      throw new RpcError("TASK_NOT_FOUND", "There is no such push notification config.", "list them");
    return config;
  }

  /** The network address that a URL leads to. */
  async #require(given: string): Promise<string> {
    const url = URL.canParse(given) ? new URL(given) : undefined;
    if (url === undefined || !["http:", "https:"].includes(url.protocol) || url.username !== "")
      throw refused("the url is not one of http or https", 'send "url": "https://…"');
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const found = isIP(host) === 0 ? await addressesOf(host) : [host];
    const [address] = found;
    if (address === undefined) throw refused("the url leads nowhere", 'send "url": "https://…"');
    if (this.#private) return address;
    const { isPublic } = await import("../../../sandbox/index.js");
    if (found.every(isPublic)) return address;
    throw refused("the url leads to a private address", "name a public address");
  }
}

async function addressesOf(host: string): Promise<readonly string[]> {
  const found = await lookup(host, { all: true }).catch(() => []);
  return found.map(({ address }) => address);
}

/** Posts to the address that was looked at, and to no other; redirects are not followed. */
function post({ url, token, authentication }: Config, address: string, update: Json): Promise<void> {
  const body = JSON.stringify(update);
  const { protocol } = new URL(url);
  const family = isIP(address);
  const { scheme, credentials } = authentication ?? {};
  return new Promise((resolve, reject) => {
    const request = (protocol === "https:" ? requestHttps : requestHttp)(
      url,
      {
        method: "POST",
        timeout: PATIENCE,
        signal: AbortSignal.timeout(PATIENCE),
        headers: {
          "content-type": "application/a2a+json",
          "content-length": Buffer.byteLength(body),
          ...(credentials !== undefined && { authorization: `${scheme} ${credentials}` }),
          ...(token !== undefined && { "x-a2a-notification-token": token }),
        },
        lookup: (_host, options, callback) =>
          options.all === true ? callback(null, [{ address, family }]) : callback(null, address, family),
      },
      (response) => {
        response.resume();
        const { statusCode = 0 } = response;
        if (statusCode >= 200 && statusCode < 300) resolve();
        else reject(new Error(`a push notification was answered with ${statusCode}`));
      },
    );
    request.on("error", reject);
    request.end(body);
  });
}

function configOf(taskId: string, given: unknown): Config {
  if (!isObject(given)) throw refused("it is not an object", 'send { "taskId": "…", "url": "https://…" }');
  const { id, token, authentication } = given;
  const url = textIn(given, "url");
  const { scheme, credentials } = Object(authentication) as Params;
  const config = { id: isText(id) ? id : randomUUID(), taskId, url, ...(isText(token) && { token }) };
  for (const value of [token, scheme, credentials])
    if (typeof value === "string" && /[^\x20-\x7e]/.test(value))
      throw refused("its credentials cannot be sent in a header", "send printable ASCII");
  if (!isText(scheme)) return config;
  return { ...config, authentication: { scheme, ...(isText(credentials) && { credentials }) } };
}

/** The config without its credentials. */
function shown({ id, taskId, url, token, authentication }: Config): Json {
  return {
    id,
    taskId,
    url,
    ...defined({ token }),
    ...(authentication !== undefined && { authentication: { scheme: authentication.scheme } }),
  };
}

function refused(reason: string, hint: string): RpcError {
  return new RpcError("INVALID_PARAMS", `The push notification config cannot be taken: ${reason}.`, hint);
}
