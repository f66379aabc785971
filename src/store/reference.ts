import { type FactId, readFact, typeOf } from "../session/index.js";
import { nearestOf } from "../util/index.js";
import { NotFoundError } from "./error.js";
import { lineBefore } from "./exchange/lines.js";
import type { Store } from "./store.js";

/** Where a session was found, and under which name if it was called by one. */
export type Found = { readonly id: FactId; readonly name?: string };

/**
 * Finds a session by what people type: a name, an id or the beginning of one, and from there `~3` (three facts back)
 * or `@branch` (the newest session of that branch in its history), also one after the other: `demo-1@bold~2`.
 */
export async function findSession(store: Store, reference: string): Promise<Found> {
  const id = await store.head(reference);
  if (id !== undefined) return { id, name: reference };
  const back = /^(.+)~(\d*)$/s.exec(reference);
  if (back !== null) {
    const base = await findSession(store, back[1] as string);
    return { id: await goBack(store, base.id, back[2] === "" ? 1 : Number(back[2]), reference) };
  }
  const branch = /^(.+)@([^@]+)$/s.exec(reference);
  if (branch !== null) {
    const base = await findSession(store, branch[1] as string);
    return { id: await onBranch(store, base.id, branch[2] as string) };
  }
  try {
    return { id: await store.resolve(reference) };
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    const names = (await store.names()).map(({ name }) => name);
    const near = nearestOf(reference, names);
    throw new NotFoundError(
      `a session ${JSON.stringify(reference)}`,
      near === undefined
        ? names.length === 0
          ? "the store is empty: rath demo"
          : "see what there is: rath list"
        : `did you mean ${near}? see what there is: rath list`,
    );
  }
}

/** So many facts back; at a merge along the side that was adopted. */
async function goBack(store: Store, from: FactId, steps: number, reference: string): Promise<FactId> {
  let id = from;
  for (let done = 0; done < steps; done++) {
    const line = await store.line(id);
    const earlier = line === undefined ? undefined : await lineBefore(store, id, line);
    if (earlier === undefined)
      throw new NotFoundError(
        `${reference}: it begins ${done} facts before`,
        `the first one is ${id.slice(0, 12)}`,
      );
    id = earlier;
  }
  return id;
}

/** The newest session of a branch in the history of another. */
async function onBranch(store: Store, head: FactId, wanted: string): Promise<FactId> {
  const newest = await branchesOf(store, head);
  const id = newest.get(wanted);
  if (id !== undefined) return id;
  const known = [...newest.keys()];
  const near = nearestOf(wanted, known);
  throw new NotFoundError(
    `a branch ${JSON.stringify(wanted)}`,
    near === undefined ? `the branches are ${known.join(", ")}` : `did you mean ${near}?`,
  );
}

/**
 * Every branch in the history of a session, and the newest session on it: of a branch that was merged, the last one before
 * that, because a question about one side does not mean both.
 */
async function branchesOf(store: Store, head: FactId): Promise<ReadonlyMap<string, FactId>> {
  const branchAt = new Map<FactId, string>();
  const after = new Set<FactId>();
  const newest = new Map<string, FactId>();
  for await (const lines of store.lines(head))
    for (const { id, line } of lines) {
      const earlier = (await lineBefore(store, id, line)) ?? "";
      // Few lines are forks: the others need not be read.
      const fork = typeOf(line) === "branch-fork" ? readFact(line, undefined) : undefined;
      const branch = fork?.type === "branch-fork" ? fork.name : (branchAt.get(earlier) ?? MAIN);
      branchAt.set(id, branch);
      const isMerged =
        fork === undefined && branch !== MAIN && (typeOf(line) === "branch-merge" || after.has(earlier));
      if (isMerged) after.add(id);
      else newest.set(branch, id);
    }
  return newest;
}

const MAIN = "main";

/** Whether a name is one that the runtime and the command keep for their own use. */
export function isKeptByRuntime(name: string): boolean {
  return /^(?:run|answer|standing)\/|^\./.test(name);
}

/** Why a new session cannot have a name: it is kept for the runtime, or written like a place in another session. */
export function nameFlaw(
  name: string,
): { readonly reason: string; readonly hint: string; readonly own: boolean } | undefined {
  if (isKeptByRuntime(name))
    return {
      own: true,
      reason: 'names that begin with "run/", "answer/", "standing/" or a dot are the runtime\'s own',
      hint: `choose another name: ${JSON.stringify(`my-${name.replace(/^\.+/, "")}`)}`,
    };
  if (/.(~\d*|@[^@]+)$/s.test(name))
    return {
      own: false,
      reason: `${JSON.stringify(name)} is how a place in another session is written: NAME~3 is three facts back, NAME@branch a branch`,
      hint: `choose another name: ${JSON.stringify(name.replaceAll(/[~@]+(?=(.?))/g, (_, next) => (next === "" ? "" : "-")))}`,
    };
  return undefined;
}

/** The first name that is free: `first`, then the stem with -2, -3, … */
export async function freeName(store: Store, stem: string, first = stem): Promise<string> {
  for (let number = 1; ; number++) {
    const free = number === 1 ? first : `${stem}-${number}`;
    if ((await store.head(free)) === undefined) return free;
  }
}
