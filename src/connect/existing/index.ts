export { gitCommits } from "./git.js";
export { checkExisting, indexExisting } from "./index-existing.js";

export { type JsonlOptions, jsonlLogs } from "./jsonl.js";
export { langfuseExport } from "./langfuse.js";
export { langgraphThreads } from "./langgraph.js";
export { lineageOf } from "./lineage.js";
export { linksOf, moveOver } from "./links.js";
export type { ExistingSource } from "./source.js";
export { sqliteTable, tableOf, vectorsOf } from "./table.js";
