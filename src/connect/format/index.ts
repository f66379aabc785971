export { ExportError, ImportError, type ImportProblem } from "./error.js";
export type { ExportFormat, ExportSettings, Imported, ImportFormat, Source, Subject } from "./exchange.js";
export { exportFormat, exportFormats, formatOf, importFormat, importFormats } from "./formats.js";
export { keepRest, type StartedImport, startImport, UNKNOWN_TIME } from "./intake.js";
