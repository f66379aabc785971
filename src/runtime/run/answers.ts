import {
  type BlobSource,
  digestsOf,
  type Fact,
  type FactId,
  parentsOf,
  type Realm,
  readFact,
  Session,
} from "../../session/index.js";
import { ConflictError } from "../../store/index.js";
import type { Entry } from "../tape/tape.js";
import { answerName } from "./names.js";
import type { Run } from "./run.js";

/** An answer that somebody gave, as the store has it. */
export type Answer = {
  readonly id: FactId;
  readonly line: string;
  readonly blobs?: BlobSource;
  /** The approval that it takes back: it hangs from that. */
  readonly revoked?: { readonly id: FactId; readonly line: string };
};

/** Takes an answer in, and says whether it did; a timer has none. */
type Take = (answer: Answer) => boolean;

/** Which requests of a run wait for somebody, what people said, and what they said when nobody waited for it any longer. */
export class Answers {
  readonly #run: Run;
  readonly #waiting = new Map<FactId, Take | undefined>();
  /** Requests that were withdrawn. */
  readonly #dropped = new Map<FactId, Session>();
  readonly #begun = new Map<FactId, Session>();
  readonly #taken = new Set<FactId>();
  #collecting = false;
  /** Whether somebody may have answered since it was last looked. */
  #changed = false;
  #closed = false;

  constructor(run: Run) {
    this.#run = run;
  }

  close(): void {
    this.#closed = true;
    this.#waiting.clear();
  }

  get waiting(): readonly FactId[] {
    return [...this.#waiting.keys()];
  }

  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  get mayBeAnswered(): boolean {
    return this.#changed && this.isWaiting;
  }

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
    this.#taken.add(answer);
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
  async isAnswered(request: FactId): Promise<boolean> {
    await this.#run.recorder.flush();
    return (await this.#lastAnswerTo(request)) !== undefined;
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
    const { turns, recorder, nonce } = this.#run;
    const take = this.#waiting.get(request);
    this.#waiting.delete(request);
    turns.soon(() => {
      // Its name goes in the commit that takes it in, or it would answer the same request again; where it is not
      // taken in, its name is all that leads to it, and the end will see to it.
      const name = answerName(nonce, request);
      recorder.also(name, null);
      if (take?.(answer) !== true) recorder.leave(name);
    });
  }

  /** The new answers: a rejection before everything else, then what people did themselves; the rest as it was given. */
  async #found(): Promise<readonly { request: FactId; answer: Answer }[]> {
    await this.#run.recorder.flush();
    const found: { request: FactId; answer: Answer; rank: number; at: number }[] = [];
    for (const [request, take] of this.#waiting) {
      const answer = take && (await this.#answerTo(request));
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
    const { recorder, nonce, options } = this.#run;
    const strays: Session[] = [];
    const under = answerName(nonce, "");
    // An outcome may have been found out, in an earlier process too, after a person had settled it.
    for (const { name } of (await options.store?.names({ under })) ?? []) {
      const request = name.slice(under.length);
      const asked = this.#begun.get(request);
      if (asked !== undefined) this.#dropped.set(request, asked);
    }
    for (const [request, asked] of this.#dropped) {
      const answer = await this.#lastAnswerTo(request);
      recorder.also(answerName(nonce, request), null);
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

  /** The answer to a request, if there is one that was not taken in. */
  async #answerTo(request: FactId): Promise<Answer | undefined> {
    const { nonce, options } = this.#run;
    const { store } = options;
    const id = await store?.head(answerName(nonce, request));
    const line = id === undefined ? undefined : await store?.line(id);
    if (store === undefined || id === undefined || line === undefined || this.#taken.has(id))
      return undefined;
    // An answer hangs from what it answers, or from the approval that it takes back, and from nothing else.
    const parent = parentsOf(line).join();
    const before = parent === request ? undefined : await store.line(parent);
    if (parent !== request && !isRevocation(line, before, request)) return undefined;
    const revoked = before === undefined ? {} : { revoked: { id: parent, line: before } };
    // The content may be in blobs, which only the store has.
    const { blobs } = digestsOf(line).length > 0 ? Session.realmOf(await store.load(id)) : {};
    return { id, line, ...(blobs && { blobs }), ...revoked };
  }

  /** The same; if there is no answer, the start of the run takes the place of one, so that none can come from now on. */
  async #lastAnswerTo(request: FactId): Promise<Answer | undefined> {
    const { nonce, options, beginning } = this.#run;
    const answer = await this.#answerTo(request);
    if (answer !== undefined) return answer;
    try {
      await options.store?.point(answerName(nonce, request), beginning.start.id, { expect: null });
      return undefined;
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      return this.#answerTo(request);
    }
  }
}

const RANKS: readonly string[] = ["reject", "take-over"];

/** Whether it takes back an approval of a request. */
function isRevocation(line: string, before: string | undefined, request: FactId): boolean {
  if (before === undefined || parentsOf(before).join() !== request) return false;
  const [given, taken] = [readFact(line, undefined), readFact(before, undefined)];
  return given.type === "approval-give" && given.decision === "reject" && taken.type === "approval-give";
}

/** An answer as a session: it hangs from the request it answers, or from the approval that it takes back. */
export function sessionOf({ id, line, blobs, revoked }: Answer, asked: Session, given: Realm): Session {
  const realm = blobs === undefined ? given : Object.freeze({ ...given, blobs });
  const from =
    revoked === undefined ? asked : Session.restore(revoked.line, [asked], realm, { id: revoked.id });
  return Session.restore(line, [from], realm, { id });
}
