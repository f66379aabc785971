import type { Digest } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { isSame, type LinkRow, linkFacts, type Origin } from "./link.js";

/** What is linked of one source: by key, what is needed to see whether a record is another one now. */
export type Known = {
  readonly links: Map<string, Pick<LinkRow, "digest" | "session">>;
  /** The digest of the source when all of it was linked. */
  readonly imported: Digest | undefined;
  /** An indexing that did not come to its end. */
  readonly unfinished: boolean;
};

export async function knownOf(store: Store, name: string, origin: Origin): Promise<Known> {
  const links: Known["links"] = new Map();
  let imported: Digest | undefined;
  let unfinished = false;
  for await (const fact of linkFacts(store, name)) {
    if (!isSame(fact.origin, origin)) continue;
    if ("imported" in fact) {
      imported = fact.imported;
      unfinished = false;
      continue;
    }
    unfinished = true;
    for (const { key, digest, session, gone } of fact.links)
      if (gone === true) links.delete(key);
      else links.set(key, { digest, session });
  }
  return { links, imported, unfinished };
}
