import { dueOf, type Fact, type FactId, type FactOf, parentsOf, readFact } from "../../session/index.js";
import type { Line, Store } from "../../store/index.js";
import { defined } from "../../util/index.js";
import { isRunName, runName, unnamed } from "../run/names.js";
import { isAboutTheRecord } from "../status.js";

export type Recorded = {
  readonly head: FactId;
  readonly nonce: string;
  readonly start: FactId;
  /** The `run-start` where it all began: of the first run, when this one is a what-if. */
  readonly root: FactId;
  readonly fact: FactOf<"run-start">;
  readonly leaves: readonly FactId[];
  readonly names: readonly string[];
  /** Whether its end is there. */
  readonly over: boolean;
  /** The session at its name, when that belongs to somebody else. */
  readonly elsewhere: FactId | undefined;
};

/** The name that a run goes by. */
export function nameOf({ nonce, fact }: Pick<Recorded, "nonce" | "fact">): string {
  return fact.name ?? unnamed(nonce);
}

/** The record of a run, found from any of its sessions, and from those that were made of them otherwise than by a fork. */
export async function recordedRun(store: Store, nameOrId: string): Promise<Recorded | undefined> {
  const given = await store.resolve(nameOrId);
  const stamped = await stampedIn(store, given);
  if (stamped === undefined) return undefined;
  const { run: nonce } = stamped.fact;
  const anchor = await store.head(runName(nonce));
  const of =
    stamped.fact.type === "run-end" || stamped.fact.type === "run-suspend" ? stamped.fact.of : undefined;
  const start =
    of ??
    anchor ??
    (await nearest(store, stamped.id, (fact) => fact.type === "run-start" && fact.nonce === nonce))?.id ??
    // A what-if's beginning lies aside, and its end names it.
    (await endOf(store, stamped.id, nonce))?.of;
  const fact = start === undefined ? undefined : await factAt(store, start);
  if (start === undefined || fact?.type !== "run-start") return undefined;
  // A what-if that was cut off early stands at a session of the run that it comes from.
  if (fact.name !== nameOrId && (await store.head(nameOrId)) !== undefined) {
    const own = await whatIfOf(store, fact.from?.start ?? start, nameOrId);
    if (own !== undefined && own !== start) return recordedRun(store, own);
  }
  const branches = await store.names({ under: `${runName(nonce)}/` });
  const current = fact.name === undefined ? undefined : await store.head(fact.name);
  // The name of an older session of a run means the whole run.
  const newest = current === undefined ? undefined : await stampedIn(store, current, nonce);
  const over = [stamped, newest].find((one) => one?.fact.type === "run-end")?.id;
  // The names that a run keeps for itself go when it ends: one that has none is over, wherever its name is by now.
  const end = over ?? (anchor === undefined ? (await endOf(store, stamped.id, nonce))?.id : undefined);
  const main = end ?? newest?.id ?? stamped.id;
  return {
    head: main,
    nonce,
    start,
    root: fact.from?.start ?? start,
    fact,
    leaves: end === undefined ? [...new Set([main, ...branches.map(({ id }) => id)])] : [end],
    names: branches.map(({ name }) => name),
    over: end !== undefined,
    elsewhere:
      current === undefined ||
      (newest === undefined
        ? await isOrigin(store, current, start, fact)
        : !(await isBehind(store, newest.id, current)))
        ? undefined
        : current,
  };
}

/** Whether a session goes on after a fact, with more than facts about the record. */
async function isBehind(store: Store, id: FactId, session: FactId): Promise<boolean> {
  const newest = await nearest(store, session, (fact) => !isAboutTheRecord(fact));
  return newest !== undefined && newest.id !== id;
}

/** Whether this is a session of the run that a what-if comes from: it stands there until it has made something itself. */
async function isOrigin(
  store: Store,
  id: FactId,
  start: FactId,
  { from }: FactOf<"run-start">,
): Promise<boolean> {
  const there = from && (await stampedIn(store, id));
  if (there === undefined) return false;
  const starts = await startsOf(store, { start, root: from?.start ?? start });
  return starts.some(({ line }) => readFact(line, undefined).run === there.fact.run);
}

/** The beginning of the what-if under way that goes by a name, among those that come from a run or from one another. */
async function whatIfOf(store: Store, root: FactId, wanted: string): Promise<FactId | undefined> {
  const starts = new Set([root]);
  for (const start of starts)
    for (const id of await store.children(start)) {
      const fact = await factAt(store, id);
      if (fact?.type !== "run-start" || fact.from === undefined) continue;
      if (fact.name === wanted && (await store.head(runName(fact.nonce))) === id) return id;
      starts.add(id);
    }
  return undefined;
}

/** The beginnings of all runs that have not ended. */
export async function* unfinishedRuns(
  store: Store,
): AsyncGenerator<{ readonly id: FactId; readonly fact: FactOf<"run-start"> }> {
  for (const { name, id } of await store.names({ under: runName("") })) {
    if (!isRunName(name)) continue;
    const fact = await factAt(store, id);
    if (fact?.type === "run-start" && name === runName(fact.nonce)) yield { id, fact };
  }
}

/** The beginnings of the runs that a what-if comes from and its own, the first run's first; of a run, its own alone. */
export async function startsOf(
  store: Store,
  { start, root }: Pick<Recorded, "start" | "root">,
): Promise<readonly Line[]> {
  const starts: Line[] = [];
  for (let id: FactId | undefined = start; id !== undefined; ) {
    const line: string | undefined = await store.line(id);
    if (line === undefined) return [];
    starts.unshift({ id, line });
    id = id === root ? undefined : parentsOf(line)[0];
  }
  return starts;
}

type Stamped = { readonly id: FactId; readonly fact: Fact & { readonly run: string } };

/** The nearest fact of a run, or of this run, from a session back along its first parents. */
async function stampedIn(store: Store, id: FactId, run?: string): Promise<Stamped | undefined> {
  const isStamped = (fact: Fact) => (run === undefined ? fact.run !== undefined : fact.run === run);
  // Somebody forked it off: it is a session of its own, whatever run its past was made by.
  const found = await nearest(store, id, (fact) => isStamped(fact) || isForeignFork(fact));
  return found?.fact.run === undefined ? undefined : (found as Stamped);
}

function isForeignFork({ type, run }: Fact): boolean {
  return type === "branch-fork" && run === undefined;
}

/** The nearest fact that fits, from a session back along its first parents. */
export async function nearest(
  store: Store,
  id: FactId,
  fits: (fact: Fact) => boolean,
): Promise<{ readonly id: FactId; readonly fact: Fact } | undefined> {
  for (let at: FactId | undefined = id; at !== undefined; ) {
    const line = await store.line(at);
    if (line === undefined) return undefined;
    const fact = readFact(line, undefined);
    if (fits(fact)) return { id: at, fact };
    at = parentsOf(line)[0];
  }
  return undefined;
}

/** The end of a run, looked for among everything that it made of one of its sessions. */
async function endOf(
  store: Store,
  of: FactId,
  nonce: string,
): Promise<{ readonly id: FactId; readonly of: FactId } | undefined> {
  const seen = new Set([of]);
  for (const id of seen)
    for (const child of await store.children(id)) {
      const fact = seen.has(child) ? undefined : await factAt(store, child);
      if (fact?.run !== nonce) continue;
      if (fact.type === "run-end") return { id: child, of: fact.of };
      seen.add(child);
    }
  return undefined;
}

/** A fact of the store, without what is in blobs. */
export async function factAt(store: Store, id: FactId): Promise<Fact | undefined> {
  const line = await store.line(id);
  return line === undefined ? undefined : readFact(line, undefined);
}

export type Unfinished = {
  readonly run: string;
  readonly name: string;
  /** The name of the module that began it. */
  readonly module: string;
  /** Whether it waits for somebody or something; otherwise it is under way in some process, or was cut off. */
  readonly waiting: boolean;
  /** When the first timer is due that it waits for, or the first time to agree is up. */
  readonly due?: string;
};

/** The first time that a suspended run waits for: a timer, or a deadline of an approval. */
export async function wakeTimeOf(store: Store, newest: Fact): Promise<string | undefined> {
  const times: string[] = [];
  for (const id of newest.type === "run-suspend" ? newest.waiting : []) {
    const asked = await factAt(store, id);
    if (asked?.type === "timer-set") times.push(dueOf(asked));
    if (asked?.type === "approval-ask" && asked.expires !== undefined) times.push(asked.expires);
  }
  return times.sort()[0];
}

/** Every run that has not ended, and whether it waits. */
export async function unfinishedIn(store: Store): Promise<readonly Unfinished[]> {
  const found: Unfinished[] = [];
  for await (const { fact } of unfinishedRuns(store)) {
    const name = nameOf({ nonce: fact.nonce, fact });
    const head = await store.head(name);
    const newest = head === undefined ? undefined : await factAt(store, head);
    const waiting = newest?.type === "run-suspend";
    const due = newest === undefined ? undefined : await wakeTimeOf(store, newest);
    found.push({ run: fact.nonce, name, module: fact.module, waiting, ...defined({ due }) });
  }
  return found;
}
