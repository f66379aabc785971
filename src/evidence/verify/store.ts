import type { FactId } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { defined, optionNames } from "../../util/index.js";
import { reasonOf, requireOptions } from "../proof/error.js";
import { restingHeads } from "../proof/take.js";
import { type CheckpointReport, checkPresence } from "./log.js";
import { StoreReading, type VerifyStoreOptions } from "./reading.js";
import type { Flaw, Verified } from "./report.js";

const OPTIONS = optionNames<VerifyStoreOptions>()("keys log checkpoints progress");

export type VerifiedStore = Verified & {
  readonly kind: "store";
  readonly checkpoints: readonly CheckpointReport[];
  /** How many facts the newest checkpoint covers. */
  readonly covered: number;
};

/** Verifies a whole store: its own check, every signature, and that everything in a checkpoint is here. */
export async function verifyStore(store: Store, options: VerifyStoreOptions = {}): Promise<VerifiedStore> {
  requireOptions(options, OPTIONS, "verifyStore");
  const { log, progress } = options;
  const reading = new StoreReading(options);
  const { findings, notices, ids } = reading;
  const { facts, blobs, erased, findings: found } = await store.check(progress && { progress });
  for (const finding of found) findings.add(locate(finding));
  const heads = await readAll(store, reading);
  const logged = reading.checkLog();
  if (log !== undefined && logged !== undefined)
    await checkPresence(store, log, logged, ids, findings, notices);
  else
    notices.push(
      "there is no checkpoint: what was taken away as a whole, nothing here can tell (rath checkpoint makes one)",
    );
  const erasures = await store.erasures().catch(() => []);
  const covered = logged?.ids.length ?? 0;
  return { kind: "store", facts, blobs, erased, heads, erasures, covered, ...reading.report() };
}

/** Reads everything that names lead to, and returns what they name. */
async function readAll(store: Store, reading: StoreReading): Promise<readonly FactId[]> {
  let heads: readonly FactId[] = [];
  try {
    heads = [...new Set((await store.names()).map(({ id }) => id))];
    const ends = await restingHeads(store);
    if (ends.length > 0) await reading.read(store, ends);
  } catch (error) {
    reading.findings.add({
      place: store.url,
      problem: `the facts behind the names cannot be read to the end: ${reasonOf(error)}`,
    });
  }
  return heads;
}

/** A finding of the store's check, with the fact that its place names. */
function locate(finding: { readonly place: string; readonly problem: string }): Flaw {
  return { ...finding, ...defined({ fact: /\bfact ([0-9a-f]{64})\b/.exec(finding.place)?.[1] }) };
}
