import type { Digest } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { optionNames, showValue } from "../../util/index.js";
import { requireFunction, requireOptions } from "../../workflow/index.js";
import { ExistingError } from "./error.js";
import { NAMED, requireSourceGiven, STRIDE } from "./index-existing.js";
import { knownOf, storeNameOf } from "./link.js";
import { type ExistingSource, entriesUntil, type Skipped } from "./source.js";

export type CheckOptions = {
  readonly name: string;
  readonly from: ExistingSource;
  readonly progress?: (records: number) => void;
  readonly signal?: AbortSignal;
};

/** How a source compares with what is linked of it. Of each list the first hundred are named. */
export type ExistingCheck = {
  readonly records: number;
  readonly unchanged: number;
  readonly changed: number;
  readonly vanished: number;
  /** There, and not linked yet. */
  readonly unlinked: number;
  readonly skipped: number;
  readonly changes: readonly { readonly key: string; readonly was: Digest; readonly now: Digest }[];
  readonly gone: readonly { readonly key: string; readonly was: Digest }[];
  readonly skips: readonly Skipped[];
};

const OPTIONS = optionNames<CheckOptions>()("name from progress signal");
const EXAMPLE = 'checkExisting(store, { name: "chat", from: jsonlLogs("chat.jsonl", { session: "id" }) })';

/** Reads a source again and says which of its linked records are others now, or gone. Nothing is written. */
export async function checkExisting(store: Store, options: CheckOptions): Promise<ExistingCheck> {
  const refuse = (reason: string, hint: string): Error =>
    new ExistingError("option", "check what is linked", reason, hint);
  requireOptions(options, refuse, EXAMPLE, OPTIONS);
  const { name, from, progress, signal } = options;
  requireSourceGiven(from, refuse, EXAMPLE);
  if (progress !== undefined) requireFunction(progress, "progress", refuse, "progress: (records) => …");
  const use = `check ${showValue(from.source)}`;
  storeNameOf(name, use);
  const { links } = await knownOf(store, name, from);
  const counts = { records: 0, unchanged: 0, changed: 0, unlinked: 0, skipped: 0 };
  const changes: { key: string; was: Digest; now: Digest }[] = [];
  const skips: Skipped[] = [];
  const seen = new Set<string>();
  const stopped = (): Error => new ExistingError("stopped", use, "it was stopped", "check it again");
  for await (const entry of entriesUntil(from, signal, stopped)) {
    if ("digest" in entry) continue;
    if ("skipped" in entry) {
      counts.skipped += 1;
      if (skips.length < NAMED) skips.push(entry.skipped);
      continue;
    }
    const { key, digest } = entry.record;
    if (seen.has(key)) continue;
    seen.add(key);
    counts.records += 1;
    if (counts.records % STRIDE === 0) progress?.(counts.records);
    const linked = links.get(key);
    links.delete(key);
    if (linked === undefined) counts.unlinked += 1;
    else if (linked.digest === digest) counts.unchanged += 1;
    else {
      counts.changed += 1;
      if (changes.length < NAMED) changes.push({ key, was: linked.digest, now: digest });
    }
  }
  progress?.(counts.records);
  const gone = [...links].slice(0, NAMED).map(([key, { digest: was }]) => ({ key, was }));
  return { ...counts, vanished: links.size, changes, gone, skips };
}
