export {
  ExportError,
  ImportError,
  type Source as ImportSource,
} from "../connect/format/exchange.js";

export {
  exportFormat,
  exportFormats,
  formatOf,
  importFormat,
  importFormats,
} from "../connect/format/formats.js";
