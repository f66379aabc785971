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
} from "./answer/index.js";
export type { Backend, BackendContext, Found as BackendFound, Kept } from "./backend.js";
export { BackendError, type BackendFault } from "./backend-error.js";
export { type Contradicts, differInOneThing } from "./contradiction.js";
export { closeIndexes, type Progress } from "./derived.js";
export type { Draft } from "./draft.js";
export {
  type Embedder,
  type Embedding,
  EmbeddingError,
  type EmbeddingFunction,
  embedderOf,
  localEmbedding,
  staticEmbedding,
} from "./embedding/index.js";
export { type MemoryFault, MemoryRefusedError, UnknownMemoryError } from "./error.js";
export { agentOf, groundsOf } from "./grounds.js";
export { type MemoryOptions, type MemorySpace, memory } from "./memory.js";
export { type RecallOptions, type Recollection, recall, recallAgain } from "./recall.js";
export { type RememberingOptions, remembering } from "./remembering.js";
export type { Admission, Needs, Rules } from "./rules.js";
export type { Scope, ScopeGiven, ScopeStep } from "./scope.js";
export type { Filter, Found } from "./search/space-index.js";
export type { Source } from "./source.js";
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
} from "./space.js";
export type { Memory, Status } from "./state.js";
export { type MemoryToolsOptions, memoryTools } from "./tools.js";
export { type Reached, revoke, rollback, type UndoOptions } from "./undo.js";
export { type FindOptions, type FoundIn, type ListOptions, SpaceView } from "./view.js";
