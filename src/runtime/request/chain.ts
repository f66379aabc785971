import {
  type Draft,
  drafted,
  type FactId,
  type FactInput,
  type Principal,
  parentsOf,
  type Realm,
  Session,
  Withheld,
  warnOf,
} from "../../session/index.js";
import { ErasedContentError } from "../error.js";
import { spentOn } from "../run/budget.js";
import { keepsReplies } from "../run/durability.js";
import { divergence } from "../run/program.js";
import type { Run } from "../run/run.js";
import type { Scope } from "../run/scope.js";
import type { Entry } from "../tape/tape.js";
import { beganWith, changeOf, EVIDENCE, type Evidence, rebased } from "./evidence.js";
import type { PendingRequest } from "./pending-request.js";
import { failedAs, type Outcome, type Request } from "./request.js";

/**
 * The line of facts that the requests of a batch share: what happens to them goes on it as it happens. Each fact moves
 * on the request that it is about.
 */
export class Chain {
  readonly realm: Realm;
  readonly #run: Run;
  readonly #scope: Scope;
  /** The requests, and the questions about them: what the tape has of the chain is about one of these. */
  readonly #asked = new Set<FactId>();
  #tip: Session;
  /** The last outcome that waits for its turn, once there was one. */
  #last: Promise<void> | undefined;

  constructor(run: Run, scope: Scope, session: Session) {
    this.#run = run;
    this.#scope = scope;
    this.realm = Session.realmOf(session);
    this.#tip = session;
  }

  get tip(): Session {
    return this.#tip;
  }

  ask(draft: Draft): Session {
    this.#tip = this.#scope.next([this.#tip], draft, this.realm);
    if (this.#run.tape.adopting) this.#asked.add(this.#tip.id);
    return this.#tip;
  }

  append(item: PendingRequest, fact: FactInput, actor?: Principal): void {
    const draft = drafted(this.#run.secrets.conceal(fact).value, actor);
    this.#tip = this.#run.recorder.next([this.#tip], draft, this.realm);
    this.#note(item, undefined);
  }

  recorded(fits: (entry: Entry) => boolean): Entry | undefined {
    return this.#run.tape.chained(this.#tip, this.#asked, fits);
  }

  adopt(entry: Entry, item: PendingRequest | undefined): void {
    const second = item === undefined ? undefined : this.#secondParent(entry, item);
    const parents = second === undefined ? [this.#tip] : [this.#tip, second];
    this.#tip = this.#run.recorder.adopt(entry, parents, this.realm);
    const gone = Object.values(this.#tip.fact).find((value) => value instanceof Withheld);
    if (gone instanceof Withheld) throw new ErasedContentError(entry.id, gone);
    if (item !== undefined) this.#note(item, second);
  }

  /** The session that a recorded fact joins to the chain: the end of the module inside, or an answer. */
  #secondParent(entry: Entry, item: PendingRequest): Session | undefined {
    const [, id] = parentsOf(entry.line);
    if (id === undefined) return undefined;
    const child = item.settledChild;
    if (child?.id === id) return child;
    const answer = this.#run.tape.foreign(id, [item.askedBy(entry.of)], this.realm);
    if (answer === undefined) throw divergence(this.#run, entry);
    return answer;
  }

  /** Takes in an answer to a request, or to a question about it. */
  takeIn(item: PendingRequest, asked: Session, answer: Session): void {
    this.#tip = this.#run.recorder.next(
      [this.#tip, answer],
      drafted({ type: "answer-take", of: asked.id, answer: answer.id }),
      this.realm,
    );
    this.#note(item, answer);
  }

  /** Outcomes that change files go on the chain one after the other: each is prepared for the files that are there then. */
  inTurn(prepare: () => Promise<void>, settle: () => void): void {
    const { turns } = this.#run;
    const release = turns.occupy();
    this.#last = (this.#last ?? Promise.resolve())
      .then(prepare)
      .catch((error: unknown) => this.#run.fail(error))
      .then(
        () =>
          new Promise<void>((resolve) => {
            turns.soon(() => {
              try {
                settle();
              } finally {
                resolve();
              }
            });
            release();
          }),
      );
  }

  /** Merges the file changes of a call into the files that the chain has by now. */
  async rebase(item: PendingRequest): Promise<void> {
    const change = changeOf(item.evidence);
    const ours = this.#tip.files.tree;
    if (change === undefined || beganWith(item.evidence) === ours) return;
    const [merge] = await this.#run.pool.join(change.base, ours, change.after);
    if (merge !== undefined) item.evidence = [...rebased(item.evidence, merge)];
  }

  /** Appends the outcome of a request, whatever it is: one that the record cannot hold is a failure of its own. */
  end(item: PendingRequest, outcome: Outcome, more: readonly Session[] = []): void {
    const request = item.request as Request;
    this.tell(item, item.evidence);
    let session: Session;
    try {
      session = this.#outcome(item, outcome, more);
    } catch (error) {
      if (this.#run.recorder.stopped !== undefined) throw error;
      session = this.#outcome(item, failedAs(request, error), more);
    }
    this.#tip = session;
    this.#scope.made(session);
    this.#note(item, undefined);
    const { recorder, options } = this.#run;
    const isReply = session.fact.type === "model-reply" && keepsReplies(options.durability);
    if (request.effect === "write" || isReply) recorder.flushSoon();
  }

  #outcome(item: PendingRequest, body: Outcome, more: readonly Session[]): Session {
    const { edit } = item.consent;
    const changed = edit !== undefined && item.state.edited && !body.type.startsWith("model-");
    const { value, names } = this.#run.secrets.conceal(changed ? { ...body, edited: edit } : body);
    const redacted =
      names.length + item.redacted.size > 0 && [...new Set([...item.redacted, ...names])].sort();
    return this.#run.recorder.next(
      [this.#tip, ...more],
      drafted(
        Object.assign({}, value, redacted && { redacted }, { of: item.asked.id }) as unknown as FactInput,
      ),
      this.realm,
    );
  }

  /** Puts what an attempt left on the chain, each piece with the request it belongs to. */
  tell(item: PendingRequest, evidence: readonly Evidence[]): void {
    item.evidence = [];
    for (const fact of evidence) {
      try {
        const where = fact.type === "memory-read" && { module: this.#scope.path };
        this.append(
          item,
          { of: item.asked.id, ...this.#run.secrets.conceal(fact).value, ...where } as FactInput,
          this.#authorOf(item),
        );
      } catch (error) {
        if (this.#run.recorder.stopped !== undefined) throw error;
        // Evidence that the record cannot hold must not cost the outcome.
        warnOf(error, "OPENRATH_EVIDENCE");
      }
    }
  }

  /** The default author of evidence: the tool that is called, else the module that acts. */
  #authorOf({ asked: { fact } }: PendingRequest): Principal | undefined {
    const { actor } = this.#scope;
    return actor !== undefined && fact.type === "tool-call" ? `tool:${fact.name}` : actor;
  }

  /** Moves a request on by the fact at the tip, and tells those who keep account of it. */
  #note(item: PendingRequest, answer: Session | undefined): void {
    const session = this.#tip;
    const { fact } = session;
    if (EVIDENCE.has(fact.type)) return;
    item.note(session, answer);
    const { answers } = this.#run;
    switch (fact.type) {
      case "approval-ask":
        this.#asked.add(session.id);
        return;
      case "effect-start":
        answers.begun(item.asked);
        return;
      case "answer-take":
        answers.took(fact.answer);
        this.#pause(item.askedBy(fact.of), session);
        return;
      case "wait-cancel":
        answers.dropped(item.askedBy(fact.of));
        return;
      case "timer-fire":
        this.#pause(item.asked, session);
        return;
      case "policy-decide":
      case "approval-use":
      case "effect-fail":
      case "effect-doubt":
        return;
      default: {
        const { spend } = item.effect ?? {};
        if (spend) this.#scope.ledger?.settle(spend, spentOn(spend, fact));
      }
    }
  }

  #pause(from: Session, to: Session): void {
    this.#scope.ledger?.pause(Date.parse(from.fact.at), Date.parse(to.fact.at));
  }
}
