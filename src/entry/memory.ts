export {
  type Decision,
  type ForkBeforeOptions,
  type ForkedBefore,
  forkBefore,
  type Ground,
  type Influence,
  type InfluenceOptions,
  influence,
  influenceText,
  type LaterMemory,
  type ReachedSession,
  type Reading,
  type Version,
  type Why,
  type WhyEdge,
  type WhyNode,
  type WhyOptions,
  why,
  whyText,
} from "../memory/answer/index.js";
export type { Backend, BackendContext, Found as BackendFound, Kept } from "../memory/backend.js";
export { BackendError, type BackendFault } from "../memory/backend-error.js";
export { type Contradicts, differInOneThing } from "../memory/contradiction.js";
export { closeIndexes, type Progress } from "../memory/derived.js";
export type { Draft } from "../memory/draft.js";
export {
  type Embedder,
  type Embedding,
  EmbeddingError,
  type EmbeddingFunction,
  embedderOf,
  localEmbedding,
  staticEmbedding,
} from "../memory/embedding/index.js";
export { type MemoryFault, MemoryRefusedError, UnknownMemoryError } from "../memory/error.js";
export { agentOf, groundsOf } from "../memory/grounds.js";
export { type MemoryOptions, type MemorySpace, memory } from "../memory/memory.js";
export { type RecallOptions, type Recollection, recall, recallAgain } from "../memory/recall.js";
export { type RememberingOptions, remembering } from "../memory/remembering.js";
export type { Admission, Needs, Rules } from "../memory/rules.js";
export type { Scope, ScopeGiven, ScopeStep } from "../memory/scope.js";
export type { Filter, Found } from "../memory/search/space-index.js";
export type { Source } from "../memory/source.js";
export {
  type Deed,
  type Ending,
  type Linking,
  type Promotion,
  type Revision,
  type RollbackTo,
  Space,
  type Undone,
  type Written,
} from "../memory/space.js";
export type { Memory, Status } from "../memory/state.js";
export { type MemoryToolsOptions, memoryTools } from "../memory/tools.js";
export { type Reached, revoke, rollback, type UndoOptions } from "../memory/undo.js";
export { type FindOptions, type FoundIn, type ListOptions, SpaceView } from "../memory/view.js";
