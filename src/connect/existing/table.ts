import { createHash } from "node:crypto";
import { digestOf } from "../../session/index.js";
import { optionNames } from "../../util/index.js";
import { requireFunction } from "../../workflow/index.js";
import { ExistingError, reasonOf } from "./error.js";
import { FIELDS, type Field, type Fields, recordOf, requireFields } from "./fields.js";
import type { ExistingEntry, ExistingSource } from "./source.js";

/** A row of a table, whoever has read it. */
export type Row = { readonly [column: string]: unknown };
export type Rows = Iterable<Row> | AsyncIterable<Row>;

export type TableOptions = Fields<Row> & {
  /** Where it is, in words that will mean the same later: "postgres chat.messages". Never a secret. */
  readonly source: string;
};

/**
 * The rows of a table, however they are read. A function can be asked again, for a check; a list can too, and what
 * comes only once cannot.
 *
 * ```ts
 * tableOf(() => database.stream("select * from messages order by id"), { source: "chat.messages", key: "id", session: "thread" });
 * ```
 */
export function tableOf(rows: Rows | (() => Rows | Promise<Rows>), options: TableOptions): ExistingSource {
  const use = "link the rows of a table";
  const refuse = (reason: string, hint: string): Error => new ExistingError("option", use, reason, hint);
  requireFields(options, use, [...FIELDS, "source"]);
  requireSource(options.source, use);
  if (typeof rows !== "object" || rows === null)
    requireFunction(
      rows,
      "rows",
      refuse,
      'tableOf(() => rows, { source: "chat.messages", session: "thread" })',
    );
  return Object.freeze<ExistingSource>({
    format: "table",
    source: options.source,
    entries: () => entriesOf(async () => (typeof rows === "function" ? rows() : rows), options, use),
  });
}

/** Reads rows one by one; the digest of all is that of the digests, in the order in which they came. */
export async function* entriesOf<One extends object>(
  rows: () => Promise<Iterable<One> | AsyncIterable<One>>,
  fields: Fields<One>,
  use: string,
  written: (row: One) => string = rowText,
): AsyncGenerator<ExistingEntry> {
  const all = createHash("sha256");
  let number = 0;
  const read = listed(rows, use);
  for await (const row of read) {
    number += 1;
    const where = `row ${number}`;
    if (typeof row !== "object" || row === null) {
      yield { skipped: { where, why: "it is not an object" } };
      continue;
    }
    let text: string;
    try {
      text = written(row);
    } catch (error) {
      yield { skipped: { where, why: `it cannot be written down: ${reasonOf(error)}` } };
      continue;
    }
    const digest = digestOf(text);
    all.update(digest);
    const record = recordOf(row, digest, where, fields);
    yield typeof record === "string" ? { skipped: { where, why: record } } : { record };
  }
  yield { digest: all.digest("hex") };
}

/** The rows, and whatever goes wrong with them as what it is. */
async function* listed<One>(
  rows: () => Promise<Iterable<One> | AsyncIterable<One>>,
  use: string,
): AsyncGenerator<One> {
  try {
    const all = await rows();
    if (typeof all !== "object" || all === null || !(Symbol.iterator in all || Symbol.asyncIterator in all))
      throw new TypeError("it gives no rows");
    for await (const row of all) yield row;
  } catch (error) {
    if (error instanceof ExistingError) throw error;
    throw new ExistingError("broken", use, reasonOf(error), "read it again: what was linked is kept", {
      cause: error,
    });
  }
}

/** A row as a text that is the same whenever its values are: whatever a driver gives has one way to be written. */
export function rowText(row: object): string {
  return JSON.stringify(row, (_key, value: unknown) => {
    if (typeof value === "bigint") return String(value);
    if (value instanceof Uint8Array) return digestOf(value);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
  });
}

export function requireSource(source: unknown, use: string): void {
  if (typeof source === "string" && source !== "" && source.length <= 500 && source.isWellFormed()) return;
  throw new ExistingError("option", use, "it does not say where it is", 'source: "chat.messages"');
}

/** What any vector database can list: its points without their vectors. */
export type Point = {
  readonly id: string | number;
  readonly text?: string;
  readonly metadata?: { readonly [field: string]: unknown };
};

export interface VectorStore {
  list(): AsyncIterable<Point> | Iterable<Point>;
}

export type VectorOptions = {
  /** Where it is, in words that will mean the same later. Never a secret. */
  readonly source: string;
  /** In the metadata of a point. */
  readonly session: Field<{ readonly [field: string]: unknown }>;
  readonly at?: Field<{ readonly [field: string]: unknown }>;
  readonly role?: Field<{ readonly [field: string]: unknown }>;
};

const OPTIONS = optionNames<VectorOptions>()("source session at role");

/**
 * The points of a vector database, found again by their ids.
 *
 * ```ts
 * vectorsOf({ list: () => pages(collection) }, { source: "qdrant notes", session: "thread" });
 * ```
 */
export function vectorsOf(store: VectorStore, options: VectorOptions): ExistingSource {
  const use = "link the points of a vector database";
  requireFields(options, use, OPTIONS);
  requireSource(options.source, use);
  requireFunction(
    store?.list,
    "list",
    (reason, hint) => new ExistingError("option", use, reason, hint),
    "{ list: async function* () { yield { id, text, metadata }; } }",
  );
  const { session, at, role } = options;
  const fields: Fields<Point> = {
    key: "id",
    text: "text",
    session: inMetadata(session),
    ...(at !== undefined && { at: inMetadata(at) }),
    ...(role !== undefined && { role: inMetadata(role) }),
  };
  return Object.freeze<ExistingSource>({
    format: "vectors",
    source: options.source,
    entries: () => entriesOf(async () => store.list(), fields, use),
  });
}

function inMetadata(field: Field<{ readonly [field: string]: unknown }>): Field<Point> {
  return typeof field === "string" ? `metadata.${field}` : ({ metadata }) => field(metadata ?? {});
}
