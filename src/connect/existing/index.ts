export { checkExisting, indexExisting } from "./index-existing.js";

export { type JsonlOptions, jsonlLogs } from "./jsonl.js";
export { linksOf, moveOver } from "./links.js";

export { sqliteTable, tableOf, vectorsOf } from "./table.js";
