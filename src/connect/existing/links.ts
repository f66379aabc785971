import { type FactId, RathError } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { optionNames, showValue } from "../../util/index.js";
import { requireOptions } from "../../workflow/index.js";
import { ExistingError } from "./error.js";
import { isSame, type LinkRow, linkedNames, linkFacts, type Origin, storeNameOf } from "./link.js";

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
  const id = await resolved(store, session);
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

async function resolved(store: Store, session: string): Promise<FactId | undefined> {
  return store.resolve(session).catch(ifRefused);
}

/** What other stores call their sessions need not be anything that ours could be called. */
function ifRefused(error: unknown): undefined {
  if (error instanceof RathError) return undefined;
  throw error;
}
