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

  /** Looks for new answers. `none` is called when there are none and all requests wait. */
  collect(none: () => void): void {
    if (this.#collecting) return;
    this.#collecting = true;
    this.#changed = false;
    const { turns } = this.#run;
    const done = turns.occupy();
    void this.#found()
      .then((answers) => {
        done();
        this.#collecting = false;
        if (this.#closed) return;
        for (const { request, answer } of answers) this.#takeIn(request, answer);
        // Something may have happened meanwhile, such as a cancellation: then not all requests wait.
        if (answers.length > 0 || !turns.idle || !this.isWaiting) turns.wake();
        else none();
      })
      .catch((error: unknown) => this.#run.fail(error));
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

  async #found(): Promise<readonly { request: FactId; answer: Answer }[]> {
    await this.#run.recorder.flush();
    const found: { request: FactId; answer: Answer }[] = [];
    for (const [request, take] of this.#waiting) {
      const answer = take && (await this.#mailbox.answerTo(request));
      if (answer !== undefined) found.push({ request, answer });
    }
    // Of what came together a no counts before all else, then what somebody did themselves; the rest as it was given.
    const weights = new Map(found.map((one) => [one, weightOf(one.answer)]));
    const of = (one: (typeof found)[number]) => weights.get(one) as ReturnType<typeof weightOf>;
    return found.sort((one, other) => of(one).rank - of(other).rank || of(one).at - of(other).at);
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

function weightOf({ line }: Answer): { readonly rank: number; readonly at: number } {
  const { decision, at } = readFact(line, undefined) as Fact & { readonly decision?: string };
  const rank = ["reject", "take-over"].indexOf(decision ?? "");
  return { rank: rank < 0 ? 2 : rank, at: Date.parse(at) };
}
