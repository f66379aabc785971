export { importLangGraphPostgres, type PostgresImportOptions } from "./postgres.js";
export { langgraph } from "./sqlite.js";
