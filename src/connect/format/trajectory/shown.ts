import { type Digest, digestsOf, type FactId, INLINE_BYTES, Session } from "../../../session/index.js";
import type { Subject } from "../exchange.js";

/**
 * The session as it may be shown. Content that somebody erased is withheld, also where the session in memory still holds it:
 * whoever erased it did not mean "unless it was loaded before".
 */
export async function shownOf({ session, store }: Pick<Subject, "session" | "store">): Promise<Session> {
  const erased = new Set((await store.erasures()).map(({ digest }) => digest));
  const history = [...session.history()];
  for (const { fact } of history)
    if (fact.type === "content-erase" && Array.isArray(fact.digests))
      for (const digest of fact.digests) erased.add(digest);
  if (erased.size === 0 || !history.some((node) => holds(node, erased))) return session;
  const shown = new Map<FactId, Session>();
  for (const node of history) {
    const parents = node.parents.map(({ id }) => shown.get(id) as Session);
    const blobs = new Map([...node.blobs()].map(({ ref, bytes }) => [ref.digest, bytes]));
    const read = (digest: Digest): Uint8Array | "erased" | undefined =>
      erased.has(digest) ? "erased" : blobs.get(digest);
    shown.set(
      node.id,
      Session.restore(node.line, parents, { inline: INLINE_BYTES, blobs: { read } }, { id: node.id }),
    );
  }
  return shown.get(session.id) as Session;
}

function holds({ line }: Session, erased: ReadonlySet<Digest>): boolean {
  return line.includes('"blobs":{') && digestsOf(line).some((digest) => erased.has(digest));
}
