export { type CompressOptions, type Compressor, compress } from "../agent/compress/compress.js";
export {
  beforeCompression,
  type Claim,
  type Compression,
  type Covered,
  compressionsOf,
} from "../agent/compress/compression.js";
export { dropOutputs } from "../agent/compress/drop.js";
export { ContextError, type Weight } from "../agent/compress/error.js";
export type { Pins } from "../agent/compress/pin.js";
export type { Crowded, Policy, Relieved } from "../agent/compress/policy.js";
export { type Page, type RecallOptions, recallTool } from "../agent/compress/recall.js";
export {
  type CondenseOptions,
  condense,
  type SummariseOptions,
  summarise,
} from "../agent/compress/summarise.js";
export type { Unit } from "../agent/compress/unit.js";
