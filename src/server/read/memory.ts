import { isDigest, readFact } from "../../session/index.js";
import { NotFoundError, type Store } from "../../store/index.js";
import { factWithin, type Handlers, placeOf } from "../call.js";
import { may } from "../identity/identity.js";
import { pagesFor } from "../pages.js";
import { requireAll } from "./reads.js";

/** A memory space is a session of this name. */
const nameOf = (space: string): string => `memory/${space}`;

/** Memory spaces. The facts behind a memory, and those that it reached, may be in any session: they are for those who see all. */
export const memoryHandlers: Pick<Handlers, "spaces" | "memories" | "memoryWhy" | "influence"> = {
  spaces: async ({ store, identity, query }) =>
    pagesFor(store, identity).spaces({ ...query, seen: (space) => may(identity, "view", nameOf(space)) }),
  memories: async ({ store, identity, path, query }) => {
    const { head, ...options } = query;
    const session = await placeOf(store, identity, "view", nameOf(path.space));
    const at = head === undefined ? undefined : await factWithin({ store, identity, session }, head);
    return pagesFor(store, identity).memories(path.space, { ...options, head: at });
  },
  memoryWhy: async ({ store, identity, path }) => {
    requireAll(identity, "view");
    await requireMemory(store, path);
    return pagesFor(store, identity).why(path.id);
  },
  influence: async ({ store, identity, path }) => {
    requireAll(identity, "view");
    await requireMemory(store, path);
    return pagesFor(store, identity).influence(path.id);
  },
};

async function requireMemory(store: Store, { space, id }: { readonly space: string; readonly id: string }) {
  const line = isDigest(id) ? await store.line(id) : undefined;
  const fact = line === undefined ? undefined : (readFact(line, undefined) as { readonly space?: unknown });
  if (fact?.space === space) return;
  throw new NotFoundError(
    `a memory ${id.slice(0, 64)} in the space ${JSON.stringify(space.slice(0, 80))}`,
    "see what is there: GET /api/memory/SPACE",
  );
}
