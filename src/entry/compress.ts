export { type Compressor, ContextError, compress } from "../agent/compress/compress.js";
export { beforeCompression, compressionsOf } from "../agent/compress/compression.js";
export { dropOutputs } from "../agent/compress/drop.js";
export { recallTool } from "../agent/compress/recall.js";
export { condense, summarise } from "../agent/compress/summarise.js";
