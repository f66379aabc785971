export { checkExisting } from "./check.js";

export { indexExisting } from "./index-existing.js";
export { type JsonlOptions, jsonlLogs } from "./jsonl.js";
export { linksOf } from "./links.js";
export { moveOver } from "./move-over.js";

export { sqliteTable } from "./sqlite.js";
export { tableOf, vectorsOf } from "./table.js";
