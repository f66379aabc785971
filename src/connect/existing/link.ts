import type { Digest, Fact, FactId, FactInput, Principal } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { showValue } from "../../util/index.js";
import { ExistingError } from "./error.js";

/** As a link stands in its fact. */
export type LinkRow = {
  readonly key: string;
  readonly digest: Digest;
  readonly session: string;
  readonly at?: string;
  readonly role?: string;
  /** The record was another one when it was linked before. */
  readonly was?: Digest;
  /** The record was there before, and is not any more. */
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

/** The facts of a chain of links, the oldest first. What somebody else has put there is passed over. */
export async function* linkFacts(store: Store, name: string): AsyncGenerator<LinkFact> {
  if ((await store.head(`${UNDER}${name}`)) === undefined) return;
  for await (const { id, fact } of store.history(`${UNDER}${name}`)) {
    const found = linkFactOf(id, fact);
    if (found !== undefined) yield found;
  }
}

function linkFactOf(id: FactId, fact: Fact): LinkFact | undefined {
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

/** What is linked of one source: by key, what is needed to see whether a record is another one now. */
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
