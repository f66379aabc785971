export {
  forkBefore,
  influence,
  influenceText,
  why,
  whyText,
} from "../memory/answer/index.js";
export type { Backend } from "../memory/backend.js";
export { BackendError } from "../memory/backend.js";
export { closeIndexes } from "../memory/derived.js";
export { type Embedder, localEmbedding, staticEmbedding } from "../memory/embedding/index.js";
export { MemoryRefusedError } from "../memory/error.js";
export { groundsOf } from "../memory/evidence.js";
export { type MemorySpace, memory } from "../memory/memory.js";
export type { Recollection } from "../memory/reading.js";
export { recall, recallAgain, remembering } from "../memory/recall.js";
export type { Scope } from "../memory/scope.js";
export type { Source } from "../memory/source.js";
export type { Memory } from "../memory/state.js";
export { memoryTools } from "../memory/tools.js";
export { revoke, rollback } from "../memory/undo.js";
