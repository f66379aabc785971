import { catalogue } from "../../evidence/catalogue/index.js";
import { factRow } from "../../evidence/page/index.js";
import type { Json } from "../../session/index.js";
import { type Found, NotFoundError, type Store } from "../../store/index.js";
import { type Call, factWithin, type Handlers, placeOf } from "../call.js";
import { type Identity, may, mayAll } from "../identity/identity.js";
import { pagesFor } from "../pages.js";
import { headOf, refOf } from "./reads.js";

type Views =
  | ("facts" | "fact" | "factById" | "graph" | "summary" | "turns" | "timeline" | "series" | "prompt")
  | ("files" | "changes" | "diff" | "blame" | "conflicts" | "compare");

/** The pages of one session. */
export const viewHandlers: Pick<Handlers, Views> = {
  facts: async (call) => {
    const { store, session, identity, query } = call;
    const { only, ...options } = query;
    if (only !== undefined) {
      const { type: _, branch: __, ...stretch } = options;
      return pagesFor(store, identity).marked(refOf(call), { only, ...stretch });
    }
    const page = await store.facts(session.id, options);
    // A cursor names its session: one that was put together by hand may name another.
    if (page.head !== session.id) await factWithin(call, page.head);
    return {
      items: page.items.map(({ index, ...recorded }) => factRow(recorded, { index })),
      next: page.next,
    };
  },
  fact: async (call) => factOf(call, await factWithin(call, call.path.id), call.session.name ?? null),
  factById: async ({ store, identity, path }) => {
    const id = mayAll(identity, "view") ? await store.resolve(path.id) : path.id;
    const name = await catalogue(store).sessionWith(id, { fresh: "soon" });
    if (mayAll(identity, "view")) return factOf({ store, identity, session: { id } }, id, name ?? null);
    // Whether a fact is there at all is told to those who may see a session with it.
    const session = await placeOf(store, identity, "view", name ?? path.id);
    return factOf(
      { store, identity, session },
      await factWithin({ store, identity, session }, id),
      name ?? null,
    );
  },
  graph: async (call) => {
    const { head, of, ...options } = call.query;
    const page = await pagesFor(call.store, call.identity).graph(refOf(call), {
      ...options,
      of: of === undefined ? undefined : await factWithin(call, of),
      head: await headOf(call, head),
    });
    const etag = `"${page.etag}"`;
    const headers = { etag, "cache-control": "private, no-cache" };
    if (call.request.headers.get("if-none-match") === etag)
      return new Response(null, { status: 304, headers });
    return Response.json(page, { headers });
  },
  summary: async (call) =>
    pagesFor(call.store, call.identity).summary(refOf(call), { head: await headOf(call, call.query.head) }),
  turns: async (call) =>
    pagesFor(call.store, call.identity).turns(refOf(call), {
      ...(await stretchOf(call)),
      of: call.query.of === undefined ? undefined : await factWithin(call, call.query.of),
    }),
  timeline: async (call) => pagesFor(call.store, call.identity).timeline(refOf(call), await stretchOf(call)),
  series: async (call) => pagesFor(call.store, call.identity).series(refOf(call), call.query),
  prompt: async (call) => {
    const { fact, ...options } = call.query;
    const id = await factWithin(call, fact);
    return pagesFor(call.store, call.identity).prompt(refOf(call), id, options);
  },
  files: async (call) =>
    pagesFor(call.store, call.identity).files(refOf(call), {
      ...(await stretchOf(call)),
      path: call.query.path,
    }),
  changes: async (call) => {
    const { before, head, ...options } = call.query;
    const [one, other] = [await beforeOf(call, before), (await headOf(call, head)) ?? call.session.id];
    return pagesFor(call.store, call.identity).changes(one, other, options);
  },
  diff: async (call) => {
    const { before, head, path } = call.query;
    const [one, other] = [await beforeOf(call, before), (await headOf(call, head)) ?? call.session.id];
    return pagesFor(call.store, call.identity).diff(one, other, path);
  },
  blame: async (call) => {
    const { path, head, ...options } = call.query;
    return pagesFor(call.store, call.identity).blame(refOf(call), path, {
      ...options,
      head: await headOf(call, head),
    });
  },
  conflicts: async (call) => {
    const { store, identity, session, query } = call;
    const theirs =
      query.theirs === undefined ? undefined : await placeOf(store, identity, "view", query.theirs);
    const items = await pagesFor(store, identity).conflicts(session.id, theirs?.id);
    return { items, next: null };
  },
  compare: async ({ store, identity, query }) => {
    const { a, b, ...options } = query;
    const [one, other] = [await sideOf(store, identity, a), await sideOf(store, identity, b)];
    return pagesFor(store, identity).compare(one, other, options);
  },
};

/** A side of a comparison as pages take it. */
async function sideOf(store: Store, identity: Identity, reference: string): Promise<string> {
  const { name, id } = await placeOf(store, identity, "view", reference);
  return name !== undefined && (await store.head(name)) === id ? name : id;
}

async function stretchOf<Query extends { readonly head?: string }>(
  call: Pick<Call, "store" | "identity" | "session"> & { readonly query: Query },
) {
  const { head, ...options } = call.query;
  return { ...options, head: await headOf(call, head) };
}

async function beforeOf(call: Pick<Call, "store" | "identity" | "session">, before: string | undefined) {
  return before === undefined ? null : factWithin(call, before);
}

/** So many facts that go on from one are named. */
const CHILDREN = 100;

async function factOf(
  call: { readonly store: Store; readonly identity: Identity; readonly session: Found },
  id: string,
  name: string | null,
) {
  const { store, identity } = call;
  const recorded = await pagesFor(store, identity).fact(id);
  if (recorded === undefined) throw new NotFoundError(`the fact ${id}`, "it may have been collected");
  const { parents, line, fact } = recorded;
  const children: string[] = [];
  for (const child of (await store.children(id)).slice(0, CHILDREN))
    if (mayAll(identity, "view") || (await isSeen(call, child))) children.push(child);
  const seen = name !== null && may(identity, "view", name) ? name : null;
  return { id, name: seen, parents, children, row: factRow(recorded), line, fact: fact as unknown as Json };
}

async function isSeen(call: Parameters<typeof factOf>[0], child: string): Promise<boolean> {
  return factWithin(call, child).then(
    () => true,
    () => false,
  );
}
