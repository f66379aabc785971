import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { RefusedError } from "../runtime/index.js";
import { thrownMessage, warnOf } from "../session/index.js";
import { FencedError, openStore, type Store } from "../store/index.js";
import { type Meter, Metrics } from "./metrics.js";
import { type Checked, checked, type WorkerOptions } from "./options.js";
import { Tenure } from "./tenure.js";

/** A process that runs submitted sessions, until it is drained. */
export interface Worker {
  /** Its name in the store. It changes when the worker comes back after others took over its sessions. */
  readonly id: string;
  /** Where `/health` and `/metrics` are, if it has a port. */
  readonly url: string | undefined;
  /** The names of the sessions that run here now. */
  readonly running: readonly string[];
  /** Takes no more sessions, returns the running ones to the queue at their next effect, and ends. */
  drain(): Promise<void>;
  /** Resolves when the worker has ended. */
  readonly over: Promise<void>;
}

/** How long it waits before it comes back, where the store could not be reached. */
const AGAIN_MS = 1_000;

/**
 * Runs submitted sessions: takes those that are due, under leases that others respect, until it is drained.
 *
 * ```ts
 * const running = await worker({ store: "sqlite:./rath.db", modules: { clerk }, concurrency: 8 });
 * process.once("SIGTERM", () => running.drain());
 * await running.over;
 * ```
 */
export async function worker(given: WorkerOptions): Promise<Worker> {
  const running = new RunningWorker();
  const options = checked(given, () => void running.drain());
  const store = typeof given.store === "object" ? given.store : await openStore(given.store);
  const owned = typeof given.store === "object" ? undefined : store;
  try {
    await running.start(store, options, given.port, given.meter);
  } catch (error) {
    await owned?.close();
    throw error;
  }
  void running.over.finally(() => owned?.close());
  return running;
}

class RunningWorker implements Worker {
  readonly #metrics = new Metrics();
  readonly over: Promise<void>;
  #options!: Checked;
  #store!: Store;
  #tenure!: Tenure;
  #server: Server | undefined;
  #draining: Promise<void> | undefined;
  #coming: Promise<void> | undefined;
  #ended!: () => void;

  constructor() {
    this.over = new Promise((resolve) => {
      this.#ended = resolve;
    });
  }

  get id(): string {
    return this.#tenure.id;
  }

  get running(): readonly string[] {
    return [...this.#tenure.running.keys()];
  }

  get url(): string | undefined {
    const address = this.#server?.address() as AddressInfo | null | undefined;
    return address ? `http://127.0.0.1:${address.port}` : undefined;
  }

  async start(
    store: Store,
    options: Checked,
    port: number | undefined,
    meter: Meter | undefined,
  ): Promise<void> {
    this.#store = store;
    this.#options = options;
    this.#coming = this.#begin();
    await this.#coming;
    if (meter !== undefined) {
      const unobserved = this.#metrics.observedBy(meter, () => this.#state);
      void this.over.then(unobserved);
    }
    if (port === undefined) return;
    this.#server = createServer((request, response) => {
      const [status, type, body] = this.#answer(request.url ?? "");
      response.writeHead(status, { "content-type": type, connection: "close" }).end(body);
    });
    this.#server.listen(port, "127.0.0.1");
    try {
      await once(this.#server, "listening");
    } catch (error) {
      await this.drain();
      throw new RefusedError(
        "start a worker",
        `the port ${port} is not available: ${thrownMessage(error)}`,
        "give another port, or 0 for a free one",
      );
    }
  }

  async #begin(): Promise<void> {
    for (let tenure: Tenure | undefined; tenure === undefined; ) {
      try {
        tenure = this.#tenure = await Tenure.begin(this.#store, this.#options, this.#metrics);
      } catch (error) {
        // Taken for dead while it began: it was stopped for too long.
        if (!(error instanceof FencedError)) throw error;
      }
    }
    const { lost } = this.#tenure.member;
    const back = (): void => {
      this.#coming = this.#comeBack();
    };
    if (lost.aborted) back();
    else lost.addEventListener("abort", back, { once: true });
  }

  /** Others took it for dead: it was stopped for too long. It begins anew, under another name. */
  async #comeBack(): Promise<void> {
    while (this.#draining === undefined) {
      try {
        await this.#begin();
        return;
      } catch (error) {
        warnOf(error, "OPENRATH_WORKER");
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      }
    }
  }

  get #state(): { readonly worker: string; readonly running: number; readonly room: number } {
    return { worker: this.id, running: this.#tenure.running.size, room: this.#options.concurrency };
  }

  #answer(url: string): readonly [status: number, type: string, body: string] {
    const { member } = this.#tenure;
    const { worker, running, room } = this.#state;
    if (url === "/metrics") return [200, "text/plain; version=0.0.4", this.#metrics.text(this.#state)];
    if (url !== "/health") return [404, "text/plain", "see /health and /metrics\n"];
    const state = this.#draining !== undefined ? "draining" : member.lost.aborted ? "lost" : "ready";
    const health = { state, worker, running, concurrency: room };
    return [state === "ready" ? 200 : 503, "application/json", `${JSON.stringify(health)}\n`];
  }

  drain(): Promise<void> {
    this.#draining ??= (async () => {
      try {
        // It may be on its way back, and would go on without anybody who knows of it.
        await this.#coming?.catch(() => {});
        if (!this.#tenure.member.lost.aborted) await this.#tenure.drain(this.#options.grace);
      } finally {
        this.#server?.close();
        this.#ended();
      }
    })();
    return this.#draining;
  }
}
