import {
  canonical,
  drafted,
  type FactId,
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
import { bodyOf, DivergenceError, ErasedContentError } from "../error.js";
import { digestOfModule, digestsOfModule, isDeep, isInside } from "../module.js";
import type { Entry, Tape } from "../tape/tape.js";
import type { Stretch } from "./budget.js";
import { runName } from "./names.js";
import type { RunOptions } from "./options.js";
import type { Run } from "./run.js";
import { Scope } from "./scope.js";
import { startedFile } from "./started-file.js";

/** The first fact of a run: it identifies the program by digests. */
export type StartFact = FactInput & { type: "run-start" };

export function startFactOf(options: RunOptions): StartFact {
  const { nonce, name, module, budget, by, for: behalf } = options;
  // The default is not recorded: the record of a run is the same as before there was a choice.
  const durability = options.durability === "effects" ? undefined : options.durability;
  const declared = digestsOfModule(module);
  const digests = {
    module: digestOfModule(module),
    ...(Object.keys(declared).length > 0 && { declared }),
    ...(budget !== undefined && { budget: { ...budget } }),
  };
  const more = defined({ by, for: behalf, durability, program: startedFile() });
  return { type: "run-start", nonce, module: module.name, name, digests, ...more };
}

/** Whether a run was begun by the same program. */
export function isSameProgram(recorded: FactOf<"run-start">, now: StartFact): boolean {
  // The digest of the module covers the declarations, which versions list in more or less detail.
  const [then, here] = [digestsIn(recorded), digestsIn(now)];
  return (
    recorded.module === now.module && isSame(then.module, here.module) && isSame(then.budget, here.budget)
  );
}

function isSame(one: Json = null, other: Json = null): boolean {
  return canonical(one) === canonical(other);
}

function digestsIn({ digests }: { readonly digests?: Json }): {
  readonly module?: Json;
  readonly declared?: { readonly [name: string]: string };
  readonly budget?: Json;
} {
  return Object(digests ?? {});
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

/** The paths at which two programs declare something different. */
function differing(recorded: FactOf<"run-start">, now: StartFact): readonly string[] {
  const [then, here] = [digestsIn(recorded), digestsIn(now)];
  const names = new Set([...Object.keys(then.declared ?? {}), ...Object.keys(here.declared ?? {})]);
  const all = [...names].filter((name) => {
    const [was, is] = [then.declared?.[name], here.declared?.[name]];
    // Deep declarations may be left out: where one side lacks them, the part around them differs.
    return was !== is && (!isDeep(name) || (was !== undefined && is !== undefined));
  });
  const differ = all.filter((name) => !all.some((other) => isInside(other, name)));
  if (!isSame(then.budget, here.budget)) differ.push("the budget");
  return differ;
}

/**
 * The error that says where the record goes another way than the program.
 *
 * @param ending the end of the program, if it made nothing else that the record does not have
 */
export function divergence({ nonce, tape, options }: Run, expected: Entry, ending?: FactInput): RathError {
  const fact = readFact(expected.line, Session.realmOf(options.base).blobs);
  const erased = Object.values(fact).find((value) => value instanceof Withheld);
  // Erased content cannot be compared.
  if (erased instanceof Withheld) return new ErasedContentError(expected.id, erased);
  const now = tape.firstFresh;
  return new DivergenceError(
    nonce,
    {
      id: expected.id,
      fact: bodyOf(fact),
      parents: parentsOf(expected.line),
      ...defined({ module: pathOf(expected, tape) }),
    },
    now === undefined
      ? ending && { fact: ending as Json, parents: [] }
      : {
          fact: bodyOf(now.fact),
          parents: now.parents.map((parent) => parent.id),
          ...defined({ module: now.host instanceof Scope ? now.host.path : undefined }),
        },
  );
}

/** The modules in which a recorded fact was made, the outermost first; undefined where the way to them is not recorded. */
function pathOf(entry: Entry, { entries }: Tape): readonly string[] | undefined {
  const byId = new Map<FactId | undefined, Entry>(entries.map((one) => [one.id, one]));
  const path: string[] = [];
  const up = ({ line }: Entry): Entry | undefined => byId.get(parentsOf(line)[0]);
  for (let one = up(entry); one !== undefined; one = up(one)) {
    const fact = readFact(one.line, undefined);
    if (fact.type === "run-start") return [fact.module, ...path];
    if (fact.type === "module-enter") path.unshift(fact.module);
    // It is after that module, not in it.
    else if (fact.type === "module-exit") one = byId.get(fact.of) ?? one;
  }
  return undefined;
}

export type Beginning = {
  readonly start: Session;
  readonly id: FactId;
  /** The `run-start` of a what-if. Nothing is made of it but the end: what fits hangs where the other run has it. */
  readonly whatIfStart?: Session;
  /** The `run-start` of the run that a what-if comes from. */
  readonly origin?: Session;
  /** When nothing was done: between the runs that a what-if comes from, and before itself. */
  readonly gaps: readonly Stretch[];
  readonly otherProgram: DivergenceError | undefined;
};

/** Makes the beginning of a run, or takes over the recorded one. */
export function beginningOf({ options, program, recorder, tape, root }: Run): Beginning {
  const { base, nonce, starts = [], origin: from, own } = options;
  const realm = root.realm(Session.realmOf(base));
  const [first, ...later] = starts;
  if (first === undefined) {
    const start = root.next([base], drafted(program), realm);
    recorder.also(runName(nonce), start);
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
    recorder.begun(whatIfStart);
    recorder.also(runName(nonce), whatIfStart);
  } else {
    otherProgram = programDivergence(nonce, own, program);
    whatIfStart = restored(own, origin);
  }
  const gaps = gapsBetween([...begun, whatIfStart], tape);
  return { start, id: whatIfStart.id, whatIfStart, origin, gaps, otherProgram };
}

function gapsBetween(starts: readonly Session[], tape: Tape): readonly Stretch[] {
  return starts.slice(1).map((next, place) => {
    const last = tape.lastOf(starts[place]?.fact.run as string);
    const from = last === undefined ? next.fact.at : readFact(last.line, undefined).at;
    return { from: Date.parse(from), to: Date.parse(next.fact.at) };
  });
}
