import type { Digest } from "../../session/index.js";

/** A record of another store: how it is found there, what its bytes are, and what it belongs to. */
export type ExistingRecord = {
  readonly key: string;
  /** SHA-256 of the record as it is there. */
  readonly digest: Digest;
  /** The name of its session in the other store. */
  readonly session: string;
  readonly at?: string;
  readonly role?: string;
  /** Never linked, unless it is asked for. */
  readonly text?: string;
};

/** A record that cannot be read, and where it stands. */
export type Skipped = { readonly where: string; readonly why: string };

/** What comes when a store is read: its records, those that cannot be read, and at the end the digest of all of it. */
export type ExistingEntry =
  | { readonly record: ExistingRecord }
  | { readonly skipped: Skipped }
  | { readonly digest: Digest };

/** A store that exists already, to be read from its beginning as often as it is asked for. */
export interface ExistingSource {
  /** The kind of store, such as "jsonl". */
  readonly format: string;
  /** Where it is. Never a secret. */
  readonly source: string;
  entries(): AsyncIterable<ExistingEntry>;
}

/** The entries of a source, until somebody stops it: also while it is waited for and does not come. */
export async function* entriesUntil(
  from: ExistingSource,
  signal: AbortSignal | undefined,
  stopped: () => Error,
): AsyncGenerator<ExistingEntry> {
  let fail: (error: Error) => void = () => {};
  const stop = (): void => fail(stopped());
  signal?.addEventListener("abort", stop, { once: true });
  const entries = from.entries()[Symbol.asyncIterator]();
  let done = false;
  try {
    while (true) {
      if (signal?.aborted === true) throw stopped();
      // Not a race with one promise for all of them: that would hold every entry until the end.
      const next = await new Promise<IteratorResult<ExistingEntry>>((resolve, reject) => {
        fail = reject;
        entries.next().then(resolve, reject);
      });
      done = next.done === true;
      if (done) return;
      yield next.value;
    }
  } finally {
    signal?.removeEventListener("abort", stop);
    // One that hangs will never hear of it, so nobody waits for that.
    if (!done) void entries.return?.().then(undefined, () => {});
  }
}
