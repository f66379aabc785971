export {
  ExportError,
  type ExportFormat,
  ImportError,
  type ImportFormat,
  type Source as ImportSource,
} from "../connect/format/exchange.js";

export {
  exportFormat,
  exportFormats,
  formatOf,
  importFormat,
  importFormats,
} from "../connect/format/formats.js";
