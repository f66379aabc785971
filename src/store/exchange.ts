import {
  type Digest,
  digestOf,
  digestsOf,
  type FactId,
  parentsOf,
  RathError,
  readFact,
} from "../session/index.js";
import { DamageError } from "./error.js";
import { isId } from "./move.js";
import type { Erasure, Shelf } from "./shelf.js";
import type { Imported, Line, Store } from "./store.js";

/** The lines of `docs/format.md`: facts byte for byte, and each blob right before the first fact that needs it. */
export async function* exportLines(
  shelf: Shelf,
  heads: readonly FactId[],
  without: readonly FactId[],
  withBlobs: boolean,
): AsyncIterable<string> {
  const told = new Set<Digest>();
  for await (const lines of verified(shelf, heads, without)) {
    for (const { id, line } of lines) {
      for (const digest of withBlobs ? digestsOf(line) : []) {
        if (told.has(digest)) continue;
        told.add(digest);
        const bytes = soundBlob(shelf, digest);
        const erasure = bytes === undefined ? shelf.erased(digest) : undefined;
        if (erasure !== undefined && !agrees(erasure, (await shelf.lines([erasure.fact]))[0]))
          throw new DamageError(
            `the erasure of ${digest}`,
            "it does not say what the fact says that erased it",
          );
        if (bytes !== undefined)
          yield `{"blob":"${digest}","data":"${Buffer.from(bytes).toString("base64")}"}`;
        else if (erasure !== undefined)
          yield JSON.stringify({
            erased: digest,
            fact: erasure.fact,
            by: erasure.by,
            at: erasure.at,
            why: erasure.why,
          });
        else
          throw new DamageError(
            `the blob ${digest}`,
            `it is missing, and ${id} refers to it; an export with { blobs: false } goes without`,
          );
      }
      yield line;
    }
  }
}

/**
 * The history of a shelf, held against the ids that the facts and the heads name: a line that was altered or
 * left out is an error, not another history. The first bits of an id are enough to tell damage.
 */
export async function* verified(
  shelf: Shelf,
  heads: readonly FactId[],
  without: readonly FactId[] = [],
): AsyncIterable<readonly Line[]> {
  const met = new Set<number>();
  let last = "";
  for await (const lines of shelf.history(heads, without)) {
    const batch: Line[] = [];
    for (const line of lines) {
      for (const parent of parentsOf(line))
        if (parent !== last && !met.has(bitsOf(parent))) await missing(shelf, parent, without);
      last = digestOf(line);
      met.add(bitsOf(last));
      batch.push({ id: last, line });
    }
    yield batch;
  }
  for (const head of heads) if (!met.has(bitsOf(head))) await missing(shelf, head, without);
}

/** What is not among the lines must be in the past that was left out. */
async function missing(shelf: Shelf, id: FactId, without: readonly FactId[]): Promise<void> {
  if (without.length > 0 && (await shelf.lines([id]))[0] !== undefined) return;
  throw new DamageError(`the fact ${id}`, "it is missing or altered");
}

function bitsOf(id: FactId): number {
  return Number.parseInt(id.slice(0, 12), 16);
}

/** The bytes of a blob, as they were written. */
export function soundBlob(shelf: Shelf, digest: Digest): Uint8Array | undefined {
  const bytes = shelf.blob(digest);
  if (bytes !== undefined && digestOf(bytes) !== digest)
    throw new DamageError(`the blob ${digest}`, "its bytes are not those that were written");
  return bytes;
}

/** Brings over what `from` has: the other side is told what is known here, so that only the rest travels. */
export async function syncStores(from: Store, to: Store, shelf: Shelf, names: boolean): Promise<Imported> {
  const theirs = await from.names();
  const ours = await to.names();
  const wanted = new Set<FactId>();
  for (const { id } of theirs) if (!(await to.has(id))) wanted.add(id);
  const shared = new Set<FactId>();
  for (const { id } of [...theirs, ...ours]) if (!wanted.has(id) && (await from.has(id))) shared.add(id);
  const report: Imported =
    wanted.size === 0
      ? { written: 0, known: 0, blobs: 0, refused: 0, heads: [] }
      : await to.import(from.export([...wanted], { without: [...shared] }));
  const filled = await fillBlobs(from, shelf, [...shared]);
  // A name moves only forward: where both sides went on, it stays, and the other side's head is in the report.
  const standing = new Map(ours.map(({ name, id }) => [name, id]));
  for (const { name, id } of names ? theirs : []) {
    // Where nothing moves, nothing need be written.
    if (standing.get(name) === id) continue;
    await to.point(name, id).catch((error: unknown) => {
      if (!(error instanceof RathError) || (error.code !== "name-conflict" && error.code !== "name-fenced"))
        throw error;
    });
  }
  return { ...report, blobs: report.blobs + filled };
}

/** Brings over content of facts that both sides have, where it is missing here and was not erased. */
async function fillBlobs(from: Store, shelf: Shelf, heads: readonly FactId[]): Promise<number> {
  const needed = new Set<Digest>();
  for await (const lines of shelf.history(heads))
    for (const line of lines) for (const digest of digestsOf(line)) needed.add(digest);
  if (needed.size > 0)
    for await (const here of shelf.digests()) for (const digest of here) needed.delete(digest);
  let filled = 0;
  for (const digest of needed) {
    const bytes = shelf.erased(digest) === undefined ? await from.blob(digest) : undefined;
    if (bytes === undefined || digestOf(bytes) !== digest) continue;
    await shelf.commit({ facts: [], blobs: [{ digest, bytes }] });
    filled += 1;
  }
  return filled;
}

/** Whether an erasure is what its fact says. The fact may be elsewhere; then the erasure is all there is to know. */
export function agrees(erasure: Erasure, line: string | undefined): boolean {
  if (line === undefined) return isId(erasure.fact);
  const fact = readFact(line, undefined) as {
    readonly type: string;
    readonly digests?: readonly Digest[];
    readonly why?: string;
    readonly by: string;
    readonly at: string;
  };
  return (
    fact.type === "content-erase" &&
    fact.by === erasure.by &&
    fact.at === erasure.at &&
    fact.why === erasure.why &&
    fact.digests?.includes(erasure.digest) === true
  );
}
