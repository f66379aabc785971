import { type Digest, type FactId, isPrincipal, type Principal } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { optionNames, showValue } from "../../util/index.js";
import { requireFunction, requireOptions } from "../../workflow/index.js";
import { Chain } from "./chain.js";
import { Graph } from "./graph.js";
import { knownOf, type LinkRow, type Origin, storeNameOf } from "./links.js";
import type { ExistingRecord, ExistingSource, Skipped } from "./source.js";
import { ExistingError, entriesUntil, requireSourceGiven } from "./source.js";

export type IndexOptions = {
  /** The name of the links: they are kept under "existing/" and this. */
  readonly name: string;
  readonly from: ExistingSource;
  /** The principal who links them. */
  readonly by: Principal;
  /** Keeps the texts too. Default false: they stay where they are. */
  readonly copy?: boolean;
  /** Told how many records were read, now and then. */
  readonly progress?: (records: number) => void;
  readonly signal?: AbortSignal;
};

export type Indexed = {
  /** Where the links stand in our store. */
  readonly name: string;
  readonly head: FactId;
  readonly records: number;
  readonly added: number;
  readonly changed: number;
  readonly vanished: number;
  readonly unchanged: number;
  readonly skipped: number;
  /** The first of those that cannot be read. */
  readonly skips: readonly Skipped[];
};

const OPTIONS = optionNames<IndexOptions>()("name from by copy progress signal");
const EXAMPLE =
  'indexExisting(store, { name: "chat", from: jsonlLogs("chat.jsonl", { session: "id" }), by: "user:ada" })';
/** Skips that are named, in the answer and on the record. */
export const NAMED = 100;
/** Records between two words about how far it got. */
export const STRIDE = 1_000;

/** Links the records of an existing store by key, digest and session, and reports what changed. */
export async function indexExisting(store: Store, options: IndexOptions): Promise<Indexed> {
  const { name, from, by, copy = false, progress, signal } = checked(options);
  const use = `index ${showValue(from.source)}`;
  const origin: Origin = { format: from.format, source: from.source };
  const at = { store, name: storeNameOf(name, use), origin, by };
  const chain = from.isTrace === true ? await Graph.open(at) : await Chain.open(at);
  const known = await knownOf(store, name, origin);
  const seen = new Set<string>();
  const skips: Skipped[] = [];
  const counts = { records: 0, added: 0, changed: 0, vanished: 0, unchanged: 0, skipped: 0 };
  let digest: Digest | undefined;
  const skip = (one: Skipped): void => {
    counts.skipped += 1;
    if (skips.length < NAMED) skips.push(one);
  };
  const take = async (record: ExistingRecord): Promise<void> => {
    counts.records += 1;
    const { key } = record;
    if (seen.has(key)) return skip({ where: key, why: "another record with its key came before" });
    seen.add(key);
    const before = known.links.get(key);
    known.links.delete(key);
    if (before?.digest === record.digest && before.session === record.session) counts.unchanged += 1;
    else if (before === undefined) {
      counts.added += 1;
      await chain.add(rowOf(record, copy), record);
    } else {
      counts.changed += 1;
      await chain.link({ ...rowOf(record, copy), was: before.digest });
    }
  };
  const stopped = (): Error =>
    new ExistingError("stopped", use, "it was stopped", "index it again: it goes on where it is");
  for await (const entry of entriesUntil(from, signal, stopped)) {
    if ("digest" in entry) digest = entry.digest;
    else if ("skipped" in entry) skip(entry.skipped);
    else await take(entry.record);
    if ((counts.records + counts.skipped) % STRIDE === 0) progress?.(counts.records);
  }
  if (counts.records === 0 && counts.skipped > 0)
    throw new ExistingError(
      "unreadable",
      use,
      `none of its ${counts.skipped} records can be read; ${skips[0]?.where}: ${skips[0]?.why}`,
      "look at what it holds, and at the names of its fields",
      { data: { skips: skips } },
    );
  // Linked records that did not come this time.
  for (const [key, { digest: was, session }] of known.links) {
    counts.vanished += 1;
    await chain.link({ key, digest: was, session, gone: true });
  }
  const news = counts.added + counts.changed + counts.vanished > 0 || known.unfinished;
  if (digest === undefined)
    throw new ExistingError("broken", use, "it has no end", "a source says its digest last");
  if (news || known.imported !== digest) {
    const detail = { ...counts, skips };
    await chain.append({ type: "record-import", ...origin, digest, detail, by });
  }
  progress?.(counts.records);
  return { name: at.name, head: await chain.close(), ...counts, skips };
}

function rowOf({ text, parents: _, does: __, ...record }: ExistingRecord, copy: boolean): LinkRow {
  return copy && text !== undefined ? { ...record, text } : record;
}

function checked(options: IndexOptions): IndexOptions {
  const refuse = (reason: string, hint: string): Error =>
    new ExistingError("option", "index a store that exists", reason, hint);
  requireOptions(options, refuse, EXAMPLE, OPTIONS);
  requireSourceGiven(options.from, refuse, EXAMPLE);
  if (!isPrincipal(options.by))
    throw refuse(`its \`by\` is ${showValue(options.by)}`, 'who links them: by: "user:ada"');
  if (options.copy !== undefined && typeof options.copy !== "boolean")
    throw refuse(`its \`copy\` is ${showValue(options.copy)}`, "copy: true");
  if (options.progress !== undefined)
    requireFunction(options.progress, "progress", refuse, "progress: (records) => …");
  return options;
}

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

const CHECK_OPTIONS = optionNames<CheckOptions>()("name from progress signal");
const CHECK_EXAMPLE =
  'checkExisting(store, { name: "chat", from: jsonlLogs("chat.jsonl", { session: "id" }) })';

/** Reads a source again and says which of its linked records are others now, or gone. Nothing is written. */
export async function checkExisting(store: Store, options: CheckOptions): Promise<ExistingCheck> {
  const refuse = (reason: string, hint: string): Error =>
    new ExistingError("option", "check what is linked", reason, hint);
  requireOptions(options, refuse, CHECK_EXAMPLE, CHECK_OPTIONS);
  const { name, from, progress, signal } = options;
  requireSourceGiven(from, refuse, CHECK_EXAMPLE);
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
