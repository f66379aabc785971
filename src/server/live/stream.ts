/** One server-sent event. An event without an id does not move the place that a reader resumes at. */
export type SentEvent = { readonly event: string; readonly data: unknown; readonly id?: string };

type Options = {
  /** Asked whenever the reader can take more: the text of some events, or undefined when there is nothing now. */
  readonly next: () => Uint8Array | undefined;
  /** Called once, when the reader has left or was cut off. */
  readonly left: () => void;
  /** Sent when nothing else was for a while: proxies cut connections on which nothing moves. */
  readonly alive: () => string;
  readonly heartbeat?: number;
};

const HEARTBEAT = 15_000;
const encoder = new TextEncoder();

/**
 * Server-sent events for a reader that takes them at its own pace: an event is made when the reader has room for it, so a
 * slow reader costs no memory here.
 */
export class EventResponse {
  readonly #options: Options;
  readonly #body: ReadableStream<Uint8Array>;
  readonly #heartbeat: ReturnType<typeof setInterval>;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #isQuiet = true;
  #isOver = false;

  constructor(options: Options) {
    this.#options = options;
    this.#body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.wake(),
        cancel: () => this.#leave(),
      },
      { highWaterMark: 4 },
    );
    this.#heartbeat = setInterval(() => {
      if (this.#isQuiet && this.#hasRoom) this.#controller?.enqueue(encoder.encode(options.alive()));
      this.#isQuiet = true;
    }, options.heartbeat ?? HEARTBEAT);
    this.#heartbeat.unref();
  }

  /** There may be something to send. */
  wake(): void {
    while (this.#hasRoom) {
      const piece = this.#options.next();
      if (piece === undefined) return;
      this.#isQuiet = false;
      this.#controller?.enqueue(piece);
    }
  }

  /** Sends a last event, whether or not the reader has room, and ends the stream. */
  end(last?: SentEvent): void {
    if (this.#isOver) return;
    this.#leave();
    if (last !== undefined) this.#controller?.enqueue(eventBytes(last));
    this.#controller?.close();
  }

  response(): Response {
    return new Response(this.#body, {
      headers: {
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-cache, no-transform",
        "x-accel-buffering": "no",
      },
    });
  }

  get #hasRoom(): boolean {
    return !this.#isOver && (this.#controller?.desiredSize ?? 0) > 0;
  }

  #leave(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearInterval(this.#heartbeat);
    this.#options.left();
  }
}

export function eventBytes(...events: readonly SentEvent[]): Uint8Array {
  return encoder.encode(events.map(eventText).join(""));
}

/** JSON has no line breaks, so the data is one line. */
function eventText({ event, data, id }: SentEvent): string {
  return `${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
