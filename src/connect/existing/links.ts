import { type Draft, LONGEST, type ScopeGiven, scopeOf } from "../../memory/index.js";
import type { Digest, Fact, FactId, FactInput, Principal } from "../../session/index.js";
import { isPrincipal, RathError } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { defined, optionNames, showValue } from "../../util/index.js";
import { requireOptions } from "../../workflow/index.js";
import { ExistingError, type ExistingSource, requireSourceGiven } from "./source.js";

/** A record of another store as it is linked now, with the fact that says so. */
export type Link = Origin &
  Omit<LinkRow, "gone"> & {
    /** The name of the links when they were made. */
    readonly name: string;
    readonly fact: FactId;
    /** The fact that says from what source it was; none while an indexing is not finished. */
    readonly imported?: FactId;
    /** Sessions of our store that are called by the same name, or are what it names. */
    readonly sessions: readonly { readonly id: FactId; readonly name?: string }[];
  };

/** Of which session, or which record by its key. Both may be asked of one name and one source only. */
export type LinkQuestion = {
  readonly session?: string;
  readonly record?: string;
  readonly name?: string;
  readonly source?: string;
};

const QUESTION = optionNames<LinkQuestion>()("session record name source");
const EXAMPLE = 'linksOf(store, { session: "chat-42" }), or linksOf(store, { record: "line 17" })';
const ID = /^[0-9a-f]{64}$/;

/** The linked records of a session, or those with a key; in the order in which they were linked. */
export async function linksOf(store: Store, question: LinkQuestion): Promise<readonly Link[]> {
  const use = "look for links";
  const refuse = (reason: string, hint: string): Error => new ExistingError("option", use, reason, hint);
  requireOptions(question, refuse, EXAMPLE, QUESTION);
  for (const [name, value] of Object.entries(question))
    if (value !== undefined && typeof value !== "string")
      throw refuse(`its \`${name}\` is ${showValue(value)}`, EXAMPLE);
  const { session, record, name, source } = question;
  if (session === undefined && record === undefined) throw refuse("it asks for nothing", EXAMPLE);
  if (name !== undefined) storeNameOf(name, use);
  const same = await sessionsCalled(store, session);
  const found: Link[] = [];
  for (const one of name === undefined ? await linkedNames(store) : [name]) {
    // By source and key, so that a later link takes the place of an earlier one.
    const links = new Map<string, Omit<Link, "sessions">>();
    for await (const fact of linkFacts(store, one)) {
      if (source !== undefined && fact.origin.source !== source) continue;
      if ("imported" in fact) {
        for (const [place, link] of links)
          if (link.imported === undefined && isSame(link, fact.origin))
            links.set(place, { ...link, imported: fact.id });
        continue;
      }
      for (const { gone, ...row } of fact.links) {
        const place = `${fact.origin.format}\n${fact.origin.source}\n${row.key}`;
        links.delete(place);
        if (gone === true || (record !== undefined && row.key !== record)) continue;
        if (same !== undefined && !(await same(row.session))) continue;
        links.set(place, { ...fact.origin, ...row, name: one, fact: fact.id });
      }
    }
    for (const link of links.values()) found.push({ ...link, sessions: await joined(store, link.session) });
  }
  return found;
}

/** Whether what another store calls a session is this one: by its name here, its id, or an id in its past. */
async function sessionsCalled(
  store: Store,
  session: string | undefined,
): Promise<((other: string) => Promise<boolean>) | undefined> {
  if (session === undefined) return undefined;
  const id = await store.resolve(session).catch(ifRefused);
  const names = id === undefined ? [] : (await store.names()).filter((one) => one.id === id);
  const alike = new Set([session, ...(id === undefined ? [] : [id]), ...names.map(({ name }) => name)]);
  let past: Set<FactId> | undefined;
  return async (other) => {
    if (alike.has(other)) return true;
    if (id === undefined || !ID.test(other)) return false;
    if (past === undefined) {
      past = new Set();
      for await (const lines of store.lines(id)) for (const line of lines) past.add(line.id);
    }
    return past.has(other);
  };
}

async function joined(store: Store, session: string): Promise<Link["sessions"]> {
  const head = await store.head(session).catch(ifRefused);
  if (head !== undefined) return [{ id: head, name: session }];
  return ID.test(session) && (await store.has(session)) ? [{ id: session }] : [];
}

/** A name of a session in another store need not be a possible name in ours. */
function ifRefused(error: unknown): undefined {
  if (error instanceof RathError) return undefined;
  throw error;
}

/** As a link stands in its fact. */
export type LinkRow = {
  readonly key: string;
  readonly digest: Digest;
  readonly session: string;
  readonly at?: string;
  readonly role?: string;
  /** The record was another one when it was linked before. */
  readonly was?: Digest;
  /** The record was there before, and is gone. */
  readonly gone?: true;
  readonly text?: string;
};

/** Which source a link is of. */
export type Origin = { readonly format: string; readonly source: string };

/** A fact that links records, or the one that says from what source they were. */
export type LinkFact =
  | { readonly id: FactId; readonly links: readonly LinkRow[]; readonly origin: Origin }
  | { readonly id: FactId; readonly imported: Digest; readonly origin: Origin };

const UNDER = "existing/";
const KIND = "linked-record";

/** The name that links are kept under in our store. */
export function storeNameOf(name: unknown, use: string): string {
  if (typeof name === "string" && /^[\w.-]{1,100}$/.test(name)) return `${UNDER}${name}`;
  throw new ExistingError(
    "option",
    use,
    `\`name\` must be a short name; got ${showValue(name)}`,
    'name: "chat-logs": letters, digits, dots, "-" and "_", at most 100',
  );
}

/** All names that links are kept under. */
export async function linkedNames(store: Store): Promise<readonly string[]> {
  return (await store.names({ under: UNDER })).map(({ name }) => name.slice(UNDER.length));
}

/** One fact for many links. They are content: long ones lie beside the line, and texts can be erased by themselves. */
export function linking(origin: Origin, rows: readonly LinkRow[], by: Principal): FactInput {
  const links = rows.map(({ text: _text, ...row }) => row);
  const texts = rows.map(({ text }) => text ?? null);
  return {
    type: "note",
    kind: KIND,
    ...origin,
    links,
    ...(texts.some((text) => text !== null) && { texts }),
    by,
  };
}

/** The facts of a chain of links, the oldest first. Facts of others are passed over. */
export async function* linkFacts(store: Store, name: string): AsyncGenerator<LinkFact> {
  if ((await store.head(`${UNDER}${name}`)) === undefined) return;
  for await (const { id, fact } of store.history(`${UNDER}${name}`)) {
    const found = linkFactOf(id, fact);
    if (found !== undefined) yield found;
  }
}

export function linkFactOf(id: FactId, fact: Fact): LinkFact | undefined {
  if (fact.type === "record-import")
    return { id, imported: fact.digest, origin: { format: fact.format, source: fact.source } };
  if (fact.type !== "note" || fact.kind !== KIND) return undefined;
  const { format, source, links, texts } = fact;
  if (typeof format !== "string" || typeof source !== "string" || !Array.isArray(links)) return undefined;
  const rows = links.flatMap((row: unknown, place) => {
    if (!isRow(row)) return [];
    const text: unknown = Array.isArray(texts) ? texts[place] : undefined;
    return [typeof text === "string" ? { ...row, text } : row];
  });
  return { id, links: rows, origin: { format, source } };
}

function isRow(row: unknown): row is LinkRow {
  const { key, digest, session } = (row ?? {}) as { readonly [field: string]: unknown };
  return typeof key === "string" && typeof digest === "string" && typeof session === "string";
}

export function isSame(one: Origin, other: Origin): boolean {
  return one.format === other.format && one.source === other.source;
}

/** The links of one source by key, with the fields that show whether a record has changed. */
export type Known = {
  readonly links: Map<string, Pick<LinkRow, "digest" | "session">>;
  /** The digest of the source when all of it was linked. */
  readonly imported: Digest | undefined;
  /** An indexing that did not come to its end. */
  readonly unfinished: boolean;
};

export async function knownOf(store: Store, name: string, origin: Origin): Promise<Known> {
  const links: Known["links"] = new Map();
  let imported: Digest | undefined;
  let unfinished = false;
  for await (const fact of linkFacts(store, name)) {
    if (!isSame(fact.origin, origin)) continue;
    if ("imported" in fact) {
      imported = fact.imported;
      unfinished = false;
      continue;
    }
    unfinished = true;
    for (const { key, digest, session, gone } of fact.links)
      if (gone === true) links.delete(key);
      else links.set(key, { digest, session });
  }
  return { links, imported, unfinished };
}

export type MoveOptions = {
  readonly scope: ScopeGiven;
  readonly by: Principal;
  /** Where the records are read. It may be left out for those whose text was copied. */
  readonly from?: ExistingSource;
  readonly subject?: (link: Link) => string | undefined;
};

/** The result for a link: a draft of a memory, or the reason why it was refused. */
export type Moved =
  | { readonly link: Link; readonly draft: Draft }
  | { readonly link: Link; readonly refused: string };

const MOVE_OPTIONS = optionNames<MoveOptions>()("scope by from subject");
const MOVE_EXAMPLE = 'moveOver(store, links, { from: jsonlLogs(…), scope: "user:ada", by: "user:ada" })';

/** Drafts memories from linked records, with the import as evidence. A record that changed is refused. */
export async function* moveOver(
  store: Store,
  links: Link | readonly Link[],
  options: MoveOptions,
): AsyncGenerator<Moved> {
  const use = "make memories of linked records";
  const refuse = (reason: string, hint: string): Error => new ExistingError("option", use, reason, hint);
  requireOptions(options, refuse, MOVE_EXAMPLE, MOVE_OPTIONS);
  const { from, by } = options;
  scopeOf(options.scope, use);
  if (!isPrincipal(by)) throw refuse(`its \`by\` is ${showValue(by)}`, 'who remembers them: by: "user:ada"');
  if (from !== undefined) requireSourceGiven(from, refuse, MOVE_EXAMPLE);
  const wanted = new Map<string, Link>();
  for (const link of Array.isArray(links) ? (links as readonly Link[]) : [links as Link]) {
    if (link.imported === undefined || !(await store.has(link.imported)) || !(await store.has(link.fact)))
      yield { link, refused: "its import is not in this store, or not finished: index it again" };
    else if (link.text !== undefined) yield moved(link, link.text, options);
    else if (from === undefined || from.source !== link.source || from.format !== link.format)
      yield { link, refused: `its text is in ${showValue(link.source)}: give that as from` };
    else wanted.set(link.key, link);
  }
  if (from === undefined || wanted.size === 0) return;
  for await (const entry of from.entries()) {
    const link = "record" in entry ? wanted.get(entry.record.key) : undefined;
    if (!("record" in entry) || link === undefined) continue;
    wanted.delete(link.key);
    yield entry.record.digest === link.digest
      ? moved(link, entry.record.text, options)
      : { link, refused: "it is another record now than the one that was linked" };
    if (wanted.size === 0) return;
  }
  for (const link of wanted.values()) yield { link, refused: "it is no longer in the source" };
}

function moved(link: Link, text: string | undefined, { scope, by, subject }: MoveOptions): Moved {
  if (text === undefined || text.trim() === "")
    return { link, refused: "it has no text: say which field that is" };
  if (text.length > LONGEST)
    return { link, refused: `its text has ${text.length} characters, and a memory has ${LONGEST} at most` };
  const { name, format, source, key, digest, session, at, role, imported, fact } = link;
  const about = subject?.(link);
  const existing = { name, format, source, key, digest, session, ...(at && { at }), ...(role && { role }) };
  return {
    link,
    draft: {
      text,
      scope,
      source: "import",
      because: [imported as string, fact],
      by,
      ...defined({ subject: about }),
      meta: { existing },
    },
  };
}
