import { type BlobSource, type Digest, readFact, Withheld } from "../../session/index.js";
import type { Erasure } from "../../store/index.js";

/** What a fact that erased content says. Undefined where its list stands in a blob that is not here: then nothing follows from it. */
export type Eraser = {
  readonly digests: ReadonlySet<Digest>;
  readonly by: string;
  readonly at: string;
  readonly why: string;
};

export function eraserIn(line: string, blobs: BlobSource): Eraser | undefined {
  const { digests, by, at, why } = readFact(line, blobs) as unknown as {
    readonly [field in keyof Eraser]: unknown;
  };
  // A reason is never kept outside of its line.
  if (digests instanceof Withheld || typeof why !== "string") return undefined;
  return { digests: new Set(digests as readonly Digest[]), by: String(by), at: String(at), why };
}

/** Whether an erasure line says what its fact says. */
export function says(eraser: Eraser | undefined, erasure: Erasure): boolean {
  return (
    eraser?.by === erasure.by &&
    eraser.at === erasure.at &&
    eraser.why === erasure.why &&
    eraser.digests.has(erasure.digest)
  );
}
