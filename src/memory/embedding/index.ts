export type { EmbeddingModel } from "./embedder.js";
export {
  type Embedder,
  type Embedding,
  type EmbeddingFunction,
  embedderOf,
  type Numbers,
} from "./embedder.js";
export { localEmbedding } from "./local.js";
export { wordPieces } from "./piece.js";
export { coverage, staticEmbedding } from "./reading.js";
export { EmbeddingError } from "./table.js";
