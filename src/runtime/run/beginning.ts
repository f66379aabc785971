import { drafted, type FactId, readFact, Session } from "../../session/index.js";
import type { DivergenceError } from "../error.js";
import type { Entry, Tape } from "../tape/tape.js";
import type { Stretch } from "./budget.js";
import { programDivergence } from "./program.js";
import type { Run } from "./run.js";
import { runName } from "./writer.js";

/** How a run begins. */
export type Beginning = {
  /** The session that the body is given. */
  readonly start: Session;
  /** The id of the run's own `run-start`. */
  readonly id: FactId;
  /** The `run-start` of a what-if. Nothing is made of it but the end: what fits hangs where the other run has it. */
  readonly whatIfStart?: Session;
  /** The `run-start` of the run that a what-if comes from. */
  readonly origin?: Session;
  /** When nothing was done: between the runs that a what-if comes from, and before itself. */
  readonly gaps: readonly Stretch[];
  /** The program has another digest than the recorded one. */
  readonly otherProgram: DivergenceError | undefined;
};

/** Makes the beginning of a run, or takes over the recorded one. */
export function beginningOf({ options, program, recorder, writer, tape, root }: Run): Beginning {
  const { base, nonce, starts = [], origin: from, own } = options;
  const realm = root.realm(Session.realmOf(base));
  const [first, ...later] = starts;
  if (first === undefined) {
    const start = root.next([base], drafted(program), realm);
    writer.also(runName(nonce), start);
    return { start, id: start.id, gaps: [], otherProgram: undefined };
  }
  // A what-if is there to change the program, and says so where it begins.
  const other = from === undefined ? programDivergence(nonce, first, program) : undefined;
  const start = recorder.adopt(first, [base], realm);
  root.made(start);
  if (from === undefined) return { start, id: start.id, gaps: [], otherProgram: other };
  const restored = (entry: Entry, parent: Session): Session => {
    entry.used = true;
    return Session.restore(entry.line, [parent], realm, { id: entry.id });
  };
  const begun = [start];
  for (const entry of later) begun.push(restored(entry, begun.at(-1) as Session));
  const origin = begun.at(-1) as Session;
  let whatIfStart: Session;
  let otherProgram: DivergenceError | undefined;
  if (own === undefined) {
    whatIfStart = Session.made([origin], recorder.stamped(drafted({ ...program, from })), realm);
    writer.begun(whatIfStart);
    writer.also(runName(nonce), whatIfStart);
  } else {
    otherProgram = programDivergence(nonce, own, program);
    whatIfStart = restored(own, origin);
  }
  const gaps = gapsBetween([...begun, whatIfStart], tape);
  return { start, id: whatIfStart.id, whatIfStart, origin, gaps, otherProgram };
}

/** From the last fact of each run to the beginning of the next. */
function gapsBetween(starts: readonly Session[], tape: Tape): readonly Stretch[] {
  return starts.slice(1).map((next, place) => {
    const last = tape.lastOf(starts[place]?.fact.run as string);
    const from = last === undefined ? next.fact.at : readFact(last.line, undefined).at;
    return { from: Date.parse(from), to: Date.parse(next.fact.at) };
  });
}
