import type { Policy } from "../policy/index.js";
import type { Draft, Host, Realm, Session } from "../session/index.js";
import type { Ledger } from "./budget.js";
import type { Run } from "./run.js";

/**
 * Where in a run a session is: which module's budget it spends and whose cancellation reaches it. It is the host of
 * the sessions made there, so that all of this rides along.
 */
export class Scope implements Host {
  readonly run: Run;
  readonly ledger: Ledger | undefined;
  /** What may be done here: each policy narrows those around it. */
  readonly policies: readonly Policy[];
  /** How many scopes are around it. */
  readonly depth: number;
  readonly #outer: Scope | undefined;
  readonly #inner = new Set<{ cancel(why: string): void }>();
  #cancelled: string | undefined;
  /**
   * The newest session that the program made here or was told of: where a body that throws has come to. What the
   * runtime notes by itself does not count, for a replay takes it up at another time.
   */
  last: Session | undefined;

  constructor(run: Run, outer: Scope | undefined, ledger: Ledger | undefined, policy?: Policy) {
    this.run = run;
    this.#outer = outer;
    this.depth = outer === undefined ? 0 : outer.depth + 1;
    this.ledger = ledger ?? outer?.ledger;
    const around = outer?.policies ?? run.policies;
    this.policies = policy === undefined ? around : [...around, policy];
    if (outer?.cancelled !== undefined) this.#cancelled = outer.cancelled;
    outer?.add(this);
  }

  get nonce(): string {
    return this.run.nonce;
  }

  /** Why everything here shall stop, if it shall. */
  get cancelled(): string | undefined {
    return this.#cancelled;
  }

  next(parents: readonly Session[], fact: Draft, realm: Realm): Session {
    const session = this.run.next(parents, fact, realm);
    this.made(session);
    return session;
  }

  /** The realm of sessions made here, otherwise like this one. */
  realm(like: Realm): Realm {
    return Object.freeze({ ...like, host: this });
  }

  /** Something that a cancellation must reach, until it is taken out. */
  add(inner: { cancel(why: string): void }): void {
    this.#inner.add(inner);
  }

  remove(inner: { cancel(why: string): void }): void {
    this.#inner.delete(inner);
  }

  cancel(why: string): void {
    if (this.#cancelled !== undefined) return;
    this.#cancelled = why;
    for (const inner of [...this.#inner]) inner.cancel(why);
  }

  /** The scope is over: a long run has many, and must not hold them all. */
  leave(): void {
    this.#outer?.remove(this);
  }

  made(session: Session): void {
    this.last = session;
    for (let scope = this.#outer; scope !== undefined; scope = scope.#outer) scope.last = session;
  }
}
