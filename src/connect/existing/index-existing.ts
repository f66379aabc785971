import { type Digest, type FactId, isPrincipal, type Principal, Session } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { optionNames, showValue } from "../../util/index.js";
import { requireFunction, requireOptions } from "../../workflow/index.js";
import { knownOf, type LinkRow, linking, type Origin, storeNameOf } from "./links.js";
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
/** Links in one fact. */
const BATCH = 200;
/** Characters of texts in one fact. */
const ROOM = 1_000_000;
/** Facts that are held before they are saved. */
const UNSAVED = 25;
/** Skips that are named, in the answer and on the record. */
export const NAMED = 100;
/** Records between two words about how far it got. */
export const STRIDE = 1_000;

/**
 * Links the records of a store that exists already, without moving them: each by its key there, the digest of its bytes
 * and the session that it belongs to. Doing it again links what is new, and says what has changed and what is gone.
 */
export async function indexExisting(store: Store, options: IndexOptions): Promise<Indexed> {
  const { name, from, by, copy = false, progress, signal } = checked(options);
  const use = `index ${showValue(from.source)}`;
  const origin: Origin = { format: from.format, source: from.source };
  const chain = await Chain.open(store, storeNameOf(name, use), by);
  const known = await knownOf(store, name, origin);
  const seen = new Set<string>();
  const skips: Skipped[] = [];
  const counts = { records: 0, added: 0, changed: 0, vanished: 0, unchanged: 0, skipped: 0 };
  let rows: LinkRow[] = [];
  let room = ROOM;
  let digest: Digest | undefined;
  const flush = async (): Promise<void> => {
    if (rows.length > 0) await chain.append(linking(origin, rows, by));
    rows = [];
    room = ROOM;
  };
  const link = async (row: LinkRow): Promise<void> => {
    rows.push(row);
    room -= row.text?.length ?? 0;
    if (rows.length >= BATCH || room <= 0) await flush();
  };
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
      await link(rowOf(record, copy));
    } else {
      counts.changed += 1;
      await link({ ...rowOf(record, copy), was: before.digest });
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
    await link({ key, digest: was, session, gone: true });
  }
  await flush();
  const news = counts.added + counts.changed + counts.vanished > 0 || known.unfinished;
  if (digest === undefined)
    throw new ExistingError("broken", use, "it has no end", "a source says its digest last");
  if (news || known.imported !== digest) {
    const detail = { ...counts, skips };
    await chain.append({ type: "record-import", ...origin, digest, detail, by });
  }
  progress?.(counts.records);
  return { name: chain.name, head: await chain.close(), ...counts, skips };
}

function rowOf({ text, ...record }: ExistingRecord, copy: boolean): LinkRow {
  return copy && text !== undefined ? { ...record, text } : record;
}

/** The session that links are appended to, saved every now and then and taken up anew, so that little of it is held. */
class Chain {
  readonly name: string;
  readonly #store: Store;
  #session: Session;
  #saved: FactId | null;
  #unsaved = 0;

  private constructor(store: Store, name: string, session: Session, saved: FactId | null) {
    this.#store = store;
    this.name = name;
    this.#session = session;
    this.#saved = saved;
  }

  static async open(store: Store, name: string, by: Principal): Promise<Chain> {
    const head = await store.head(name);
    return head === undefined
      ? new Chain(store, name, Session.start(undefined, { by }), null)
      : new Chain(store, name, await store.load(head), head);
  }

  async append(fact: Parameters<Session["append"]>[0]): Promise<void> {
    this.#session = this.#session.append(fact);
    this.#unsaved += 1;
    if (this.#unsaved >= UNSAVED) await this.#save();
  }

  async close(): Promise<FactId> {
    if (this.#unsaved > 0 || this.#saved === null) await this.#save();
    return this.#session.id;
  }

  async #save(): Promise<void> {
    const { id } = await this.#store.save(this.#session, { name: this.name, expect: this.#saved });
    this.#saved = id;
    this.#unsaved = 0;
    this.#session = await this.#store.load(id);
  }
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
