import { RequestError } from "../connect/front/index.js";
import type { Module, Rath } from "../runtime/index.js";
import { type FactId, isDigest } from "../session/index.js";
import { type Found, findSession, NotFoundError, type Store, StoreError } from "../store/index.js";
import type { Alarms } from "./act/alarms.js";
import type { Erasures } from "./act/erase.js";
import type { Repeats } from "./act/repeat.js";
import type { UnderWay } from "./act/under-way.js";
import type { AnswerOf, BodyOf, PathOf, QueryOf, Role, Route } from "./contract/route.js";
import type { Routes } from "./contract/routes.js";
import type { Auth } from "./identity/auth.js";
import { type Identity, may, mayAll } from "./identity/identity.js";
import type { Live } from "./live/live.js";
import { pagesFor } from "./pages.js";

/** The parts that all operations share. */
export type Parts = {
  readonly rath: Rath;
  readonly auth: Auth;
  readonly live: Live;
  readonly modules: { readonly [name: string]: Module };
  readonly acts: Acts;
};

/** The state of actions beside the record. */
export type Acts = {
  readonly underWay: UnderWay;
  readonly repeats: Repeats;
  readonly erasures: Erasures;
  readonly alarms: Alarms;
};

/** One call of an operation, checked: its sender is known and may do it. */
export type Call<Given extends Route = Route> = Parts & {
  readonly request: Request;
  readonly store: Store;
  readonly identity: Identity;
  readonly path: PathOf<Given>;
  readonly query: QueryOf<Given>;
  readonly body: BodyOf<Given>;
  /** The session that the path names; there is one where the path has `{name}`. */
  readonly session: Found;
};

export type Handlers = {
  readonly [Name in keyof Routes]: (
    call: Call<Routes[Name]>,
  ) => AnswerOf<Routes[Name]> | Response | Promise<AnswerOf<Routes[Name]> | Response>;
};

/** Refuses somebody who lacks a role for a name. */
export function requireRole(identity: Identity, role: Role, name: string): void {
  if (!may(identity, role, name)) throw forbidden(identity, role);
}

export function forbidden({ principal }: Identity, role: Role): RequestError {
  return new RequestError(
    403,
    "forbidden",
    `${principal} may not do this: it needs the role "${role}" here.`,
    {
      hint: `the owner of the server can add the role: rath user add NAME --role ${role} --under 'NAMES*'`,
      data: { role },
    },
  );
}

/**
 * The session that somebody names: a name, and from there `~3` or `@branch`. An id says nothing of the names that lead to it:
 * it is for those who have the role everywhere. A name that they have no role for is refused whether or not it exists.
 */
export async function placeOf(
  store: Store,
  identity: Identity,
  role: Role,
  reference: string,
): Promise<Found> {
  const base = await baseOf(store, reference);
  if (base !== undefined) {
    requireRole(identity, role, base);
    return { id: await placeBehind(store, identity, base, reference.slice(base.length)), name: base };
  }
  // The beginning of an id; a name that there is not is not looked for among all.
  if (mayAll(identity, role) && /^[0-9a-f]{6,64}([~@]|$)/.test(reference)) {
    const [start = ""] = reference.split(/[~@]/, 1);
    const id = await store.resolve(start);
    return { id: await placeBehind(store, identity, id, reference.slice(start.length)) };
  }
  requireRole(identity, role, reference);
  throw new NotFoundError(`a session ${JSON.stringify(reference)}`, "list the sessions: GET /api/sessions");
}

/** So many facts back, and no farther, `~3` leads; the branches of a longer session are those of its graph. */
const STEPS = 5_000;
const LONG = 20_000;

/** The fact that `~3` or `@branch`, or one after the other, leads to from a name or an id. */
async function placeBehind(store: Store, identity: Identity, base: string, rest: string): Promise<FactId> {
  if (rest === "") return store.resolve(base);
  const steps = [...rest.matchAll(/~(\d*)/g)].reduce((sum, [, count]) => sum + Number(count || 1), 0);
  if (steps > STEPS)
    throw new RequestError(422, "step-unknown", `The step is too far back: ${rest.slice(0, 80)}.`, {
      hint: `go back at most ${STEPS} facts, or name a fact by its id: GET /api/sessions/NAME/facts`,
      data: { steps, most: STEPS },
    });
  const [, branch, more = ""] = /^@([^@]+?)((?:~\d*)*)$/.exec(rest) ?? [];
  if (branch === undefined || (await store.facts(base, { limit: 1 })).count <= LONG)
    return (await findSession(store, `${base}${rest}`)).id;
  const { branches } = await pagesFor(store, identity).summary(base);
  const found = branches.findLast(({ name }) => name === branch);
  if (found !== undefined) return (await findSession(store, `${found.head}${more}`)).id;
  throw new NotFoundError(
    `a branch ${JSON.stringify(branch.slice(0, 80))}`,
    "list the branches: GET .../graph/summary",
  );
}

/** The name that a reference begins with, if it begins with one that exists. */
async function baseOf(store: Store, reference: string): Promise<string | undefined> {
  for (let base = reference; base !== ""; ) {
    if ((await store.head(base)) !== undefined) return base;
    const shorter = base.replace(/(~\d*|@[^@]+)$/s, "");
    if (shorter === base) return undefined;
    base = shorter;
  }
  return undefined;
}

/** A fact in the history of a session: that somebody knows an id does not mean that they may read it. */
export async function factWithin(
  { store, identity, session }: Pick<Call, "store" | "identity" | "session">,
  reference: string,
  role: Role = "view",
): Promise<FactId> {
  const unknown = new NotFoundError(
    `a fact ${reference.slice(0, 64)} in this session`,
    "see its facts: GET /api/sessions/NAME/facts",
  );
  const isAll = mayAll(identity, role);
  // The beginning of an id is looked for in the whole store.
  const isBeginning = isAll && /^[0-9a-f]{6,63}$/.test(reference);
  if (!isBeginning && !isDigest(reference)) throw unknown;
  const id = isBeginning ? await store.resolve(reference) : reference;
  if (id === session.id) return id;
  if (isAll ? await store.has(id) : await isWithin(store, session.id, id)) return id;
  throw unknown;
}

/** Whether a fact is in the past of another: looked up, not walked to. */
async function isWithin(store: Store, head: FactId, id: FactId): Promise<boolean> {
  try {
    await store.facts(head, { after: id, limit: 1 });
    return true;
  } catch (error) {
    if (error instanceof StoreError) return false;
    throw error;
  }
}
