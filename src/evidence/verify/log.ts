import type { FactId } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import type { Checkpoint, CheckpointLog, LogState, PublicKey, Remembered, Signer } from "../proof/index.js";
import { BLOCK, blockRoot } from "../proof/leaves.js";
import { Growth, HASH_BYTES, leafHash, same } from "../proof/merkle.js";
import { signersOf } from "../proof/note.js";
import { releasedAt } from "../proof/take.js";
import type { Findings } from "./report.js";

/** The result for one checkpoint in a verification of a store. */
export type CheckpointReport = {
  readonly origin: string;
  readonly size: number;
  /** Where it was found: in the store's own log, in a file, in what was seen before. */
  readonly from: "log" | "given" | "remembered";
  readonly signers: readonly Signer[];
  /** Whether the log, as it is now, goes on from it, and a known key signed it. */
  readonly holds: boolean;
};

export type LogSources = {
  readonly keys: readonly PublicKey[];
  /** Checkpoints from elsewhere. */
  readonly given: readonly Checkpoint[];
  readonly remembered: readonly Remembered[];
};

export type LogReport = ReturnType<typeof checkLog>;

/** Checks a log by itself and against checkpoints from elsewhere: every id, every root, every signature. */
export function checkLog(log: CheckpointLog, sources: LogSources, findings: Findings, notices: string[]) {
  const state = log.read();
  for (const { file, offset, problem } of state.flaws) {
    // Somebody may be writing while this is reading.
    if (log.isBusy && (file === "leaves" || file === "roots"))
      notices.push(`log/${file}: ${problem}; a checkpoint is being made right now`);
    else findings.add({ place: `log/${file} (byte ${offset})`, problem, offset });
  }
  const size = Math.min(state.newest?.size ?? 0, log.leaves.count);
  const all: (Pick<CheckpointReport, "from"> & {
    readonly checkpoint: Checkpoint;
    readonly place: string;
  })[] = [];
  for (const checkpoint of state.checkpoints)
    all.push({ checkpoint, from: "log", place: `log/checkpoints (byte ${checkpoint.offset})` });
  for (const checkpoint of sources.given)
    all.push({ checkpoint, from: "given", place: "the given checkpoint" });
  for (const one of sources.remembered)
    if ("problem" in one) findings.add({ place: one.file, problem: one.problem });
    else {
      const place = `the checkpoint remembered in ${one.file}`;
      all.push({ checkpoint: one.checkpoint, from: "remembered", place });
    }
  const sizes = new Set(all.map(({ checkpoint }) => checkpoint.size));
  const { ids, roots } = readLeaves(log, size, sizes, findings);
  const checkpoints = all.map(({ checkpoint, from, place }): CheckpointReport => {
    const signers = signersOf(checkpoint.note, sources.keys);
    const problem = checkpointProblem(checkpoint, state, roots, size) ?? signatureProblem(signers);
    if (problem !== undefined) findings.add({ place, problem });
    return { origin: checkpoint.origin, size: checkpoint.size, from, signers, holds: problem === undefined };
  });
  for (const release of state.releases) {
    const problem = signatureProblem(signersOf(release.note, sources.keys));
    if (problem !== undefined) findings.add({ place: `log/releases (byte ${release.offset})`, problem });
  }
  return { checkpoints, ids, state };
}

function checkpointProblem(
  { origin, size, root }: Checkpoint,
  { newest }: LogState,
  roots: ReadonlyMap<number, Buffer>,
  count: number,
): string | undefined {
  if (newest === undefined)
    return `there is no log here, and ${origin} had ${size} facts: it was taken away, or the store was put back`;
  if (origin !== newest.origin) return `it is of the log ${origin}, and this one is ${newest.origin}`;
  if (size > count)
    return `it covers ${size} facts, and the log has ${count}: it was cut off, or the store was put back to an earlier state`;
  const actual = roots.get(size);
  if (actual === undefined || !same(actual, root))
    return `the first ${size} facts of the log are not those that were signed`;
  return undefined;
}

function signatureProblem(signers: readonly Signer[]): string | undefined {
  const bad = signers.find(({ verdict }) => verdict === "bad");
  if (bad !== undefined) return `the signature of ${bad.name}+${bad.id} is bad`;
  if (signers.some(({ verdict }) => verdict === "good")) return undefined;
  const names = signers.map(({ name, id }) => `${name}+${id}`).join(", ");
  return `it is signed by ${names}, and no such key is known here: give it with --key FILE, or trust it: rath key trust FILE`;
}

/** Reads all leaves once: their ids, and the root at each size that somebody signed. */
function readLeaves(log: CheckpointLog, size: number, sizes: ReadonlySet<number>, findings: Findings) {
  const ids: FactId[] = [];
  const roots = new Map<number, Buffer>();
  const tree = new Growth();
  if (sizes.has(0)) roots.set(0, tree.root());
  const stored = log.leaves.readRoots(0, Math.min(log.leaves.blocks, Math.floor(size / BLOCK)));
  for (let from = 0; from < size; from += BLOCK) {
    const part = log.leaves.read(from, Math.min(size, from + BLOCK));
    for (let at = 0; at < part.length; at += HASH_BYTES) {
      ids.push(part.toString("hex", at, at + HASH_BYTES));
      tree.add(leafHash(part.subarray(at, at + HASH_BYTES)));
      if (sizes.has(tree.size)) roots.set(tree.size, tree.root());
    }
    const kept = stored.subarray((from / BLOCK) * HASH_BYTES, (from / BLOCK + 1) * HASH_BYTES);
    if (part.length === BLOCK * HASH_BYTES && kept.length === HASH_BYTES && !same(blockRoot(part), kept))
      findings.add({
        place: `log/leaves (byte ${from * HASH_BYTES}) or log/roots (byte ${(from / BLOCK) * HASH_BYTES})`,
        problem: `the ids ${from} to ${from + BLOCK - 1} do not give the root of their block`,
        offset: from * HASH_BYTES,
      });
  }
  return { ids, roots };
}

/** Holds the facts of a log against those that names lead to: what a checkpoint covers must still be found. */
export async function checkPresence(
  store: Store,
  log: CheckpointLog,
  { ids, state }: LogReport,
  reached: ReadonlySet<FactId>,
  findings: Findings,
  notices: string[],
): Promise<void> {
  const isReleased = releasedAt(state.releases);
  const seen = new Set<FactId>();
  const hidden: number[] = [];
  const missing: number[] = [];
  let released = 0;
  for (const [place, id] of ids.entries()) {
    if (seen.has(id))
      findings.add({
        place: `log/leaves (byte ${place * HASH_BYTES})`,
        problem: `the fact ${id} is in the log twice`,
        fact: id,
      });
    seen.add(id);
    if (reached.has(id)) continue;
    if (isReleased(place)) released += 1;
    else if (await isHere(store, id)) hidden.push(place);
    else missing.push(place);
  }
  const facts = (places: readonly number[]): string =>
    places.length === 1 ? "it is" : `it and ${places.length - 1} more facts are`;
  const it = hidden.length === 1 ? "it" : "them";
  tellGroup(
    missing,
    ids,
    findings,
    `${facts(missing)} in a checkpoint and not in the store: taken away, cut off, or collected without a word`,
  );
  tellGroup(
    hidden,
    ids,
    findings,
    `${facts(hidden)} in a checkpoint, and no name leads to ${it}: a name was moved back or forgotten`,
  );
  for (const { by, at, why, places } of state.releases)
    notices.push(
      `${places.reduce((sum, [from, to]) => sum + to - from, 0)} facts were given up by ${by} at ${at}: ${why}`,
    );
  if (released > 0)
    notices.push(`${released} facts of the log are not in the store, and were given up before`);
  const fresh = reached.size - ids.filter((id) => reached.has(id)).length;
  if (fresh === 0) return;
  notices.push(`${fresh} facts are newer than the newest checkpoint: rath checkpoint covers them`);
  await checkCoverage(store, log, seen, findings);
}

/** Facts that the log claims to cover must be in it, or the next checkpoint would miss them. */
async function checkCoverage(
  store: Store,
  log: CheckpointLog,
  logged: ReadonlySet<FactId>,
  findings: Findings,
): Promise<void> {
  const heads: FactId[] = [];
  for (const head of log.covered(logged.size)?.heads ?? []) if (await isHere(store, head)) heads.push(head);
  for await (const lines of heads.length === 0 ? [] : store.lines(heads))
    for (const { id } of lines)
      if (!logged.has(id)) {
        const problem = "log/covered.json says that it is in the log, and it is not: take that file away";
        findings.add({ place: `fact ${id}`, problem, fact: id });
        return;
      }
}

async function isHere(store: Store, id: FactId): Promise<boolean> {
  try {
    return await store.has(id);
  } catch {
    return false;
  }
}

/** Tells facts by the newest of them: what is missing at the end of a log is what was cut off. */
function tellGroup(places: readonly number[], ids: readonly FactId[], findings: Findings, problem: string) {
  const [last, ...others] = places.toReversed();
  if (last === undefined) return;
  const add = (place: number, words: string): void => {
    const fact = ids[place] as FactId;
    findings.add({ place: `fact ${fact} (place ${place} of the log)`, problem: words, fact });
  };
  add(last, problem);
  for (const place of others.slice(0, LISTED).reverse()) add(place, "the same");
}

/** So many facts of a group are told one by one. */
const LISTED = 20;
