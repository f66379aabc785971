export { checkExisting, indexExisting } from "../../connect/existing/index-existing.js";

export { jsonlLogs } from "../../connect/existing/jsonl.js";
export { type Link, linksOf, moveOver } from "../../connect/existing/links.js";

export type { ExistingSource } from "../../connect/existing/source.js";
export { sqliteTable, tableOf, vectorsOf } from "../../connect/existing/table.js";
