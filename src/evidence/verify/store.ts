import type { FactId } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { defined, optionNames } from "../../util/index.js";
import { requireOptions } from "../proof/given.js";
import { type CheckpointLog, type HeadSignature, headSignatureOf } from "../proof/index.js";
import { restingHeads } from "../proof/take.js";
import { allOf, type Keys, signatureIn } from "./keys.js";
import { type CheckpointReport, checkLog, checkPresence, type LogSources } from "./log.js";
import { Findings, type Flaw, reasonOf, signedAnyway, type Verified } from "./report.js";

export type VerifyStoreOptions = {
  readonly keys?: Keys;
  /** The log of the store, and checkpoints that it must go on from. */
  readonly log?: CheckpointLog;
  readonly checkpoints?: Partial<Omit<LogSources, "keys">>;
  readonly progress?: (facts: number) => void;
};
const OPTIONS = optionNames<VerifyStoreOptions>()("keys log checkpoints progress");

export type VerifiedStore = Verified & {
  readonly kind: "store";
  readonly checkpoints: readonly CheckpointReport[];
  /** How many facts the newest checkpoint covers. */
  readonly covered: number;
};

/**
 * Verifies a whole store: every byte that the store's own check reaches, every signature of a head, and that everything a
 * checkpoint covers is still here and under a name.
 */
export async function verifyStore(store: Store, options: VerifyStoreOptions = {}): Promise<VerifiedStore> {
  requireOptions(options, OPTIONS, "verifyStore");
  const { keys = {}, log, progress } = options;
  const known = allOf(keys);
  const findings = new Findings();
  const notices: string[] = [];
  const checked = await store.check(progress && { progress });
  for (const finding of checked.findings) findings.add(locate(finding));
  const { reached, signatures, heads } = await walk(store, known, findings, progress);
  const { given = [], remembered = [] } = options.checkpoints ?? {};
  const isLogged = log !== undefined && (log.exists || given.length + remembered.length > 0);
  const logged = isLogged ? checkLog(log, { keys: known, given, remembered }, findings, notices) : undefined;
  if (log !== undefined && logged !== undefined)
    await checkPresence(store, log, logged, reached, findings, notices);
  else
    notices.push(
      "there is no checkpoint: what was taken away as a whole, nothing here can tell (rath checkpoint makes one)",
    );
  return {
    kind: "store",
    // A store without facts is as it was written; a record without facts would be none.
    intact: findings.count === 0,
    facts: checked.facts,
    blobs: checked.blobs,
    erased: checked.erased,
    findings: findings.list,
    more: findings.more,
    heads,
    erasures: await store.erasures().catch(() => []),
    signatures: signatures.map(signatureIn(keys)),
    checkpoints: logged?.checkpoints ?? [],
    covered: logged?.ids.length ?? 0,
    notices: [...notices, ...signedAnyway(findings, signatures)],
  };
}

async function walk(
  store: Store,
  keys: Parameters<typeof headSignatureOf>[2],
  findings: Findings,
  progress: ((facts: number) => void) | undefined,
): Promise<{
  readonly reached: ReadonlySet<FactId>;
  readonly signatures: readonly HeadSignature[];
  readonly heads: readonly FactId[];
}> {
  const reached = new Set<FactId>();
  const signatures: HeadSignature[] = [];
  let heads: readonly FactId[] = [];
  try {
    heads = [...new Set((await store.names()).map(({ id }) => id))];
    const ends = await restingHeads(store);
    for await (const lines of ends.length === 0 ? [] : store.lines(ends)) {
      for (const { id, line } of lines) {
        reached.add(id);
        const signature = headSignatureOf(id, line, keys);
        if (signature === undefined) continue;
        signatures.push(signature);
        if (signature.verdict === "bad")
          findings.add({
            place: `fact ${id}`,
            problem: String(signature.problem),
            fact: id,
            type: "head-sign",
          });
      }
      progress?.(reached.size);
    }
  } catch (error) {
    findings.add({
      place: store.url,
      problem: `the facts behind the names cannot be read to the end: ${reasonOf(error)}`,
    });
  }
  return { reached, signatures, heads };
}

/** What the store's check found, with the fact that its place names. */
function locate(finding: { readonly place: string; readonly problem: string }): Flaw {
  return { ...finding, ...defined({ fact: /\bfact ([0-9a-f]{64})\b/.exec(finding.place)?.[1] }) };
}
