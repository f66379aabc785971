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
import type { Secrets } from "../secrets.js";
import { boundedFailure, withoutLongText } from "./long-text.js";
import { isSameProgram } from "./program.js";
import type { Run } from "./run.js";
import { runName } from "./writer.js";

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
export function failureIn(
  out: Session,
  error: unknown,
  run: { readonly module: Module; readonly secrets: Secrets; readonly cancelled: string | undefined },
): RathError {
  const { module, secrets, cancelled } = run;
  if (error instanceof CancelledError && cancelled !== undefined) return new CancelledError(cancelled, out);
  return new RunFailedError(module.name, boundedFailure(secrets.conceal(failureOf(error)).value), out, error);
}

/** The facts that a run comes to rest with, its end or a suspension: recorded ones, or new ones. */
export class Ending {
  readonly #run: Run;

  constructor(run: Run) {
    this.#run = run;
  }

  get #realm(): Realm {
    return Session.realmOf(this.#run.beginning.start);
  }

  /** The `run-end`: it joins the result and every other leaf, so that one head holds all that a replay needs. */
  #made(body: BodyOutcome): { parents: readonly Session[]; fact: FactInput } {
    const { root, beginning, writer } = this.#run;
    const result = "session" in body ? body.session : (root.last ?? beginning.start);
    const leaves = writer.tips
      .filter((tip) => tip !== result)
      .sort((one, other) => (one.fact.seq ?? 0) - (other.fact.seq ?? 0));
    const { whatIfStart } = beginning;
    return {
      parents: [result, ...leaves, ...(whatIfStart === undefined ? [] : [whatIfStart])],
      fact: this.fact(body),
    };
  }

  /** The `run-end`. */
  fact(body: BodyOutcome): FactInput {
    const { options, beginning } = this.#run;
    const error = "error" in body && { error: options.secrets.conceal(failureOf(body.error)).value };
    return { type: "run-end", of: beginning.id, ...error };
  }

  /** Makes the end of the run, with what people said when nobody waited for it any longer. */
  async end(body: BodyOutcome): Promise<Session | undefined> {
    const { answers, recorder, writer, options } = this.#run;
    const strays = await answers.strays();
    if (recorder.stopped !== undefined) return undefined;
    const { parents, fact } = this.#made(body);
    const end = recorder.next([...parents, ...strays], drafted(fact), this.#realm);
    writer.also(runName(options.nonce), null);
    await recorder.flush();
    return end;
  }

  /** The end that is recorded for just this, if there is one. */
  recordedEnd(body: BodyOutcome): Session | undefined {
    const { tape, options, answers, recorder } = this.#run;
    const { parents: ours, fact } = this.#made(body);
    const parents = [...ours, ...answers.recordedStrays(tape.endOf(options.nonce), ours.length)];
    const entry = tape.twin(parents, drafted(fact), this.#realm);
    return entry === undefined ? this.#endOfOrigin(body) : recorder.adopt(entry, parents, this.#realm);
  }

  /** The end of the run that a what-if comes from, when the same program did nothing else: then it is that run. */
  #endOfOrigin(body: BodyOutcome): Session | undefined {
    const { options, beginning, program, tape, answers, recorder } = this.#run;
    const { start, origin, whatIfStart } = beginning;
    const { origin: from, mode } = options;
    if (mode !== "what-if" || origin === undefined || from?.again === true) return undefined;
    if (!isSameProgram(origin.fact as FactOf<"run-start">, program)) return undefined;
    const entry = tape.endOf(from?.run);
    if (entry === undefined) return undefined;
    const { parents, fact } = this.#made(body);
    const then = parents.map((parent) => (parent === whatIfStart ? origin : parent));
    // The beginning of a first run is not a leaf.
    if (origin === start) then.pop();
    then.push(...answers.recordedStrays(entry, then.length));
    const recorded = canonical(bodyOf(readFact(entry.line, this.#realm.blobs)));
    const whole = { by: "runtime", ...fact, of: origin.id } as unknown as Draft;
    const isSame = [whole, withoutLongText(whole)].some(
      (now) => canonical(now as unknown as Json) === recorded,
    );
    if (
      !isSameList(
        parentsOf(entry.line),
        then.map(({ id }) => id),
      ) ||
      !isSame
    )
      return undefined;
    return recorder.adopt(entry, then, this.#realm);
  }

  get #frontiers(): readonly Session[] {
    const { writer, beginning } = this.#run;
    const { whatIfStart } = beginning;
    return whatIfStart === undefined ? writer.tips : [...writer.tips, whatIfStart];
  }

  /** Makes a suspension here. */
  suspension(): Session {
    const { recorder, answers, beginning } = this.#run;
    return recorder.next(
      this.#frontiers,
      drafted({ type: "run-suspend", of: beginning.id, waiting: answers.waiting }),
      this.#realm,
    );
  }

  /** The recorded suspension at exactly this place. */
  recordedSuspension(): Session | undefined {
    const { tape, options, recorder } = this.#run;
    const tips = this.#frontiers;
    const ids = new Set(tips.map((tip) => tip.id));
    for (const entry of tape.entries) {
      if (entry.type !== "run-suspend" || entry.run !== options.nonce) continue;
      const parents = parentsOf(entry.line);
      if (parents.length !== ids.size || !parents.every((id) => ids.has(id))) continue;
      const byId = new Map(tips.map((tip) => [tip.id, tip]));
      const sessions = parents.map((id) => byId.get(id) as Session);
      return recorder.adopt(entry, sessions, this.#realm);
    }
    return undefined;
  }
}
