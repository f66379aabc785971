import { type Draft, type Fact, type Json, type Realm, Session } from "../../session/index.js";
import { RunClosedError } from "../error.js";
import type { Entry } from "../tape/tape.js";
import { withoutLongText } from "./long-text.js";
import type { Run } from "./run.js";
import { hostedBy } from "./scope.js";

/** How a run came to rest. */
export type Stop = "ended" | "suspended" | "given up";

/** Milliseconds after which what was made is durable, though nothing asked for it: a crash must not cost an hour of reading. */
const KEPT_WITHIN = 1_000;

/** Makes every session of a run: the recorded twin where there is one, else a new session with its stamp. */
export class Recorder {
  readonly #run: Run;
  #seq: number;
  /** A flush is scheduled. */
  #keeping = false;
  #stopped: Stop | undefined;
  #abandoned = false;

  constructor(run: Run) {
    this.#run = run;
    this.#seq = run.tape.lastSeq + 1;
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
    const found = this.#run.tape.twin(parents, fact, realm);
    return found === undefined
      ? this.#make(parents, labelled(fact, labels()), realm)
      : this.adopt(found, parents, realm);
  }

  /** Takes over a recorded fact, byte for byte. */
  adopt(entry: Entry, parents: readonly Session[], realm: Realm): Session {
    entry.used = true;
    const session = Session.restore(entry.line, parents, realm, { id: entry.id });
    this.#run.writer.add(session, parents, false);
    return session;
  }

  /** The same session as another object, which takes its place. */
  replace(session: Session, twin: Session): void {
    this.#run.writer.replace(session, twin);
    this.#run.tape.alias(session, twin);
  }

  /** A replay asks no clock, not even for what it will throw away. */
  #time(): string {
    const { tape, beginning, services, options } = this.#run;
    const reading = options.mode === "replay" || options.mode === "verify";
    return tape.adopting && reading ? beginning.start.fact.at : services.time();
  }

  stamped(fact: Draft): Fact {
    if (fact.at === "") fact.at = this.#time();
    fact.run = this.#run.nonce;
    fact.seq = this.#seq++;
    return Object.freeze(fact) as unknown as Fact;
  }

  #make(parents: readonly Session[], fact: Draft, realm: Realm): Session {
    // A recorded placement is adopted as it is; only a new one must exist.
    if (fact.type === "placement-change")
      this.#run.pool.require((fact as { readonly sandbox?: string }).sandbox);
    const session = Session.made(parents, this.stamped(withoutLongText(fact)), realm);
    this.#run.tape.missed(session);
    this.#run.writer.add(session, parents, true);
    if (!this.#run.tape.adopting) this.#keepSoon();
    return session;
  }

  #keepSoon(): void {
    if (this.#keeping) return;
    this.#keeping = true;
    this.#run.turns.ring(
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
    const { nonce, services, options } = this.#run;
    if (!this.isOver)
      throw new RunClosedError(
        nonce,
        `it was ${this.#abandoned ? "cancelled" : this.#stopped}, and its body does not go on`,
      );
    const { run: _run, seq: _seq, ...plain } = fact;
    return Session.made(
      parents,
      Object.freeze({ ...plain, at: fact.at === "" ? services.time() : fact.at }) as unknown as Fact,
      hostedBy(options.outer, realm),
    );
  }

  /** Resolves when everything that was made before this call is durable. */
  async flush(): Promise<void> {
    try {
      await this.#run.writer.flush();
    } catch (error) {
      this.#run.fail(error);
      throw error;
    }
  }

  /** Writes without waiting: a reply that cost money must not be lost for long. */
  flushSoon(): void {
    this.flush().catch(() => {});
  }

  /** Tells observers a piece of what comes of a request in the attempt that began after `since`. */
  emit(request: Session, delta: Json, since: Session): void {
    if (this.#stopped !== undefined) return;
    const { writer, options } = this.#run;
    const tell = (): void => options.observe({ kind: "delta", request, delta });
    // An observer must know the request of a delta, and that the attempt before it failed: they are told first.
    if (!writer.after(writer.isTold(since) ? request : since, tell)) this.flushSoon();
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
