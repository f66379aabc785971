import { type FactId, isPrincipal, type Principal } from "../../session/index.js";
import { ConflictError, type Store } from "../../store/index.js";
import { optionNames, showValue } from "../../util/index.js";
import { requireOptions } from "../../workflow/index.js";
import { refusing } from "../error.js";
import type { Influence } from "./influence.js";

export type ForkBeforeOptions = {
  readonly by: Principal;
  readonly why: string;
  /** Only these of the sessions. Default: all. */
  readonly names?: readonly string[];
};

/** The result for each session. */
export type ForkedBefore = {
  readonly forks: readonly {
    readonly session: string;
    /** The name of the fork; the session itself stays as it is. */
    readonly name: string;
    readonly id: FactId;
    readonly before: FactId;
  }[];
  readonly skipped: readonly { readonly session: string; readonly why: string }[];
};

const KNOWN = optionNames<ForkBeforeOptions>()("by why names");
const EXAMPLE = 'forkBefore(store, influence, { by: "user:ada", why: "it was wrong" })';
/** The maximum number of forks of one session before one memory; their names end with a number. */
const TRIES = 1_000;
/** How long a name may be. */
const LONGEST = 200;
/** A fork needs only the last facts before it. */
const HORIZON = 1_000;

/** Forks every session that a memory reached to just before it read it first. Nothing is overwritten. */
export async function forkBefore(
  store: Store,
  influence: Influence,
  options: ForkBeforeOptions,
): Promise<ForkedBefore> {
  const refuse = refusing("fork what a memory reached");
  requireOptions(options, refuse, EXAMPLE, KNOWN);
  const { by, why, names } = options;
  if (!isPrincipal(by)) throw refuse(`its \`by\` is ${showValue(by)}, not a principal`, EXAMPLE);
  if (typeof why !== "string" || why.trim() === "") throw refuse("it does not say why", EXAMPLE);
  const unknown = names?.find((name) => !influence.sessions.some((session) => session.name === name));
  if (unknown !== undefined)
    throw refuse(
      `${showValue(unknown)} is not a session that it reached`,
      "names: those of influence.sessions",
    );
  const forks: ForkedBefore["forks"][number][] = [];
  const skipped: ForkedBefore["skipped"][number][] = [];
  for (const { name: session, before, kept } of influence.sessions) {
    if (names !== undefined && !names.includes(session)) continue;
    if (kept && !names?.includes(session))
      skipped.push({ session, why: "the runtime keeps it for a run under way" });
    else if (before === undefined) skipped.push({ session, why: "it begins with the reading" });
    else if (!(await store.has(before)))
      skipped.push({ session, why: `${before} is no longer in the store` });
    else {
      const origin = await store.load(before, { horizon: HORIZON });
      const fork = origin.fork(`before-${influence.memory.slice(0, 8)}`, { by, why });
      const name = await saveFork(store, fork, session, influence.memory);
      forks.push({ session, before, id: fork.id, name });
    }
  }
  return { forks, skipped };
}

/** Saves a fork under a name that is free. */
async function saveFork(store: Store, fork: Parameters<Store["save"]>[0], session: string, memory: FactId) {
  for (let count = 1; ; count++) {
    const end = `~before-${memory.slice(0, 8)}${count === 1 ? "" : `-${count}`}`;
    const name = `${session.slice(0, LONGEST - end.length).toWellFormed()}${end}`;
    try {
      await store.save(fork, { name, expect: null });
      return name;
    } catch (error) {
      if (!(error instanceof ConflictError) || count === TRIES) throw error;
    }
  }
}
