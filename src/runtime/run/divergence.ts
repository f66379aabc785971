import {
  type FactInput,
  type FactOf,
  type Json,
  parentsOf,
  type RathError,
  readFact,
  Session,
  Withheld,
} from "../../session/index.js";
import { defined } from "../../util/index.js";
import { bodyOf, DivergenceError, ErasedContentError, type Side } from "../error.js";
import type { Entry } from "../tape/tape.js";
import type { RunContext } from "./context.js";
import { differing, isSameProgram, type StartFact } from "./program.js";
import { Scope } from "./scope.js";

export function divergence(
  { nonce, tape, options }: RunContext,
  expected: Entry,
  ending: FactInput | undefined,
): RathError {
  const fact = readFact(expected.line, Session.realmOf(options.base).blobs);
  const erased = Object.values(fact).find((value) => value instanceof Withheld);
  // Erased content cannot be compared.
  if (erased instanceof Withheld) return new ErasedContentError(expected.id, erased);
  const recorded: Side = {
    id: expected.id,
    fact: bodyOf(fact),
    parents: parentsOf(expected.line),
    ...defined({ module: tape.tape?.pathOf(expected) }),
  };
  const now = tape.firstFresh;
  return new DivergenceError(
    nonce,
    recorded,
    now === undefined
      ? ending && { fact: ending as Json, parents: [] }
      : {
          fact: bodyOf(now.fact),
          parents: now.parents.map((parent) => parent.id),
          ...defined({ module: now.host instanceof Scope ? now.host.path : undefined }),
        },
  );
}

/**
 * The program must be the one that was recorded: throws where its module has another name. Digests say that something differs,
 * and not what: that error is returned, for the first fact that differs says it better, if there is one.
 */
export function programDivergence(run: string, start: Entry, now: StartFact): DivergenceError | undefined {
  const recorded = readFact(start.line, undefined) as FactOf<"run-start">;
  if (isSameProgram(recorded, now)) return undefined;
  const parents = parentsOf(start.line);
  const error = new DivergenceError(
    run,
    { id: start.id, fact: bodyOf(recorded), parents },
    { fact: now as Json, parents },
    differing(recorded, now),
  );
  if (recorded.module !== now.module) throw error;
  return error;
}
