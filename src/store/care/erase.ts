import { type Digest, digestsOf, RathError, type Session, typeOf } from "../../session/index.js";
import { misuse, NotErasableError } from "../error.js";
import { keyIn } from "../exchange/import.js";
import { refuse } from "../name/move.js";
import type { Move, Shelf } from "../shelf.js";
import type { EraseOptions } from "../store.js";
import { TreeWalk, treesIn } from "./tree-walk.js";

/**
 * Erases blobs of a session's history. The fact that says so and the erasure are one commit; then the key of
 * the salts goes, so that nobody can test a guess against a digest, and what was derived from the content.
 */
export async function erase(
  shelf: Shelf,
  session: Session,
  options: EraseOptions,
  move: Move | undefined,
): Promise<Session> {
  const { digests: asked, why, by = "user" } = options;
  if (!Array.isArray(asked) || typeof why !== "string")
    throw misuse(
      "erase without digests and a reason",
      "say what and why: store.erase(name, { digests: […], why })",
    );
  if (asked.length === 0)
    throw new RathError("nothing-to-erase", "Cannot erase nothing.", {
      hint: "name the digests: store.erase(name, { digests: […], why })",
    });
  const mine = new Set<Digest>();
  const trees = new Set<Digest>();
  const keys = new Set<string>();
  for (const lines of shelf.history([session.id])) {
    for (const line of lines) {
      // The list of an erasure must stay: without its list a fact says nothing, and its erasures are mere claims.
      if (typeOf(line) !== "content-erase") for (const digest of digestsOf(line)) mine.add(digest);
      for (const tree of treesIn(line)) trees.add(tree);
      // A merged session has several roots, and any of their keys may have made the salt.
      const key = keyIn(line);
      if (key !== undefined) keys.add(key);
    }
  }
  const digests = [...new Set([...asked, ...(await filesAmong(shelf, asked, trees, mine))])];
  for (const digest of digests) if (!mine.has(digest)) throw new NotErasableError(`${digest}`);
  const told = session.append({ type: "content-erase", digests, why, by });
  const committed = await shelf.commit({
    facts: [{ id: told.id, line: told.line }],
    blobs: [...told.blobs()].map(({ ref, bytes }) => ({ digest: ref.digest, bytes })),
    erase: digests.map((digest) => ({ digest, fact: told.id, by, at: told.fact.at, why })),
    ...(move && { move: { ...move, head: told.id } }),
  });
  refuse(committed, move);
  await shelf.remove({ digests, snapshots: true, keys: [...keys] });
  return told;
}

/** Takes what trees lead to for the session's own. Answers the pieces of files that are to be erased: a list is not the file. */
async function filesAmong(
  shelf: Shelf,
  asked: readonly Digest[],
  trees: ReadonlySet<Digest>,
  mine: Set<Digest>,
): Promise<readonly Digest[]> {
  const wanted = new Set(asked);
  const pieces: Digest[] = [];
  const walk = new TreeWalk();
  for (const tree of trees) if (walk.add(tree)) mine.add(tree);
  for await (const { node, below } of walk.follow((digest) => shelf.blobs.get(digest)))
    for (const { kind, digest } of below) {
      mine.add(digest);
      if (kind === "piece" && wanted.has(node.digest)) pieces.push(digest);
    }
  return pieces;
}
