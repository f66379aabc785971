export { importLangGraphPostgres } from "./postgres.js";
