import type { Draft, Host, Principal, Realm, Session } from "../../session/index.js";
import type { Module } from "../module.js";
import { broughtBy, isTrusted, type Origin, type Policy, untrustedIn } from "../policy/index.js";
import type { Ledger } from "./budget.js";
import type { Run } from "./run.js";

/** Fields that replace those of the scope around. */
type Own = {
  readonly ledger?: Ledger | undefined;
  readonly policy?: Policy | undefined;
  readonly module?: Module | undefined;
  /** The session that its body is given, and so has read. */
  readonly given?: Session | undefined;
};

/**
 * Where in a run a session is: which module acts, which budget it spends and whose cancellation reaches it. It is the
 * host of the sessions made there, so that all of this rides along.
 */
export class Scope implements Host {
  readonly run: Run;
  readonly ledger: Ledger | undefined;
  /** The policies in force here: each narrows those around it. */
  readonly policies: readonly Policy[];
  readonly depth: number;
  readonly #outer: Scope | undefined;
  readonly #module: Principal;
  /** The names of the modules that it is in, the outermost first. */
  readonly path: readonly string[];
  readonly #inner = new Set<{ cancel(why: string): void }>();
  #cancelled: string | undefined;
  /**
   * The newest session that the program made here or was told of: where a body that throws has come to. Facts
   * of the runtime do not count, for a replay takes them up at another time.
   */
  last: Session | undefined;
  /** The origins that are not trusted of what the program was given and told here, on whichever branch, and around it before. */
  readonly #read: Set<Origin>;

  constructor(run: Run, outer: Scope | undefined, { ledger, policy, module, given }: Own = {}) {
    this.run = run;
    const acting = module?.kind === "agent" ? "agent" : "workflow";
    const principal: Principal = !module?.name ? acting : `${acting}:${module.name}`;
    this.#module = module === undefined ? (outer as Scope).#module : principal;
    const above = outer?.path ?? [];
    this.path = module === undefined ? above : Object.freeze([...above, module.name]);
    this.#outer = outer;
    this.#read = new Set(outer === undefined ? [] : outer.#read);
    if (given !== undefined) for (const origin of untrustedIn(given)) this.#read.add(origin);
    this.depth = outer === undefined ? 0 : outer.depth + 1;
    this.ledger = ledger ?? outer?.ledger;
    const around = outer?.policies ?? run.options.policies;
    this.policies = policy === undefined ? around : [...around, policy];
    if (outer?.cancelled !== undefined) this.#cancelled = outer.cancelled;
    outer?.add(this);
  }

  get nonce(): string {
    return this.run.nonce;
  }

  /** The innermost module. In a run of version 0.1, and after a run, what is done here is the user's as elsewhere. */
  get actor(): Principal | undefined {
    return this.run.namesActors && !this.run.recorder.isOver ? this.#module : undefined;
  }

  /** The reason of the cancellation, if everything here must stop. */
  get cancelled(): string | undefined {
    return this.#cancelled;
  }

  next(parents: readonly Session[], fact: Draft, realm: Realm): Session {
    const [before] = parents;
    // Origins that the body here may know and its session does not show.
    const labels = (): readonly Origin[] => {
      if (before === undefined || this.#read.size === 0 || !LABELLED.has(fact.type)) return [];
      const shown = untrustedIn(before);
      return [...this.#read].filter((origin) => !shown.includes(origin)).sort();
    };
    const session = this.run.recorder.next(parents, fact, realm, labels);
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
    const outer = this.#outer;
    outer?.remove(this);
    // The body around it reads its result.
    if (outer !== undefined) for (const origin of this.#read) outer.#read.add(origin);
  }

  made(session: Session): void {
    for (const origin of broughtBy(session)) if (!isTrusted(origin)) this.#read.add(origin);
    this.last = session;
    for (let scope = this.#outer; scope !== undefined; scope = scope.#outer) scope.last = session;
  }
}

/** The same realm with another host, or without one. */
export function hostedBy(host: Realm["host"], { host: _, ...realm }: Realm): Realm {
  return Object.freeze(host === undefined ? realm : { ...realm, host });
}

/** Facts in which a body says what it knows. */
const LABELLED: ReadonlySet<string> = new Set(["message-say", "step-call", "tool-call"]);
