import {
  CancelledError,
  type RunEvent,
  RunFailedError,
  type RunStream,
  statusOf,
} from "../../../runtime/index.js";
import { type FactId, type Failure, type Session, warnOf } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import { toldOf } from "../door.js";
import { EventStream } from "../event-stream.js";
import { chunkFor, mergedChunk, UI_HEADERS, type UiChunk } from "./chunk.js";
import type { UiDoor } from "./options.js";
import { answerOf, type RecordedMessage } from "./record.js";
import { awaitedChunks } from "./waiting.js";

type Reader = { readonly stream: EventStream<UiChunk>; readonly door: UiDoor };
type Begun = RecordedMessage & { readonly role: "assistant" };

/**
 * An answer that is under way. It is nobody's to await: readers come and go, and one that comes late hears it from its
 * beginning.
 */
export class Answer {
  /** The message that it answers, by the id that the front end gave it. */
  readonly message: string | undefined;
  readonly name: string;
  readonly stop = new AbortController();
  readonly over: Promise<void>;
  /** Whether everything is told: then the record has it. */
  isOver = false;
  readonly #readers = new Set<Reader>();
  #begun: Begun | undefined;
  /** The part from before this process went on with it: for those who read it from its beginning. */
  readonly #before: readonly UiChunk[];
  readonly #chunks: UiChunk[] = [];

  /**
   * @param begun the message that a run goes on with; without it, it begins with the next run of that name
   * @param after the answer before it, in this process
   */
  constructor(
    { name, message, begun, after }: AnswerGiven,
    run: (signal: AbortSignal) => Promise<RunStream> | RunStream,
  ) {
    this.name = name;
    this.message = message;
    this.#before = [...(begun?.chunks ?? [])];
    if (begun !== undefined) this.#begin(begun);
    this.over = this.#tell(after, run).catch((error: unknown) => warnOf(error, "OPENRATH_FRONT"));
  }

  /**
   * A stream of it: whole, or only what is new.
   *
   * @param answered the requests that the client knows, and that are answered now
   */
  read(door: UiDoor, whole: boolean, answered: readonly FactId[] = []): Response {
    const left = new AbortController();
    const stream = streamFor(door, left);
    const reader: Reader = { stream, door };
    left.signal.addEventListener("abort", () => {
      this.#readers.delete(reader);
      if (door.onDisconnect === "cancel" && this.#readers.size === 0) this.stop.abort("its reader left");
    });
    const [start, ...rest] = this.#chunks;
    const known = answered.map((id) => ({ type: "data-awaited", id, data: { answered: true } }));
    const before = whole ? this.#before : known;
    for (const chunk of [...(start === undefined ? [] : [start]), ...before, ...rest]) send(reader, chunk);
    this.#readers.add(reader);
    return stream.response(UI_HEADERS);
  }

  /** An answer that is over, as a stream. */
  static told(door: UiDoor, chunks: readonly UiChunk[]): Response {
    const stream = streamFor(door, new AbortController());
    for (const chunk of chunks) send({ stream, door }, chunk);
    stream.end();
    return stream.response(UI_HEADERS);
  }

  async #tell(
    after: Promise<void> | undefined,
    run: (signal: AbortSignal) => Promise<RunStream> | RunStream,
  ): Promise<void> {
    try {
      await after;
      const stream = await run(this.stop.signal);
      for await (const event of stream) this.#hear(event);
      const session = await stream.result;
      for (const reader of this.#readers) await this.#finish(reader, session);
    } catch (error) {
      this.#begun?.teller.close();
      if (error instanceof CancelledError || this.stop.signal.aborted) this.#send(STOPPED);
      else this.#send({ type: "error", errorText: failureText(error) });
    } finally {
      this.isOver = true;
      for (const { stream } of this.#readers) stream.end();
    }
  }

  /** Events before its own run belong to an earlier message. */
  #hear(event: RunEvent): void {
    if (this.#begun === undefined && event.type === "fact") {
      const { id, fact } = event.session;
      if (fact.type === "run-start" && fact.name === this.name) this.#begin(answerOf(id));
    }
    this.#begun?.teller.hear(event);
  }

  #begin(begun: Begun): void {
    this.#begun = begun;
    begun.send = (chunk) => this.#send(chunk);
    this.#send({ type: "start", messageId: begun.id });
  }

  #send(chunk: UiChunk): void {
    const last = this.#chunks.at(-1);
    const merged = last === undefined ? undefined : mergedChunk(last, chunk);
    if (merged === undefined) this.#chunks.push(chunk);
    else this.#chunks[this.#chunks.length - 1] = merged;
    for (const reader of this.#readers) send(reader, chunk);
  }

  async #finish(reader: Reader, session: Session): Promise<void> {
    const teller = this.#begun?.teller;
    const waiting = teller === undefined ? [] : await awaitedChunks(reader.door, this.name, session, teller);
    for (const chunk of waiting) send(reader, chunk);
    send(reader, finishOf(session));
  }
}

const STOPPED: UiChunk = { type: "abort", reason: "It was stopped." };

type AnswerGiven = {
  readonly name: string;
  readonly message?: string | undefined;
  readonly begun?: Begun | undefined;
  readonly after?: Promise<void> | undefined;
};

/** The end of a message, with the id of the session. A run that somebody else went on with may have failed. */
export function finishOf(session: Session): UiChunk {
  if (statusOf(session) === "cancelled") return STOPPED;
  if (session.fact.type === "run-end" && session.fact.error !== undefined)
    return { type: "error", errorText: session.fact.error.message };
  const finishReason = session.fact.type === "run-suspend" ? "tool-calls" : "stop";
  return { type: "finish", finishReason, messageMetadata: { session: session.id } };
}

/** A stream to a reader. `left` tells when it goes away; the answer itself goes on. */
function streamFor({ maxWaiting }: UiDoor, left: AbortController): EventStream<UiChunk> {
  const late = (): UiChunk => ({ type: "error", errorText: "The reader is too slow; the answer goes on." });
  return new EventStream<UiChunk>({ ...defined({ maxWaiting }), onDisconnect: "cancel" }, left, {
    late,
    merge: mergedChunk,
    last: "[DONE]",
  });
}

function send({ stream, door }: Reader, chunk: UiChunk): void {
  const readable = chunkFor(door.version, chunk);
  if (readable !== undefined) stream.send(readable);
}

/** The failure of a run is on the record and may be shown; other errors are the server's own. */
export function failureText(error: unknown): string {
  if (!(error instanceof RunFailedError)) return toldOf(error).told.message;
  return (Object(error.data.error) as Partial<Failure>).message ?? error.message;
}
