import { type Draft, type Fact, type Json, type Realm, Session } from "../../session/index.js";
import { RunClosedError } from "../error.js";
import type { TapeReader } from "../tape/reader.js";
import type { Entry } from "../tape/tape.js";
import type { Keeper } from "./keeper.js";
import { withoutLongText } from "./long-text.js";
import type { RunOptions } from "./options.js";
import type { Turns } from "./turns.js";

/** How a run came to rest. */
export type Stop = "ended" | "suspended" | "given up";

/** Milliseconds after which what was made is durable, though nothing asked for it: a crash must not cost an hour of reading. */
const KEPT_WITHIN = 1_000;

type RecorderParts = {
  readonly options: Pick<RunOptions, "nonce" | "services" | "pool" | "outer" | "observe">;
  readonly tape: TapeReader;
  readonly keeper: Keeper;
  readonly turns: Turns;
  /** The time that goes into a stamp. */
  readonly time: () => string;
  /** What was made could not be kept. */
  readonly failed: (error: unknown) => void;
};

/** Makes every session of a run: the recorded twin where there is one, else a new session with its stamp. */
export class Recorder {
  readonly #options: RecorderParts["options"];
  readonly #tape: TapeReader;
  readonly #keeper: Keeper;
  readonly #turns: Turns;
  readonly #time: () => string;
  readonly #failed: (error: unknown) => void;
  #seq: number;
  /** What was made will be durable before long. */
  #keeping = false;
  #stopped: Stop | undefined;
  #abandoned = false;

  constructor({ options, tape, keeper, turns, time, failed }: RecorderParts) {
    this.#options = options;
    this.#tape = tape;
    this.#keeper = keeper;
    this.#turns = turns;
    this.#time = time;
    this.#failed = failed;
    this.#seq = (tape.tape?.lastSeq ?? -1) + 1;
  }

  /** How the run came to rest. Nothing comes after a suspension, also while that is being written. */
  get stopped(): Stop | undefined {
    return this.#stopped;
  }

  /** Whether the run has come to its end: what is made of its sessions now is outside of it. */
  get isOver(): boolean {
    return this.#stopped === "ended" && !this.#abandoned;
  }

  /** Nothing more is recorded. */
  stop(how: Stop): void {
    this.#stopped = how;
  }

  /** The body was not waited for: what it makes later is nowhere. */
  abandonBody(): void {
    this.#abandoned = true;
  }

  next(
    parents: readonly Session[],
    fact: Draft,
    realm: Realm,
    labels: () => readonly string[] = () => [],
  ): Session {
    if (this.#stopped !== undefined) return this.#late(parents, fact, realm);
    const found = this.#tape.twin(parents, fact, realm);
    return found === undefined
      ? this.#make(parents, labelled(fact, labels()), realm)
      : this.adopt(found, parents, realm);
  }

  /** Takes over a recorded fact, byte for byte. */
  adopt(entry: Entry, parents: readonly Session[], realm: Realm): Session {
    entry.used = true;
    const session = Session.restore(entry.line, parents, realm, { id: entry.id });
    this.#keeper.add(session, parents, false);
    return session;
  }

  /** The same session as another object, which takes its place. */
  replace(session: Session, twin: Session): void {
    this.#keeper.replace(session, twin);
    this.#tape.alias(session, twin);
  }

  stamped(fact: Draft): Fact {
    if (fact.at === "") fact.at = this.#time();
    fact.run = this.#options.nonce;
    fact.seq = this.#seq++;
    return Object.freeze(fact) as unknown as Fact;
  }

  #make(parents: readonly Session[], fact: Draft, realm: Realm): Session {
    // What was recorded is taken over as it is; only a new move must lead somewhere.
    if (fact.type === "placement-change")
      this.#options.pool.require((fact as { readonly sandbox?: string }).sandbox);
    const session = Session.made(parents, this.stamped(withoutLongText(fact)), realm);
    this.#tape.missed(session);
    this.#keeper.add(session, parents, true);
    if (!this.#tape.adopting) this.#keepSoon();
    return session;
  }

  #keepSoon(): void {
    if (this.#keeping) return;
    this.#keeping = true;
    this.#turns.ring(
      KEPT_WITHIN,
      () => {
        this.#keeping = false;
        this.flushSoon();
      },
      true,
    );
  }

  /** Something is made of a session of this run after it: outside of the run when it ended, an error when it was cut off. */
  #late(parents: readonly Session[], fact: Draft, realm: Realm): Session {
    const { nonce, outer, services } = this.#options;
    if (!this.isOver)
      throw new RunClosedError(
        nonce,
        `it was ${this.#abandoned ? "cancelled" : this.#stopped}, and its body does not go on`,
      );
    const { run: _run, seq: _seq, ...plain } = fact;
    const { host: _host, ...rest } = realm;
    return Session.made(
      parents,
      Object.freeze({ ...plain, at: fact.at === "" ? services.time() : fact.at }) as unknown as Fact,
      Object.freeze(outer === undefined ? rest : { ...rest, host: outer }),
    );
  }

  /** Resolves when everything that was made before this call is durable. */
  async flush(): Promise<void> {
    try {
      await this.#keeper.flush();
    } catch (error) {
      this.#failed(error);
      throw error;
    }
  }

  /** Writes without waiting: a reply that cost money must not be lost for long. */
  flushSoon(): void {
    this.flush().catch(() => {});
  }

  /** Tells observers a piece of what comes of a request. */
  emit(request: Session, delta: Json): void {
    if (this.#stopped !== undefined) return;
    const tell = (): void => this.#options.observe({ kind: "delta", request, delta });
    // Whoever listens must know what it is a piece of: the request, and everything that came before it, is told first.
    if (!this.#keeper.after(request, tell)) this.flushSoon();
  }
}

/**
 * The labels of what a body had read stand in the stamp of a fact, before `by`: like the time, they do not belong to what the
 * program says again at a replay, which may have read in another order.
 */
function labelled(fact: Draft, labels: readonly string[]): Draft {
  if (labels.length === 0) return fact;
  const {
    type,
    at,
    run,
    seq,
    labels: own = [],
    ...body
  } = fact as Draft & { readonly labels?: readonly string[] };
  return { type, at, run, seq, labels: [...new Set([...own, ...labels])], ...body } as unknown as Draft;
}
