export type ReadEvent = {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: { readonly [field: string]: unknown };
};

/** Reads server-sent events from an answer, one after the other. */
export class Events {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  #text = "";

  constructor(response: Response) {
    this.#reader = (response.body as ReadableStream<Uint8Array>).getReader();
  }

  /** The next event; undefined when the stream has ended. An event that is not whole is none. */
  async read(): Promise<ReadEvent | undefined> {
    for (;;) {
      const end = this.#text.indexOf("\n\n");
      if (end >= 0) {
        const block = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        const fields = new Map(
          block.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.replace(/^\w*: ?/, "")]),
        );
        const data = fields.get("data");
        if (data !== undefined)
          return { event: fields.get("event") ?? "message", id: fields.get("id"), data: JSON.parse(data) };
        continue;
      }
      const { done, value } = await this.#reader.read();
      if (done) return undefined;
      this.#text += this.#decoder.decode(value, { stream: true });
    }
  }

  /** The next event of a kind; others are passed over. */
  async next(kind: string): Promise<ReadEvent> {
    for (let event = await this.read(); event !== undefined; event = await this.read())
      if (event.event === kind) return event;
    throw new Error(`the stream ended before an event ${kind}`);
  }

  async stop(): Promise<void> {
    await this.#reader.cancel().catch(() => {});
  }
}

export function eventsOf(response: Response): Events {
  return new Events(response);
}
