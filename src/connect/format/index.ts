export type { ExportFormat, Imported, Source } from "./exchange.js";
export { exportFormat, exportFormats, formatOf, importFormat, importFormats } from "./formats.js";
