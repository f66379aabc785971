import type { FactId, FactInput, FactOf, Session } from "../../session/index.js";
import type { Scope } from "../run/scope.js";
import { Consent } from "./consent.js";
import type { Evidence } from "./evidence.js";
import type { Request } from "./request.js";

/** A request that nothing is done about but waiting: for a person, a signal, a timer. */
export type Wait = { readonly fact: FactInput };

/** Where one request of a strand stands. */
export type Item = {
  /** What is to be done; another one of the same kind once somebody changed its arguments. */
  request: Request | Wait;
  readonly asked: Session;
  /** Started here, or recorded as started, and not finished. */
  started: boolean;
  /** The run that started it. */
  startedIn: string | undefined;
  running: boolean;
  done: boolean;
  attempts: number;
  /** The agreement that it needs, if it needs any. */
  readonly consent: Consent;
  /** Whether the request has the arguments that somebody gave it, or is about to. */
  remade: boolean;
  remaking: boolean;
  /** Whether answers are being taken in. */
  hearing: boolean;
  /** Why the arguments that somebody gave it will not do. */
  problem: string | undefined;
  /** The secrets that were taken out of what came of it. */
  readonly redacted: Set<string>;
  /** What policies decided about it, and about what was asked for first. */
  verdict: FactOf<"policy-decide"> | undefined;
  first: FactOf<"policy-decide"> | undefined;
  controller: AbortController | undefined;
  child: Child | undefined;
  /** Lets the run rest though an effect that was given up, or a wait, goes on. */
  release: (() => void) | undefined;
  /** What its attempts left, in the order in which it came, and is not on the chain yet. */
  evidence: Evidence[];
  /** Counts the attempts of this process: what an attempt that was given up brings later is not looked at. */
  turn: number;
};

export type Child = {
  readonly scope: Scope;
  readonly fork: Session;
  head: Session | undefined;
  failed: { error: unknown } | undefined;
};

/** Where a request stands when it was asked and nothing has happened yet. */
export function newItem(request: Request | Wait, asked: Session): Item {
  return {
    request,
    asked,
    started: false,
    startedIn: undefined,
    running: false,
    done: false,
    attempts: 0,
    consent: new Consent(),
    remade: false,
    remaking: false,
    hearing: false,
    problem: undefined,
    redacted: new Set<string>(),
    verdict: undefined,
    first: undefined,
    controller: undefined,
    child: undefined,
    release: undefined,
    evidence: [],
    turn: 0,
  };
}

/** The same for every attempt at a request, whatever process makes it. */
export function keyOf(item: Item): string {
  const { key } = item.request.fact as { readonly key?: string };
  return key ?? item.asked.id.slice(0, 32);
}

/** Where a module that ran inside has come to: its result, or where it failed. */
export function settled(child: Child): Session | undefined {
  return child.head ?? (child.failed && (child.scope.last ?? child.fork));
}

/** Which of its sessions an item asked with: for a person's agreement, or for itself. */
export function askedBy(item: Item, of: FactId): Session {
  return item.consent.get(of) ?? item.asked;
}
