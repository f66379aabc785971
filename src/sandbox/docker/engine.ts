import { statSync } from "node:fs";
import { Agent, type ClientRequest, type IncomingMessage, request as openRequest } from "node:http";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { buffer } from "node:stream/consumers";
import { EngineError, SandboxUnavailableError } from "../error.js";

/** The engine's description of itself. */
export type EngineAbout = {
  readonly name: "docker" | "podman";
  readonly version: string;
  /** The version of the interface that both sides speak. */
  readonly api: string;
};

export type Call = {
  readonly query?: { readonly [name: string]: string };
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Milliseconds until the answer must be there, instead of the engine's. */
  readonly timeout?: number;
  readonly signal?: AbortSignal | undefined;
};

/** A client of the Engine API over a local socket. A slow request ends with an `EngineError`. */
export class Engine {
  readonly socket: string;
  readonly about: EngineAbout;
  readonly #timeout: number;

  private constructor(socket: string, timeout: number, about: EngineAbout) {
    this.socket = socket;
    this.#timeout = timeout;
    this.about = about;
  }

  /** Finds out which versions the engine speaks. Without an engine: a `SandboxUnavailableError` that says what to do. */
  static async open(socket: string, timeout: number): Promise<Engine> {
    const asking = new Engine(socket, timeout, { name: "docker", version: "", api: "" });
    let said: Version;
    try {
      said = await asking.json<Version>("GET", "/version");
    } catch (error) {
      throw unavailable(socket, error);
    }
    const isPodman = (said.Components ?? []).some(({ Name }) => /podman/i.test(Name));
    const about: EngineAbout = {
      name: isPodman ? "podman" : "docker",
      version: String(said.Version ?? "unknown"),
      api: chosen(said),
    };
    return new Engine(socket, timeout, about);
  }

  /** The answer of a request, parsed; undefined when it is empty. */
  async json<Value>(method: "GET" | "POST" | "DELETE", path: string, call: Call = {}): Promise<Value> {
    const name = `${method} ${path}`;
    const limit = AbortSignal.timeout(call.timeout ?? this.#timeout);
    const signal = call.signal === undefined ? limit : AbortSignal.any([limit, call.signal]);
    const body = call.body === undefined ? undefined : Buffer.from(JSON.stringify(call.body));
    const response = await this.#ask(method, path, call, { signal, ...(body !== undefined && { body }) });
    const text = await whole(name, response);
    if (text.trim() === "") return undefined as Value;
    try {
      return JSON.parse(text) as Value;
    } catch (cause) {
      throw new EngineError(name, response.statusCode ?? null, "its answer is not JSON", cause);
    }
  }

  /** A header of the answer; undefined when nothing is there. Podman sends it for a dangling link too. */
  async head(path: string, call: Call, header: string): Promise<string | undefined> {
    const signal = AbortSignal.timeout(call.timeout ?? this.#timeout);
    const response = await this.#ask("HEAD", path, call, { signal });
    response.resume();
    const status = response.statusCode ?? 500;
    if (status >= 400 && status !== 404)
      throw new EngineError(`HEAD ${path}`, status, "it cannot look at it");
    const value = response.headers[header];
    return typeof value === "string" && value !== "" ? value : undefined;
  }

  /** The bytes of an answer as they come; an error when they stop coming, or were not all there were. */
  async *read(path: string, call: Call = {}): AsyncGenerator<Buffer, void, void> {
    const response = await this.#ask("GET", path, call, { idle: call.timeout ?? this.#timeout });
    yield* bodyOf(`GET ${path}`, response);
  }

  /** Sends bytes as they come. */
  async send(
    path: string,
    bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    call: Call = {},
  ): Promise<void> {
    const response = await this.#ask("PUT", path, call, { idle: call.timeout ?? this.#timeout, bytes });
    await whole(`PUT ${path}`, response);
  }

  /** Turns a request into a connection in both directions, which has no time limit. */
  async upgrade(path: string, call: Call): Promise<Duplex> {
    const limit = AbortSignal.timeout(call.timeout ?? this.#timeout);
    const name = `POST ${path}`;
    const request = openRequest({
      ...this.#target("POST", path, call),
      headers: { ...JSON_BODY, connection: "Upgrade", upgrade: "tcp" },
    });
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        request.destroy(new EngineError(name, null, "it took too long"));
      };
      limit.addEventListener("abort", stop, { once: true });
      const over = (): void => limit.removeEventListener("abort", stop);
      request.on("error", (error) => {
        over();
        reject(error instanceof EngineError ? error : new EngineError(name, null, error.message, error));
      });
      request.on("upgrade", (_response, socket, head) => {
        over();
        // Without a listener an error of the connection would end the process; anyone who uses it hears of the close.
        socket.on("error", () => {});
        if (head.length > 0) socket.unshift(head);
        resolve(socket);
      });
      request.on("response", (response) => {
        over();
        refusal(name, response).then(reject, reject);
      });
      request.end(JSON.stringify(call.body ?? {}));
    });
  }

  #target(method: string, path: string, { query = {} }: Call): object {
    const text = Object.entries(query).map(([key, value]) => `${key}=${value}`);
    const version = this.about.api === "" ? "" : `/v${this.about.api}`;
    return {
      socketPath: this.socket,
      agent,
      method,
      path: `${version}${path}${text.length === 0 ? "" : `?${text.join("&")}`}`,
    };
  }

  /** One request up to the head of its answer, which must not be an error. */
  async #ask(
    method: string,
    path: string,
    call: Call,
    how: {
      readonly signal?: AbortSignal;
      readonly idle?: number;
      readonly body?: Buffer;
      readonly bytes?: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
    },
  ): Promise<IncomingMessage> {
    const name = `${method} ${path}`;
    const request = openRequest({
      ...this.#target(method, path, call),
      headers: {
        host: "engine",
        ...(how.body !== undefined && { ...JSON_BODY, "content-length": how.body.length }),
        ...(how.bytes !== undefined && { "content-type": "application/x-tar" }),
      },
      ...(how.signal !== undefined && { signal: how.signal }),
    });
    if (how.idle !== undefined)
      request.setTimeout(how.idle, () =>
        request.destroy(new EngineError(name, null, "nothing came for too long")),
      );
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      request.on("error", (error) => reject(failure(name, error, call)));
      request.on("response", (response) => {
        // Errors of a body reach anyone who reads it; this is for the time before.
        response.on("error", () => {});
        // A caller of HEAD looks at the status too: a refusal has no text there.
        if ((response.statusCode ?? 500) < 400 || method === "HEAD") resolve(response);
        else refusal(name, response).then(reject, reject);
      });
    });
    if (how.bytes === undefined) request.end(how.body);
    else await sendAll(request, how.bytes, answered);
    return answered;
  }
}

// A connection each: on a socket of this machine that costs nothing, and none is ever found closed when it is used again.
const agent = new Agent({ keepAlive: false });
const JSON_BODY = { host: "engine", "content-type": "application/json" };

/** Writes bytes as fast as they are taken, and no more once there is an answer: an engine that refuses does not wait. */
async function sendAll(
  request: ClientRequest,
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  answered: Promise<unknown>,
): Promise<void> {
  let isOver = false;
  const over = answered.then(
    () => true,
    () => true,
  );
  void over.then(() => {
    isOver = true;
  });
  try {
    for await (const chunk of bytes) {
      if (isOver) break;
      if (!request.write(chunk))
        await Promise.race([over, new Promise((done) => request.once("drain", done))]);
    }
  } catch (error) {
    // Nobody may take for the whole what was sent so far.
    request.destroy();
    await over;
    throw error;
  }
  if (!isOver) request.end();
}

/** The bytes of an answer; an error when they were not all there were. */
async function* bodyOf(name: string, response: IncomingMessage): AsyncGenerator<Buffer, void, void> {
  try {
    for await (const chunk of response) yield chunk as Buffer;
  } catch (error) {
    throw error instanceof EngineError ? error : new EngineError(name, null, "its answer was cut off", error);
  } finally {
    response.destroy();
  }
  if (!response.complete) throw new EngineError(name, null, "its answer was cut off");
}

async function whole(name: string, response: IncomingMessage): Promise<string> {
  return (await buffer(bodyOf(name, response))).toString("utf8");
}

/** The engine's reason for a refusal. */
async function refusal(name: string, response: IncomingMessage): Promise<EngineError> {
  const text = (await whole(name, response)).trim();
  let reason = text.slice(0, 1000);
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    if (typeof message === "string") reason = message;
  } catch {
    // Then the text itself is all there is.
  }
  return new EngineError(
    name,
    response.statusCode ?? null,
    reason.trim().replace(/\.$/, "") || "without a reason",
  );
}

function failure(name: string, error: Error, call: Call): unknown {
  if (call.signal?.aborted === true) return call.signal.reason;
  if (error instanceof EngineError) return error;
  const isLate = error.name === "AbortError" || error.name === "TimeoutError";
  return new EngineError(name, null, isLate ? "it took too long" : error.message, error);
}

function unavailable(socket: string, error: unknown): unknown {
  if (!(error instanceof EngineError)) return error;
  const code = (error.cause as { code?: unknown } | undefined)?.code;
  const why =
    code === "ENOENT"
      ? [`there is no socket at ${socket}`, "start the engine: sudo systemctl start docker"]
      : code === "EACCES"
        ? [
            `this user may not use ${socket}`,
            "join its group and log in again: sudo usermod -aG docker $USER",
          ]
        : code === "ECONNREFUSED"
          ? [`nothing listens at ${socket}`, "start the engine: sudo systemctl start docker"]
          : [
              `the engine at ${socket} does not answer as one: ${String(error.data.reason)}`,
              "see whether it runs: docker info",
            ];
  return new SandboxUnavailableError("docker", why[0] as string, why[1] as string, error);
}

export type Version = {
  readonly Version?: string;
  readonly ApiVersion?: string;
  readonly MinAPIVersion?: string;
  readonly Components?: readonly { readonly Name: string }[];
};

/** The version that this client was written against; another one is spoken where an engine does not know it. */
const MINORS = 10_000;
const PREFERRED = numberOf("1.41");
const OLDEST = "1.40";

/** The version to speak: the one that this was written against, or the nearest one that the engine knows. */
export function chosen({ ApiVersion, MinAPIVersion }: Version): string {
  const newest = numberOf(ApiVersion);
  if (newest < numberOf(OLDEST))
    throw new SandboxUnavailableError(
      "docker",
      `the engine speaks version ${String(ApiVersion)} of its interface, and ${OLDEST} is needed`,
      "install a newer engine: Docker 19.03 or Podman 3, or later",
    );
  const wanted = Math.min(newest, Math.max(PREFERRED, numberOf(MinAPIVersion)));
  return `${Math.floor(wanted / MINORS)}.${wanted % MINORS}`;
}

/** A version as one number, so that versions can be compared; 0 for an unreadable one. */
function numberOf(version: string | undefined): number {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(version ?? "") ?? [];
  return major === undefined ? 0 : Number(major) * MINORS + Number(minor);
}

/** Where Docker and Podman listen when nobody says otherwise, the most likely place first. */
export function usualSockets(env: NodeJS.ProcessEnv = process.env): readonly string[] {
  const own = env.XDG_RUNTIME_DIR;
  return [
    "/var/run/docker.sock",
    ...(own === undefined || own === "" ? [] : [join(own, "docker.sock"), join(own, "podman/podman.sock")]),
    "/run/podman/podman.sock",
  ];
}

/** The socket of the engine: the one that was asked for, that of DOCKER_HOST, or the first usual one that is there. */
export function findSocket(asked: string | undefined, env: NodeJS.ProcessEnv = process.env): string {
  if (asked !== undefined) return pathOf(asked, "the option socket");
  if (env.DOCKER_HOST !== undefined && env.DOCKER_HOST !== "") return pathOf(env.DOCKER_HOST, "DOCKER_HOST");
  const usual = usualSockets(env);
  const found = usual.find(isSocket);
  if (found !== undefined) return found;
  throw new SandboxUnavailableError(
    "docker",
    `no container engine listens at ${usual.join(", ")}`,
    "install one and start it: sudo apt-get install docker.io && sudo systemctl start docker " +
      "(or: sudo apt-get install podman && systemctl --user start podman.socket)",
  );
}

function pathOf(address: string, source: string): string {
  if (address.startsWith("unix://")) return address.slice("unix://".length);
  if (address.startsWith("/")) return address;
  throw new SandboxUnavailableError(
    "docker",
    `${source} is ${JSON.stringify(address)}, and only sockets of this machine are spoken to`,
    'give a path: dockerSandbox({ socket: "/var/run/docker.sock" }), or DOCKER_HOST=unix:///var/run/docker.sock',
  );
}

function isSocket(path: string): boolean {
  try {
    return statSync(path).isSocket();
  } catch {
    return false;
  }
}
