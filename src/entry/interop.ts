export { ExportError, ImportError } from "../connect/format/error.js";
export type { ExportFormat, ImportFormat, Source as ImportSource } from "../connect/format/exchange.js";
export {
  exportFormat,
  exportFormats,
  formatOf,
  importFormat,
  importFormats,
} from "../connect/format/formats.js";
