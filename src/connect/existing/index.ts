export { checkExisting, indexExisting } from "./index-existing.js";

export { type JsonlOptions, jsonlLogs } from "./jsonl.js";
export { linksOf } from "./links.js";
export { moveOver } from "./move-over.js";

export { sqliteTable, tableOf, vectorsOf } from "./table.js";
