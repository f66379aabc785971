export { ExportError, ImportError, type ImportProblem } from "../connect/format/error.js";
export type {
  ExportFormat,
  ExportSettings,
  Imported,
  ImportFormat,
  Source,
  Subject,
} from "../connect/format/exchange.js";
export {
  exportFormat,
  exportFormats,
  formatOf,
  importFormat,
  importFormats,
} from "../connect/format/formats.js";
export { keepRest, type StartedImport, startImport, UNKNOWN_TIME } from "../connect/format/intake.js";
