import { RequestError } from "../../connect/front/index.js";
import type { Rath } from "../../runtime/index.js";
import { newestToken, type Store } from "../../store/index.js";
import { type Identity, may, prefixesOf } from "../identity/identity.js";
import { Deltas } from "./deltas.js";
import { joinMoves, type Move, readPlace, restOf, type ToldMove } from "./moves.js";
import { movesSince, watchMoves } from "./source.js";
import { EventResponse, eventBytes, type SentEvent } from "./stream.js";
import { chunksOf, type Stretch, toldMove } from "./told.js";

export type LiveLimits = {
  /** Open streams in all, and of one person. */
  readonly streams: number;
  readonly streamsPerPerson: number;
};

/** Moves that are kept for readers that are behind; one that is further behind reconnects and reads the store's own log. */
const KEPT = 4_096;
/** Frames a second are a tenth of a second apart at least: more would only cost the page. */
const FRAME_MS = 100;

type Reader = {
  readonly identity: Identity;
  readonly stream: EventResponse;
  /** Readers with the same key see the same events. */
  readonly key: string;
  /** Sent before the moves of the log: a greeting, and the moves that the reader missed. */
  readonly first: Uint8Array[];
  /** How many moves it has been told, counted from when the watch began. */
  at: number;
  deltas: number;
};

type Joining = {
  readonly store: Store;
  readonly watch: Watch;
  readonly identity: Identity;
  readonly last: string | null;
  readonly leave: () => void;
};

/** Tells readers of moves as they happen. All readers share one watch of the store, which lasts as long as there are any. */
export class Live {
  readonly #rath: Rath;
  readonly #limits: LiveLimits;
  readonly #readers = new Set<Reader>();
  readonly #deltas: Deltas;
  #watch: Watch | undefined;
  /** Streams of each person, also those that are still being opened. */
  readonly #open = new Map<string, number>();
  #count = 0;
  #opening = 0;
  readonly #missed = new Map<string, Promise<Missed | undefined>>();

  constructor(rath: Rath, limits: LiveLimits) {
    this.#rath = rath;
    this.#limits = limits;
    this.#deltas = new Deltas(rath, () => this.#watch?.frame());
  }

  get streams(): number {
    return this.#count;
  }

  /** A stream of events for somebody, from the place where they left. */
  async open(identity: Identity, last: string | null): Promise<Response> {
    const leave = this.enter(identity.principal);
    try {
      return await this.#opened(identity, last, leave);
    } catch (error) {
      leave();
      throw error;
    }
  }

  async #opened(identity: Identity, last: string | null, leave: () => void): Promise<Response> {
    const store = await this.#rath.store();
    if (this.#watch === undefined || this.#watch.isOver) this.#watch = new Watch(store, this.#readers);
    const watch = this.#watch;
    this.#opening += 1;
    try {
      return await this.#joined({ store, watch, identity, last, leave });
    } finally {
      this.#opening -= 1;
      this.#rest(watch);
    }
  }

  /** Without readers nothing is watched. */
  #rest(watch: Watch): void {
    if (this.#readers.size + this.#opening > 0) return;
    watch.stop();
    if (this.#watch === watch) this.#watch = undefined;
  }

  async #joined({ store, watch, identity, last, leave }: Joining): Promise<Response> {
    // Read from the log of the store, and then from where the watch comes to the same place.
    const since = last === null ? undefined : await this.#since(store, last);
    const place = since === undefined ? undefined : await watch.comesTo(since.end);
    const at = place ?? watch.end;
    const stream = new EventResponse({
      next: () => this.#next(watch, reader),
      alive: () => `id: ${watch.tokenAt(reader.at)}\n: still here\n\n`,
      left: () => {
        this.#readers.delete(reader);
        leave();
        this.#rest(watch);
      },
    });
    // Others moved so fast meanwhile that the watch no longer has the place: the reader reads anew.
    const stretches = last === null ? [] : place === undefined ? undefined : since?.stretches;
    const token = watch.tokenAt(at);
    const hello: SentEvent = {
      event: "hello",
      data: { store: store.identity ?? null, clock: Date.now(), token },
      ...(stretches?.length === 0 && { id: token }),
    };
    const reader: Reader = {
      identity,
      stream,
      key: prefixesOf(identity).toSorted().join("\n"),
      first: [
        eventBytes(hello),
        ...(stretches ?? []).flatMap((stretch) => [...chunksOf(stretch, identity)]),
        ...(stretches === undefined ? [eventBytes({ event: "reset", data: { token }, id: token })] : []),
      ],
      at,
      deltas: 0,
    };
    this.#readers.add(reader);
    stream.wake();
    return stream.response();
  }

  /** The moves that a reader missed. After a restart many come back from the same place: they are read once. */
  #since(store: Store, last: string): Promise<Missed | undefined> {
    const key = `${last} ${newestToken(store)}`;
    const known = this.#missed.get(key) ?? missed(store, last);
    if (this.#missed.size > 16) this.#missed.clear();
    this.#missed.set(key, known);
    known.catch(() => this.#missed.delete(key));
    return known;
  }

  #next(watch: Watch, reader: Reader): Uint8Array | undefined {
    const waiting = reader.first.shift();
    if (waiting !== undefined) return waiting;
    if (reader.at < watch.start) {
      // It reconnects with its place, and reads what it missed from the store.
      queueMicrotask(() => reader.stream.end());
      return undefined;
    }
    const end = watch.framed;
    if (reader.at < end) {
      const frame = watch.frameFrom(reader.at, end, reader);
      reader.at = end;
      if (frame.length > 0) return frame;
    }
    const deltas = this.#deltas.since(reader.deltas, reader.key, (name) =>
      may(reader.identity, "view", name),
    );
    reader.deltas = this.#deltas.version;
    return deltas;
  }

  /** Counts a stream of somebody, or refuses it; gives back the way to say that it is closed. */
  enter(person: string): () => void {
    const { streams, streamsPerPerson } = this.#limits;
    const theirs = this.#open.get(person) ?? 0;
    const busy = (status: number, who: string, most: number): RequestError =>
      new RequestError(status, "streams-limited", `${who} ${most} open streams already.`, {
        hint: "close a stream; one stream is enough for a page",
        data: { most, retryAfter: 5 },
      });
    if (theirs >= streamsPerPerson) throw busy(429, `${person} has`, streamsPerPerson);
    if (this.#count >= streams) throw busy(503, "The server has", streams);
    this.#open.set(person, theirs + 1);
    this.#count += 1;
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.#count -= 1;
      const left = (this.#open.get(person) ?? 1) - 1;
      if (left > 0) this.#open.set(person, left);
      else this.#open.delete(person);
    };
  }

  close(): void {
    this.#deltas.stop();
    for (const { stream } of [...this.#readers]) stream.end();
  }
}

/** One watch of the store, and the moves of late. */
class Watch {
  readonly #store: Store;
  readonly #readers: ReadonlySet<Reader>;
  /** The token of the place where the watch began. */
  #origin = "";
  #moves: ToldMove[] = [];
  #dropped = 0;
  #framed = 0;
  #timer: NodeJS.Timeout | undefined;
  #last = 0;
  readonly #stopping = new AbortController();
  /** The tokens of moves that are no longer kept. */
  #gone = new Set<string>();
  readonly #frames = new Map<string, Uint8Array>();
  readonly #awaited = new Map<string, ((place: number) => void)[]>();
  readonly #sessions = new Map<string, string | undefined>();

  constructor(store: Store, readers: ReadonlySet<Reader>) {
    this.#store = store;
    this.#readers = readers;
    const { origin, moves } = watchMoves(store, this.#stopping.signal);
    this.#origin = origin;
    this.#follow(moves).catch(() => {
      // The store was closed or failed: readers come back to the next watch or server, or to an error that says why.
      this.#stopping.abort();
      for (const { stream } of [...this.#readers]) stream.end();
    });
  }

  get isOver(): boolean {
    return this.#stopping.signal.aborted;
  }
  /** Moves are counted from when the watch began: those before `start` are no longer kept, those before `end` are known. */
  get start(): number {
    return this.#dropped;
  }
  get end(): number {
    return this.#dropped + this.#moves.length;
  }
  /** Readers are told up to here; the rest goes with the next frame. */
  get framed(): number {
    return this.#framed;
  }

  /** The place after the move of a token, which is in the log: resolves when the watch has come to it; undefined where it is gone. */
  async comesTo(token: string): Promise<number | undefined> {
    const place = this.#moves.findLastIndex((move) => move.token === token);
    if (place >= 0) return this.#dropped + place + 1;
    if (token === this.#origin) return this.#dropped;
    if (this.#gone.has(token)) return undefined;
    if (this.isOver) throw new Error("the watch has ended");
    return new Promise((resolve, reject) => {
      this.#awaited.set(token, [...(this.#awaited.get(token) ?? []), resolve]);
      this.#stopping.signal.addEventListener("abort", () => reject(new Error("the watch has ended")), {
        once: true,
      });
    });
  }

  tokenAt(place: number): string {
    return this.#moves[place - this.#dropped - 1]?.token ?? this.#origin;
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#stopping.abort();
  }

  /** The events of a stretch, encoded once for all readers that see the same. */
  frameFrom(from: number, end: number, { key, identity }: Reader): Uint8Array {
    const name = `${from} ${end} ${key}`;
    let frame = this.#frames.get(name);
    if (frame === undefined) {
      const moves = joinMoves(this.#moves.slice(from - this.#dropped, end - this.#dropped));
      frame = Buffer.concat([
        ...chunksOf({ from: this.tokenAt(from), end: this.tokenAt(end), moves }, identity),
      ]);
      if (this.#frames.size > 64) this.#frames.clear();
      this.#frames.set(name, frame);
    }
    return frame;
  }

  /** Tells all readers what came, now or when the next frame is due. */
  frame(): void {
    if (this.#timer !== undefined || this.#stopping.signal.aborted) return;
    const due = this.#last + FRAME_MS - Date.now();
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#last = Date.now();
        this.#framed = this.end;
        for (const { stream } of [...this.#readers]) stream.wake();
      },
      Math.max(0, due),
    );
  }

  async #follow(moves: AsyncIterable<Move>): Promise<void> {
    for await (const move of moves) {
      this.#moves.push(await toldMove(this.#store, move, this.#sessions));
      for (const resolve of this.#awaited.get(move.token) ?? []) resolve(this.end);
      this.#awaited.delete(move.token);
      if (this.#moves.length > 2 * KEPT) {
        this.#origin = this.tokenAt(this.end - KEPT);
        const gone = this.#moves.slice(0, -KEPT).map(({ token }) => token);
        this.#gone = new Set([...[...this.#gone].slice(-8 * KEPT), ...gone]);
        this.#dropped = this.end - KEPT;
        this.#moves = this.#moves.slice(-KEPT);
      }
      this.frame();
    }
    if (!this.#stopping.signal.aborted) throw new Error("the watch has ended");
  }
}

type Missed = { readonly stretches: readonly Stretch[]; readonly end: string };

/** The moves that a reader missed, joined; undefined where the store cannot say. */
async function missed(store: Store, last: string): Promise<Missed | undefined> {
  const place = readPlace(last);
  if (place === undefined)
    throw new RequestError(400, "place-broken", "Last-Event-ID is not the id of an event of this server.", {
      hint: "leave Last-Event-ID out to start with the next event",
    });
  const found = await movesSince(store, place.from);
  if (found === undefined) return undefined;
  const moves: ToldMove[] = [];
  const sessions = new Map<string, string | undefined>();
  for (const move of found.moves) moves.push(await toldMove(store, move, sessions));
  const { end } = found;
  const { part } = place;
  const cut = part === undefined ? -1 : moves.findIndex(({ token }) => token === part.end);
  if (part === undefined || cut < 0)
    return { end, stretches: [{ from: place.from, end, moves: joinMoves(moves) }] };
  return {
    end,
    stretches: [
      { from: place.from, end: part.end, moves: restOf(moves.slice(0, cut + 1), part.at) },
      { from: part.end, end, moves: joinMoves(moves.slice(cut + 1)) },
    ],
  };
}
