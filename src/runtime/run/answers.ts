import { type Fact, type FactId, parentsOf, readFact, Session } from "../../session/index.js";
import { type Answer, Mailbox, sessionOf } from "../people/mailbox.js";
import type { Entry } from "../tape/tape.js";
import type { Run } from "./run.js";
import { answerName } from "./writer.js";

/** Takes an answer in, and says whether it did; a timer has none. */
type Take = (answer: Answer) => boolean;

/** Which requests of a run wait for somebody, what people said, and what they said when nobody waited for it any longer. */
export class Answers {
  readonly #run: Run;
  readonly #mailbox: Mailbox;
  readonly #waiting = new Map<FactId, Take | undefined>();
  /** Requests that were withdrawn. */
  readonly #dropped = new Map<FactId, Session>();
  readonly #begun = new Map<FactId, Session>();
  #collecting = false;
  /** Whether somebody may have answered since it was last looked. */
  #changed = false;
  #closed = false;

  constructor(run: Run) {
    this.#run = run;
    this.#mailbox = new Mailbox(run.options.store, run.nonce);
  }

  close(): void {
    this.#closed = true;
    this.#waiting.clear();
  }

  /** The requests that wait for an answer, or for a time. */
  get waiting(): readonly FactId[] {
    return [...this.#waiting.keys()];
  }

  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** Whether somebody waits, and may have been answered. */
  get mayBeAnswered(): boolean {
    return this.#changed && this.isWaiting;
  }

  /** Notes that a request waits for an answer, or for a time. */
  wait(request: FactId, take?: Take): void {
    this.#waiting.set(request, take);
    this.#run.turns.wake();
  }

  forget(request: FactId): void {
    this.#waiting.delete(request);
  }

  /** Somebody may have answered. */
  poke(): void {
    if (!this.isWaiting) return;
    this.#changed = true;
    this.#run.turns.wake();
  }

  /** An answer was taken in: it answers nothing else. */
  took(answer: FactId): void {
    this.#mailbox.took(answer);
  }

  /** An effect was begun: somebody may say what became of it. */
  begun(request: Session): void {
    this.#begun.set(request.id, request);
  }

  /** A request was withdrawn; it may be answered all the same. */
  dropped(request: Session): void {
    this.#dropped.set(request.id, request);
  }

  /** Whether a request was answered; if not, none can answer it from now on. */
  async lastAnswerTo(request: FactId): Promise<boolean> {
    await this.#run.recorder.flush();
    return (await this.#mailbox.lastAnswerTo(request, this.#run.beginning.start.id)) !== undefined;
  }

  /** Looks for new answers. `none` is called when nobody has answered and all requests wait. */
  collect(none: () => void): void {
    if (this.#collecting) return;
    this.#collecting = true;
    this.#changed = false;
    const run = this.#run;
    const done = run.turns.occupy();
    const collected = this.#found().then((answers) => {
      done();
      this.#collecting = false;
      if (this.#closed) return;
      for (const { request, answer } of answers) this.#takeIn(request, answer);
      // Something may have happened meanwhile, such as a cancellation: then not all requests wait.
      if (answers.length > 0 || !run.turns.idle || !this.isWaiting) run.turns.wake();
      else none();
    });
    run.watch(collected);
  }

  #takeIn(request: FactId, answer: Answer): void {
    const { turns, writer, nonce } = this.#run;
    const take = this.#waiting.get(request);
    this.#waiting.delete(request);
    turns.soon(() => {
      // Its name goes in the commit that takes it in, or it would answer the same request again; where it is not
      // taken in, its name is all that leads to it, and the end will see to it.
      const name = answerName(nonce, request);
      writer.also(name, null);
      if (take?.(answer) !== true) writer.leave(name);
    });
  }

  /** The new answers: a rejection before everything else, then what people did themselves; the rest as it was given. */
  async #found(): Promise<readonly { request: FactId; answer: Answer }[]> {
    await this.#run.recorder.flush();
    const found: { request: FactId; answer: Answer; rank: number; at: number }[] = [];
    for (const [request, take] of this.#waiting) {
      const answer = take && (await this.#mailbox.answerTo(request));
      if (answer === undefined) continue;
      const { decision = "", at } = readFact(answer.line, undefined) as Fact & { decision?: string };
      const rank = RANKS.indexOf(decision);
      found.push({ request, answer, rank: rank < 0 ? RANKS.length : rank, at: Date.parse(at) });
    }
    return found.sort((one, other) => one.rank - other.rank || one.at - other.at);
  }

  /** Answers to requests that were withdrawn: their senders were told that they are kept. */
  async strays(): Promise<readonly Session[]> {
    if (this.#dropped.size + this.#begun.size === 0) return [];
    const { writer, nonce } = this.#run;
    const strays: Session[] = [];
    // An outcome may have been found out, in an earlier process too, after a person had settled it.
    for (const request of await this.#mailbox.answered()) {
      const asked = this.#begun.get(request);
      if (asked !== undefined) this.#dropped.set(request, asked);
    }
    for (const [request, asked] of this.#dropped) {
      const answer = await this.#mailbox.lastAnswerTo(request, this.#run.beginning.start.id);
      writer.also(answerName(nonce, request), null);
      if (answer === undefined) continue;
      strays.push(sessionOf(answer, asked, Session.realmOf(this.#run.beginning.start)));
    }
    return strays;
  }

  /** The same, as the record of an end has them: after everything else. */
  recordedStrays(end: Entry | undefined, ours: number): readonly Session[] {
    const { tape } = this.#run;
    const { others } = tape;
    const ids = end === undefined ? [] : parentsOf(end.line).slice(ours);
    return ids.flatMap((id) => {
      const line = others.get(id);
      const parent = line === undefined ? "" : (parentsOf(line)[0] ?? "");
      const before = others.get(parent);
      const request = before === undefined ? parent : (parentsOf(before)[0] ?? "");
      const asked = this.#dropped.get(request) ?? this.#begun.get(request);
      return asked === undefined
        ? []
        : (tape.foreign(id, [asked], Session.realmOf(this.#run.beginning.start)) ?? []);
    });
  }
}

const RANKS: readonly string[] = ["reject", "take-over"];
