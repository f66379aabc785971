import { type FactInput, requireSession, type Session } from "../session/index.js";
import { OutsideRunError } from "./error.js";
import type { Module } from "./module.js";
import { inMemoryRath, Rath } from "./rath.js";
import type { Performed, Request, RequestType } from "./request/request.js";
import { laneOf } from "./run/modules.js";
import type { Limits, Prices } from "./run/options.js";
import { Scope } from "./run/scope.js";
import type { Services } from "./services.js";

/**
 * Runs the body of a module on a session: the `forward` of every module. The outermost one is a run of its own,
 * recorded and durable where the session has a runtime; inside a run it is a part of it, between `module-enter` and
 * `module-exit`.
 */
export async function forward(
  module: Module,
  session: Session,
  body: (session: Session) => Promise<Session>,
  limits: Limits = {},
): Promise<Session> {
  const { host } = requireSession(session, `run ${module.name}`);
  if (host instanceof Scope && !host.run.recorder.isOver)
    return host.run.enter(host, module, session, body, limits);
  // A session that was made in a run which is over by now is where that run was.
  const outer = host instanceof Scope ? host.run.options.outer : host;
  // Begun through the module itself, so that a resume, which knows only the module, makes the same facts.
  return (outer instanceof Rath ? outer : inMemoryRath()).run(module, session);
}

/** Does one thing in the world: request, effect, outcome. Resolves with the session that ends in the outcome. */
export function perform<Type extends RequestType>(
  session: Session,
  request: Request<Type>,
): Promise<Performed<Type>> {
  return performAll(session, [request]) as Promise<Performed<Type>>;
}

/**
 * Does several things side by side: all requests in order, outcomes as they come. Resolves with the session that has
 * all of them.
 */
export async function performAll(session: Session, requests: readonly Request[]): Promise<Session> {
  const scope = scopeOf(session, "perform an effect");
  // Awaited here: to return the promise of another takes two turns more.
  return await scope.run.perform(scope, session, requests);
}

/** Waits for a person, a signal or a timer. The run is suspended as soon as nothing else is left to do. */
export async function waitFor(session: Session, fact: FactInput): Promise<Session> {
  const scope = scopeOf(session, "wait");
  return scope.run.perform(scope, session, [{ fact }]);
}

/** The same session in a scope of its own, so that what happens there can be cancelled alone. */
export function lane(session: Session): ReturnType<typeof laneOf> {
  scopeOf(session, "open a lane");
  return laneOf(session);
}

/**
 * Awaits something in a body that is neither recorded nor asks anything of the world: a schema that checks
 * asynchronously, a module that is loaded. It must give the same at every replay.
 */
export async function hold<Value>(session: Session, work: () => Promise<Value>): Promise<Value> {
  return scopeOf(session, "hold a run").run.turns.hold(work);
}

/** Where time, chance and names come from. Ask inside a `perform`, so that the answer is recorded. */
export function hostServices(session: Session): Services {
  return scopeOf(session, "ask the host").run.services;
}

/**
 * Whether a session is in a run that version 0.1 recorded. Such a run must record the same as then, or its replay would
 * differ from its record.
 */
export function isOfVersion01(session: Session): boolean {
  const { host } = session;
  return host instanceof Scope && !host.run.namesActors;
}

/** The prices of models that the host was given. */
export function pricesOf(session: Session): Prices {
  return scopeOf(session, "look up a price").run.options.prices;
}

/** Waits until a model call of about so many tokens fits the limits of its provider. */
export function admitted(
  session: Session,
  provider: string,
  tokens: number,
  signal?: AbortSignal,
): Promise<(taken: number) => void> {
  return scopeOf(session, "call a model").run.options.rates.admit(provider, tokens, signal);
}

/** Whether somebody reads the answers of models in this run while they come. */
export function isStreamed(session: Session): boolean {
  return scopeOf(session, "ask who listens").run.options.streams;
}

function scopeOf(session: Session, use: string): Scope {
  const { host } = requireSession(session, use);
  if (host instanceof Scope) return host;
  throw new OutsideRunError(use);
}
