import { randomBytes } from "node:crypto";
import { RequestError } from "../../connect/front/index.js";
import {
  CancelledError,
  type Module,
  type RunEvent,
  RunFailedError,
  type RunStream,
  statusOf,
} from "../../runtime/index.js";
import type { Json, Principal, Session } from "../../session/index.js";
import { clip, defined } from "../../util/index.js";
import { EventResponse, eventBytes, type SentEvent } from "../live/stream.js";
import { problemOf } from "../problem.js";

/** How a run came out, or stands. */
export type Ran = {
  readonly name: string;
  readonly id: string;
  readonly state: string;
  readonly text?: string;
  readonly error?: Json;
};

/** Events of a run that are kept for readers that come late or are slow. */
const KEPT = { events: 8_192, bytes: 1024 ** 2 };

export type RunLimits = {
  /** Runs under way in all, and those that one person began. */
  readonly runs: number;
  readonly runsPerPerson: number;
};

/** The runs that this server has under way, one for each name. They are nobody's to await: readers come and go. */
export class UnderWay {
  readonly #runs = new Map<string, ActiveRun>();
  readonly #limits: RunLimits;
  /** Runs of each person, also those that other protocols began. */
  readonly #count = new Map<Principal | undefined, number>();

  constructor(limits: RunLimits) {
    this.#limits = limits;
  }

  get names(): readonly string[] {
    return [...this.#runs.keys()];
  }

  find(name: string): ActiveRun | undefined {
    return this.#runs.get(name);
  }

  /**
   * Begins a run, or goes on with one: resolves when it is taken or its first fact is recorded, and rejects when it cannot begin.
   *
   * @param by who begins it; without, it is one that was begun before, and not limited
   */
  async begin(name: string, module: Module, start: () => RunStream, by?: Principal): Promise<ActiveRun> {
    if (this.#runs.has(name))
      throw new RequestError(409, "run-under-way", "A run with this name is in progress.", {
        hint: `follow it: POST /api/sessions/${encodeURIComponent(name)}/stream; or cancel it first`,
        data: { name },
      });
    const leave = this.enter(by);
    const run = new ActiveRun(name, module.name, by, start());
    this.#runs.set(name, run);
    void run.over.then(() => {
      this.#runs.delete(name);
      leave();
    });
    await run.begun;
    return run;
  }

  /** Counts a run of somebody, or refuses it; gives back the way to say that it is at rest. */
  enter(by: Principal | undefined): () => void {
    const { runs, runsPerPerson } = this.#limits;
    const busy = (status: number, who: string, most: number): RequestError =>
      new RequestError(status, "runs-limited", `${who} ${most} runs in progress already.`, {
        hint: "wait until a run ends, or cancel one",
        data: { most, retryAfter: 5 },
      });
    const theirs = this.#count.get(by) ?? 0;
    const all = [...this.#count.values()].reduce((sum, one) => sum + one, 0);
    if (by !== undefined && theirs >= runsPerPerson) throw busy(429, `${by} has`, runsPerPerson);
    if (by !== undefined && all >= runs) throw busy(503, "The server has", runs);
    this.#count.set(by, theirs + 1);
    return () => {
      const left = (this.#count.get(by) ?? 1) - 1;
      if (left > 0) this.#count.set(by, left);
      else this.#count.delete(by);
    };
  }

  /** Ends the streams of readers; the runs go on as long as the runtime is open. */
  close(): void {
    for (const run of this.#runs.values()) run.leave();
  }
}

type Reader = { readonly stream: EventResponse; at: number };

/** A run, its events so far as they are kept, and its readers. */
export class ActiveRun {
  readonly name: string;
  readonly module: string;
  readonly by: Principal | undefined;
  /** Resolves when it is taken, or its first fact is recorded. */
  readonly begun: Promise<void>;
  /** How it came out; it never rejects. */
  readonly over: Promise<Ran>;
  /** Its newest fact. */
  head = "";
  readonly #token = randomBytes(6).toString("hex");
  readonly #readers = new Set<Reader>();
  readonly #events: Uint8Array[] = [];
  #dropped = 0;
  #bytes = 0;
  #isOver = false;

  constructor(name: string, module: string, by: Principal | undefined, stream: RunStream) {
    this.name = name;
    this.module = module;
    this.by = by;
    let over: Promise<Ran> | undefined;
    this.begun = new Promise((resolve, reject) => {
      over = this.#follow(stream, resolve, reject);
      stream.taken.then((head) => {
        this.head ||= head;
        resolve();
      }, reject);
    });
    this.begun.catch(() => {});
    this.over = over as unknown as Promise<Ran>;
  }

  /** The events from a place on, or those that are kept. */
  read(last: string | null, left: () => void): Response {
    const [token, place] = (last ?? "").split(".");
    const at = token === this.#token && /^\d{1,12}$/.test(place ?? "") ? Number(place) : 0;
    const stream = new EventResponse({
      next: () => this.#next(reader),
      alive: () => ": still here\n\n",
      left: () => {
        this.#readers.delete(reader);
        left();
      },
    });
    const reader: Reader = { stream, at };
    this.#readers.add(reader);
    stream.wake();
    return stream.response();
  }

  leave(): void {
    for (const { stream } of [...this.#readers]) stream.end();
  }

  #next(reader: Reader): Uint8Array | undefined {
    if (reader.at < this.#dropped) {
      reader.at = this.#dropped;
      return eventBytes({ event: "reset", data: { name: this.name, head: this.head } });
    }
    const event = this.#events[reader.at - this.#dropped];
    if (event === undefined) {
      if (this.#isOver) queueMicrotask(() => reader.stream.end());
      return undefined;
    }
    reader.at += 1;
    return event;
  }

  async #follow(stream: RunStream, begun: () => void, failed: (error: unknown) => void): Promise<Ran> {
    try {
      for await (const event of stream) {
        if ("session" in event) {
          this.head = event.session.id;
          begun();
        }
        const told = toldOf(event);
        if (told !== undefined) this.#tell(told);
      }
      return this.#end(outcomeOf(this.name, await stream.result));
    } catch (error) {
      failed(error);
      const session =
        error instanceof RunFailedError || error instanceof CancelledError ? error.session : undefined;
      return this.#end(
        session === undefined
          ? { name: this.name, id: this.head, state: "open", error: { ...problemOf(error) } as Json }
          : outcomeOf(this.name, session),
      );
    } finally {
      begun();
    }
  }

  #end(ran: Ran): Ran {
    this.#tell({ event: "end", data: ran });
    this.#isOver = true;
    for (const { stream } of [...this.#readers]) stream.wake();
    return ran;
  }

  #tell({ event, data }: SentEvent): void {
    const place = this.#dropped + this.#events.length + 1;
    const bytes = eventBytes({ event, data, id: `${this.#token}.${place}` });
    this.#events.push(bytes);
    this.#bytes += bytes.length;
    if (this.#events.length > KEPT.events || this.#bytes > KEPT.bytes) {
      const gone = this.#events.splice(0, Math.ceil(this.#events.length / 4));
      this.#dropped += gone.length;
      for (const { length } of gone) this.#bytes -= length;
    }
    for (const { stream } of [...this.#readers]) stream.wake();
  }
}

/** How a run stands whose session is at rest. */
export function outcomeOf(name: string, session: Session): Ran {
  const state = statusOf(session);
  const { fact } = session;
  const error = fact.type === "run-end" ? fact.error : undefined;
  return {
    name,
    id: session.id,
    state,
    ...(session.text !== "" && { text: session.text }),
    ...(error !== undefined && { error: error as Json }),
  };
}

/** A run as a request is answered: at its end or as it stands. */
export async function answerOf(run: ActiveRun | Ran, wait: boolean): Promise<Response> {
  if (!("over" in run)) return Response.json(run);
  if (wait) return Response.json(await run.over);
  return Response.json({ name: run.name, id: run.head, state: "running" } satisfies Ran, { status: 202 });
}

/** Texts in an event of a stream; the record has all of them. */
const TEXT = 65_536;

/** An event of a run as a reader is told of it. A fact goes by its id: GET /api/facts/ID has it. */
function toldOf(event: RunEvent): SentEvent | undefined {
  const { type, module, branch } = event;
  const common = { module, branch };
  switch (type) {
    case "fact":
      return { event: "fact", data: { ...common, id: event.session.id, type: event.session.fact.type } };
    case "text":
    case "reasoning":
      return { event: type, data: { ...common, call: event.call, text: event.text } };
    case "tool-input":
      return {
        event: type,
        data: { ...common, call: event.call, id: event.id, tool: event.tool, text: event.text },
      };
    case "tool-call":
      return {
        event: type,
        data: { ...common, id: event.id, tool: event.tool, input: shortened(event.input) },
      };
    case "tool-result": {
      const { id, tool, output, error } = event;
      const outcome = output === undefined ? defined({ error }) : { output: shortened(output) };
      return { event: type, data: { ...common, id, tool, ...outcome } };
    }
    case "model-call":
      return { event: type, data: { ...common, call: event.call, model: event.model } };
    case "model-reply": {
      const { call, text, finish, usage, cost, error } = event;
      return { event: type, data: { ...common, call, ...defined({ text, finish, usage, cost, error }) } };
    }
    case "retry":
      return { event: type, data: { ...common, call: event.call, error: event.error } };
    case "route":
      return { event: type, data: { ...common, chosen: event.chosen, ...defined({ why: event.why }) } };
    case "suspended":
      return {
        event: type,
        data: {
          ...common,
          id: event.session.id,
          pending: event.pending.map(({ id, type, what }) => ({ id, type, what })),
        },
      };
    default:
      // Structured output is in its pieces of text, and modules are in the facts; the end is told with the outcome.
      return undefined;
  }
}

function shortened(value: Json): Json {
  const text = JSON.stringify(value);
  return text.length > TEXT ? clip(text, TEXT) : value;
}
