export { type CompressOptions, type Compressor, compress } from "./compress.js";
export {
  beforeCompression,
  type Claim,
  type Compression,
  type Covered,
  compressionsOf,
} from "./compression.js";
export { dropOutputs } from "./drop.js";
export { ContextError, type Weight } from "./error.js";
export type { Pins } from "./pin.js";
export type { Crowded, Policy, Relieved } from "./policy.js";
export { type Page, type RecallOptions, recallTool } from "./recall.js";
export { type CondenseOptions, condense, type SummariseOptions, summarise } from "./summarise.js";
export type { Unit } from "./unit.js";
