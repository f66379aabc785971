import { canonical, type FactId, type FactInput, type Json, type Session } from "../../session/index.js";
import type { Scope } from "../run/scope.js";
import type { RequestBatch } from "./batch.js";
import { Consent } from "./consent.js";
import type { Evidence } from "./evidence.js";
import type { Outcome, Request } from "./request.js";
import {
  ASKED,
  advance,
  type Begun,
  begunIn,
  type RequestEvent,
  type RequestState,
  type Said,
} from "./state.js";

/** A request that nothing is done about but waiting: for a person, a signal, a timer. */
export type Wait = { readonly fact: FactInput };

/** A module that runs in the place of an effect. */
export type Child = {
  readonly scope: Scope;
  readonly fork: Session;
  head: Session | undefined;
  failed: { error: unknown } | undefined;
};

/** One request of a batch: its state, and what this process has in hand for it. */
export class PendingRequest {
  readonly batch: RequestBatch;
  readonly asked: Session;
  /** The agreement that it needs, if it needs any. */
  readonly consent = new Consent();
  /** The request; another one of the same kind once somebody changed its arguments. */
  request: Request | Wait;
  /** Why the arguments that somebody gave it will not do. */
  problem: string | undefined;
  /** The secrets that were taken out of what came of it. */
  readonly redacted = new Set<string>();
  /** The evidence of its attempts that is not on the chain yet, in the order in which it came. */
  evidence: Evidence[] = [];
  /** The module that runs in its place, once it was entered. */
  child: Child | undefined;
  /** The standing approvals that hold, by the store: not asked, being asked, or known. */
  held: ReadonlySet<FactId> | "asking" | undefined;
  /** Stops the attempt that is under way. */
  controller: AbortController | undefined;
  /** Lets the run rest though an effect that was given up, or a wait, goes on. */
  release: (() => void) | undefined;
  /** Counts the attempts of this process: what an attempt that was given up brings later is not looked at. */
  turn = 0;
  #state: RequestState = ASKED;
  /** Its answers are being taken in. */
  #hearing = false;

  constructor(batch: RequestBatch, request: Request | Wait, asked: Session) {
    this.batch = batch;
    this.request = request;
    this.asked = asked;
  }

  /** The request, unless nothing is done about it but waiting. */
  get effect(): Request | undefined {
    return "effect" in this.request ? this.request : undefined;
  }

  get state(): RequestState {
    return this.#state;
  }

  get isDone(): boolean {
    return this.#state.at === "done";
  }

  /** That it was begun as a write and has no outcome. */
  get begun(): Begun | undefined {
    return begunIn(this.#state);
  }

  /** The same for every attempt, whatever process makes it. */
  get key(): string {
    const { key } = this.request.fact as { readonly key?: string };
    return key ?? this.asked.id.slice(0, 32);
  }

  /** Where the module inside has come to, once it is back: its result, or where it failed. */
  get settledChild(): Session | undefined {
    const { child } = this;
    return child && (child.head ?? (child.failed && (child.scope.last ?? child.fork)));
  }

  /** Which of its sessions asked: for a person's agreement, or for itself. */
  askedBy(of: FactId): Session {
    return this.consent.get(of) ?? this.asked;
  }

  advance(event: RequestEvent): void {
    this.#state = advance(this.#state, event);
  }

  /** Lets it go on: what can be begun now is begun. */
  letGo(): void {
    this.advance({ type: "let-go" });
    this.batch.goOn();
  }

  /** Does something in a turn of its own, unless the request is done by then. */
  soon(job: () => void): void {
    this.batch.run.turns.soon(() => {
      if (!this.isDone) job();
    });
  }

  /** Waits for an answer to the request, or to a question about it. */
  wait(asked = this.asked): void {
    this.batch.run.answers.wait(asked.id, (answer) => this.batch.answered(this, asked, answer));
  }

  /** Goes on after all answers that came together: of those a no, or somebody who did it themselves, counts for more. */
  hear(): void {
    this.advance({ type: "begin" });
    if (this.#hearing) return;
    this.#hearing = true;
    this.batch.run.turns.soon(() => {
      this.#hearing = false;
      if (!this.isDone) this.letGo();
    });
  }

  append(fact: FactInput): void {
    this.batch.chain.append(this, fact);
  }

  /** Nobody waits for an answer to this any longer. */
  drop(asked: Session, why: string, late = false): void {
    this.batch.run.answers.forget(asked.id);
    this.append({ type: "wait-cancel", of: asked.id, why, ...(late && { late }) });
  }

  /** Records its outcome, and goes on with the others. */
  end(outcome: Outcome, joined: readonly Session[] = []): void {
    this.batch.chain.end(this, outcome, joined);
    this.batch.goOn();
  }

  /**
   * A fact of the chain that is about it, recorded or made now.
   *
   * @param answer what an `answer-take` takes in
   */
  note(session: Session, answer: Session | undefined): void {
    const { fact } = session;
    const { consent } = this;
    const event = { type: "fact", fact, waits: this.effect === undefined } as const;
    switch (fact.type) {
      case "approval-ask": {
        const voidsEdit = consent.edit !== undefined && fact.problem !== undefined;
        consent.asked(session);
        this.advance({ ...event, voidsEdit });
        return;
      }
      case "policy-decide": {
        // With the arguments that were asked for, as they were or because somebody put them back.
        const { edit } = consent;
        const { input = null } = this.asked.fact as { readonly input?: Json };
        this.advance({
          ...event,
          asAsked: edit === undefined || canonical(edit.input) === canonical(input),
        });
        return;
      }
      case "approval-use":
        consent.used(fact);
        this.advance(event);
        return;
      case "answer-take":
        this.advance({ ...event, said: event.waits ? "other" : this.#hear(fact.of, answer) });
        return;
      case "wait-cancel":
        consent.dropped(fact.of, fact.late === true);
        this.advance(event);
        return;
      default:
        this.advance(event);
    }
  }

  #hear(of: FactId, answer: Session | undefined): Said {
    const { consent } = this;
    const fact = answer?.fact;
    if (fact?.type === "effect-settle") {
      // A settlement by somebody without the right changes nothing: the write stays in doubt.
      if (!consent.isSettledBy(fact)) return "other";
      if (fact.decision === "again") consent.again(fact);
      return "settle";
    }
    if (fact?.type !== "approval-give") return "other";
    consent.answered(of, fact);
    // With other arguments it is another action, which is still to be made.
    return fact.edit !== undefined && consent.edit !== undefined ? "edit" : "other";
  }
}
