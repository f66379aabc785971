import type { Observation, Rath } from "../../runtime/index.js";
import type { Json, Session } from "../../session/index.js";
import type { DoorOptions } from "./door.js";

export type EventStreamOptions<Event> = {
  /** The last event for a reader that is too slow. */
  readonly late: () => Event;
  /** Two events as one, where they can be: fewer wait then. */
  readonly merge?: (earlier: Event, later: Event) => Event | undefined;
  /** The data of the event that ends the stream, if the protocol has one. */
  readonly last?: string;
};

const MOST = 8 * 1024 ** 2;
/** Proxies cut connections on which nothing moves. */
const HEARTBEAT = 15_000;

/**
 * Server-sent events for a reader that takes them at its own pace. Facts cannot be held back, so what it has not taken
 * waits here, up to a limit.
 */
export class EventStream<Event extends { readonly [field: string]: Json | undefined }> {
  readonly body: ReadableStream<Uint8Array>;
  readonly #options: EventStreamOptions<Event>;
  readonly #most: number;
  readonly #waiting: { event: Event | undefined; size: number }[] = [];
  readonly #encoder = new TextEncoder();
  readonly #heartbeat: ReturnType<typeof setInterval>;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #size = 0;
  #ended = false;
  #closed = false;

  /** When the reader goes away, `controller` cancels the run if `onDisconnect` says so. */
  constructor(
    { maxWaiting = MOST, onDisconnect = "continue" }: Pick<DoorOptions, "maxWaiting" | "onDisconnect">,
    controller: AbortController,
    options: EventStreamOptions<Event>,
  ) {
    this.#options = options;
    this.#most = maxWaiting;
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (sink) => {
          this.#controller = sink;
        },
        pull: () => this.#pump(),
        cancel: () => {
          if (this.#closed) return;
          this.#leave();
          if (onDisconnect === "cancel") controller.abort(new Error("the reader went away"));
        },
      },
      { highWaterMark: 16 },
    );
    this.#heartbeat = setInterval(() => {
      if (this.#waiting.length > 0) return;
      this.#waiting.push({ event: undefined, size: 0 });
      this.#pump();
    }, HEARTBEAT);
    this.#heartbeat.unref();
  }

  send(event: Event): void {
    if (this.#ended || this.#closed) return;
    const last = this.#waiting.at(-1);
    const merged = last?.event === undefined ? undefined : this.#options.merge?.(last.event, event);
    const size = JSON.stringify(event).length;
    if (last !== undefined && merged !== undefined) {
      last.event = merged;
      last.size += size;
    } else this.#waiting.push({ event, size });
    this.#size += size;
    if (this.#size > this.#most) this.#cutOff();
    else this.#pump();
  }

  /** No more will come: what waits is still handed out. */
  end(): void {
    this.#ended = true;
    this.#pump();
  }

  response(headers: { readonly [name: string]: string } = {}): Response {
    return new Response(this.body, {
      headers: {
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-cache, no-transform",
        "x-accel-buffering": "no",
        ...headers,
      },
    });
  }

  #pump(): void {
    const controller = this.#controller;
    if (controller === undefined || this.#closed) return;
    while ((controller.desiredSize ?? 0) > 0) {
      const next = this.#waiting.shift();
      if (next === undefined) break;
      this.#size -= next.size;
      const { event } = next;
      const text = event === undefined ? ": still here\n\n" : `data: ${JSON.stringify(event)}\n\n`;
      controller.enqueue(this.#encoder.encode(text));
    }
    // To enqueue asks for more, which comes here again.
    if (this.#ended && this.#waiting.length === 0 && !this.#closed) {
      this.#close();
      this.#sayLast(controller);
      controller.close();
    }
  }

  #cutOff(): void {
    const controller = this.#controller;
    this.#leave();
    if (controller === undefined) return;
    controller.enqueue(this.#encoder.encode(`data: ${JSON.stringify(this.#options.late())}\n\n`));
    this.#sayLast(controller);
    controller.close();
  }

  #sayLast(controller: ReadableStreamDefaultController<Uint8Array>): void {
    const { last } = this.#options;
    if (last !== undefined) controller.enqueue(this.#encoder.encode(`data: ${last}\n\n`));
  }

  #leave(): void {
    this.#close();
    this.#waiting.length = 0;
  }

  #close(): void {
    this.#closed = true;
    clearInterval(this.#heartbeat);
  }
}

/**
 * Hears what happens in the run of a name, from when it begins, or goes on if `run` says which. Gives back the way to stop.
 */
export function follow(
  rath: Rath,
  { name, run }: { readonly name: string; readonly run: string | undefined },
  hear: (observation: Observation) => void,
): () => void {
  let nonce = run;
  return rath.observe((observation) => {
    const { fact }: Session = observation.kind === "fact" ? observation.session : observation.request;
    if (fact.type === "run-start" && fact.name === name) nonce = fact.nonce;
    if (nonce !== undefined && fact.run === nonce) hear(observation);
  });
}
