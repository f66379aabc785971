import {
  type BlobSource,
  type Draft,
  drafted,
  type FactId,
  type FactInput,
  type FactOf,
  parentsOf,
  type Realm,
  readFact,
  Session,
} from "../../session/index.js";
import { beganWith, type Evidence, saidAgain } from "../request/evidence.js";
import { withoutLongText } from "../run/long-text.js";
import type { Entry, Tape } from "./tape.js";

/** The outcome that another run recorded for the same request, to be used again. */
export type Reusable = {
  readonly id: FactId;
  readonly fact: FactOf<"model-reply" | "tool-result" | "step-result">;
  readonly evidence: readonly Evidence[];
};

/**
 * What the record of a run says to the run as it goes through it again: the recorded twin of each fact, as long as the program
 * makes the same facts. It says less once the run is live, and nothing about a run without a record.
 */
export class TapeReader {
  #tape: Tape | undefined;
  #adopting: boolean;
  /** Made now, with no recorded twin: nothing on the tape can have been made from them. */
  readonly #fresh = new WeakSet<Session>();
  #firstFresh: Session | undefined;

  readonly #blobs: BlobSource | undefined;

  /** @param blobs where the content of recorded facts is that is not in their lines */
  constructor(tape: Tape | undefined, blobs: BlobSource | undefined) {
    this.#blobs = blobs;
    this.#tape = tape;
    this.#adopting = tape !== undefined;
  }

  /** Whether recorded facts are still taken over. */
  get adopting(): boolean {
    return this.#adopting;
  }

  get tape(): Tape | undefined {
    return this.#tape;
  }

  /** The first session that the record does not have. */
  get firstFresh(): Session | undefined {
    return this.#firstFresh;
  }

  /** Nothing is taken over from here on. */
  goLive(): void {
    this.#adopting = false;
    this.#tape?.close();
  }

  /** The sessions that were made keep the run; it need not keep the tape. */
  close(): void {
    this.#tape = undefined;
  }

  /** A session was made that has no recorded twin. */
  missed(session: Session): void {
    if (!this.#adopting) return;
    this.#fresh.add(session);
    this.#firstFresh ??= session;
  }

  /** The same session as another object. */
  alias(session: Session, twin: Session): void {
    if (this.#fresh.has(session)) this.#fresh.add(twin);
  }

  /** The tape, if it may have something that was made of this session. */
  after(session: Session): Tape | undefined {
    return this.#adopting && !this.#fresh.has(session) ? this.#tape : undefined;
  }

  /** The recorded twin of a fact, if there is one. */
  twin(parents: readonly Session[], fact: Draft, realm: Realm): Entry | undefined {
    if (!this.#adopting || this.#tape === undefined || parents.some((parent) => this.#fresh.has(parent)))
      return undefined;
    const cut = withoutLongText(fact);
    // A record from before texts were cut has all of it.
    const whole = cut === fact ? undefined : this.#tape.find(parents, fact, realm);
    return whole ?? this.#tape.find(parents, cut, realm);
  }

  /** A session outside the run that the tape refers to. */
  foreign(id: FactId, parents: readonly Session[], realm: Realm): Session | undefined {
    const others = this.#tape?.others;
    const line = others?.get(id);
    if (line === undefined) return undefined;
    const [parent = ""] = parentsOf(line);
    // A revocation hangs from the approval that it takes back.
    const before = parents[0]?.id === parent ? undefined : others?.get(parent);
    const from = before === undefined ? parents : [Session.restore(before, parents, realm, { id: parent })];
    return Session.restore(line, from, realm, { id });
  }

  /** Whether policies decided about a request, and that is still to be told. */
  isDecided(request: FactId): boolean {
    return this.#adopting && this.#tape?.isDecided(request) === true;
  }

  /** Whether a module was entered on this session. */
  isForked(asked: Session): boolean {
    return this.#tape?.typed(asked, "branch-fork") !== undefined;
  }

  /** Whether it is known that a request failed, in the run whose failures are done again. */
  failedBefore(request: FactId): boolean {
    return this.#tape?.redone.has(request) === true;
  }

  reusable(request: FactInput, tip: Session): Reusable | undefined {
    const blobs = this.#blobs;
    const read = (entries: readonly Entry[]): readonly Evidence[] =>
      entries.map(({ line }) => readFact(line, blobs) as Evidence);
    const found = this.#tape?.outcomeOf(drafted(request), blobs, (entries) => {
      const began = entries.length === 0 ? undefined : beganWith(read(entries));
      // An effect on other files says nothing about these.
      return began === undefined || began === tip.files.tree;
    });
    if (found === undefined) return undefined;
    const { entry, evidence } = found;
    return {
      id: entry.id,
      fact: readFact(entry.line, blobs) as Reusable["fact"],
      evidence: saidAgain(read(evidence)),
    };
  }
}
