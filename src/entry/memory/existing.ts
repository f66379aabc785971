export { type CheckOptions, checkExisting, type ExistingCheck } from "../../connect/existing/check.js";
export { ExistingError, type ExistingFault } from "../../connect/existing/error.js";
export type { Field, Fields } from "../../connect/existing/fields.js";
export { type Indexed, type IndexOptions, indexExisting } from "../../connect/existing/index-existing.js";
export { type JsonLine, type JsonlOptions, jsonlLogs } from "../../connect/existing/jsonl.js";
export { type Link, type LinkQuestion, linksOf } from "../../connect/existing/links.js";
export { type Moved, type MoveOptions, moveOver } from "../../connect/existing/move-over.js";
export type {
  ExistingEntry,
  ExistingRecord,
  ExistingSource,
  Skipped,
} from "../../connect/existing/source.js";
export { sqliteTable } from "../../connect/existing/sqlite.js";
export { type Row, type Rows, type TableOptions, tableOf } from "../../connect/existing/table.js";
export {
  type Point,
  type VectorOptions,
  type VectorStore,
  vectorsOf,
} from "../../connect/existing/vectors.js";
