import { randomBytes } from "node:crypto";
import { type FactId, type Principal, parentsOf, readFact } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { optionNames } from "../../util/index.js";
import { type Checkpoint, readCheckpoint, signCheckpoint } from "./checkpoint.js";
import { ProofError, requireOptions } from "./error.js";
import type { SigningKey } from "./key.js";
import type { CheckpointLog } from "./log.js";
import { HASH_BYTES, same } from "./merkle.js";
import { rangesOf, signRelease } from "./release.js";

export type TakeOptions = {
  /** The origin of the log, if this is its first checkpoint. Default: something random. */
  readonly origin?: string;
  /** Checkpoints of this log that were seen before: it must go on from each of them, or nothing is signed. */
  readonly seen?: readonly Checkpoint[];
  readonly progress?: (facts: number) => void;
};
const OPTIONS = optionNames<TakeOptions>()("origin seen progress");

export type Taken = {
  readonly checkpoint: Checkpoint;
  /** How many facts are new in it. */
  readonly added: number;
  /** The repairs of an earlier checkpoint that was not finished. */
  readonly mended: readonly string[];
};

/**
 * Makes a checkpoint: adds every named fact that is not in the log, and signs the new root. A `run-suspend`
 * at the end of a name is left out, because resuming takes it back.
 */
export async function takeCheckpoint(
  store: Store,
  log: CheckpointLog,
  key: SigningKey,
  options: TakeOptions = {},
): Promise<Taken> {
  requireOptions(options, OPTIONS, "takeCheckpoint");
  const unlock = log.lock();
  try {
    const mended = log.mend();
    const { newest } = log.read();
    const size = newest?.size ?? 0;
    const origin = newest?.origin ?? options.origin ?? `rath/${randomBytes(8).toString("base64url")}`;
    for (const known of [...(newest === undefined ? [] : [newest]), ...(options.seen ?? [])])
      requireContinuation(log, known, origin, size);
    const grown = await newFacts(store, log, size, options.progress);
    if (newest !== undefined && grown.ids.length === 0 && isBy(newest, key))
      return { checkpoint: newest, added: 0, mended };
    const added = grown.ids.length / HASH_BYTES;
    // The ids are durable before anything is signed, so a root that is signed can be made again.
    log.extend(size, grown.ids);
    const head = { origin, size: size + added, root: log.rootAt(size + added) };
    const checkpoint = readCheckpoint(signCheckpoint(head, key));
    log.seal(checkpoint, { heads: grown.heads, whole: grown.whole });
    return { checkpoint, added, mended };
  } finally {
    unlock();
  }
}

/** A log that is not what it was must not be signed again: that would make right what somebody altered. */
function requireContinuation(log: CheckpointLog, known: Checkpoint, origin: string, size: number): void {
  if (known.origin === origin && known.size <= size && same(log.rootAt(known.size), known.root)) return;
  const problem =
    known.origin !== origin
      ? `it was called ${known.origin}`
      : known.size > size
        ? `it had ${known.size} facts, and has ${size} now`
        : `the first ${known.size} facts of it are not those that were signed`;
  throw new ProofError(
    "log-damaged",
    `Cannot make a checkpoint: the log is not the one that was there before: ${problem}.`,
    "rath verify says where they part; nothing was signed",
    { data: { origin, size, known: known.text } },
  );
}

function isBy({ note }: Checkpoint, { name, id }: SigningKey): boolean {
  return note.signatures.some((one) => one.name === name && one.id === id);
}

/** The named facts that are not in the log. `heads` cover the whole log, if it is `whole`. */
async function newFacts(store: Store, log: CheckpointLog, size: number, progress: TakeOptions["progress"]) {
  const heads = await restingHeads(store);
  const covered = log.covered(size);
  const known: FactId[] = [];
  for (const head of covered?.heads ?? []) if (await store.has(head)) known.push(head);
  const whole = size === 0 || (covered?.whole === true && known.length === covered.heads.length);
  const logged = whole ? undefined : new Set(log.leaves.ids(size));
  const ends = new Set(known);
  const chunks: Buffer[] = [];
  const extended = new Set<FactId>(heads);
  let count = 0;
  if (heads.length > 0)
    for await (const lines of store.lines(heads, { without: known })) {
      const chunk: Buffer[] = [];
      for (const { id, line } of lines) {
        for (const parent of parentsOf(line)) if (ends.has(parent)) extended.add(parent);
        if (logged?.has(id) !== true) chunk.push(Buffer.from(id, "hex"));
      }
      chunks.push(Buffer.concat(chunk));
      count += lines.length;
      progress?.(count);
    }
  // A name that was moved back or forgotten leaves a session that no other covers; its past must not be added twice.
  const left = known.filter((head) => !extended.has(head));
  return { ids: Buffer.concat(chunks), heads: [...heads, ...left], whole };
}

/** Where the names stand, but for resting marks of runs: instead of those, what they rest on. */
export async function restingHeads(store: Store): Promise<readonly FactId[]> {
  const heads = new Set<FactId>();
  for (const id of new Set((await store.names()).map((name) => name.id))) {
    const line = await store.line(id);
    if (line !== undefined && isSuspension(line)) for (const parent of parentsOf(line)) heads.add(parent);
    else heads.add(id);
  }
  return [...heads];
}

export function isSuspension(line: string): boolean {
  return line.includes('"run-suspend"') && readFact(line, undefined).type === "run-suspend";
}

export type ReleaseOptions = { readonly by: Principal; readonly why: string; readonly at?: string };
const RELEASE = optionNames<ReleaseOptions>()("by why at");

/**
 * Gives up the facts of a log without a name, signed with who and why. Call it before `store.gc`, or
 * verification misses them. Returns their number.
 */
export async function releaseUnnamed(
  store: Store,
  log: CheckpointLog,
  key: SigningKey,
  options: ReleaseOptions,
): Promise<number> {
  requireOptions(options, RELEASE, "releaseUnnamed");
  const { by, why, at = new Date().toISOString() } = options;
  if (typeof by !== "string" || typeof why !== "string" || why.trim() === "")
    throw new ProofError(
      "sign-refused",
      "Facts are not given up without a reason.",
      "say who and why: { by, why }",
    );
  const unlock = log.lock();
  try {
    log.mend();
    const { newest, releases } = log.read();
    if (newest === undefined) return 0;
    const left = unreached(await reachedBy(store), log, newest.size, releases);
    if (left.length === 0) return 0;
    log.addRelease(signRelease({ origin: newest.origin, at, by, why, places: rangesOf(left) }, key));
    return left.length;
  } finally {
    unlock();
  }
}

async function reachedBy(store: Store): Promise<ReadonlySet<FactId>> {
  const reached = new Set<FactId>();
  const heads = await restingHeads(store);
  if (heads.length > 0)
    for await (const lines of store.lines(heads)) for (const { id } of lines) reached.add(id);
  return reached;
}

/** The places of a log whose facts are not among these, and were not given up before. */
function unreached(
  reached: ReadonlySet<FactId>,
  log: CheckpointLog,
  size: number,
  releases: readonly { readonly places: readonly (readonly [number, number])[] }[],
): readonly number[] {
  const places: number[] = [];
  const isReleased = releasedAt(releases);
  let place = 0;
  for (const id of log.leaves.ids(size)) {
    if (!reached.has(id) && !isReleased(place)) places.push(place);
    place += 1;
  }
  return places;
}

/** Whether a place of a log was given up. */
export function releasedAt(
  releases: readonly { readonly places: readonly (readonly [number, number])[] }[],
): (place: number) => boolean {
  const ranges = releases.flatMap(({ places }) => places).sort(([one], [other]) => one - other);
  return (place) => {
    let low = 0;
    let high = ranges.length;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((ranges[middle]?.[0] ?? 0) <= place) low = middle + 1;
      else high = middle;
    }
    // Ranges of different releases do not overlap: what was given up once is not given up again.
    return low > 0 && place < (ranges[low - 1]?.[1] ?? 0);
  };
}
