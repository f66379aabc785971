import { type BlobSource, type Digest, type FactId, type Realm, Session } from "../index.js";

/** Blobs in a map, some of which can be lost or erased. */
export class MapBlobs implements BlobSource {
  readonly bytes = new Map<Digest, Uint8Array>();
  readonly erased = new Set<Digest>();

  /** Takes the blobs of a session and of its whole past. */
  static of(...heads: readonly Session[]): MapBlobs {
    const blobs = new MapBlobs();
    for (const head of heads) {
      for (const session of head.history())
        for (const [digest, bytes] of MapBlobs.alone(session).bytes) blobs.bytes.set(digest, bytes);
    }
    return blobs;
  }

  /** Takes the blobs of a session itself. */
  static alone(session: Session): MapBlobs {
    const blobs = new MapBlobs();
    for (const { ref, bytes } of session.blobs()) blobs.bytes.set(ref.digest, bytes);
    return blobs;
  }

  read(digest: Digest): Uint8Array | "erased" | undefined {
    return this.erased.has(digest) ? "erased" : this.bytes.get(digest);
  }
}

/** A session built again from nothing but lines and blobs (null: without them): every object is fresh, as after a restart. */
export function rebuilt(
  head: Session,
  blobs: BlobSource | null = MapBlobs.of(head),
  realm: Partial<Realm> = {},
): Session {
  const made = new Map<FactId, Session>();
  for (const { line, id, parentIds } of head.history()) {
    const parents = parentIds.map((parent) => made.get(parent) as Session);
    made.set(id, Session.restore(line, parents, { inline: 4096, ...(blobs && { blobs }), ...realm }));
  }
  return made.get(head.id) as Session;
}

/** All that a reader can ask of a session, as plain data. */
export function answers(session: Session): object {
  const { id, line, depth, parentIds, transcript, usage, placement, pending, lineage, branch, fact } =
    session;
  return structuredClone({
    id,
    line,
    depth,
    parentIds,
    transcript,
    usage,
    placement,
    pending,
    lineage,
    branch,
    fact,
  });
}

export function lines(...heads: readonly Session[]): string[] {
  return heads.flatMap((head) => [...head.history()].map((session) => session.line));
}
