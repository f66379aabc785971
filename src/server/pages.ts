import { type Pages, pages } from "../evidence/page/index.js";
import type { Store } from "../store/index.js";
import { type Identity, mayAll } from "./identity/identity.js";

type Reads = { readonly all: Pages; readonly alone: Pages };
/** So many facts are read by a request; more are read beside it, and it is answered with 503 until then. */
const PATIENCE = 5_000;
const known = new WeakMap<Store, Reads>();

/**
 * The pages of the sessions of a store, as somebody may see them. The graph of a session has what others made of it only for those
 * who see all sessions: its name may be one that the caller has no role for.
 */
export function pagesFor(store: Store, identity: Identity): Pages {
  const { all, alone } = readsOf(store);
  return mayAll(identity, "view") ? all : alone;
}

/** Takes in what was saved of a session whose pages were read. */
export async function pagesKept(store: Store, name: string): Promise<void> {
  for (const read of Object.values(known.get(store) ?? {})) await read.kept(name);
}

function readsOf(store: Store): Reads {
  const reads = known.get(store) ?? {
    all: pages(store, { patience: PATIENCE }),
    alone: pages(store, { patience: PATIENCE, alone: true }),
  };
  known.set(store, reads);
  return reads;
}
