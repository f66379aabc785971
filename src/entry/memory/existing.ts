export { gitCommits } from "../../connect/existing/git.js";
export { checkExisting, indexExisting } from "../../connect/existing/index-existing.js";

export { jsonlLogs } from "../../connect/existing/jsonl.js";
export { langfuseExport } from "../../connect/existing/langfuse.js";
export { langgraphThreads } from "../../connect/existing/langgraph.js";
export { lineageOf } from "../../connect/existing/lineage.js";
export { linksOf, moveOver } from "../../connect/existing/links.js";

export type { ExistingSource } from "../../connect/existing/source.js";
export { sqliteTable, tableOf, vectorsOf } from "../../connect/existing/table.js";
