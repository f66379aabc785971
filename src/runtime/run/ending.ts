import {
  canonical,
  type Draft,
  drafted,
  type FactInput,
  type FactOf,
  type Json,
  parentsOf,
  type RathError,
  type Realm,
  readFact,
  requireSession,
  Session,
} from "../../session/index.js";
import { isSameList } from "../../util/index.js";
import { bodyOf, CancelledError, DescentError, failureOf, RunFailedError } from "../error.js";
import type { Module } from "../module.js";
import { boundedFailure, withoutLongText } from "./long-text.js";
import { runName } from "./names.js";
import { isSameProgram } from "./program.js";
import type { Run } from "./run.js";

/** How the body of a run came out. */
export type BodyOutcome = { readonly session: Session } | { readonly error: unknown };

/** How a body came out; one that lost what it was given has failed. */
export function checkedOutcome(body: BodyOutcome, start: Session, module: Module): BodyOutcome {
  if ("error" in body) return body;
  try {
    const session = requireSession(body.session, "end a run");
    if (session.descendsFrom(start)) return body;
    throw new DescentError(module.name, start.id, session.id);
  } catch (error) {
    return { error };
  }
}

/** The error that a caller gets for a run whose body failed. */
export function failureIn({ options, secrets, root }: Run, out: Session, error: unknown): RathError {
  if (error instanceof CancelledError && root.cancelled !== undefined)
    return new CancelledError(root.cancelled, out);
  const failure = boundedFailure(secrets.conceal(failureOf(error)).value);
  return new RunFailedError(options.module.name, failure, out, error);
}

/** The `run-end`: it joins the result and every other leaf, so that one head holds all that a replay needs. */
function endOf(run: Run, body: BodyOutcome): { parents: readonly Session[]; fact: FactInput } {
  const { root, beginning, recorder } = run;
  const result = "session" in body ? body.session : (root.last ?? beginning.start);
  const leaves = recorder.tips
    .filter((tip) => tip !== result)
    .sort((one, other) => (one.fact.seq ?? 0) - (other.fact.seq ?? 0));
  const { whatIfStart } = beginning;
  return {
    parents: [result, ...leaves, ...(whatIfStart === undefined ? [] : [whatIfStart])],
    fact: endFactOf(run, body),
  };
}

export function endFactOf({ options, beginning }: Run, body: BodyOutcome): FactInput {
  const error = "error" in body && { error: options.secrets.conceal(failureOf(body.error)).value };
  return { type: "run-end", of: beginning.id, ...error };
}

function realmOf({ beginning }: Run): Realm {
  return Session.realmOf(beginning.start);
}

/** Makes the end of a run, with what people said when nobody waited for it any longer. */
export async function makeEnd(run: Run, body: BodyOutcome): Promise<Session | undefined> {
  const { answers, recorder, options } = run;
  const strays = await answers.strays();
  if (recorder.stopped !== undefined) return undefined;
  const { parents, fact } = endOf(run, body);
  const end = recorder.next([...parents, ...strays], drafted(fact), realmOf(run));
  recorder.also(runName(options.nonce), null);
  await recorder.flush();
  return end;
}

/** The end that is recorded for just this, if there is one. */
export function recordedEnd(run: Run, body: BodyOutcome): Session | undefined {
  const { tape, options, answers, recorder } = run;
  const { parents: ours, fact } = endOf(run, body);
  const parents = [...ours, ...answers.recordedStrays(tape.endOf(options.nonce), ours.length)];
  const entry = tape.twin(parents, drafted(fact), realmOf(run));
  return entry === undefined ? endOfOrigin(run, body) : recorder.adopt(entry, parents, realmOf(run));
}

/** The end of the run that a what-if comes from, when the same program did nothing else: then it is that run. */
function endOfOrigin(run: Run, body: BodyOutcome): Session | undefined {
  const { options, beginning, program, tape, answers, recorder } = run;
  const { start, origin, whatIfStart } = beginning;
  const { origin: from, mode } = options;
  if (mode !== "what-if" || origin === undefined || from?.again === true) return undefined;
  if (!isSameProgram(origin.fact as FactOf<"run-start">, program)) return undefined;
  const entry = tape.endOf(from?.run);
  if (entry === undefined) return undefined;
  const { parents, fact } = endOf(run, body);
  const then = parents.map((parent) => (parent === whatIfStart ? origin : parent));
  // The beginning of a first run is not a leaf.
  if (origin === start) then.pop();
  then.push(...answers.recordedStrays(entry, then.length));
  const ids = then.map(({ id }) => id);
  if (!isSameList(parentsOf(entry.line), ids)) return undefined;
  const recorded = canonical(bodyOf(readFact(entry.line, realmOf(run).blobs)));
  const whole = { by: "runtime", ...fact, of: origin.id } as unknown as Draft;
  const isSame = [whole, withoutLongText(whole)].some((now) => canonical(now as Json) === recorded);
  return isSame ? recorder.adopt(entry, then, realmOf(run)) : undefined;
}

function frontiersOf({ recorder, beginning: { whatIfStart } }: Run): readonly Session[] {
  return whatIfStart === undefined ? recorder.tips : [...recorder.tips, whatIfStart];
}

export function makeSuspension(run: Run): Session {
  const { recorder, answers, beginning } = run;
  const fact = drafted({ type: "run-suspend", of: beginning.id, waiting: answers.waiting });
  return recorder.next(frontiersOf(run), fact, realmOf(run));
}

/** The recorded suspension at exactly this place. */
export function recordedSuspension(run: Run): Session | undefined {
  const { tape, options, recorder } = run;
  const tips = new Map(frontiersOf(run).map((tip) => [tip.id, tip]));
  for (const entry of tape.entries) {
    if (entry.type !== "run-suspend" || entry.run !== options.nonce) continue;
    const sessions = parentsOf(entry.line).flatMap((id) => tips.get(id) ?? []);
    if (sessions.length === tips.size && sessions.length === parentsOf(entry.line).length)
      return recorder.adopt(entry, sessions, realmOf(run));
  }
  return undefined;
}
