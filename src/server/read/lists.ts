import { catalogue } from "../../evidence/catalogue/index.js";
import { type Awaited, mayAnswer } from "../../runtime/index.js";
import { NotFoundError, type Store } from "../../store/index.js";
import { defined } from "../../util/index.js";
import { type Call, type Handlers, placeOf } from "../call.js";
import type { Routes } from "../contract/routes.js";
import type { PendingRow, SessionRow } from "../contract/rows.js";
import { type Identity, may } from "../identity/identity.js";
import { within } from "./reads.js";

type Pages = "sessions" | "session" | "search" | "pending" | "origins";

/** Lists over the sessions of a store. They hold what the caller may see, and pages of them may be short. */
export const listHandlers: Pick<Handlers, Pages> = {
  sessions: async (call) => {
    const { store, identity, query } = call;
    const { order, q: words, ...filter } = query;
    if (order === "name") return byName(call);
    const { items, ...rest } = await catalogue(store).sessions({
      ...filter,
      fresh: "soon",
      ...defined({ words }),
      ...within(identity),
    });
    return { items: items.map((row) => seenBy(identity, row)), ...rest };
  },
  session: async ({ store, identity, path }) => {
    const row = await catalogue(store).session(path.name, { fresh: "soon" });
    if (row !== undefined) return seenBy(identity, row);
    throw new NotFoundError(
      `a session of the name ${JSON.stringify(path.name.slice(0, 200))}`,
      "only names have figures: take the name without ~ or @, or GET .../graph/summary for a branch",
    );
  },
  search: async ({ store, identity, query }) => {
    const { q: text, ...filter } = query;
    return catalogue(store).search({ fresh: "soon", ...filter, ...defined({ text }), ...within(identity) });
  },
  pending: async ({ store, rath, identity, query }) => {
    const { of: person, limit = 20, after } = query;
    const page = await catalogue(store).pending(rath, {
      limit: Math.min(limit, 20),
      fresh: "soon",
      ...defined({ person, after }),
      ...within(identity),
    });
    const sender = { who: identity.principal, selfApproval: identity.isOwner === true };
    const items = page.items.map(async (row) => {
      const isTheirs = may(identity, "approve", row.name) && (await mayAnswer(rath, row.name, sender))(row);
      return pendingRow(row, isTheirs);
    });
    return { ...page, items: await Promise.all(items) };
  },
  origins: async ({ store, identity, path, query }) => {
    const { name } = await placeOf(store, identity, "view", path.name);
    if (name === undefined) throw new NotFoundError("a name", "name a session: GET /api/origins/NAME");
    const row = await catalogue(store).session(name, { fresh: "soon" });
    const { items, ...rest } = await catalogue(store).sessions({
      ...query,
      fresh: "soon",
      origin: name,
      ...within(identity),
    });
    return {
      name,
      from: await before(store, identity, row),
      items: items.map((one) => seenBy(identity, one)),
      ...rest,
      spaces: row?.spaces ?? [],
    };
  },
};

/** So many sessions are told behind each other. */
const DEPTH = 100;

/** The sessions that one came from, the nearest first, as far as the caller may see them. */
async function before(store: Store, identity: Identity, row: SessionRow | undefined) {
  const from: NonNullable<SessionRow["origin"]>[] = [];
  const met = new Set<string | undefined>([row?.name]);
  for (let one = row; one?.origin !== undefined && from.length < DEPTH; ) {
    const { origin } = seenBy(identity, one) as { readonly origin: NonNullable<SessionRow["origin"]> };
    from.push(origin);
    if (origin.name === undefined || met.has(origin.name)) break;
    met.add(origin.name);
    one = await catalogue(store).session(origin.name, { fresh: false });
  }
  return from;
}

/** A name that the caller has no role for is not told. */
function seenBy(identity: Identity, row: SessionRow): SessionRow {
  const { origin } = row;
  if (origin?.name === undefined || may(identity, "view", origin.name)) return row;
  const { name: _, ...rest } = origin;
  return { ...row, origin: rest };
}

/** So many names are looked at for a page in the order of names. */
const LOOKED_AT = 5_000;

/** Sessions by their names. No other filter goes with this order. Names that the caller may not see are not looked at. */
async function byName({ store, identity, query }: Call<Routes["sessions"]>) {
  const { limit = 50, after, under = "" } = query;
  const items: SessionRow[] = [];
  let [looked, last] = [0, after];
  for (const scope of scopesOf(identity, under)) {
    for (let isMore = true; isMore; ) {
      const most = Math.min(1000, LOOKED_AT - looked);
      const names = await namesIn(store, scope, most, last);
      isMore = names.length === most;
      for (const name of names) {
        looked += 1;
        last = name;
        const row = await catalogue(store).session(name, { fresh: items.length === 0 && "soon" });
        if (row !== undefined) items.push(seenBy(identity, row));
        if (items.length === limit || looked === LOOKED_AT) return { items, next: name };
      }
    }
  }
  return { items, next: null };
}

async function namesIn(store: Store, scope: string, limit: number, after: string | undefined) {
  if (scope.endsWith("*"))
    return (await store.names({ limit, under: scope.slice(0, -1), ...defined({ after }) })).map(
      ({ name }) => name,
    );
  const isLater = after === undefined || Buffer.compare(Buffer.from(scope), Buffer.from(after)) > 0;
  return isLater && (await store.head(scope)) !== undefined ? [scope] : [];
}

/** The part that somebody may see of the names that begin so: names and beginnings of names in their order, none within another. */
function scopesOf({ grants }: Identity, under: string): readonly string[] {
  const scopes = grants.flatMap(({ under: scope }) => {
    const start = scope.replace(/\*$/, "");
    if (start.startsWith(under)) return [scope];
    return scope.endsWith("*") && under.startsWith(start) ? [`${under}*`] : [];
  });
  const sorted = [...new Set(scopes)].sort((one, other) =>
    Buffer.compare(Buffer.from(one.replace(/\*$/, "")), Buffer.from(other.replace(/\*$/, ""))),
  );
  return sorted.filter(
    (scope) =>
      !sorted.some((other) => other !== scope && other.endsWith("*") && scope.startsWith(other.slice(0, -1))),
  );
}

type Waiting = Awaited & Pick<PendingRow, "name" | "session" | "kind" | "since">;

/** A request that waits, in the words of the interface, and whether the caller may answer it. */
function pendingRow(one: Waiting, isTheirs: boolean): PendingRow {
  const { to = [], shown, expires, edited, of: tool, id, name, session, kind, since, what } = one;
  const { digest, escaped, answer, rule, why, problem, answered } = one;
  return {
    ...{ name, session, request: id, kind, of: to, what, since, answered },
    may: isTheirs,
    ...defined({ digest, input: shown, escaped, answer, rule, why, problem, tool, deadline: expires }),
    ...(edited !== undefined && { changed: { ...edited } }),
  };
}
