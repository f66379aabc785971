export { type CompressOptions, ContextError, compress } from "./compress.js";
export {
  beforeCompression,
  compressionsOf,
} from "./compression.js";
export { dropOutputs } from "./drop.js";
export type { Pins } from "./pin.js";
export type { Policy } from "./policy.js";
export { type Page, recallTool } from "./recall.js";
export { condense, summarise } from "./summarise.js";
