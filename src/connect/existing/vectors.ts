import { optionNames } from "../../util/index.js";
import { requireFunction } from "../../workflow/index.js";
import { ExistingError } from "./error.js";
import { type Field, type Fields, requireFields } from "./fields.js";
import type { ExistingSource } from "./source.js";
import { entriesOf, requireSource } from "./table.js";

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
